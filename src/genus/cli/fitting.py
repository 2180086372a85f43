"""genus fit."""

from __future__ import annotations

import os
from typing import Any

import click

from genus.cli import arguments
from genus.cli.arguments import File

FOLDS = 5  # of the cross-validation that judges a model of few rows
MOST_JUDGED = 20_000  # columns of a model that is refitted for each fold


@click.command()
@arguments.data
@arguments.needed_target
@click.option(
    "-o",
    "--output",
    type=File("MODEL"),
    help="The model file.  [default: the name of DATA with .genus if DATA is one file, else "
    "model.genus]",
)
@arguments.families
@arguments.ignore
@arguments.weight
@click.option(
    "--plan",
    type=File("PLAN"),
    help="Read columns as this plan or model does, so that the models can be merged exactly.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=str),
    metavar="FOLDER",
    help="Keep the counts of each file in this folder. After an interruption, the same command "
    "continues with the files that are not counted yet.",
)
@click.option(
    "--for-prediction",
    is_flag=True,
    help="Write a smaller model file that holds no rows. Its model cannot learn, forget or be "
    "merged.",
)
@click.option(
    "--skip-unreadable",
    is_flag=True,
    help="Skip files that cannot be read to their end, and report their names. This reads every "
    "file twice.",
)
@arguments.encoding
def fit(
    data: tuple[str, ...],
    target: str,
    output: str | None,
    families: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    weight: str | None,
    plan: str | None,
    checkpoint: str | None,
    for_prediction: bool,
    skip_unreadable: bool,
    encoding: str,
) -> None:
    """Learn to predict a column of a table, in one pass.

    Prints what was learned, and out-of-fold scores. `moves` is the mean absolute contribution of
    a column to the log-odds. `bits` is the gain of a column: how much information about the class
    it gives, as its family models it, in bits per row.

    \b
    Examples:
      genus fit customers.csv --target churned
      genus fit 2024.csv 2025.csv --target churned -o churn.genus
      genus fit "SELECT * FROM 'sales/*.parquet' WHERE year > 2020" \\
            --target paid -o paid.genus --ignore id --family visits=poisson
      zcat log.csv.gz | genus fit - --target status -o status.genus
      genus fit 'sales/*.parquet' --target paid -o paid.genus --checkpoint parts
    """
    from genus.cli import models
    from genus.cli.data import opened, stem
    from genus.cli.errors import note, say
    from genus.cli.progress import rows_passing
    from genus.display.text import count

    if plan and (families or ignore):
        raise click.UsageError(
            "--plan already decides how columns are read. Leave --family and --ignore out, "
            "or give them to `genus plan`."
        )
    out = output or stem(data) + models.SUFFIX
    models.refuse_out(out, *data)
    models.refuse_name(out)
    other = models.read_table_model(plan) if plan else None
    if other is not None and other.plan_.target not in (None, target):
        raise ValueError(
            f"{plan} predicts {other.plan_.target!r}, not {target!r}, so the models could not "
            f"be merged. Give a plan for {target!r}."
        )
    if other is not None and weight in {column.name for column in other.plan_.used}:
        raise ValueError(
            f"{plan} reads {weight!r} as a column to learn from, so it cannot hold the weights. "
            f"Make the plan with `genus plan --ignore {weight}`."
        )
    texts = () if other is None else other.plan_.texts
    read = opened(data, encoding, skip_unreadable, texts)
    with read as source, rows_passing("fit", source) as progress:
        source.require(target)
        model = classifier(target, families, ignore, other)
        options = {"like": other, "progress": progress, "checkpoint": checkpoint}
        model.fit(source, sample_weight=weight, target=target, **options)
        judged = judged_anew(model, source, target, weight)
    before = os.path.exists(out)
    models.write(model, out, for_prediction)
    click.echo("\n".join([str(model.summary()), *judged]), err=out == models.STDIO)
    for caution in model.cautions(weighted=weight is not None):
        note(caution)
    unlabelled = getattr(model, "unlabelled_", 0)
    if unlabelled:
        say(f"Left out {count(unlabelled, 'row')} without a value in {target!r}.")
    done = "Replaced" if before else "Wrote"
    say(f"{done} {out}." if out != models.STDIO else "Wrote the model to stdout.")


def judged_anew(model: Any, source: Any, target: str, weight: str | None) -> list[str]:
    """Return lines that compare out-of-fold scores with those of the baseline.

    If there are few rows, the scores in the summary are optimistic, so a model is fitted again for
    each fold. Otherwise, and for very wide tables, where this would take minutes, the scores are
    those that the model already has of its sample.
    """
    from sklearn.base import clone

    from genus.cli.progress import rows_passing
    from genus.cli.scores import scores
    from genus.estimators.table_summary import FEW
    from genus.evaluate import cross_validate

    rows = int(model.class_count_.sum())
    folds = min(FOLDS, rows)
    if rows >= FEW or len(model.plan_) > MOST_JUDGED:
        weighing = model.model_.choice
        outcome = None if weighing is None else weighing.outcome
        few = " (optimistic; `genus evaluate` fits again for each fold)" if rows < FEW else ""
        return [] if outcome is None else ["", f"out of fold{few}:", scores(outcome)]
    try:
        with rows_passing("judge", rows) as progress:
            worth = cross_validate(
                clone(model), source, target, folds, sample_weight=weight, progress=progress
            )
    except ValueError:  # outside of a fold there may be only one class
        return []
    return ["", f"cross-validation with {folds} folds, each fitted anew:", scores(worth)]


def classifier(
    target: str,
    families: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    like: Any = None,
) -> Any:
    """Return a TableClassifier that is not fitted yet."""
    from genus.estimators.table import TableClassifier

    if target in ignore or target in dict(families):
        raise click.UsageError(
            f"{target!r} is the target, so --ignore and --family cannot name it. Name another "
            "column there."
        )

    if like is not None:
        return TableClassifier(**like.get_params(deep=False))
    return TableClassifier(families=dict(families) or "auto", ignore=ignore)

"""genus evaluate."""

from __future__ import annotations

from typing import Any

import click

from genus.cli import arguments
from genus.cli.arguments import Column, File, FoldsOrLoo, model_and_data

FOLDS = 10
MANY = 200  # rows from which leave-one-out is slow


@click.command()
@click.argument("given", type=File("DATA"), nargs=-1, required=True, metavar="[MODEL] DATA...")
@arguments.target
@click.option(
    "--folds",
    type=FoldsOrLoo(),
    metavar="K|loo",
    help="Without MODEL: the number of folds, or loo to leave out one row at a time."
    "  [default: 10]",
)
@click.option(
    "--group",
    type=Column(),
    help="Keep rows with the same value of this column in one fold. Models do not use the column. "
    "Rows without a value form one group.",
)
@click.option(
    "--time",
    type=Column(),
    help="Order rows by the time in this column, and predict each fold from earlier rows only. "
    "The column is still a feature, unless --ignore leaves it out.",
)
@arguments.weight
@arguments.threshold
@arguments.costs
@arguments.families
@arguments.ignore
@arguments.as_json
@arguments.encoding
def evaluate(
    given: tuple[str, ...],
    target: str | None,
    folds: Any,
    group: str | None,
    time: str | None,
    weight: str | None,
    threshold: Any,
    costs: Any,
    families: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    as_json: bool,
    encoding: str,
) -> None:
    """Measure how good predictions are.

    With MODEL, measures its predictions for DATA, which should be rows that it has not seen.
    Without MODEL, cross-validates models of DATA: each row is predicted by a model that was not
    fitted to it.

    \b
    Examples:
      genus evaluate churn.genus next-year.csv
      genus evaluate customers.csv --target churned --folds 5
      genus evaluate visits.csv --target ill --group patient --costs "yes:no=10"
    """
    from genus.cli.results import printed
    from genus.cli.scores import as_object, told

    decision = arguments.decision_of(threshold, costs)
    honest = {"groups": group, "time": time, "sample_weight": weight}

    model, data = model_and_data(given, target)
    if model is None:
        assert target is not None
        check_columns(target, folds, group, time, weight)
        outcome = by_folds(data, target, folds, families, ignore, encoding, honest)
    elif not data:
        raise click.UsageError("A model cannot be evaluated without data. Give MODEL and DATA.")
    elif folds or families or ignore or group or time:
        raise click.UsageError(
            "--folds, --group, --time, --family and --ignore cannot be used with MODEL, which is "
            "already fitted. Leave them out, or leave MODEL out."
        )
    else:
        outcome = by_rows(model, data, target, weight, encoding)
    outcome = outcome.deciding(decision)
    if as_json:
        printed(as_object(outcome))
    else:
        click.echo(told(outcome))


def check_columns(
    target: str, folds: Any, group: str | None, time: str | None, weight: str | None
) -> None:
    """Raise an error if the options of folds and weights contradict each other."""
    if group and time:
        raise click.UsageError("--group and --time are two ways to make folds. Give only one.")
    if target in (group, time):
        raise click.UsageError(
            f"{target!r} is the target, so it cannot make the folds. Give another column."
        )
    if target == weight:
        raise click.UsageError(
            f"{target!r} is the target, so it cannot hold the weights. Give another column."
        )
    if folds == "loo" and (group or time):
        raise click.UsageError(
            "--folds loo cannot be used with --group or --time. Give a number of folds."
        )


def by_folds(
    data: tuple[str, ...],
    target: str,
    folds: Any,
    families: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    encoding: str,
    honest: dict[str, Any],
) -> Any:
    """Return out-of-fold predictions for labelled rows; with --time, not for the earliest ones."""
    from genus.cli.data import opened
    from genus.cli.errors import note, say
    from genus.cli.fitting import classifier
    from genus.cli.progress import rows_passing
    from genus.display.text import count
    from genus.estimators.table_rows import labelled, weights_of
    from genus.evaluate import cross_validate

    with opened(data, encoding) as source:
        for name in filter(None, honest.values()):
            source.require(name)
        found = labelled(source, target)
        if found.unlabelled:
            say(f"Left out {count(found.unlabelled, 'row')} without a value in {target!r}.")
        m = len(found.codes)
        if folds == "loo" and m > MANY:
            say(f"Leaving out {m:,} rows one by one is slow. --folds 10 is faster.")
        fresh = classifier(target, families, ignore)
        with rows_passing("evaluate", m) as progress:
            outcome = cross_validate(
                fresh,
                found.rows,
                found.y,
                folds or max(2, min(FOLDS, m)),
                progress=progress,
                **honest,
            )
            weight = honest["sample_weight"]
            apart = {honest["groups"], weight} - {None, *ignore}
            own = None if weight is None else weights_of(found.rows.column(weight), weight)
            rows = found.rows.drop_columns(sorted(apart))
            for caution in fresh.fit(rows, found.y, own).cautions(weighted=weight is not None):
                note(caution)
    if len(outcome.y) < m:
        say(f"Not predicted, only learned from: the earliest {count(m - len(outcome.y), 'row')}.")
    return outcome


def by_rows(
    model: str, data: tuple[str, ...], target: str | None, weight: str | None, encoding: str
) -> Any:
    """Return a model's predictions for rows with known classes."""
    import numpy as np

    from genus.arrays import labels
    from genus.cli.data import opened, tell_extra
    from genus.cli.errors import note, say
    from genus.cli.models import read_table_model, target_of
    from genus.cli.progress import rows_passing
    from genus.display.text import count
    from genus.estimators.table_rows import labelled_rows, weights_of
    from genus.stacking.outcome import CrossValidation
    from genus.table import TableError

    learned = read_table_model(model)
    target = target_of(learned, model, target)
    used = {column.name for column in learned.plan_.used}
    if learned.plan_.target not in (None, target) and target in used:
        raise TableError(
            f"{model} predicts {learned.plan_.target!r} and learns from {target!r}, so it cannot "
            f"predict {target!r}. Leave --target out, or evaluate DATA without the model."
        )

    def judge(source: Any) -> tuple[Any, Any, Any, int, float]:
        probabilities: list[Any] = []
        truths: list[Any] = []
        weights: list[Any] = []
        left_out, known = 0, 0.0
        with rows_passing("evaluate", source) as progress:
            for batch in source.batches():
                own = labelled_rows(batch, target, learned.classes_)
                left_out += own.unlabelled
                if len(own.codes):
                    known = known if truths else learned.seen(own.rows)
                    truths.append(own.y)
                    probabilities.append(learned.predict_proba(own.rows))
                    given = None if weight is None else weights_of(batch.column(weight), weight)
                    weights.append(np.ones(len(own.codes)) if given is None else given[own.there])
                progress(batch.num_rows)
        if not truths:
            raise TableError(
                f"No row of {source.name} has a value in {target!r} to compare the prediction "
                "with. Give rows with labels."
            )
        found = [np.concatenate(parts) for parts in (probabilities, truths, weights)]
        if not found[2].any():
            raise TableError(
                f"No row of {source.name} has a value in {target!r} and a weight above zero in "
                f"{weight!r}, so there is nothing to compare. Give positive weights."
            )
        return found[0], found[1], found[2], left_out, known

    with opened(data, encoding, texts=learned.plan_.texts) as source:
        for name in filter(None, (target, weight)):
            source.require(name)
        tell_extra(source, learned)
        source = learned._opened(source, target)
        p, truth, given, left_out, known = source.read(judge)
    if known:
        note(
            f"The model was fitted to about {100 * known:.0f} % of these rows, so the scores are "
            "optimistic. Leave MODEL out to cross-validate, or give rows that it has not seen."
        )
    if left_out:
        say(f"Left out {count(left_out, 'row')} without a value in {target!r}.")
    seen, y = labels.factorize(truth)
    classes, at, here = labels.merge(learned.classes_, seen, "classes")
    strange = [labels.show(label) for label in seen[labels.find(seen, learned.classes_) < 0]]
    if strange:
        say(f"The data has classes that the model has never seen: {', '.join(strange[:10])}.")
    p = labels.spread(p, at, len(classes), axis=1)
    return CrossValidation(p, classes, here[y], given, np.zeros(len(y), dtype=np.int64))

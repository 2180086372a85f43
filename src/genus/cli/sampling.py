"""genus sample."""

from __future__ import annotations

import os
from typing import Any

import click

from genus.cli import arguments

BATCH = 1 << 16  # rows


@click.command()
@arguments.model
@click.option(
    "-n",
    "number",
    type=click.IntRange(min=0),
    required=True,
    metavar="N",
    help="The number of rows.",
)
@arguments.table_out
@click.option("--class", "label", metavar="LABEL", help="Draw rows of this class only.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="S",
    help="The same seed draws the same rows again.",
)
def sample(model: str, number: int, output: str, label: str | None, seed: int | None) -> None:
    """Draw new rows from a model.

    A sample does not protect privacy. The words of texts are drawn one by one, so no text is copied
    as a whole, but rare words, categories and numbers may be those of a single row.

    \b
    Example:
      genus sample churn.genus -n 1000 --seed 1 -o drawn.csv
    """
    import numpy as np

    from genus.cli.errors import say_written
    from genus.cli.models import read_table_model, refuse_overwriting
    from genus.display.output import format_of, rows_to

    format_of(output)
    refuse_overwriting(output, model)
    before = os.path.exists(output)
    learned = read_table_model(model)
    drawn_class = None if label is None else class_named(learned, label)
    rng = np.random.default_rng(seed)
    with rows_to(output, drawn(learned, 0, drawn_class, rng).schema) as write:
        for start in range(0, number, BATCH):
            rows = drawn(learned, min(BATCH, number - start), drawn_class, rng)
            for batch in rows.to_batches():
                write(batch)
    say_written(output, number, before)


def drawn(model: Any, number: int, label: Any, rng: Any) -> Any:
    """Draw new rows as an Arrow table, with the target last."""
    import pyarrow as pa

    X, y = model.sample(number, label, rng)
    target = model.plan_.target or "class"
    return X.append_column(target, pa.array(y.astype(model.classes_.dtype)))


def class_named(model: Any, text: str) -> Any:
    """Return the class with this name, which may be given in lower case."""
    for label in model.classes_:
        if text in (str(label), str(label).lower()):
            return label
    listed = ", ".join(map(str, model.classes_[:10].tolist()))
    raise ValueError(f"The model has no class {text!r}. It has {listed}.")

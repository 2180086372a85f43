"""Summarise a table classifier in lines that fit a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from genus.arrays import markup
from genus.arrays.names import distinct
from genus.table.model.marginals import ALONE_NOTHING

BITS = 1 / np.log(2)
WIDEST = 32  # characters of a column
FEW = 1000  # rows below which out-of-fold scores are optimistic


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """A column of a model: its family, its importance, the gains of families, and a note.

    The importance, as in `feature_importances_`, is how far the column moves the log-odds. `gain`
    is the gain of its family, including that of missing values, and `others` are the gains of other
    families, in bits per row.
    """

    name: str
    family: str
    importance: float
    gain: float
    others: dict[str, float]
    note: str


@dataclass(frozen=True, eq=False)
class Summary:
    """Rows, classes, columns by importance, columns left out, experts, and scores.

    `classes` has the number of rows of each class, `left_out` the reason for each column, `experts`
    the weight and the log loss of each expert, and `worth` the out-of-fold scores.
    """

    rows: float
    classes: dict[Any, float]
    columns: list[ColumnSummary]
    left_out: dict[str, str]
    experts: dict[str, tuple[float, float]]
    worth: dict[str, float]

    @classmethod
    def of(cls, model: Any) -> Summary:
        parameters = model.model_.parameters
        columns = []
        family = model.model_.family
        together = {name: names for names in family.how.joint for name in names}
        moves = model.feature_importances_.tolist()
        for column, marginal, own in zip(
            model.plan_.used, parameters.marginals, moves, strict=True
        ):
            if marginal is None:
                columns.append(ColumnSummary(column.name, "text", own, np.nan, {}, column.note))
                continue
            gains = {name: BITS * gain for name, gain in marginal.gains.items()}
            notes = [column.note] if column.note else []
            rows = model.class_count_
            share = float(rows @ marginal.missing / max(rows.sum(), 1e-300))
            if share > 0:
                told = "informative" if marginal.missing_gain > 0 else "not informative"
                notes.append(f"{100 * share:.3g} % missing ({told})")
            if column.name in together:
                rest = [name for name in together[column.name] if name != column.name]
                notes.append(f"modelled together with {', '.join(rest)}")
            others = {k: v for k, v in gains.items() if k not in (marginal.family, ALONE_NOTHING)}
            gain = gains[marginal.family] + BITS * max(marginal.missing_gain, 0.0)
            columns.append(
                ColumnSummary(column.name, marginal.family, own, gain, others, "; ".join(notes))
            )
        columns.sort(key=lambda c: -c.importance)
        weighing = model.model_.choice
        experts, worth = {}, {}
        if weighing is not None:
            w = weighing.weights
            experts = {
                name.removeprefix("text/"): (float(weight), float(loss))
                for name, weight, loss in zip(w.names, w.experts, weighing.losses, strict=True)
            }
            worth = dict(weighing.worth)
        return cls(
            float(model.class_count_.sum()),
            dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True)),
            columns,
            {c.name: c.note for c in model.plan_.left_out},
            experts,
            worth,
        )

    def __str__(self) -> str:
        shares = ", ".join(
            f"{label} {100 * n / max(self.rows, 1e-300):.3g} %"
            for label, n in sorted(self.classes.items(), key=lambda item: -item[1])[:8]
        )
        more = f" and {len(self.classes) - 8} more" if len(self.classes) > 8 else ""
        lines = [f"{self.rows:,.10g} rows of {len(self.classes)} classes: {shares}{more}"]
        if self.worth:
            told = [f"{name} {value:.4f}" for name, value in self.worth.items() if name != "rows"]
            few = " (optimistic for so few rows)" if self.worth["rows"] < FEW else ""
            lines.append(f"out of fold, {self.worth['rows']:,.0f} rows{few}: {', '.join(told)}")
        every = [*(c.name for c in self.columns), *self.left_out]
        names = dict(zip(every, distinct([*map(flat, every)], WIDEST), strict=True))
        width = max([6, *map(len, names.values())])
        lines += ["", f"{'column':{width}}  family      moves    bits  bits with other families"]
        for c in self.columns:
            others = ", ".join(f"{name} {gain:.4f}" for name, gain in c.others.items())
            rest = "; ".join(filter(None, [others, c.note]))
            bits = "" if np.isnan(c.gain) else f"{c.gain:.4f}"
            figures = f"{c.family:11} {c.importance:5.2f}  {bits:>6}"
            lines.append(f"{names[c.name]:{width}}  {figures}  {rest}".rstrip())
        for name, note in self.left_out.items():
            lines.append(f"{names[name]:{width}}  -                          {note}")
        if self.experts:
            width = max(16, *map(len, self.experts))
            lines += ["", f"{'expert':{width}}  weight  log loss by itself"]
            lines += [
                f"{name:{width}}  {weight:+6.3f}  {loss:8.4f}".replace("     nan", "       -")
                for name, (weight, loss) in self.experts.items()
            ]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the tables of columns and experts as HTML for a notebook."""
        caption = " · ".join(str(self).partition("\n\n")[0].splitlines())
        rows = [
            (
                c.name,
                c.family,
                f"{c.importance:.2f}",
                c.gain,
                ", ".join(f"{n} {g:.4f}" for n, g in c.others.items()),
                c.note,
            )
            for c in self.columns
        ]
        rows += [(name, "left out", "", np.nan, "", note) for name, note in self.left_out.items()]
        head = ["column", "family", "moves", "bits", "bits with other families", ""]
        experts = [(name, f"{weight:+.3f}", loss) for name, (weight, loss) in self.experts.items()]
        own = ["expert", "weight", "log loss by itself"]
        return markup.table(head, rows, caption) + (markup.table(own, experts) if experts else "")


def flat(name: str) -> str:
    """Return a name on one line."""
    return " ".join(name.split()) or repr(name)

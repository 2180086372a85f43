"""Measure how new rows differ from those that a model has counted, column by column.

This needs only the counts of the model: how many rows are in each cell of each column. Of texts,
only the share of missing ones is compared, with that in the model's sample. Symbols: p and q are
the shares of cells before and now, N and n the numbers of values before and now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import lgamma
from typing import Any

import numpy as np

from genus.arrays import labels, markup
from genus.arrays.names import distinct
from genus.arrays.options import warn
from genus.statistics import Array, Compound, Sample, Tally
from genus.table.frame import Frame, Values
from genus.table.plan import Column, shown

ENOUGH = 20  # fewest values for which shares are compared
HALF = 0.5  # share of unseen categories from which a column counts as new
OPEN = 0.25  # share of values seen once from which new categories are expected
OFTEN = 5  # rows a category needs to be compared on its own
BINS = 10  # of numbers, approximately
CERTAIN = 1e-3  # probability that chance alone makes any column significant
LEAST = 0.05  # smallest share of rows that must change for a column to have moved
TOLD = 3  # examples that a message lists
MOST = 10  # columns that a message lists
WIDEST = 32  # characters of a column


@dataclass(frozen=True)
class Drift:
    """The drift of some rows against a model, column by column.

    Columns with mostly new categories come first, then those that moved, the farthest first.
    `unlike` is the share of new rows whose likelihood is below a limit, or NaN if the model keeps
    no sample. Only a small share of the model's own rows, `expected`, is below this limit. If the
    rows were drawn from a larger table, it has `of` rows, None if that is unknown.
    """

    rows: int
    columns: tuple[ColumnDrift, ...]
    unlike: float
    expected: float
    of: int | None = None

    @property
    def moved(self) -> tuple[ColumnDrift, ...]:
        """The columns whose distribution changed, or whose categories are mostly new."""
        return tuple(one for one in self.columns if one.has_moved or one.is_new)

    def __str__(self) -> str:
        moved = self.moved
        told = f"{len(moved)} of {len(self.columns)} columns moved."
        told = told if moved else "No column moved."
        if not moved and not any(one.is_compared for one in self.columns):
            told = "Too few values to compare."
        rows = f"{self.rows:,} row{'s' * (self.rows != 1)}"
        if self.of != self.rows:
            rows += f" of {self.of:,}" if self.of is not None else " of a larger table"
        lines = [f"{rows}. {told}"]
        if np.isfinite(self.unlike):
            lines.append(
                f"{100 * self.unlike:.3g} % of the rows are unusual: less likely than "
                f"{100 - 100 * self.expected:.3g} % of the model's rows. "
                f"{100 * self.expected:.3g} % was expected."
            )
        names = distinct([" ".join(one.name.split()) for one in self.columns], WIDEST)
        if self.columns:
            width = max(6, *map(len, names))
            lines += ["", f"{'column':{width}}  moved  unseen  missing  missing before"]
        for name, one in zip(names, self.columns, strict=True):
            mark = "  *" if one in moved else ""
            moved_by = f"{one.moved:5.3f}" if one.is_compared else "    -"
            lines.append(
                f"{name:{width}}  {moved_by}  {rounded(one.unseen, 4)}  "
                f"{rounded(one.missing, 5)}  {rounded(one.missing_before, 12)}{mark}"
            )
        lines += ["", *(str(one) for one in self.columns if one.is_new), *self.notes()]
        return "\n".join(lines).rstrip()

    def notes(self) -> list[str]:
        """Return sentences on the columns whose values are not compared."""
        by_missing = "compared only by the share of missing values"
        if self.rows < ENOUGH:
            return [f"Fewer than {ENOUGH} rows are {by_missing}."]
        few = [one.name for one in self.columns if one.kind != "text" and not one.is_compared]
        texts = [one.name for one in self.columns if one.kind == "text"]
        found = [f"Columns with fewer than {ENOUGH} values are {by_missing}: {listed(few)}."]
        found += [f"Texts are {by_missing}: {listed(texts)}."]
        return [told for told, names in zip(found, (few, texts), strict=True) if names]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the columns as an HTML table for notebooks."""
        head = ["column", "moved", "unseen", "missing", "missing before", ""]
        rows = [
            (
                c.name,
                c.moved,
                c.unseen,
                c.missing,
                c.missing_before,
                "moved" if c in self.moved else "",
            )
            for c in self.columns
        ]
        table = markup.table(head, rows, str(self).partition("\n\n")[0])
        return table + markup.paragraphs(self.notes())


@dataclass(frozen=True)
class ColumnDrift:
    """The drift of one column: the share of `unseen` values, and how far it has `moved`.

    A category is unseen if the model never counted it, and a number if it is outside the range that
    was counted. `moved` is the total variation distance of p and q, ½ Σ|p - q|: the share of rows
    that would have to change for q to equal p. `is_sure` is true if chance does not explain the
    distance. `expected` is the expected share of unseen values: for categories the share of values
    that were seen once (the Good-Turing estimate), for numbers 2 / N. `values` is n. If n is less
    than ENOUGH, and for texts, `moved` is NaN, because the values are not compared; `unseen` is NaN
    if there are no values. `missing` and `missing_before` are shares of rows, compared for all
    columns, and `missing_is_sure` is true if chance does not explain their difference.
    `missing_before` is NaN for texts if the model keeps no sample.
    """

    name: str
    kind: str
    values: int
    unseen: float
    expected: float
    moved: float
    is_sure: bool
    missing: float
    missing_before: float
    missing_is_sure: bool
    examples: tuple[str, ...] = ()
    hint: str = ""

    @property
    def is_compared(self) -> bool:
        """Whether there are enough values to compare their distribution."""
        return not np.isnan(self.moved)

    @property
    def is_empty(self) -> bool:
        """Whether all values are missing, and chance does not explain it."""
        return self.values == 0 and self.missing_is_sure

    @property
    def distance(self) -> float:
        """How far the column has moved; at least the change in the share of missing values."""
        return float(np.fmax(np.nan_to_num(self.moved), abs(self.missing - self.missing_before)))

    @property
    def is_open(self) -> bool:
        """Whether so many values were seen only once that new categories are to be expected."""
        return self.kind == "category" and self.expected >= OPEN

    @property
    def is_new(self) -> bool:
        """Whether at least half of the values are unseen categories, although few were expected."""
        surprising = self.kind == "category" and not self.is_open
        return surprising and self.values >= ENOUGH and self.unseen >= HALF

    @property
    def has_moved(self) -> bool:
        """Whether the distribution, or the share of missing values, changed by more than LEAST."""
        gone = self.missing_is_sure and abs(self.missing - self.missing_before) > LEAST
        return (self.is_sure and self.moved > LEAST) or gone

    def __str__(self) -> str:
        """Return a sentence about the unseen values of the column."""
        listed = ", ".join(self.examples)
        if self.kind == "number":
            return (
                f"{100 * self.unseen:.3g} % of the values of column {self.name!r} are outside the "
                "range that the model has seen."
            )
        return (
            f"{100 * self.unseen:.3g} % of the values of column {self.name!r} are categories that "
            f"the model has never seen, such as {listed}.{self.hint}"
        )


def of_frame(frame: Frame, cells: Tally, total: float) -> list[ColumnDrift]:
    """Compare each column except texts with the counts of `total` rows."""
    return [
        (of_categories if column.kind == "category" else of_numbers)(
            column, values, axis, counts, total, tests_of(frame)
        )
        for column, values, axis, counts in counted(frame, cells)
    ]


def tests_of(frame: Frame) -> int:
    """Return the number of tests: one of the values and one of the missing values per column."""
    return 2 * len(frame.columns)


def of_texts(frame: Frame, sample: Sample) -> list[ColumnDrift]:
    """Compare the share of missing texts in each column of texts with that in the sample.

    The texts of the frame have been split into words, and a text without words counts as missing,
    as in the sample.
    """
    columns = zip(frame.plan.used, frame.columns, strict=True)
    texts = [(column, values) for column, values in columns if column.kind == "text"]
    found = []
    for i, (column, values) in enumerate(texts):
        n, N, before = len(frame), len(sample), np.nan
        there = int((values.rows.ends > values.rows.starts).sum())
        if N:
            before = float(np.average(sample.bags[i].sizes == 0, weights=sample.weights))
        sure = bool(N) and is_sure(n - there, n, N * before, N, tests_of(frame))
        missing = 1 - there / n
        unknown = (np.nan, np.nan, np.nan, False)
        found.append(ColumnDrift(column.name, column.kind, there, *unknown, missing, before, sure))
    return found


def counted(frame: Frame, cells: Tally) -> Iterator[tuple[Column, Any, Any, Array]]:
    """Yield each column whose cells are counted: its new values, and the model's cells and counts.

    Texts have no cells, and columns that were always missing have no counts.
    """
    every = zip(frame.plan.used, frame.columns, strict=True)
    plain = [(column, values) for column, values in every if column.kind != "text"]
    counts = cells["rows"].sum(axis=0) if len(cells.classes) else np.zeros(0)
    start = 0
    for (column, values), axis in zip(plain, cells.keys or (), strict=False):
        own = counts[start : start + len(axis)]
        start += len(axis)
        if len(axis) and own.sum() > 0:
            yield column, values, axis, own


def edges_of(axis: Any, counts: Array) -> Any:
    """Return the cells where bins with about equal counts end."""
    share = np.cumsum(counts) / counts.sum()
    cuts = np.unique(np.searchsorted(share, np.arange(1, BINS) / BINS))
    return axis[cuts[cuts < len(axis)]]


def of_categories(
    column: Column, values: Values, axis: Any, counts: Array, total: float, tests: int
) -> ColumnDrift:
    """Compare the categories of new rows in a column with the counts of the model."""
    there = values.codes[values.codes >= 0]
    now = np.bincount(there, minlength=len(values.names)).astype(float)
    at = labels.find(values.names, axis)
    strange = at < 0
    beside = np.bincount(at[~strange], weights=now[~strange], minlength=len(axis))
    new = float(now[strange].sum())
    often = counts >= OFTEN  # rarer ones are pooled with the unseen
    moved, sure = difference(
        np.append(beside[often], beside[~often].sum() + new),
        np.append(counts[often], counts[~often].sum()),
        tests,
    )
    once = float(counts[counts <= 1].sum() / counts.sum())
    order = np.argsort(-now, kind="stable")
    names = [values.names[i] for i in order if strange[i] and now[i]]
    return ColumnDrift(
        column.name,
        column.kind,
        len(there),
        new / len(there) if len(there) else np.nan,
        once,
        moved,
        sure,
        *missing_of(len(there), len(values), float(counts.sum()), total, tests),
        tuple(map(shown, names[:TOLD])),
        hint_of(names, axis),
    )


def hint_of(names: Sequence[str], axis: Any) -> str:
    """Return a hint if an unseen name differs from a known one only by case or outer spaces."""
    known = {str(name).strip().lower(): name for name in axis.tolist()}
    for name in names:
        same = known.get(name.strip().lower())
        if same is not None:
            return f" The model was fitted with {shown(same)}: use the same spelling."
    return ""


def of_numbers(
    column: Column, values: Array, axis: Any, counts: Array, total: float, tests: int
) -> ColumnDrift:
    """Compare the numbers of new rows in a column with the model's counts, in coarse bins."""
    there = values[~np.isnan(values)]
    keys = column.grid.keys(there)
    beyond = (keys < axis[0]) | (keys > axis[-1])
    edges = edges_of(axis, counts)
    before = np.bincount(np.searchsorted(edges, axis), counts, len(edges) + 1).astype(float)
    now = np.bincount(np.searchsorted(edges, keys), minlength=len(edges) + 1).astype(float)
    moved, sure = difference(now, before, tests)
    return ColumnDrift(
        column.name,
        column.kind,
        len(there),
        float(beyond.mean()) if len(there) else np.nan,
        float(2 / max(counts.sum(), 2)),
        moved,
        sure,
        *missing_of(len(there), len(values), float(counts.sum()), total, tests),
    )


def log_shares(frame: Frame, cells: Tally, total: float) -> Array:
    """Return how likely each row is, (m,): the sum over columns of the log share of its bin.

    The bins are the same as in the comparison of columns. Numbers outside the range that was
    counted have their own bin, and so have missing values.
    """
    score = np.zeros(len(frame))
    for column, values, axis, counts in counted(frame, cells):
        if column.kind == "category":
            often = counts >= OFTEN
            place = np.append(np.cumsum(often) * often, 0)  # 0 is for rare and unseen categories
            at = np.append(place[labels.find(values.names, axis)], len(axis) + 1)[values.codes]
            shares = np.bincount(place[:-1], counts, len(axis) + 2)
        else:
            edges = edges_of(axis, counts)
            keys = column.grid.keys(np.nan_to_num(values))
            beyond = (keys < axis[0]) | (keys > axis[-1])
            at = np.where(beyond, len(edges) + 1, np.searchsorted(edges, keys))
            at = np.where(np.isnan(values), len(edges) + 2, at)
            shares = np.bincount(np.searchsorted(edges, axis), counts, len(edges) + 3)
        shares[-1] = max(total - counts.sum(), 0.0)
        score += np.log((shares + 0.5) / (total + 0.5 * len(shares)))[at]
    return score


def missing_of(
    values: int, rows: int, values_before: float, rows_before: float, tests: int
) -> tuple[float, float, bool]:
    """Return the shares of missing values now and before, and whether they differ significantly."""
    gone, before = rows - values, max(rows_before - values_before, 0.0)
    sure = is_sure(gone, rows, before, rows_before, tests)
    return gone / max(rows, 1), before / max(rows_before, 1e-300), sure


def is_sure(gone: int, n: int, before: float, N: float, tests: int) -> bool:
    """Return whether the shares gone / n and before / N differ significantly.

    The test is Fisher's exact test, which holds for any number of rows: if all M = gone + before
    missing values are spread over the n + N rows at random, the number among the n rows is
    hypergeometric, with probabilities P. The test is two-sided, at level CERTAIN divided by the
    number of tests (Bonferroni). Ratios of consecutive terms fall, so a tail is at most a geometric
    series: P(k) + P(k + 1) + … ≤ P(k) / (1 - P(k + 1) / P(k)), for k = gone.
    """
    if n == 0 or N <= 0:
        return False
    if gone / n < before / N:  # then compare the shares of values that are present
        gone, before = n - gone, N - before
    following = before * (n - gone) / ((gone + 1) * (N - before + 1))
    if following >= 1:
        return False
    chances = log_choices(gone + before, gone) + log_choices(n + N - gone - before, n - gone)
    tail = chances - log_choices(n + N, n) - np.log1p(-following)
    return bool(np.log(2 * tests) + tail < np.log(CERTAIN))


def log_choices(n: float, k: float) -> float:
    """Return the log of the binomial coefficient of n and k."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def difference(now: Array, before: Array, tests: int) -> tuple[float, bool]:
    """Return the total variation distance of two distributions, and whether it is significant.

    The test is the χ² test of two samples, at level CERTAIN divided by the number of tests
    (Bonferroni). For fewer than ENOUGH new values, the result is NaN and False.
    """
    from scipy.special import chdtrc

    n, N = now.sum(), before.sum()
    if n < ENOUGH or N <= 0:
        return np.nan, False
    p, q = before / N, now / n
    pooled = (now + before) / (n + N)
    some = pooled > 0
    chi = float(((q - p)[some] ** 2 / pooled[some]).sum() * n * N / (n + N))
    rare = chdtrc(max(int(some.sum()) - 1, 1), chi)
    return float(np.abs(p - q).sum() / 2), bool(rare * tests < CERTAIN)


def warn_of_new(frame: Frame, statistics: Compound, total: float) -> None:
    """Warn about columns with mostly unseen categories, and about columns without any values."""
    if len(frame) >= ENOUGH:
        found = of_frame(frame, statistics["cells"], total)
        for one in found:
            if one.is_new:
                warn(f"{one} Encode the column as before, or fit again with such rows.")
        for told in empty_columns(frame, found, statistics, total):
            warn(told)


def empty_columns(
    frame: Frame, found: Sequence[ColumnDrift], statistics: Compound, total: float
) -> Iterator[str]:
    """Yield a sentence about each column without values, if chance does not explain it.

    `found` compares the columns other than texts. Parts of dates have no sentence of their own.
    """
    own = {one.name: one for one in found}
    told = set()
    for column, values in zip(frame.plan.used, frame.columns, strict=True):
        before = ""
        if column.kind == "text":
            if any(values.strings()):
                continue
            most = total - most_documents(statistics[f"text/{column.name}"])
            is_empty = is_sure(len(frame), len(frame), most, total, tests_of(frame))
        else:
            is_empty = column.name in own and own[column.name].is_empty
            if is_empty:
                share = 100 * own[column.name].missing_before
                before = f" When the model was fitted, {share:.3g} % of its values were missing."
        if is_empty and column.source not in told:
            told.add(column.source)
            yield (
                f"Column {column.source!r} is empty in all {len(frame):,} rows that were checked."
                f"{before} Check where these rows come from."
            )


def most_documents(words: Tally) -> float:
    """Return in how many texts the most frequent word occurs; no more texts can be missing."""
    return float(words["documents"][:, 1:].sum(axis=0).max(initial=0))  # the first word is empty


def listed(names: Sequence[str]) -> str:
    """Return the first names, for a message."""
    some = ", ".join(map(shown, names[:MOST]))
    return some + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def rounded(share: float, width: int) -> str:
    """Format a share in percent, or a dash if it is undefined, for a table."""
    return f"{'-':>{width + 2}}" if np.isnan(share) else f"{100 * share:{width}.0f} %"

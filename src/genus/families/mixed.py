"""Tables: columns of all kinds, counted once in a way that many models can be solved from.

What is counted, by class (`Compound`):

    rows     how many
    cells    rows by cell of each column: of the fine grid for numbers, values for categories
    numbers  Σx and Σx² of each column of numbers
    pairs    rows by the coarser cells of every two columns
    text/…   words of each column of texts

What is solved: p(x|k) as a product of families, one for each column, and experts that know how
columns depend on each other. `Weights`, learned from rows out of fold, make one probability of all
of them:

    log p(k|x) = Σ_g w_g log p_g(k|x) + Σ_j u_j log p(x_j|k) + Σ_j v_j t_j + c_k + a constant

with t_j what column j says together with others beyond what they say alone.

Symbols: m rows, n columns, K classes, G experts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from genus import labels, matrix
from genus._kernel import grid_codes, tally_codes, tally_pairs
from genus.families import experts, marginals
from genus.families.binning import merged
from genus.families.combination import Combination
from genus.families.experts import NAMES, Cells, Expert, Together
from genus.families.gaussian import Gaussian
from genus.families.gaussian_counts import count_moments
from genus.families.marginals import Marginal
from genus.families.words import WordParameters, Words
from genus.labels import Axis
from genus.matrix import Codes, threads
from genus.statistics import Array, Compound, Moments, Pairs, Tally
from genus.table import Column, Frame, Plan
from genus.table.columns import hashed

TEXT, JOINT = "text/", "joint/"
TOGETHER = Gaussian(shrinkage="oas")  # of numbers that are asked to be modelled together
OTHERS = ""  # categories that are not counted in pairs by themselves
LEAST = -30.0  # the least log-probability that an expert is believed
TINY = 1e-300
ROWS = 1 << 14  # that are scored at a time


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as codes (m,), -1 where missing, of the keys of an axis."""

    axis: Axis
    codes: NDArray[np.int64]


def coded(column: Column, values: Any) -> Coded:
    """A column of numbers by cells of its fine grid, one of categories by its values."""
    if column.kind == "category":
        return Coded(values.names, values.codes)
    return Coded(*grid_codes(values, column.origin, column.scale, threads()))


def coarse(column: Column, own: Coded) -> Coded:
    """The same by the cells that pairs are counted in: of categories the known ones, and others."""
    if column.kind == "category":
        known = set(column.known)
        return regrouped(own, [n if hashed(n) in known else OTHERS for n in own.axis.tolist()])
    edges = np.asarray(column.edges)
    at = np.searchsorted(edges, column.grid.values(own.axis), side="right")
    axis, place = np.unique(at, return_inverse=True)
    return Coded(axis, np.append(place, -1)[own.codes])


def regrouped(own: Coded, names: list[str]) -> Coded:
    """A column whose categories are called otherwise, some of them the same."""
    if names == own.axis.tolist():
        return own
    axis, place = np.unique(np.array([*names, ""], dtype=object)[:-1], return_inverse=True)
    return Coded(axis, np.append(place, -1)[own.codes])


@dataclass(frozen=True, eq=False)
class Counting:
    """How rows of a plan are counted; the only code that sees them."""

    plan: Plan
    words: Words = field(default_factory=Words)
    joint: tuple[tuple[str, ...], ...] = ()

    @property
    def blocks(self) -> dict[str, list[int]]:
        """Columns of numbers that are modelled together: where each block is counted, and whose."""
        at = {column.name: j for j, column in enumerate(self.plan.used)}
        return {f"{JOINT}{i}": [at[name] for name in names] for i, names in enumerate(self.joint)}

    @property
    def options(self) -> dict[str, Any]:
        """What decides what is counted."""
        return {
            "family": "mixed",
            "plan": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "grid": [column.origin, column.scale],
                    "paired": column.paired,
                    "edges": list(column.edges),
                    "known": list(column.known),
                }
                for column in self.plan.used
            ],
            "words": dict(self.words.counting),
            "joint": [list(names) for names in self.joint],
        }

    def zero(self) -> Compound:
        parts: dict[str, Any] = {
            "rows": Tally(counts={"rows": np.zeros((0, 0))}),
            "cells": Tally(counts={"rows": np.zeros((0, 0))}),
            "numbers": Moments.zero("diagonal"),
            "pairs": Pairs(),
        }
        parts |= {name: TOGETHER.zero() for name in self.blocks}
        texts = (c.name for c in self.plan.used if c.kind == "text")
        return Compound(parts | {TEXT + name: self.words.zero() for name in texts})

    def count(self, X: Frame, y: Codes, classes: Axis, weight: Array | None) -> Compound:
        columns = list(zip(self.plan.used, X.columns, strict=True))
        plain = [(c, coded(c, values)) for c, values in columns if c.kind != "text"]
        numbers = [values for c, values in columns if c.kind == "number"]
        parts: dict[str, Any] = dict(self.zero().parts)
        rows = matrix.class_weights(y, weight, len(classes))
        parts["rows"] = Tally.of(classes, None, {"rows": rows})
        if len(y) and plain:
            parts["cells"] = count_cells([own for _, own in plain], y, classes, weight)
            paired = [coarse(c, own) for c, own in plain if c.paired]
            parts["pairs"] = count_pairs(paired, y, classes, weight)
        if len(y) and numbers:
            x = np.stack(numbers, axis=1)
            at = [j for j, (column, _) in enumerate(columns) if column.kind == "number"]
            try:
                parts["numbers"] = count_moments("diagonal", False, x, y, classes, weight)
            except matrix.InvalidColumn as error:
                raise matrix.InvalidColumn(at[error.column], error.problem) from None
        for name, own in self.blocks.items():
            if len(y):
                x = np.stack([X.columns[j] for j in own], axis=1)
                parts[name] = TOGETHER.count(x, y, classes, weight)
        for column, values in columns:
            if column.kind == "text" and len(y):
                name = TEXT + column.name
                parts[name] = self.words.count(values, y, classes, weight)
        return Compound(parts)

    def common(self, other: Counting) -> Counting:
        """What both count, by the edges that both have; raises if it is not the same columns."""
        mine, theirs = self.plan.used, other.plan.used
        if [c.name for c in mine] != [c.name for c in theirs]:
            odd = {c.name for c in mine} ^ {c.name for c in theirs}
            if not odd:
                raise ValueError(
                    "The two models have the same columns in another order. Fit one like the other "
                    "(like=)."
                )
            raise ValueError(
                f"The two models count different columns: {', '.join(map(repr, sorted(odd)))} only "
                "on one side. Fit one like the other (like=)."
            )
        columns = []
        for a, b in zip(mine, theirs, strict=True):
            if (a.kind, a.grid) != (b.kind, b.grid):
                raise ValueError(
                    f"Column {a.name!r} is a {a.kind} about {a.origin:g} by {a.scale:g} on one "
                    f"side and a {b.kind} about {b.origin:g} by {b.scale:g} on the other. Fit one "
                    "like the other (like=)."
                )
            edges = tuple(sorted(set(a.edges) & set(b.edges)))
            known = tuple(sorted(set(a.known) & set(b.known)))
            columns.append(replace(a, edges=edges, known=known, paired=a.paired and b.paired))
        at = iter(columns)
        kept = tuple(next(at) if column.kind else column for column in self.plan.columns)
        return replace(self, plan=replace(self.plan, columns=kept))

    def regrouped(self, statistics: Compound, to: Counting) -> Compound:
        """What was counted, as if it had been counted with the coarser cells of `to`."""
        pairs = statistics["pairs"]
        if not pairs.keys:
            return statistics
        keys, place, start = [], [], 0
        columns = zip(self.plan.used, to.plan.used, strict=True)
        paired = [(a, b) for a, b in columns if a.paired]
        for (a, b), axis in zip(paired, pairs.keys, strict=True):
            if not b.paired:
                place += [-1] * (1 + len(axis))
                continue
            new, at = axis, np.arange(len(axis))
            if a.edges != b.edges:
                # Cell i lies between edges i - 1 and i; the coarser cell by its lower edge.
                kept = np.searchsorted(np.asarray(b.edges), np.asarray(a.edges), side="right")
                new, at = np.unique(np.append(0, kept)[axis], return_inverse=True)
            if a.known != b.known:
                known = set(b.known)
                names = [n if hashed(n) in known else OTHERS for n in axis.tolist()]
                own = regrouped(Coded(axis, at), names)
                new, at = own.axis, own.codes
            keys.append(new)
            place += [start, *(start + 1 + at)]
            start += 1 + len(new)
        moved = pairs.regrouped(tuple(keys), np.array(place, dtype=np.intp))
        return Compound({**statistics.parts, "pairs": moved})


def count_cells(columns: list[Coded], y: Codes, classes: Axis, weight: Array | None) -> Tally:
    """Rows by class and cell of each column."""
    codes = np.empty((len(y), len(columns)), dtype=np.int64, order="F")
    for j, column in enumerate(columns):
        codes[:, j] = column.codes
    offsets = np.cumsum([0, *(len(column.axis) for column in columns)], dtype=np.int64)
    counts = tally_codes(codes, y, weight, offsets, len(classes), threads())
    return Tally.of(classes, tuple(column.axis for column in columns), {"rows": counts})


def count_pairs(columns: list[Coded], y: Codes, classes: Axis, weight: Array | None) -> Pairs:
    """Rows by class and cells of every two columns; the first cell of each is for missing."""
    if not columns:
        return Pairs()
    assert max(len(column.axis) for column in columns) < np.iinfo(np.uint16).max
    codes = np.empty((len(columns), len(y)), dtype=np.uint16)
    for j, column in enumerate(columns):
        codes[j] = column.codes + 1
    offsets = np.cumsum([0, *(1 + len(column.axis) for column in columns)], dtype=np.int64)
    counts = tally_pairs(codes, y, weight, offsets, len(classes), threads())
    return Pairs.of(classes, tuple(column.axis for column in columns), counts)


# Solving


@dataclass(frozen=True, eq=False)
class Slots:
    """Where the cells of paired columns stand: their `columns` among those in use, and the keys."""

    plan: Plan
    columns: tuple[int, ...]
    keys: tuple[Axis, ...]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, plan: Plan, pairs: Pairs) -> Slots:
        columns = tuple(j for j, column in enumerate(plan.used) if column.paired)
        keys = pairs.keys if pairs.keys else (labels.empty_axis(),) * len(columns)
        return cls(plan, columns, keys, np.cumsum([0, *(1 + len(k) for k in keys)], dtype=np.int64))

    def place(self, X: Frame) -> Cells:
        """The slot of every paired column of every row, (n, m); the last is for what is unknown."""
        out = np.empty((len(self.columns), len(X)), dtype=np.uint16)
        unknown = int(self.starts[-1])
        for row, j, axis, start in zip(out, self.columns, self.keys, self.starts, strict=False):
            own = coarse(self.plan.used[j], coded(self.plan.used[j], X.columns[j]))
            if self.plan.used[j].kind == "number":  # a cell that was empty is as the next one
                at = np.clip(np.searchsorted(axis, own.axis), 0, max(len(axis) - 1, 0))
                at = 1 + at if len(axis) else np.zeros_like(at)
            else:
                at = labels.find(own.axis, axis) + 1
                at = np.where(at == 0, unknown - start, at)
            row[:] = (start + np.append(at, 0))[own.codes]
        return out


@dataclass(frozen=True, eq=False)
class Weights:
    """What each expert (G,) and column (2n,: alone, together) counts for, and c (K,) by class.

    `names` are the experts'. A share of rows, `doubt`, may be of any class whatever they say.
    """

    names: tuple[str, ...]
    experts: Array
    columns: Array
    classes: Axis
    constant: Array
    doubt: float = 0.0

    def of(self, classes: Axis) -> Array:
        """c of some classes, zero for one that came later."""
        at = labels.find(classes, self.classes)
        return np.where(at >= 0, np.append(self.constant, 0.0)[at], 0.0)


@dataclass(frozen=True, eq=False)
class MixedParameters:
    """The families of columns, experts, and log shares of the classes (K,).

    `marginals` has None in place of texts, whose words `texts` has by column; `blocks` are of
    numbers that are modelled together.
    """

    marginals: tuple[Marginal | None, ...]
    blocks: Mapping[str, Any]
    texts: Mapping[int, WordParameters]
    slots: Slots
    experts: tuple[Expert, ...]
    together: Together | None
    log_share: Array
    constant: Array

    alpha = None


@dataclass(frozen=True, eq=False)
class Mixed:
    """A table, by a product of families or, with `weights`, all that experts say of it.

    `families` are those asked for, by column; others are chosen. `combinations` are the evidence
    that columns of texts are judged by.
    """

    how: Counting
    families: Mapping[str, str] = field(default_factory=dict)
    weights: Weights | None = None
    dependence: bool = True
    combinations: Mapping[str, Combination] = field(default_factory=dict)

    def weighed(self, weights: Weights, combinations: Mapping[str, Combination]) -> Mixed:
        """The same with weights, and what is chosen for texts."""
        return replace(self, weights=weights, combinations=combinations)

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of texts."""
        return tuple(column.name for column in self.how.plan.used if column.kind == "text")

    @property
    def names(self) -> tuple[str, ...]:
        """The experts, as `evidence` has them."""
        plain = any(column.kind != "text" for column in self.how.plan.used)
        paired = self.dependence and any(column.paired for column in self.how.plan.used)
        return (
            *(("families",) if plain else ()),
            *(NAMES if paired else ()),
            *(TEXT + name for name in self.texts),
        )

    def words(self, j: int) -> Words:
        """How texts of a column are modelled."""
        name = self.how.plan.used[j].name
        return replace(self.how.words, combination=self.combinations.get(name))

    @property
    def counting(self) -> Mapping[str, Any]:
        return self.how.options

    def zero(self) -> Compound:
        return self.how.zero()

    def count(self, X: Frame, y: Codes, classes: Axis, weight: Array | None) -> Compound:
        return self.how.count(X, y, classes, weight)

    def solve(self, statistics: Compound, classes: Axis, width: int) -> MixedParameters:
        plan = self.how.plan
        rows = statistics["rows"].align(classes, 1)["rows"][:, 0]
        found = tuple(self._marginals(statistics, classes, rows))
        texts = {
            j: self.words(j).solve(statistics[TEXT + column.name], classes, 1)
            for j, column in enumerate(plan.used)
            if column.kind == "text"
        }
        share = np.log((rows + 1) / (rows.sum() + len(rows)))
        slots = Slots.of(plan, statistics["pairs"])
        constant = np.zeros(len(classes)) if self.weights is None else self.weights.of(classes)
        known, together = self._experts(statistics, classes) if self.dependence else ((), None)
        blocks = {
            name: TOGETHER.solve(statistics[name].align(classes, len(own)), classes, len(own))
            for name, own in self.how.blocks.items()
        }
        return MixedParameters(found, blocks, texts, slots, known, together, share, constant)

    def _marginals(
        self, statistics: Compound, classes: Axis, rows: Array
    ) -> Sequence[Marginal | None]:
        counted = of_columns(self.how.plan, statistics, classes, rows)
        found: list[Marginal | None] = []
        for column, own in zip(self.how.plan.used, counted, strict=True):
            family = self.families.get(column.name)
            if own is not None and family == "poisson" and own.values.min(initial=0) < 0:
                raise ValueError(
                    f"Column {column.name!r} holds negative numbers, and counts are 0 or more. "
                    "Choose another family than poisson."
                )
            found.append(None if own is None else marginals.solve(own, family))
        return found

    def _experts(
        self, statistics: Compound, classes: Axis
    ) -> tuple[tuple[Expert, ...], Together | None]:
        pairs = statistics["pairs"]
        paired = [column for column in self.how.plan.used if column.paired]
        if not paired or not pairs.keys:
            return (), None
        is_number = np.array([column.kind == "number" for column in paired])
        binned = merged(pairs, classes, is_number)
        means = cell_means(self.how.plan, statistics)
        return experts.solve(binned, pairs, classes, means)

    # Scoring

    def evidence(self, parameters: MixedParameters, X: Frame) -> tuple[Array, Array]:
        """log p_g(k|x) of every expert (m, K, G); log p(x_j|k) and t_j of columns (m, K, 2n).

        The experts are the product of families, those that know pairs, and every column of texts;
        what has no pairs is the same in all of them.
        """
        p = parameters
        by_column = np.ascontiguousarray(self._by_column(p, X).transpose(0, 2, 1))
        joint = np.zeros_like(by_column)
        scores = [by_column.sum(axis=2)] if len(p.texts) < len(p.marginals) else []
        if p.experts:
            unpaired = np.ones(len(p.marginals), dtype=bool)
            unpaired[list(p.slots.columns)] = False
            rest = by_column[:, :, unpaired].sum(axis=2)
            cells = p.slots.place(X)
            scores += [expert.score(cells) + rest for expert in p.experts]
            assert p.together is not None
            both = p.together.by_column(cells).transpose(0, 2, 1)
            joint[:, :, list(p.slots.columns)] = both - both.mean(axis=1, keepdims=True)
        said = [np.maximum(log_softmax(s + p.log_share, axis=1), LEAST) for s in scores]
        said += [self._text(p, X, j) for j in p.texts]
        by_column -= by_column.mean(axis=1, keepdims=True)
        return np.stack(said, axis=2), np.concatenate([by_column, joint], axis=2)

    def _text(self, parameters: MixedParameters, X: Frame, j: int) -> Array:
        scores = self.words(j).log_likelihood(parameters.texts[j], X.columns[j], relative=True)
        return scores - scores.mean(axis=1, keepdims=True)

    def log_likelihood(
        self, parameters: MixedParameters, X: Frame, relative: bool = False
    ) -> Array:
        out = np.empty((len(X), len(parameters.log_share)))
        for start in range(0, len(X), ROWS):
            part = slice(start, min(start + ROWS, len(X)))
            rows = X[part]
            out[part] = self._likelihood(parameters, rows)
            if not relative:
                # p(x, k) = p(k|x) p(x), with p(x) of the product of families
                product = self._product(parameters, rows)
                density = logsumexp(product + parameters.log_share, axis=1)
                if self.weights is not None:
                    out[part] -= logsumexp(out[part] + parameters.log_share, axis=1)[:, None]
                    out[part] += density[:, None]
                out[part] += self._common(parameters, rows)[:, None]
        return out

    def _likelihood(self, parameters: MixedParameters, X: Frame) -> Array:
        if self.weights is None:
            return self._product(parameters, X)
        doubt = self.weights.doubt
        said = self._said(parameters, X)
        return np.logaddexp(np.log1p(-doubt) + said, np.log(max(doubt, TINY)))

    def _said(self, parameters: MixedParameters, X: Frame) -> Array:
        """log p(k|x) / p(k), (m, K), before any doubt."""
        w = self.weights
        assert w is not None
        F, by_column = self.evidence(parameters, X)
        by_name = dict(zip(w.names, w.experts, strict=True))
        experts = np.array([by_name.get(name, 0.0) for name in self._present(parameters)])
        said = log_softmax(F @ experts + by_column @ w.columns + parameters.constant, axis=1)
        return said - parameters.log_share

    def _present(self, parameters: MixedParameters) -> list[str]:
        """The names of the experts that `evidence` has."""
        plain = ["families"] if len(parameters.texts) < len(parameters.marginals) else []
        texts = [TEXT + self.how.plan.used[j].name for j in parameters.texts]
        return [*plain, *(expert.name for expert in parameters.experts), *texts]

    def _by_column(self, parameters: MixedParameters, X: Frame) -> Array:
        """log p(x_j|k) by the families of columns, (m, n, K); those of texts are zero.

        Of a block each column has its summand, and a share of what belongs to none.
        """
        out = np.zeros((len(X), len(parameters.marginals), len(parameters.log_share)))
        for j, marginal in enumerate(parameters.marginals):
            if marginal is not None:
                out[:, j] = marginal.score(X.columns[j])
        for name, own in self.how.blocks.items():
            x = np.stack([X.columns[j] for j in own], axis=1)
            terms, rest = TOGETHER.contributions(parameters.blocks[name], x)
            out[:, own] = terms + rest[:, None] / len(own)
        return out

    def _product(self, parameters: MixedParameters, X: Frame) -> Array:
        total = self._by_column(parameters, X).sum(axis=1)
        for j, words in parameters.texts.items():
            total += self.words(j).log_likelihood(words, X.columns[j], relative=True)
        return total

    def _common(self, parameters: MixedParameters, X: Frame) -> Array:
        total = np.zeros(len(X))
        together = {j for own in self.how.blocks.values() for j in own}
        for j, marginal in enumerate(parameters.marginals):
            if marginal is not None and j not in together:
                total += marginal.common(X.columns[j])
        return total

    def contributions(self, parameters: MixedParameters, X: Frame) -> tuple[Array, Array]:
        n = len(parameters.marginals)
        by_column = self._by_column(parameters, X)
        if self.weights is None:
            terms = by_column.copy()
            for j, words in parameters.texts.items():
                terms[:, j] = self.words(j).log_likelihood(words, X.columns[j], relative=True)
            total = self.log_likelihood(parameters, X)
            return terms, total - terms.sum(axis=1)
        w = self.weights
        by_name = dict(zip(w.names, w.experts, strict=True))
        terms = by_column * (by_name.get("families", 0.0) + w.columns[:n, None])
        if parameters.experts:
            cells, paired = parameters.slots.place(X), list(parameters.slots.columns)
            rest = np.setdiff1d(np.arange(n), paired)
            for expert in parameters.experts:
                terms[:, paired] += by_name.get(expert.name, 0.0) * expert.contributions(cells)[0]
                terms[:, rest] += by_name.get(expert.name, 0.0) * by_column[:, rest]
            if parameters.together is not None:
                own = w.columns[n:][paired][:, None]
                terms[:, paired] += own * parameters.together.by_column(cells)
        for j in parameters.texts:
            terms[:, j] += by_name.get(TEXT + self.how.plan.used[j].name, 0.0) * self._text(
                parameters, X, j
            )
        terms -= terms.mean(axis=2, keepdims=True)
        total = self._likelihood(parameters, X)
        terms *= believed(total, self._said(parameters, X))[:, None, None]
        return terms, self.log_likelihood(parameters, X) - terms.sum(axis=1)

    def leave_one_out(
        self, statistics: Any, parameters: Any, X: Frame, y: Codes, weight: Array | None
    ) -> Array | None:
        return None

    def sample(
        self, parameters: MixedParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        out = np.empty((n, len(parameters.marginals)), dtype=object)
        for j, marginal in enumerate(parameters.marginals):
            if marginal is None:
                out[:, j] = self.words(j).sample(parameters.texts[j], k, n, rng)[:, 0]
            else:
                out[:, j] = marginal.sample(k, n, rng)
        for name, own in self.how.blocks.items():
            out[:, own] = TOGETHER.sample(parameters.blocks[name], k, n, rng)
        return out


def believed(total: Array, said: Array) -> Array:
    """What doubt leaves of the evidence for the likeliest class against the next, (m,)."""
    if said.shape[1] < 2:
        return np.ones(len(said))
    best = np.sort(total, axis=1)[:, -2:]
    order = np.argsort(total, axis=1)[:, -2:]
    gap = np.take_along_axis(said, order, axis=1)
    whole = gap[:, 1] - gap[:, 0]
    left = best[:, 1] - best[:, 0]
    return np.divide(left, whole, out=np.ones_like(left), where=np.abs(whole) > 1e-9)


def of_columns(
    plan: Plan, statistics: Compound, classes: Axis, rows: Array
) -> list[marginals.Counted | None]:
    """What was counted of each column in use; None of texts."""
    tally, numbers = statistics["cells"], statistics["numbers"]
    plain = [column for column in plan.used if column.kind != "text"]
    axes = tally.keys or (labels.empty_axis(),) * len(plain)
    counts = tally.align(classes, 0)["rows"]
    ends = np.cumsum([0, *map(len, axes)])
    width = sum(column.kind == "number" for column in plain)
    moments = numbers.align(classes, width)
    mean, variance = moments.mean(), moments.variance()
    found: list[marginals.Counted | None] = []
    j = at = 0
    for column in plan.used:
        if column.kind == "text":
            found.append(None)
            continue
        own = counts[:, ends[j] : ends[j + 1]]
        if column.kind == "number":
            numeric = {"mean": mean[:, at], "variance": variance[:, at], "grid": column.grid}
            at += 1
            found.append(marginals.Counted(axes[j], own, rows, **numeric))
        else:
            found.append(marginals.Counted(axes[j], own, rows))
        j += 1
    return found


def cell_means(plan: Plan, statistics: Compound) -> list[Array | None]:
    """The mean of the numbers in each cell of a paired column; None of categories."""
    tally, pairs = statistics["cells"], statistics["pairs"]
    counts = tally["rows"].sum(axis=0)
    found: list[Array | None] = []
    keys = iter(pairs.keys)
    plain = [column for column in plan.used if column.kind != "text"]
    axes = tally.keys or (labels.empty_axis(),) * len(plain)
    ends = np.cumsum([0, *map(len, axes)])
    for j, column in enumerate(plain):
        if not column.paired:
            continue
        axis = next(keys)
        if column.kind != "number":
            found.append(None)
            continue
        x, n = column.grid.values(axes[j]), counts[ends[j] : ends[j + 1]]
        at = np.searchsorted(axis, np.searchsorted(np.asarray(column.edges), x, side="right"))
        weight = np.bincount(at, n, len(axis))
        found.append(np.bincount(at, n * x, len(axis)) / np.where(weight > 0, weight, 1.0))
    return found

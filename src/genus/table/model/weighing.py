"""Learn the weights of a table's experts from their out-of-fold predictions.

The rows are the sample's, dealt into folds. Every row is scored by a model whose counts are the
counts of all rows minus the counts of the row's fold, exactly. `stacking` combines the scores of
all experts into one probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels, matrix
from genus.arrays.labels import Axis
from genus.arrays.logs import log_softmax
from genus.stacking.copies import multiplicity
from genus.stacking.dealing import Dealt, deal, thinned
from genus.stacking.layer import Rows
from genus.stacking.outcome import CrossValidation
from genus.stacking.prior import Prior
from genus.stacking.stack import least_doubt, shares, stack
from genus.statistics import Array, Belief, Compound
from genus.table.frame import Frame
from genus.table.model import wide
from genus.table.model.binning import tells_absence
from genus.table.model.boosting import NAME as BOOSTED
from genus.table.model.boosting import BoostedTrees, origin
from genus.table.model.counts import TEXT
from genus.table.model.experts import Cells
from genus.table.model.slots import Slots
from genus.table.model.wide import WideLinear, temperature
from genus.text.model import Combination, Selection
from genus.text.model.choosing import candidates, choose, teaching_weights

if TYPE_CHECKING:
    from genus.table.model.mixed import Mixed

FOLDS = 5  # ten take twice as long for the same log loss (benchmarks.constants)
MOST_CELLS = 1 << 24  # rows times classes times experts and columns
FEWEST = 2000  # rows for learning and evaluating weights, if there are so many
TAUGHT_CELLS = 1 << 19  # rows times classes times experts for learning weights
FEWEST_TAUGHT = 4000  # rows

# The prior of the weights, for the experts' evidence in nats. The values are choices, not derived;
# the comments say what they mean in rows.
# The initial precision of experts' weights, divided by the median variance of their evidence over
# the classes. That variance is the information in a row that is undecided between all classes, so
# this is a tenth of a row. It counts as one weight when the precision is learned.
RIDGE = 0.1
# The precision for an expert without evidence, whose weight would not be unique otherwise.
LEAST_RIDGE = 1e-3
# The gain of a column of texts in nats, over all rows, below which it is not used: one weight gains
# as much by chance once in seventy times. Texts that differ in every row tell nothing about new
# rows. But a weight that rows do not determine would repeat the labels of rows seen before.
LEAST_GAIN = 3.0


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of `experts` (G,), and the `constant` c (K,) of each class.

    `names` are the names of the experts. `doubt` is the assumed share of rows that are mislabelled,
    so that their class does not depend on the evidence.
    """

    names: tuple[str, ...]
    experts: Array
    classes: Axis
    constant: Array
    doubt: float = 0.0
    shrinkage: tuple[float, ...] = (10.0, 10.0, 30.0)  # for files that do not store it

    @property
    def by_name(self) -> dict[str, float]:
        """The weights of experts, by name."""
        return dict(zip(self.names, self.experts.tolist(), strict=True))

    def of(self, classes: Axis) -> Array:
        """Return the constants c of some classes; 0 for classes that have none."""
        at = labels.find(classes, self.classes)
        return np.append(self.constant, 0.0)[at]


@dataclass(frozen=True, eq=False)
class Weighing:
    """What was learned from the sample: weights, `combinations` that score texts, and experts.

    `trees` grew from the rows of the sample, and the expert `linear` of wide tables was solved from
    them. All scores are out of fold: `losses` (G,) are the log losses of single experts, and
    `worth` has the scores of all experts together. `outcome` has the probabilities of the rows; it
    is None if the model was loaded from a file.
    """

    weights: Weights
    combinations: Mapping[str, Combination]
    losses: Array
    worth: Mapping[str, float]
    outcome: CrossValidation | None = None
    trees: BoostedTrees | None = None
    linear: WideLinear | None = None


def weigh(family: Mixed, statistics: Compound, classes: Axis) -> Weighing:
    """Learn the weights of a family's experts from the sample."""
    names = family.names
    G, K = len(names), len(classes)
    shrinkage = astuple(family.shrinkage)
    rows = out_of_fold(family, statistics, classes)
    if rows is None:  # no rows: use the prior, or a belief from merged models
        start = np.append(unlearned(names)[0], np.zeros(K))
        ridge = np.repeat([RIDGE, 1.0], [G, K])
        belief = statistics.parts.get("belief", Belief())
        w = belief.solve(weight_names(family, classes), start, ridge)
        doubt = least_doubt(statistics["rows"]["rows"].sum())
        weights = Weights(names, w[:G], classes, w[G:], doubt, shrinkage)
        combinations = dict.fromkeys(family.how.texts, plain_evidence())
        return Weighing(weights, combinations, np.full(G, np.nan), {})
    found = stack(rows.F, rows.y, rows.weight, rows.fold, rows.prior, rows.taught)
    outcome = CrossValidation(found.probabilities, classes, rows.y, rows.given, rows.fold)
    worth = {
        "rows": float(rows.given.sum()),
        "accuracy": outcome.accuracy,
        "log loss": outcome.log_loss,
        "Brier": outcome.brier,
        "calibration error": outcome.calibration_error,
    }
    weights = Weights(names, found.weights, classes, found.constant, found.doubt, shrinkage)
    losses = rows.losses(names)
    return Weighing(weights, rows.combinations, losses, worth, outcome, rows.trees, rows.linear)


def weight_names(family: Mixed, classes: Axis) -> list[str]:
    """Return the names of all weights: those of experts, then those of classes."""
    experts = [f"expert {name}" for name in family.names]
    return experts + [f"class {label!r}" for label in classes.tolist()]


def believed_of(family: Mixed, statistics: Compound, classes: Axis) -> Belief:
    """Return what a sample implies about the weights, to be kept instead of its rows."""
    rows = out_of_fold(family, statistics, classes)
    if rows is None:
        return Belief()
    found = stack(rows.F, rows.y, rows.weight, rows.fold, rows.prior, rows.taught)
    θ = np.concatenate([found.weights, found.constant])
    taught = Rows(rows.F[rows.taught], rows.y[rows.taught], rows.weight[rows.taught])
    return Belief.of(weight_names(family, classes), θ, taught.sums(θ, 2)[2])


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """The out-of-fold evidence of experts, F (m, K, G), for rows with classes y.

    `given` (m,) are the weights of rows in the sample, and `weight` (m,) those for learning. The
    experts' weights are learned from the rows marked in `taught`, with a `prior`. The
    `combinations` score texts, the `trees` grew from the rows, and the expert `linear` of wide
    tables was solved from them.
    """

    F: Array
    y: NDArray[np.int64]
    weight: Array
    given: Array
    fold: NDArray[np.int64]
    taught: NDArray[np.bool_]
    prior: Prior
    combinations: Mapping[str, Combination]
    trees: BoostedTrees | None
    linear: WideLinear | None

    def losses(self, names: Sequence[str]) -> Array:
        """Return the log loss of each expert alone, (G,), or NaN if no class was learned.

        Experts of texts are given the class shares.
        """
        share = np.log(shares(self.y, self.weight, self.F.shape[1]))
        is_text = np.array([name.startswith(TEXT) for name in names], dtype=float)
        said = log_softmax(self.F + is_text * share[:, None], axis=1)
        own = said[np.arange(len(self.y)), self.y]
        total = self.weight.sum()
        return -(self.weight @ own) / total if total > 0 else np.full(len(names), np.nan)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows X of a sample, with the index `y` of each row's class, its fold and its weight."""

    X: Frame
    y: NDArray[np.int64]
    fold: NDArray[np.int64]
    weight: Array

    @classmethod
    def of(cls, family: Mixed, statistics: Compound, classes: Axis) -> Drawn | None:
        """Take the sample, or a part that fits in memory; return None without two classes."""
        judges = len(family.names) + len(family.how.plan)
        most = max(MOST_CELLS // (len(classes) * judges), FEWEST)
        sample = statistics["sample"].smallest(most)
        codes = labels.positions(sample.classes, classes)[sample.codes]
        known = multiplicity(sample, family.how.numbers)
        row, fold, weight = deal(codes, *known, sample.weights, FOLDS, most)
        if len(np.unique(codes[row])) < 2:
            return None
        return cls(family.how.decoded(sample, statistics)[row], codes[row], fold, weight)


def out_of_fold(family: Mixed, statistics: Compound, classes: Axis) -> OutOfFold | None:
    """Score the sample's rows by models of the other folds; None without two classes."""
    drawn = Drawn.of(family, statistics, classes)
    if drawn is None:
        return None
    X, y, fold, given = drawn.X, drawn.y, drawn.fold, drawn.weight
    dealt = dealt_rows(family, statistics, X, y, classes, given, fold)
    combinations = {
        column.name: chosen_for_text(dealt, j, column.name, family)
        for j, column in enumerate(family.how.plan.used)
        if column.kind == "text"
    }
    trees = grown(family, statistics, classes, drawn)
    linear = over_all_columns(family, statistics, classes, drawn)
    F, known = evidence(family, dealt, combinations, trees, linear and linear[1])
    weight = teaching_weights(given, known)
    weight *= np.count_nonzero(weight) / max(weight.sum(), 1e-300)  # so that the mean weight is one
    start, group = unlearned(family.names)
    is_text = group < 0
    for g in np.flatnonzero(is_text):
        if gain(F[:, :, g], y, weight) < LEAST_GAIN:
            F[:, :, g] = start[g] = 0.0
    spread = np.maximum(RIDGE * F.var(axis=1).mean(axis=0), LEAST_RIDGE)
    alike = np.flatnonzero(group >= 0)
    spread[alike] = np.median(spread[alike]) if len(alike) else 0.0
    prior = Prior.of(start, spread, np.zeros(len(classes)), group=group, nonnegative=is_text)
    # Some rows are enough to learn a few weights; all rows are scored.
    few = max(TAUGHT_CELLS // (F.shape[1] * F.shape[2]), FEWEST_TAUGHT)
    taught = thinned(len(y), few, FOLDS)
    found = trees and trees[0], linear and linear[0]
    return OutOfFold(F, y, weight, given, fold, taught, prior, combinations, *found)


def gain(F: Array, y: NDArray[np.int64], weight: Array) -> float:
    """Return how many nats evidence F (m, K) gains over the class shares, with its best weight."""
    log_share = np.log(shares(y, weight, F.shape[1]))
    τ = temperature(F, y, weight, log_share)
    own = log_softmax(τ * F + log_share, axis=1)[np.arange(len(y)), y]
    return float(weight @ (own - log_share[y]))


def unlearned(names: tuple[str, ...]) -> tuple[Array, NDArray[np.intp]]:
    """Return the initial weight of each expert, and its group.

    Texts have weight 1 and no group (-1). The other experts have equal weights that add up to one,
    and form group 0.
    """
    is_text = np.array([name.startswith(TEXT) for name in names], dtype=bool)
    mean = 1 / max(int(np.count_nonzero(~is_text)), 1)
    return np.where(is_text, 1.0, mean), np.where(is_text, -1, 0)


def dealt_rows(
    family: Mixed,
    statistics: Compound,
    X: Any,
    y: NDArray[np.int64],
    classes: Axis,
    weight: Array,
    fold: NDArray[np.int64],
) -> Dealt:
    """Return the rows of a sample with their folds, and the counts of all rows and of each fold."""
    alone = replace(family.how, sample=0)

    def count(some: Iterator[int]) -> list[Compound]:
        found = []
        for f in some:
            rows = np.flatnonzero(fold == f)
            found.append(alone.count(X[rows], y[rows], classes, weight[rows]))
        return found

    counted = matrix.in_threads(count, range(FOLDS))
    parts = [compared(part) for run in counted for part in run]
    whole = compared(statistics)
    if family.how.blocks:  # sums over cells differ from sums over the numbers themselves
        together = {name: reduce(add, (part[name] for part in parts)) for name in family.how.blocks}
        whole = Compound({**whole.parts, **together})
    return Dealt(X, y, classes, weight, fold, whole, parts)


def compared(statistics: Compound) -> Compound:
    """Drop statistics that cannot be subtracted exactly: sums of numbers, and the sample."""
    kept = {n: p for n, p in statistics.parts.items() if n not in ("numbers", "sample")}
    return Compound(kept)


def grown(
    family: Mixed, statistics: Compound, classes: Axis, drawn: Drawn
) -> tuple[BoostedTrees, Cells] | None:
    """Grow trees from a sample; return them and the cells of its rows.

    Return None if the family has no expert of trees, or if no value is known.
    """
    slots = Slots.of(family.how.plan, statistics["pairs"])
    if BOOSTED not in family.names or slots.unknown == len(slots.columns):  # no value is known
        return None
    cells = slots.place(drawn.X)
    names = [family.how.plan.used[j].name for j in slots.columns]
    rows = cells, slots.starts, names, drawn.y, drawn.weight, drawn.fold
    known = origin(statistics["sample"], slots.starts)
    trees = BoostedTrees.grown(*rows, len(classes), FOLDS, known)
    silent = ~tells_absence(statistics["pairs"], classes)
    return trees.without(slots.starts[:-1][silent]), cells


def trees_for(
    trees: BoostedTrees | None, family: Mixed, statistics: Compound, classes: Axis
) -> BoostedTrees | None:
    """Return the trees; if they grew from other rows than the kept sample, grow new ones."""
    if trees is None:
        return None
    slots = Slots.of(family.how.plan, statistics["pairs"])
    sample = statistics["sample"]
    if sample.is_dropped or trees.origin == origin(sample, slots.starts):
        trees.check(len(slots.columns), slots.unknown)
        return trees
    drawn = Drawn.of(family, statistics, classes)
    found = None if drawn is None else grown(family, statistics, classes, drawn)
    return None if found is None else found[0]


def over_all_columns(
    family: Mixed, statistics: Compound, classes: Axis, drawn: Drawn
) -> tuple[WideLinear, Array] | None:
    """Solve the linear expert of a wide table from a sample, with out-of-fold scores (m, K).

    Return None if the family has no such expert.
    """
    if wide.NAME not in family.names:
        return None
    known = wide.origin(statistics["sample"], family.how.plan)
    return wide.solve(drawn.X, drawn.y, drawn.weight, drawn.fold, len(classes), FOLDS, known)


def linear_for(
    linear: WideLinear | None, family: Mixed, statistics: Compound, classes: Axis
) -> WideLinear | None:
    """Return the expert; if it was solved from other rows than the kept sample, solve it again."""
    if linear is None:
        return None
    sample = statistics["sample"]
    if sample.is_dropped or linear.origin == wide.origin(sample, family.how.plan):
        linear.check(family.how.plan)
        return linear
    drawn = Drawn.of(family, statistics, classes)
    found = None if drawn is None else over_all_columns(family, statistics, classes, drawn)
    return None if found is None else found[0]


def evidence(
    family: Mixed,
    dealt: Dealt,
    combinations: Mapping[str, Combination],
    trees: tuple[BoostedTrees, Cells] | None,
    linear: Array | None,
) -> tuple[Array, NDArray[np.bool_]]:
    """Return out-of-fold evidence, (m, K, G), and which rows have a class that was learned, (m,).

    A class whose rows are all in one fold is not learned when this fold is scored. `linear` (m, K)
    are the out-of-fold scores of the expert of wide tables.
    """
    y, classes = dealt.y, dealt.classes
    F = np.zeros((len(y), len(classes), len(family.names)))
    known = np.zeros(len(y), dtype=bool)

    def judge(left_out: Iterator[tuple[int, tuple[NDArray[np.intp], Compound]]]) -> None:
        for f, (test, rest) in left_out:
            if len(test) == 0:
                continue
            left = rest["rows"].classes
            known[test] = np.isin(y[test], labels.find(left, classes))
            parameters = family.solved(rest, classes, combinations)
            names, own, more = family.present(parameters), None, []
            if trees is not None and parameters.experts is not None:
                boosted, cells = trees
                own = boosted.of_fold(f).score(np.ascontiguousarray(cells[:, test]))
                more.append(BOOSTED)
            if linear is not None:
                more.append(wide.NAME)
            texts = len(names) - len(parameters.texts)
            names[texts:texts] = more
            said = family.evidence(
                parameters, dealt.X[test], own, None if linear is None else linear[test]
            )
            at = np.array([family.names.index(name) for name in names])
            F[np.ix_(test, np.arange(len(classes)), at)] = said

    matrix.in_threads(judge, list(enumerate(dealt.left_out())))
    return F, known


def chosen_for_text(dealt: Dealt, j: int, name: str, family: Mixed) -> Combination:
    """Choose the best combination of evidence for a column of texts."""
    own = replace(
        dealt,
        X=dealt.X.columns[j],
        whole=dealt.whole[TEXT + name],
        parts=[part[TEXT + name] for part in dealt.parts],
    )
    words = family.how.words_of(family.how.plan.used[j])
    width = own.whole.width - 1
    tried = candidates(Selection(), width, len(dealt.classes), words.tokenizer.joins)
    return choose(own, words, tried).best


def plain_evidence() -> Combination:
    """Return the way to score texts if there is nothing to choose from."""
    return candidates(Selection(), 0, 2, False)[0]

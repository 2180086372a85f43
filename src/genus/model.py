"""A model holds its statistics: the number of rows of each class, and the sums of a family.

    p(y|x) = p(x|y) p(y) / Σ_k p(x|k) p(k)

Bayes' rule is applied here and nowhere else. Models are values: they add, subtract and scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import row_maxima
from genus.arrays import labels, matrix
from genus.arrays.labels import Axis
from genus.arrays.logs import logsumexp
from genus.arrays.matrix import Codes, Matrix
from genus.arrays.options import warn
from genus.families import Family
from genus.solve.errors import NoSolutionError
from genus.solve.priors import Priors
from genus.solve.smoothing import Smoothing
from genus.statistics import Array, Compound, Tally, freeze, settle

MANY_PAIRS = 1 << 10  # of group and class that one pass may count, even for few rows
MANY_SUMS = 1 << 22  # by group, class and word: more need one pass per group

NO_ROWS = Tally(counts={"rows": np.zeros((0, 0))})


@dataclass(frozen=True, eq=False)
class Model:
    """A family of `width` columns, its statistics, and the weight of each class.

    `chosen` is the family's choice before solving, if it is known already; otherwise the choice is
    made when it is needed. `declared` are classes that exist even if no row of them was seen.
    `unexplained` decides what happens to a row to which every class gives probability zero: "prior"
    returns the priors with a warning, "error" raises an error.
    """

    family: Family
    statistics: Any
    width: int
    weights: Tally = field(default_factory=lambda: NO_ROWS)
    priors: Priors = field(default_factory=Priors)
    declared: Axis = field(default_factory=labels.empty_axis)
    unexplained: str = "prior"
    chosen: Any = None

    @classmethod
    def zero(cls, family: Family, width: int, **options: Any) -> Model:
        """Return a model of `width` columns without rows."""
        return cls(family, family.zero(), width, **options)

    # Counting and the group. Sums may overflow; callers check `is_finite`.

    @np.errstate(over="ignore", invalid="ignore")
    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Model:
        """Return the model of these rows alone, which have the classes classes[y]."""
        rows = matrix.class_weights(y, weight, len(classes))
        statistics = self.family.count(X, y, classes, weight)
        return self._with(statistics, Tally.of(classes, None, {"rows": rows}))

    def _with(self, statistics: Any, weights: Tally) -> Model:
        """Return a model with the same options and other statistics."""
        return replace(self, statistics=statistics, weights=weights, chosen=self._kept_choice)

    @property
    def _kept_choice(self) -> Any:
        """The choice to keep when rows change, because it cannot be made again without a sample."""
        return self.chosen if getattr(self.family, "keeps_choice", False) else None

    def count_groups(
        self, X: Matrix, y: Codes, classes: Axis, weight: Array | None, group: Codes, size: int
    ) -> list[Model]:
        """Return a model of each group's rows, for groups 0 … size - 1.

        If the statistics can be separated by class and are not too many, one pass over X counts
        every pair of group and class as a class. Otherwise each group takes a pass.
        """
        apart = self.family.counting.get("shared") is not True
        wide = size * len(classes) * getattr(X, "width", 0) > MANY_SUMS
        if apart and not wide and size * len(classes) <= max(len(y), MANY_PAIRS):
            pairs = np.arange(size * len(classes))
            both = self.count(X, group * len(classes) + y, pairs, weight)
            return [both._under(own, classes) for own in np.split(pairs, size)]
        sizes = np.bincount(group, minlength=size)
        models = []
        for rows in np.split(matrix.stable_order(group), np.cumsum(sizes)[:-1]):
            w = None if weight is None else weight[rows]
            with matrix.numbered(rows):
                models.append(self.count(matrix.take(X, rows), y[rows], classes, w))
        return models

    def _under(self, own: Axis, classes: Axis) -> Model:
        """Keep only the classes `own`, and rename them to `classes`."""
        return self._with(self.statistics.under(own, classes), self.weights.under(own, classes))

    def __add__(self, other: Model) -> Model:
        return self._combine(other, lambda a, b: a + b)

    def __sub__(self, other: Model) -> Model:
        return self._combine(other, lambda a, b: a - b)

    @np.errstate(over="ignore", invalid="ignore")
    def __mul__(self, factor: float) -> Model:
        return self._with(self.statistics * factor, self.weights * factor)

    @cached_property
    def is_finite(self) -> bool:
        """Whether all sums are finite."""
        return bool(self.weights.is_finite and self.statistics.is_finite)

    def __eq__(self, other: object) -> bool:
        """Return whether both models have the same statistics."""
        if not isinstance(other, Model):
            return NotImplemented
        return (
            self.weights == other.weights
            and self.family.counting == other.family.counting
            and bool(self.statistics == other.statistics)
        )

    __hash__ = None  # type: ignore[assignment]

    def forget(self, other: Model) -> Model:
        """Return this model without the rows of `other`, and without rounding errors.

        Raise ImpossibleError if the model cannot have counted these rows. A family whose sums
        depend on each other removes rounding errors itself, in `settled`.
        """
        rest = self - other
        weights = rest.weights.settled(self.weights)
        family: Any = self.family
        if hasattr(family, "settled"):
            left = family.settled(rest.statistics, self.statistics)
        else:
            left = rest.statistics.settled(self.statistics)
        statistics = of_classes(left, weights)
        # Forgetting rows of a declared class also removes the class, unless it has other rows.
        gone = labels.find(self.declared, other.classes) >= 0
        gone &= labels.find(self.declared, weights.classes) < 0
        declared = self.declared[~gone]
        return replace(rest, statistics=statistics, weights=weights, declared=declared)

    def without(self, part: Model) -> Model:
        """Return this model minus a part of it; classes without weight are dropped."""
        rest = self - part
        return replace(rest, statistics=of_classes(rest.statistics, rest.weights))

    def with_family(self, family: Family) -> Model:
        """Return the same statistics with another family, which will solve them."""
        family = counting_as(family, self.family.counting)
        return replace(self, family=family)._with(self.statistics, self.weights)

    def _combine(self, other: Model, operation: Callable[[Any, Any], Any]) -> Model:
        for model in (self, other):
            sample = getattr(model.statistics, "parts", {}).get("sample")
            if sample is not None:
                sample.require()
        mine, theirs = self.family.counting, other.family.counting
        if mine != theirs or self.width != other.width:
            told = [
                describe(mine, self.width, theirs, other.width),
                describe(theirs, other.width, mine, self.width),
            ]
            raise ValueError(
                "The two models count differently, so they cannot be merged or subtracted: one has "
                f"{told[0]}, the other {told[1]}. Fit both with the same columns and options."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            statistics = operation(self.statistics, other.statistics)
            weights = operation(self.weights, other.weights)
        declared = labels.union(self.declared, other.declared, "classes")
        chosen = None
        if self.chosen is not None or other.chosen is not None:
            chosen = max(self, other, key=lambda model: model.class_weights.sum())._kept_choice
        merged = {"statistics": statistics, "weights": weights, "declared": declared}
        return replace(self, chosen=chosen, **merged)

    # Solving

    @cached_property
    def classes(self) -> Axis:
        """The classes that were seen or declared, in ascending order."""
        return labels.union(self.weights.classes, self.declared, "classes")

    @cached_property
    def class_weights(self) -> Array:
        """The weight of the rows of each class, (K,)."""
        return self.weights.align(self.classes, 1)["rows"][:, 0]

    @cached_property
    def prior(self) -> Array:
        """p(y) of each class, (K,)."""
        return freeze(self.priors.solve(self.class_weights, self.classes))

    @cached_property
    def log_prior(self) -> Array:
        """log p(y) of each class, (K,)."""
        with np.errstate(divide="ignore"):
            return freeze(np.log(self.prior))

    @cached_property
    def choice(self) -> Any:
        """What the family chose from the statistics before solving; None if there is no choice."""
        self._refuse_empty()
        if self.chosen is not None or not hasattr(self.family, "choose"):
            return self.chosen
        return self.family.choose(self.statistics, self.classes, self.width)

    @property
    def known_choice(self) -> Any:
        """The choice if it was already made, or else None."""
        return vars(self).get("choice", self.chosen)

    @cached_property
    def parameters(self) -> Any:
        """The parameters that the family solves from its statistics."""
        self._refuse_empty()
        family: Any = self.family
        chosen = () if self.choice is None else (self.choice,)
        return freeze(family.solve(self.statistics, self.classes, self.width, *chosen))

    def _refuse_empty(self) -> None:
        if len(self.classes) == 0:
            raise ValueError(
                "The model has no rows: it is a plan, or all rows were forgotten. Fit it first."
            )

    # Bayes' rule

    def log_likelihood(self, X: Matrix, relative: bool = False) -> Array:
        """Return log p(x|y), (m, K); if `relative`, up to a term that all classes share."""
        return self.family.log_likelihood(self.parameters, X, relative)

    def log_joint(self, X: Matrix, relative: bool = False) -> Array:
        """Return log p(x, y), (m, K); if `relative`, up to a term that all classes share."""
        joint = self.log_likelihood(X, relative)
        joint += self.log_prior
        return joint

    def decide(self, X: Matrix) -> Codes:
        """Return the position of the most probable class of each row, (m,)."""
        best = np.empty(X.shape[0], dtype=np.int64)
        for part in matrix.chunks(X.shape[0], len(self.classes), matrix.SCORE_BYTES):
            with matrix.numbered(range(part.start, part.stop)):
                joint = self.log_joint(matrix.rows(X, part), relative=True)
            largest, best[part] = row_maxima(joint, matrix.threads())
            if (largest == -np.inf).any():
                joint = self.normalise(joint, row_numbers=range(part.start, part.stop))
                best[part] = row_maxima(joint, matrix.threads())[1]
        return best

    def log_posterior(self, X: Matrix, row_numbers: matrix.RowNumbers | None = None) -> Array:
        """Return log p(y|x), (m, K); errors and warnings name rows by `row_numbers`."""
        return self.normalise(self.log_joint(X, relative=True), row_numbers=row_numbers)

    def posterior(self, X: Matrix, row_numbers: matrix.RowNumbers | None = None) -> Array:
        """Return p(y|x), (m, K); errors and warnings name rows by `row_numbers`."""
        joint = self.log_joint(X, relative=True)
        return self.normalise(joint, row_numbers=row_numbers, logarithm=False)

    def log_density(self, X: Matrix) -> Array:
        """Return log p(x), (m,)."""
        return np.asarray(logsumexp(self.log_joint(X), axis=1))

    def normalise(
        self,
        joint: Array,
        log_prior: Array | None = None,
        row_numbers: matrix.RowNumbers | None = None,
        logarithm: bool = True,
    ) -> Array:
        """Convert log p(x, y) to log p(y|x) or p(y|x), in place; impossible rows get the priors."""
        largest, _ = row_maxima(joint, matrix.threads())
        lost = largest == -np.inf
        if lost.any():
            self._report_unexplained(lost, row_numbers)
            joint[lost] = self.log_prior if log_prior is None else log_prior[lost]
            largest[lost] = joint[lost].max(axis=1)
        infinite = largest == np.inf
        if infinite.any():  # classes with an infinite score share the probability
            warn(
                f"Row {first_of(infinite, row_numbers)} holds numbers so large that the scores are "
                "infinite; classes with an infinite score get equal probabilities."
            )
            joint[infinite] = np.where(np.isposinf(joint[infinite]), 0.0, -np.inf)
            largest[infinite] = 0.0
        ones = np.ones(joint.shape[1])
        for part in matrix.chunks(*joint.shape):
            scores = joint[part]
            scores -= largest[part, None]
            if logarithm:
                scores -= np.log(np.exp(scores) @ ones)[:, None]  # a product is a fast sum
            else:
                np.exp(scores, out=scores)
                scores /= (scores @ ones)[:, None]
        return joint

    def _report_unexplained(
        self, lost: NDArray[np.bool_], row_numbers: matrix.RowNumbers | None
    ) -> None:
        message = (
            f"No class can explain row {first_of(lost, row_numbers)}"
            + (f" and {int(lost.sum()) - 1} more" if lost.sum() > 1 else "")
            + ": each gives it probability zero. "
        )
        if self.unexplained == "error":
            raise ValueError(message + "Smooth with alpha > 0, or use unexplained='prior'.")
        warn(message + "The priors are returned. For counts and categories, alpha > 0 avoids this.")

    # Sampling and explaining

    def sample(
        self, n: int, chosen: Codes | None, rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw n rows and their labels.

        `chosen` (n,) are positions of classes; None draws the classes from p(y).
        """
        k = rng.choice(len(self.classes), size=n, p=self.prior) if chosen is None else chosen
        drawn = {
            int(one): self.family.sample(self.parameters, int(one), int((k == one).sum()), rng)
            for one in np.unique(k)
        }
        dtype = np.result_type(np.float64, *{part.dtype for part in drawn.values()})
        X = np.empty((n, self.width), dtype=dtype)
        for one, part in drawn.items():
            X[k == one] = part
        return X, self.classes[k]

    def contributions(self, X: Matrix) -> tuple[Array, Array]:
        """Return the terms of log p(x, y): by column, (m, n, K), and the others, (m, K)."""
        terms, constant = self.family.contributions(self.parameters, X)
        return terms, constant + self.log_prior

    # Leave one out

    def leave_one_out(
        self,
        X: Matrix,
        y: Codes,
        weight: Array | None,
        progress: Callable[[int], object] | None = None,
    ) -> Array:
        """Return p(y|x), (m, K), of each row by the model of all other rows.

        X, y and weight are the rows that this model has counted, y as positions in `classes`.
        `progress` is called with the number of rows done since its last call.
        """
        m = len(y)
        w = np.ones(m) if weight is None else weight
        left = np.tile(self.class_weights, (m, 1))
        left[np.arange(m), y] -= w
        left = settle(left, self.class_weights)
        gone = (left <= 0) & (labels.find(self.classes, self.declared) < 0)
        listed = self.priors.given is not None and not isinstance(self.priors.given, Mapping)
        if listed and gone.any():
            row, k = np.argwhere(gone)[0]
            raise ValueError(
                f"Number of priors must match number of classes: without row {row} there is no "
                f"class {labels.show(self.classes[k])}. Give priors in a dictionary by class."
            )
        with np.errstate(divide="ignore"):
            known = np.where(gone, -self.priors.alpha, left)
            log_prior = np.log(self.priors.solve(known, self.classes))
        log_prior[gone] = -np.inf
        joint = self._leave_one_out_likelihood(X, y, weight) + log_prior
        # Rows without a closed form: subtract the row's statistics and solve.
        unsolved = np.flatnonzero(np.isnan(joint).any(axis=1) & ~gone.all(axis=1))
        fixed = self.family if len(unsolved) == 0 else with_choices_of(self.family, self.parameters)
        # One row among many hardly changes a form of Σ or a tree, but weights fit the rows closely.
        chosen = self.chosen if getattr(self.family, "learns_weights", False) else self.choice
        if progress is not None:
            progress(m - len(unsolved))
        for i in unsolved:
            row = slice(i, i + 1)
            one = self.count(X[row], y[row], self.classes, None if weight is None else w[row])
            rest = replace(self - one, family=fixed, chosen=chosen)
            joint[i] = -np.inf
            with without(f"row {i}"):
                at = labels.positions(rest.classes, self.classes)
                joint[i, at] = rest.log_joint(X[row], relative=True)[0]
            if progress is not None:
                progress(1)
        joint[gone] = -np.inf
        return self.normalise(joint, log_prior, logarithm=False)

    def _leave_one_out_likelihood(self, X: Matrix, y: Codes, weight: Array | None) -> Array:
        counted = aligned(self.statistics, self.classes, self.width)
        scores = self.family.leave_one_out(counted, self.parameters, X, y, weight)
        return np.full((len(y), len(self.classes)), np.nan) if scores is None else scores


def aligned(statistics: Any, classes: Axis, width: int) -> Any:
    """Return the statistics with one row for each of the classes."""
    if isinstance(statistics, Tally):
        return replace(statistics, classes=classes, counts=statistics.align(classes, width))
    if isinstance(statistics, Compound) and "sums" in statistics.parts:
        return Compound({**statistics.parts, "sums": statistics["sums"].align(classes, width)})
    return statistics.align(classes, width) if hasattr(statistics, "moments") else statistics


def of_classes(statistics: Any, weights: Tally) -> Any:
    """Return the statistics of the classes that still have a weight.

    A weight of 1e-10 beside rows of weight 1 may be rounded to zero in one sum and not in another.
    """
    known = labels.find(statistics.classes, weights.classes) >= 0
    if known.all():
        return statistics
    return statistics.under(statistics.classes[known], statistics.classes[known])


def first_of(rows: NDArray[np.bool_], row_numbers: matrix.RowNumbers | None) -> int:
    """Return the number of the first row that is marked."""
    first = int(np.argmax(rows))
    return first if row_numbers is None else int(row_numbers[first])


@contextmanager
def without(what: str) -> Iterator[None]:
    """Say in errors which rows were left out before solving."""
    try:
        yield
    except NoSolutionError as error:
        told = f"The model without {what} cannot be solved. {error}"
        raise type(error)(told, error.columns) from None


def with_choices_of(family: Any, parameters: Any) -> Family:
    """Return the family with the choices that solving made: alpha, or the shrinkage."""
    if getattr(parameters, "singular", None) is not None:
        return replace(family, shrinkage="oas")
    alpha = getattr(parameters, "alpha", None)
    return family if alpha is None else replace(family, smoothing=Smoothing(alpha))


def counting_as(family: Family, counting: Mapping[str, Any]) -> Family:
    """Return the family for statistics counted with these options, or raise an error."""
    if family.counting == counting:
        return family
    recast: Callable[[Mapping[str, Any]], Family] | None = getattr(family, "counted_as", None)
    if recast is None or family.counting["family"] != counting["family"]:
        names = {*counting, *family.counting}
        changed = sorted(k for k in names if counting.get(k) != family.counting.get(k))
        raise ValueError(
            "Options that decide what is counted cannot be changed on a fitted model: "
            f"{', '.join(changed)}. Fit again to change them."
        )
    return recast(counting)


def describe(
    counting: Mapping[str, Any], width: int, other: Mapping[str, Any], other_width: int
) -> str:
    """Describe what a model counts, for errors; only the difference if family and width agree."""
    if counting["family"] == other["family"] and width == other_width:
        return ", ".join(f"{k}={v}" for k, v in counting.items() if other.get(k) != v)
    options = "".join(f", {k}={v}" for k, v in counting.items() if k != "family")
    return f"{counting['family']} of {width} columns{options}"

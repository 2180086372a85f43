"""A classifier of tables: any file, frame or query, any mix of columns, without preparation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from genus.arrays import labels, matrix
from genus.arrays.matrix import Codes
from genus.arrays.options import warn
from genus.estimators.base import GenerativeClassifier, refuse_single_class
from genus.estimators.inputs import announced, check_weight, refuse_missing_labels
from genus.estimators.table_rows import (
    Labelled,
    batches_of,
    labelled,
    labelled_rows,
    scattered_rows,
    some_of,
    unlabelled,
)
from genus.estimators.table_summary import Summary
from genus.explanation import TableExplanation
from genus.model import Model
from genus.registry import FAMILIES, is_for
from genus.statistics import Array, Tally
from genus.table import Frame, Plan, Source, TableError, look, open_table
from genus.table.model.builder import asked_families, build
from genus.table.model.counts import Counting
from genus.table.model.mixed import Mixed
from genus.table.model.weighing import Weighing
from genus.table.plan import CONSTANT
from genus.text import Texts

LOOK = 1 << 16  # rows that the columns are looked at by
MANY_CLASSES = 50  # from which on a target may be no class
Progress = Callable[[int], None]


class TableClassifier(GenerativeClassifier):
    """A table of numbers, categories, dates and texts, with holes: p(x|y) column by column.

    Parameters
    ----------
    families : "auto" chooses a family for every column by what it would have said of each row's
        class, had the row not been seen. A dictionary sets some: {"age": "gaussian", "visits":
        "poisson", "notes": "text"}; others are "discretised", "categorical" and "bernoulli".
        Numbers that are to be modelled together stand in a tuple:
        {("height", "weight"): "gaussian"}.
    ignore : names of columns to leave out.
    dependence : whether to learn how columns depend on each other, from counts of pairs. "tree",
        with calibrate=False, is a density: each column given the class and one other column.
    calibrate : whether to weigh the evidence by rows out of fold, so that probabilities mean what
        they say. Without it the model is the plain product of families: naive Bayes.
    priors : p(y) by class, as a dictionary or in the order of the classes; None: shares of rows.
    sample_size : how many rows the weights are learned from. Twice as many are kept in the model,
        encoded. 0 keeps none, but what rows tell of the weights as a sum (see docs/files.md).

    Attributes
    ----------
    plan_ : what the columns hold, and why some are left out.
    weighing_ : what each expert counts for, and what all is worth out of fold.

    >>> ages, jobs = [22, 25, 31, 52, 46, 56, 60, 27], ["a", "b", "a", "c", "c", "c", "a", "b"]
    >>> y = ["no", "no", "no", "yes", "yes", "yes", "yes", "no"]
    >>> model = TableClassifier(calibrate=False).fit({"age": ages, "job": jobs}, y)
    >>> model.predict({"age": [23, 55], "job": ["a", None]})
    array(['no', 'yes'], dtype='<U3')
    """

    plan_: Plan

    def __init__(
        self,
        families: Any = "auto",
        ignore: Any = (),
        dependence: bool | str = True,
        calibrate: bool = True,
        priors: Any = None,
        sample_size: int = 10_000,
    ) -> None:
        self.families = families
        self.ignore = ignore
        self.dependence = dependence
        self.calibrate = calibrate
        self.priors = priors
        self.sample_size = sample_size

    # Fitting

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        target: str | None = None,
        like: TableClassifier | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Count the rows of a table, from nothing.

        X is a data frame, an array, or whatever `open_table` reads, such as a path or a query; y
        are its labels, or the name of the column that has them, which is `target`. A path is read
        as a stream, once. With `like`, a fitted classifier, columns are read as they are there, and
        the two can be added. `progress` is called with the number of rows after each batch.
        """
        with self._unchanged_on_error():
            first = not self._reads_like(like)
            self._start_over()
            model = self._read(X, y, sample_weight, target, progress, first=first)
            if len(model.classes) == 1 and self.plan_.target is not None:
                only = labels.show(model.classes[0])
                raise TableError(
                    f"The target {self.plan_.target!r} is always {only}; nothing can be told "
                    "apart. Give rows of another class, too."
                )
            refuse_single_class(model.classes)
            self._solve(model)
            self._keep(model)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        target: str | None = None,
        like: TableClassifier | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Count more rows, the first ones as `fit` does; all choices follow from what is counted.

        Nothing is solved before it is needed, so that many small batches cost little.
        """
        with self._unchanged_on_error():
            fresh = not self.__sklearn_is_fitted__()
            first = fresh and not self._reads_like(like)
            counted = self._read(X, y, sample_weight, target, progress, first=first)
            model = counted if fresh else self._with_current_options(self.model_) + counted
            if classes is not None:
                model = self._declare(model, announced(classes), counted.classes)
            _ = model.prior  # priors that do not fit the classes are refused now
            self._keep(model)
        return self

    def forget(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        target: str | None = None,
    ) -> Self:
        """Take rows out again, as if they had never been counted."""
        check_is_fitted(self)
        with self._unchanged_on_error():
            forgotten = self._read(X, y, sample_weight, target, None, first=False)
            model = self._with_current_options(self.model_)
            self._keep(self._less(model, replace(forgotten, declared=forgotten.classes)))
        return self

    def plan(self, X: Any, y: Any = None, *, target: str | None = None) -> Self:
        """Decide how the columns of tables like X are read, and count nothing.

        What is fitted `like` the result, wherever that is, can be added exactly.
        """
        target = y if target is None and isinstance(y, str) else target

        def look_at(source: Source) -> None:
            if target is None:
                table = source.table()
                classes = 2 if y is None else len(self._labels(y, None, table.num_rows)[0])
                self._look(some_rows(table), None, classes)
            else:
                self._look_at_some(source, target)

        with self._unchanged_on_error():
            self._start_over()
            open_table(X).read(look_at)
            self._keep(self._empty())
        return self

    def _reads_like(self, like: TableClassifier | None) -> bool:
        """Whether there is another model to read columns like; then they are from now on."""
        if like is not None:
            check_is_fitted(like)
            self._adopt(like)
        return like is not None

    def _start_over(self) -> None:
        """Forget all rows that were counted before."""
        for name in ("model_", "unlabelled_"):
            self.__dict__.pop(name, None)

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        target: str | None,
        progress: Progress | None,
        *,
        first: bool,
    ) -> Model:
        """Count the labelled rows of a table; the `first` ones decide how columns are read."""
        target = y if target is None and isinstance(y, str) else target
        if target is None and y is None and self.__sklearn_is_fitted__():
            target = self.plan_.target
        if target is not None and sample_weight is not None:
            raise ValueError("sample_weight goes with X and y; a table with a target has none.")

        def count(source: Source) -> Model:
            if target is None:
                table = source.table()
                classes, codes, weight = self._labels(y, sample_weight, table.num_rows)
                if first:
                    self._look(some_rows(table), None, len(classes))
                batches = batches_of(table, classes, codes, weight)
                return self._count_batches(batches, source, target, progress)
            if first and source.once:
                batches = self._looked(source, self._labelled(source, target), target)
                return self._count_batches(batches, source, target, progress)
            if first:
                self._look_at_some(source, target)
            try:
                return self._count_batches(
                    self._labelled(source, target), source, target, progress, restarts=first
                )
            except Outgrown:
                self._look_at_all(source, target)
                return self._count_batches(self._labelled(source, target), source, target, None)

        return open_table(X).read(count)

    def _labelled(self, source: Source, target: str) -> Iterator[Labelled]:
        """The labelled rows of a source, some at a time."""
        source.require(target)
        known = self.classes_ if self.__sklearn_is_fitted__() else None
        return (labelled_rows(batch, target, known) for batch in source.batches())

    def _labels(self, y: Any, sample_weight: Any, rows: int) -> tuple[Any, Codes, Array | None]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, or the name of the column that "
                "has the classes: target=…"
            )
        y = np.asarray(column_or_1d(refuse_missing_labels(y), warn=True))
        if len(y) != rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {rows} rows "
                f"and y {len(y)} labels; give a label for each."
            )
        if y.dtype.kind not in "biuU":
            check_classification_targets(y)
        return *labels.factorize(y), check_weight(sample_weight, len(y))

    def _looked(
        self, source: Source, batches: Iterator[Labelled], target: str
    ) -> Iterator[Labelled]:
        """The same batches, after a look at the first of them."""
        import pyarrow as pa

        first: list[Labelled] = []
        while sum(len(one.codes) for one in first) < LOOK:
            batch = next(batches, None)
            if batch is None:
                break
            first.append(batch)
        if sum(len(one.codes) for one in first) == 0:
            raise unlabelled(source, target, sum(len(one.there) for one in first))
        table = pa.Table.from_batches([one.rows for one in first])
        self._look(table, target, len({c for one in first for c in one.classes.tolist()}))
        return chain(first, batches)

    def _look_at_some(self, source: Source, target: str) -> None:
        """Decide how columns are read by some rows of every partition."""
        source.require(target)
        seen = labelled_rows(source.look(LOOK), target)
        if len(seen.codes) == 0:
            self._look_at_all(source, target)
        else:
            self._look(seen.rows, target, len(seen.classes))

    def _look_at_all(self, source: Source, target: str) -> None:
        """Decide how columns are read by rows from all over a source, in a pass of its own."""
        rows, classes = scattered_rows(self._labelled(source, target), LOOK)
        if rows.num_rows == 0:
            raise unlabelled(source, target, sum(batch.num_rows for batch in source.batches()))
        self._look(rows, target, len(classes))

    def _count_batches(
        self,
        batches: Iterator[Labelled],
        source: Source,
        target: str | None,
        progress: Progress | None,
        restarts: bool = False,
    ) -> Model:
        """Count batches; with `restarts`, raise Outgrown if the plan knows too little of them."""
        model, rows = self._empty(), 0
        empty = model

        def count(own: Labelled) -> tuple[Model | None, Labelled]:
            X = Frame.of(own.rows, self.plan_)
            if len(own.codes) == 0:
                return None, own
            return self._count(empty, X, own.codes, own.classes, own.weight), own

        for counted, own in matrix.in_order(count, batches):
            rows += len(own.there)
            if counted is not None:
                model = model + counted
                unseen = own.classes[labels.find(own.classes, counted.weights.classes) < 0]
                declared = labels.union(model.declared, unseen, "classes")
                model = replace(model, declared=declared)
                if restarts:
                    refuse_outgrown(self.plan_, own.rows, model.statistics["cells"])
            if progress is not None:
                progress(len(own.there))
        if target is not None:
            self._check_target(model, source, target, rows)
        return model

    def _check_target(self, model: Model, source: Source, target: str, rows: int) -> None:
        """Say what is odd about a column of classes, or raise."""
        if len(model.classes) == 0:
            raise unlabelled(source, target, rows)
        total = model.weights["rows"].sum()
        if not self.__sklearn_is_fitted__():
            self.unlabelled_ = int(rows - total)
        if len(model.classes) > max(MANY_CLASSES, total / 4):
            warn(
                f"The target {target!r} has {len(model.classes):,} classes in {total:,.0f} rows. "
                "Is it a number or a name, and no class?"
            )

    def _apart(self, X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
        """Rows and their labels, from a table that has both."""
        target = y if target is None and isinstance(y, str) else target
        if target is None and y is None and self.__sklearn_is_fitted__():
            target = self.plan_.target
        if target is None:
            return X, y
        known = self.classes_ if self.__sklearn_is_fitted__() else None
        found = labelled(open_table(X), target, known)
        return found.rows, found.y

    # The group: models whose plans were made apart have cells of their own

    def _alike(self, other: Any) -> tuple[Self, Any]:
        """Both models, counted by the cells that both have."""
        if not isinstance(other, TableClassifier):
            return self, other
        check_is_fitted(self)
        check_is_fitted(other)
        self.plan_.refuse_other_target(other.plan_)
        mine: Any = self.model_.family
        theirs: Any = other.model_.family
        if mine.counting == theirs.counting:
            return self, other
        common = mine.how.common(theirs.how)
        return self._moved(common), other._moved(common)

    def _moved(self, how: Counting) -> Self:
        """The same model, counted another way."""
        family: Any = self.model_.family
        smaller = {"sample_size": how.sample} if self._option("calibrate") else {}
        copy = self._copy(**smaller)
        copy._follow(how.plan)
        statistics = family.how.moved(self.model_.statistics, how)
        model = replace(
            self.model_,
            family=replace(family, how=how),
            statistics=statistics,
            width=len(how.plan),
            chosen=None,
        )
        copy._keep(model)
        return copy

    # Predicting and more

    def explain(self, X: Any, features: Any = None) -> TableExplanation:
        """What each column, and each word of a text, says for and against each class.

        X is one row, as a dictionary by column, or a table of some.
        """
        check_is_fitted(self)
        if features is not None:
            raise ValueError("features names columns, and those of a table have names.")
        if isinstance(X, Mapping) and not any(np.ndim(v) for v in X.values()):
            X = {name: [value] for name, value in X.items()}
        X = open_table(X).table()
        frame, _ = self._as_matrix(X, reset=False)
        contributions, _ = self.model_.contributions(frame)
        baseline = self.predict_joint_log_proba(X) - contributions.sum(axis=1)
        family: Any = self.model_.family
        return TableExplanation(
            contributions,
            baseline,
            self.classes_,
            self._feature_names(),
            frame.values(),
            family.by_word(self.model_.parameters, frame),
        )

    def summary(self) -> Summary:
        """What was learned: columns and their families, what they gain, and what all is worth."""
        check_is_fitted(self)
        return Summary.of(self)

    def adapt(self, X: Any) -> Self:
        """A copy with the priors of rows whose classes are not known.

        Expectation maximisation of p(y), where p(x|y) is as it was (Saerens et al. 2002).
        """
        check_is_fitted(self)
        p = self.predict_proba(X)
        if len(p) == 0:
            raise ValueError("There are no rows to adapt to.")
        before = prior = self.model_.prior
        for _ in range(1000):
            posterior = p * np.divide(prior, before, out=np.zeros_like(prior), where=before > 0)
            posterior /= posterior.sum(axis=1, keepdims=True)
            after = posterior.mean(axis=0)
            if np.abs(after - prior).max() < 1e-9:
                break
            prior = after
        return self.resolve(priors=dict(zip(self.classes_.tolist(), prior.tolist(), strict=True)))

    def generative(self) -> TableClassifier:
        """The same counts as a density: each column given the class and one other column.

        Probabilities that are weighed come from many models and are no density of rows. This is
        `TableClassifier(calibrate=False, dependence="tree")`: predictions, `log_density` and
        `sample` are of one model.
        """
        check_is_fitted(self)
        if not self._option("calibrate"):
            return self
        return self._resolved(calibrate=False, dependence="tree")

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(x, y), (m, K): log p(y|x), and log p(x) of `generative()`."""
        check_is_fitted(self)
        if not self._option("calibrate"):
            return super().predict_joint_log_proba(X)
        table = open_table(X).table()
        return self.predict_log_proba(table) + self.log_density(table)[:, None]

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        """n new rows, as an Arrow table of the columns' own types, and their labels.

        Drawn from `generative()`.
        """
        X, drawn = super().sample(n, y, random_state)
        return Frame.to_arrow(X, self.plan_), drawn

    # Inside

    @property
    def weighing_(self) -> Weighing:
        """What each expert counts for, and what all is worth out of fold."""
        weighing = self._fitted().choice
        if weighing is None:
            raise AttributeError("calibrate=False weighs nothing: the product of families decides.")
        return weighing

    def _family(self) -> Mixed:
        return build(self.plan_, self.families, self.dependence, self.calibrate, self.sample_size)

    def _look(self, table: Any, target: str | None, classes: int) -> None:
        if isinstance(self.ignore, str) or not isinstance(self.ignore, Collection):
            raise ValueError(f"ignore is a list of columns; got {self.ignore!r}.")
        families = asked_families(self.families)
        asked = {name: FAMILIES[family].kind for name, family in families.items()}
        for name, family in families.items():
            # Categories that look like numbers are counted as numbers, one by one.
            if is_for(family, "number") and is_numeric(table, name):
                asked[name] = "number"
        self._follow(look(table, target, asked, list(self.ignore), classes))

    def _follow(self, plan: Plan) -> None:
        """Read columns by a plan."""
        plan.require()
        self.plan_ = plan
        self.n_features_in_ = len(plan)
        self.feature_names_in_ = np.array([c.name for c in plan.used], dtype=object)

    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Any:
        if isinstance(y, str):
            X, y = self._apart(X, y, None)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, or the name of the column that "
                "has the classes: target=…"
            )
        return super()._check(X, y, sample_weight, reset=reset)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose likeliest class is their own; y may be the name of a column."""
        X, y = self._apart(X, y, None)
        return float(super().score(X, y, sample_weight))

    def _as_matrix(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        table = open_table(X).table()
        if reset:
            classes = 2 if y is None else len(set(np.asarray(y).tolist()))
            self._look(some_rows(table), None, classes)
        frame = Frame.of(table, self.plan_)
        if y is None:
            return frame, None
        y = np.asarray(column_or_1d(y, warn=True))
        if len(y) != len(frame):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {len(frame)} "
                f"rows and y {len(y)} labels; give a label for each."
            )
        return frame, y

    def _score(self, X: Any, score: Any) -> Any:
        check_is_fitted(self)

        def scores(source: Source) -> Any:
            parts = [score(self.model_, Frame.of(batch, self.plan_)) for batch in source.batches()]
            if not parts:
                return score(self.model_, Frame.of(source.schema.empty_table(), self.plan_))
            return np.concatenate(parts)

        with self._named_errors():
            return open_table(X).read(scores)

    def _for_rereading(self, X: Frame, classes: int) -> Frame:
        encode = self._family().how.words.tokenizer.encode
        columns = tuple(encode(c) if isinstance(c, Texts) else c for c in X.columns)
        return replace(X, columns=columns)

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        for name in ("plan_", "unlabelled_"):
            if name in vars(other):
                setattr(self, name, vars(other)[name])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class Outgrown(Exception):
    """A column holds more than nothing, or one value, which is all that a first look has shown."""


def refuse_outgrown(plan: Plan, rows: Any, cells: Tally) -> None:
    """Raise Outgrown if these rows, or the cells counted so far, hold what the plan leaves out."""
    for column in plan.left_out:
        if column.unseen and column.name in rows.schema.names:
            values = rows.column(column.name)
            if values.null_count < len(values):
                raise Outgrown
    plain = [column for column in plan.used if column.kind != "text"]
    for column, axis in zip(plain, cells.keys or (), strict=False):
        if column.note == CONSTANT and len(axis) > 1:
            raise Outgrown


def some_rows(table: Any) -> Any:
    """The rows of a table that its columns are looked at by; raises if there are none."""
    if table.num_rows == 0:
        raise TableError("There are no rows to learn from.")
    rows = some_of(table.num_rows, LOOK)
    return table if len(rows) == table.num_rows else table.take(rows)


def is_numeric(table: Any, name: str) -> bool:
    """Whether a column holds numbers; of one that is not there `look` says so."""
    import pyarrow.types as pt

    if name not in table.column_names:
        return False
    kind = table.schema.field(name).type
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))

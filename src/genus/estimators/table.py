"""A classifier of tables: any file, frame or query, any mix of columns, without preparation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, column_or_1d

from genus.arrays import labels, matrix
from genus.arrays.matrix import Codes
from genus.arrays.options import flag, warn
from genus.estimators.base import GenerativeClassifier, refuse_single_class
from genus.estimators.table_rows import (
    Labelled,
    Reservoir,
    labelled,
    labelled_rows,
    labels_of,
    some_of,
    unlabelled,
)
from genus.estimators.table_summary import Summary
from genus.explanation import TableExplanation
from genus.model import Model
from genus.registry import FAMILIES, is_for
from genus.stacking.folds import Folds, stratified
from genus.statistics import Array
from genus.table import Frame, Plan, Source, TableError, look, open_table
from genus.table.model.counts import Counting
from genus.table.model.mixed import Mixed
from genus.table.model.weighing import Weighing, weigh
from genus.text import Texts, Tokenizer
from genus.text.model.words import Words

LOOK = 1 << 16  # rows that the columns are looked at by
WEIGH_CELLS = 1 << 24  # rows times classes times evidence
FEWEST_WEIGHED = 2000
MANY_CLASSES = 50  # from which on a target may be no class
MOST_WEIGHED = 10_000  # rows that weights are learned from and judged by
FOLDS = 10
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
    dependence : whether to learn how columns depend on each other, from counts of pairs.
    calibrate : whether to weigh the evidence by rows out of fold, so that probabilities mean what
        they say. Without it the model is the plain product of families: naive Bayes.
    priors : p(y) by class, as a dictionary or in the order of the classes; None: shares of rows.

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
    weighing_: Weighing

    def __init__(
        self,
        families: Any = "auto",
        ignore: Any = (),
        dependence: bool = True,
        calibrate: bool = True,
        priors: Any = None,
    ) -> None:
        self.families = families
        self.ignore = ignore
        self.dependence = dependence
        self.calibrate = calibrate
        self.priors = priors

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
        target = y if target is None and isinstance(y, str) else target
        if target is None:
            with self._unchanged_on_error():
                self._forget_choice(like)
                return super().fit(X, y, sample_weight)  # type: ignore[arg-type]
        if sample_weight is not None:
            raise ValueError("sample_weight goes with X and y; a table with a target has none.")

        def fit_to(source: Source) -> None:
            self._forget_choice(like)
            self._fit_source(source, target, progress)

        with self._unchanged_on_error():
            open_table(X).read(fit_to)
        return self

    def _fit_source(self, source: Source, target: str, progress: Progress | None) -> None:
        import pyarrow as pa

        source.require(target)
        batches = source.batches()
        first: list[Any] = []
        while sum(batch.num_rows for batch in first) < LOOK:
            batch = next(batches, None)
            if batch is None:
                break
            first.append(batch)
        table = pa.Table.from_batches(first, source.schema)
        if table.num_rows == 0:
            raise unlabelled(source, target, 0)
        self._look(table, target, len(labels_of(table.column(target), target)[0]))
        model, kept, rows = self._empty(), Reservoir(MOST_WEIGHED), 0
        empty = model

        def count(batch: Any) -> tuple[Model | None, Frame, Labelled]:
            own = labelled_rows(batch, target)
            X = Frame.of(own.rows, self.plan_)
            if len(own.codes) == 0:
                return None, X, own
            return self._count(empty, X, own.codes, own.classes, None), X, own

        for counted, X, own in matrix.in_order(count, chain(first, batches)):
            rows += len(own.there)
            if counted is not None:
                model = model + counted
                kept.add(X, own.classes, own.codes)
            if progress is not None:
                progress(len(own.there))
        if len(model.classes) == 0:
            raise unlabelled(source, target, rows)
        if len(model.classes) < 2:
            only = labels.show(model.classes[0])
            raise TableError(
                f"The target {target!r} is always {only}; nothing can be told apart. Give rows of "
                "another class, too."
            )
        self.unlabelled_ = int(rows - model.weights["rows"].sum())
        if len(model.classes) > max(MANY_CLASSES, model.weights["rows"].sum() / 4):
            warn(
                f"The target {target!r} has {len(model.classes):,} classes in "
                f"{model.weights['rows'].sum():,.0f} rows. Is it a number or a name, and no class?"
            )
        if self._chooses:
            X, values = kept.rows()
            classes, codes = labels.factorize(values)
            evidence = 2 * len(self.plan_) + len(self._family().names)
            most = max(WEIGH_CELLS // (len(classes) * evidence), FEWEST_WEIGHED)
            some = some_of(len(codes), min(most, MOST_WEIGHED))
            if len(some) < len(codes):
                X, codes = X[some], codes[some]
            X = self._encoded(X)
            whole = None if len(X) == model.weights["rows"].sum() else model
            self._weigh(self._folds(X, codes, classes, None, whole))
            model = self._with_current_options(model)
        self._solve(model)
        self._keep(model)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        target: str | None = None,
    ) -> Self:
        """Count more rows; families are chosen anew, and weights stay as they are."""
        if not self.__sklearn_is_fitted__() and self._chooses:
            return self.fit(X, y, sample_weight, target=target)
        X, y = self._apart(X, y, target)
        return super().partial_fit(X, y, classes, sample_weight)._unjudged()

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
        X, y = self._apart(X, y, target)
        return super().forget(X, y, sample_weight)._unjudged()

    def _unjudged(self) -> Self:
        """Itself, without scores of rows that it was fitted to before."""
        if "weighing_" in vars(self):
            self.weighing_ = self.weighing_.unjudged()
        return self

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

    # The group: models that were fitted apart have cells of their own

    def __add__(self, other: GenerativeClassifier) -> Self:
        if not isinstance(other, TableClassifier):
            return super().__add__(other)
        mine, theirs = self._alike(other)
        return GenerativeClassifier.__add__(mine, theirs)._unjudged()

    def __sub__(self, other: GenerativeClassifier) -> Self:
        if not isinstance(other, TableClassifier):
            return super().__sub__(other)
        mine, theirs = self._alike(other)
        return GenerativeClassifier.__sub__(mine, theirs)._unjudged()

    def _alike(self, other: TableClassifier) -> tuple[Self, TableClassifier]:
        """Both models, counted by the cells that both have."""
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = self.model_, other.model_
        if mine.family.counting == theirs.family.counting:
            return self, other
        a, b = (model.family.how for model in (mine, theirs))  # type: ignore[attr-defined]
        if a.words.counting != b.words.counting:
            raise ValueError("The two models read texts differently; fit both with one calibrate=.")
        common = a.common(b)
        made = []
        for one, how, model in ((self, a, mine), (other, b, theirs)):
            copy = clone(one).set_params(**deepcopy(one._solved_with))
            copy._adopt(one)
            copy.plan_ = common.plan
            family = replace(model.family, how=common)  # type: ignore[type-var]
            statistics = how.regrouped(model.statistics, common)
            copy._keep(replace(model, family=family, statistics=statistics))
            made.append(copy)
        return made[0], made[1]

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
        frame, _ = self._as_matrix(X, reset=False)
        contributions, baseline = self.model_.contributions(frame)
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

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        """n new rows, as an Arrow table of the columns' own types, and their labels."""
        X, drawn = super().sample(n, y, random_state)
        return Frame.to_arrow(X, self.plan_), drawn

    # Inside

    @property
    def _chooses(self) -> bool:
        return flag("calibrate", self.calibrate)

    def _keep(self, model: Model) -> None:
        if "weighing_" in vars(self) and self._chooses:  # of a class that is gone nothing is kept
            self.weighing_ = self.weighing_.of_classes(model.classes)
            model = super()._with_current_options(model)
        super()._keep(model)

    def _family(self) -> Mixed:
        self._refuse_unfit()
        how = Counting(self.plan_, Words(self._tokenizer()), self._together())
        asked = {name: family for name, family in self._asked().items() if family != "text"}
        family = Mixed(how, asked, None, flag("dependence", self.dependence) and self._chooses)
        if not self._chooses or "weighing_" not in vars(self):
            return family
        return family.weighed(self.weighing_.weights, self.weighing_.combinations)

    def _refuse_unfit(self) -> None:
        """Raise if a family is asked for that is not for what the column holds."""
        kinds = {column.name: column.kind for column in self.plan_.columns}
        for name, family in self._asked().items():
            if name not in kinds:
                raise ValueError(f"There is no column {name!r} to have the family {family!r}.")
            if not is_for(family, kinds[name]):
                raise ValueError(
                    f"Column {name!r} holds {kinds[name] or 'nothing'}, and {family!r} is for "
                    f"{FAMILIES[family]}. Choose another family."
                )

    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(ngrams=(1, 2) if self._chooses else (1, 1))

    def _asked(self) -> dict[str, str]:
        if isinstance(self.families, str) and self.families == "auto":
            return {}
        if not isinstance(self.families, Mapping):
            raise ValueError(
                f'families is "auto" or a dictionary by column; got {self.families!r}.'
            )
        for name, family in self.families.items():
            if isinstance(name, tuple):
                continue
            if family not in FAMILIES:
                raise ValueError(
                    f"The family of {name!r} is one of {', '.join(map(repr, FAMILIES))}; got "
                    f"{family!r}."
                )
        single = {k: v for k, v in self.families.items() if not isinstance(k, tuple)}
        return single | {name: "gaussian" for names in self._together() for name in names}

    def _together(self) -> tuple[tuple[str, ...], ...]:
        """The columns of numbers that are to be modelled together."""
        if not isinstance(self.families, Mapping):
            return ()
        found = [(k, v) for k, v in self.families.items() if isinstance(k, tuple)]
        for names, family in found:
            if family != "gaussian" or len(names) < 2:
                raise ValueError(
                    f"Columns that are modelled together are two or more and gaussian; got "
                    f"{names!r}: {family!r}."
                )
        named = [name for names, _ in found for name in names]
        named += [name for name in self.families if not isinstance(name, tuple)]
        twice = {name for name in named if named.count(name) > 1}
        if twice:
            raise ValueError(f"Column {min(twice)!r} has two families. Give it one.")
        return tuple(names for names, _ in found)

    def _look(self, table: Any, target: str | None, classes: int) -> None:
        if isinstance(self.ignore, str):
            raise ValueError(f"ignore is a list of columns; got {self.ignore!r}.")
        asked = {name: FAMILIES[family] for name, family in self._asked().items()}
        for name, family in self._asked().items():
            # Categories that look like numbers are counted as numbers, one by one.
            if is_for(family, "number") and is_numeric(table, name):
                asked[name] = "number"
        known: Plan | None = self.__dict__.pop("_like", None)
        self.plan_ = known or look(table, target, asked, list(self.ignore), classes)
        self.plan_.require()
        self.n_features_in_ = len(self.plan_)
        self.feature_names_in_ = np.array([c.name for c in self.plan_.used], dtype=object)

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
            if table.num_rows == 0:
                raise TableError("There are no rows to learn from.")
            rows = some_of(table.num_rows, LOOK)
            some = table if len(rows) == table.num_rows else table.take(rows)
            self._look(some, None, 2 if y is None else len(set(np.asarray(y).tolist())))
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

    def _refuse_empty(self, X: Any, model: Model) -> None:
        """Columns without a value are left out when they are looked at."""

    def _score(self, X: Any, score: Any) -> Any:
        check_is_fitted(self)

        def scores(source: Source) -> Any:
            parts = [score(self.model_, Frame.of(batch, self.plan_)) for batch in source.batches()]
            if not parts:
                return score(self.model_, Frame.of(source.schema.empty_table(), self.plan_))
            return np.concatenate(parts)

        return open_table(X).read(scores)

    def _ready(self, X: Frame, codes: Codes, classes: NDArray[Any], weight: Array | None) -> Frame:
        self._family()
        if not self._chooses:
            return X
        refuse_single_class(classes)
        # Some rows of many, as of a stream, and fewer where each takes more room.
        evidence = 2 * len(self.plan_) + len(self._family().names)
        most = max(WEIGH_CELLS // (len(classes) * evidence), FEWEST_WEIGHED)
        rows = some_of(len(codes), min(most, MOST_WEIGHED))
        some = self._encoded(X if len(rows) == len(codes) else X[rows])
        w = None if weight is None else weight[rows]
        whole = None
        if len(rows) < len(codes):
            whole = self._count(self._empty(), X, codes, classes, weight)
        self._weigh(self._folds(some, codes[rows], classes, w, whole))
        return some if whole is None else X

    def _encoded(self, X: Frame) -> Frame:
        """X with its texts read by words, to be counted and scored many times."""
        return replace(
            X,
            columns=tuple(
                self._tokenizer().encode(c) if isinstance(c, Texts) else c for c in X.columns
            ),
        )

    def _for_rereading(self, X: Frame, classes: int) -> Frame:
        return self._encoded(X)

    def _folds(
        self,
        X: Frame,
        codes: Codes,
        classes: NDArray[Any],
        weight: Array | None,
        whole: Model | None,
    ) -> Folds:
        fold = stratified(min(FOLDS, len(codes)), codes, 0)
        with self._named_errors():
            folds = Folds.count(self._empty(), X, codes, classes, weight, fold)
        return folds if whole is None else replace(folds, whole=whole)

    def _weigh(self, folds: Folds) -> None:
        self.weighing_ = weigh(folds, self._family())

    def _chosen_from(self, folds: Callable[[], Folds]) -> Self:
        if not self._chooses:
            return self
        copy = clone(self)
        copy._adopt(self)
        copy._weigh(folds())
        return copy

    def _with_current_options(self, model: Model) -> Model:
        if self._chooses and "weighing_" not in vars(self):
            raise ValueError(
                "calibrate=True learns weights from rows, which a fitted model no longer has. Fit "
                "again with it."
            )
        return super()._with_current_options(model)

    def _forget_choice(self, like: TableClassifier | None = None) -> None:
        for name in ("weighing_", "unlabelled_", "_like"):
            self.__dict__.pop(name, None)
        if like is not None:
            check_is_fitted(like)
            self._like = like.plan_

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        for name in ("plan_", "weighing_", "unlabelled_"):
            if name in vars(other):
                setattr(self, name, vars(other)[name])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def is_numeric(table: Any, name: str) -> bool:
    """Whether a column holds numbers; of one that is not there `look` says so."""
    import pyarrow.types as pt

    if name not in table.column_names:
        return False
    kind = table.schema.field(name).type
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))

"""A classifier of tables: it reads any file, frame or query with any mix of columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Self, cast, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from genus.arrays import labels
from genus.arrays.matrix import Codes
from genus.arrays.options import number
from genus.estimators.base import GenerativeClassifier
from genus.estimators.cautions import cautions
from genus.estimators.columns import MIXED, refuse_many_columns, refuse_unsaved
from genus.estimators.counting import LOOK, count_batches
from genus.estimators.inputs import check_weight, refuse_missing_labels
from genus.estimators.table_rows import (
    batches_of,
    labelled,
    labels_as_written,
    rows_from_everywhere,
    some_of,
)
from genus.estimators.table_summary import Summary
from genus.explanation import TableExplanation
from genus.model import Model
from genus.registry import FAMILIES, is_for
from genus.solve.priors import Priors
from genus.stacking.copies import multiplicity
from genus.stacking.decision import Decision
from genus.statistics import Array, Tally
from genus.table import (
    Column,
    Frame,
    Plan,
    Source,
    TableError,
    array_names,
    drift,
    look,
    open_table,
)
from genus.table.drift import Drift
from genus.table.model.builder import asked_families, build
from genus.table.model.cost import (
    MANY_CLASSES,
    refuse_many_classes,
    warn_of_many_classes,
)
from genus.table.model.counts import Counting
from genus.table.model.dependence import Dependence, PairDependence, dependence
from genus.table.model.mixed import Mixed
from genus.table.model.weighing import Weighing
from genus.table.plan import CONSTANT
from genus.text import Texts

RARE = 0.01  # share of the model's own rows that count as rare
MOST_WORDS, TRIES = 3, 10  # words of a category that is not a text; draws to find a new text
CHANCE = 0.2  # share of rows that are known already, beyond the share that new rows would have
BEYOND = 0.01  # share of rows that a sample from the whole table would have contained


class TableClassifier(GenerativeClassifier):
    """Classify tables of numbers, categories, dates and texts, with missing values.

    Parameters
    ----------
    families : "auto" chooses a family for every column by its leave-one-out prediction of the
        class. A dictionary sets some: {"age": "gaussian", "visits": "poisson", "notes": "text"}.
        docs/tables.md lists the families. A tuple of columns models numbers together:
        {("height", "weight"): "gaussian"}.
    ignore : names of columns to leave out.
    dependence : whether to model the dependence between columns, from counts of pairs. "tree",
        with calibrate=False, is a density: each column given the class and at most one other.
    calibrate : whether to learn weights from out-of-fold predictions, so that probabilities are
        calibrated. Without it the model is the plain product of families: naive Bayes.
    priors : p(y) by class, as a dictionary or in the order of the classes; None: shares of rows.
    sample_size : the number of rows from which weights are learned. The model keeps twice as many,
        encoded. 0 keeps no rows, only two sums that determine the weights (see docs/files.md).
    class_weight : the weight of a row of each class in p(y), as a dictionary, or "balanced" for
        classes of equal size. Probabilities then hold for data with such class shares. If wrong
        decisions differ in cost, use `predict(X, decision=…)`, which keeps the probabilities.

    Attributes
    ----------
    plan_ : what the columns hold, and why some are left out.
    weighing_ : the weights of the experts, and the out-of-fold scores.

    >>> ages, jobs = [22, 25, 31, 52, 46, 56, 60, 27], ["a", "b", "a", "c", "c", "c", "a", "b"]
    >>> y = ["no", "no", "no", "yes", "yes", "yes", "yes", "no"]
    >>> model = TableClassifier(calibrate=False).fit({"age": ages, "job": jobs}, y)
    >>> model.predict({"age": [23, 55], "job": ["a", None]})
    array(['no', 'yes'], dtype='<U3')
    """

    plan_: Plan
    _looked: dict[str, tuple[float, float]]  # the range of each column in the first rows
    _reads = MIXED

    def __init__(
        self,
        families: Any = "auto",
        ignore: Any = (),
        dependence: bool | str = True,
        calibrate: bool = True,
        priors: Any = None,
        sample_size: int = 20_000,
        class_weight: Any = None,
    ) -> None:
        self.families = families
        self.ignore = ignore
        self.dependence = dependence
        self.calibrate = calibrate
        self.priors = priors
        self.sample_size = sample_size
        self.class_weight = class_weight

    # Fitting

    def _read_arrays(
        self, X: Any, y: Any, sample_weight: Any, first: bool, complete: bool
    ) -> Model:
        """Count a table whose labels are given separately."""

        if not first:
            self._refuse_other_width(X)

        def count(source: Source) -> Model:
            table = source.table()
            classes, codes, weight = self._labels(y, sample_weight, table.num_rows)
            if weight is not None and not weight.all():  # such rows must not influence the plan
                there = np.flatnonzero(weight)
                table, codes, weight = table.take(there), codes[there], weight[there]
            if first:
                self._look(*some_rows(table, codes), table.num_rows)
            batches = batches_of(table, classes, codes, weight)
            model = count_batches(self, batches, None, False)[0]
            # A class whose rows all have weight zero is still a class.
            unseen = classes[labels.find(classes, model.weights.classes) < 0]
            return replace(model, declared=unseen)

        return open_table(X, texts=() if first else self._texts).read(count)

    def _looked_batches(self, batches: Iterator[Any]) -> tuple[Iterator[Any], bool]:
        import pyarrow as pa

        first, rows = [], 0
        for batch in batches:
            first.append(batch)
            rows += len(batch[1]) if isinstance(batch, tuple | list) and len(batch) > 1 else 0
            if rows >= LOOK:
                break
        else:
            batches = iter(())
        again = chain(first, batches)
        usable = [b for b in first if isinstance(b, tuple | list) and len(b) > 1 and len(b[1])]
        if not usable:
            return again, True
        tables = [open_table(batch[0]).table() for batch in usable]
        table = pa.concat_tables(tables, promote_options="permissive")
        _, codes = labels.factorize(np.concatenate([np.asarray(batch[1]) for batch in usable]))
        self._look(table, None, codes, rows if rows < LOOK else None)
        return again, False

    def _plan_arrays(self, X: Any, y: Any) -> None:
        table = open_table(X).table()
        codes = np.zeros(0, np.int64) if y is None else self._labels(y, None, table.num_rows)[1]
        self._look(*some_rows(table, codes), table.num_rows)

    def _labels(self, y: Any, sample_weight: Any, rows: int) -> tuple[Any, Codes, Array | None]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give y, "
                "or the name of the column that has the classes: target=…"
            )
        y = np.asarray(column_or_1d(refuse_missing_labels(y), warn=True))
        if len(y) != rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {rows} rows "
                f"and y {len(y)} labels; give a label for each."
            )
        if y.dtype.kind == "f" and np.isinf(y).any():
            raise ValueError("Input y contains infinity, which is no class. Leave such rows out.")
        if y.dtype.kind not in "biuU":
            check_classification_targets(y)
        classes, codes = labels.factorize(y)
        return labels.as_text(classes), codes, check_weight(sample_weight, len(y))

    def _apart(self, X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
        """Separate a table into rows and their labels."""
        target = y if target is None and isinstance(y, str) else target
        if target is None and y is None and self.__sklearn_is_fitted__():
            target = self.plan_.target
        if target is None:
            return X, y
        known = self.classes_ if self.__sklearn_is_fitted__() else None
        found = labelled(self._opened(X), target, known)
        return found.rows, found.y

    # The group: models that were planned separately have different cells

    def _alike(self, other: Any) -> tuple[Self, Any]:
        """Return both models, counted by the cells that they share."""
        if not isinstance(other, TableClassifier):
            return self, other
        check_is_fitted(self)
        check_is_fitted(other)
        self.plan_.refuse_other_target(other.plan_)
        mine: Any = self.model_.family
        theirs: Any = other.model_.family
        same = self.plan_.readings == other.plan_.readings
        if same and mine.counting == theirs.counting:
            return self, other
        common = mine.how.common(theirs.how)
        return self._moved(common), other._moved(common)

    def _moved(self, how: Counting) -> Self:
        """Return a copy whose counts follow another plan."""
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

    # Predicting

    def _priors(self) -> Priors:
        weight = self.class_weight
        if weight is not None and weight != "balanced":
            if not isinstance(weight, Mapping):
                raise ValueError(
                    f'class_weight must be a dictionary or "balanced"; got {weight!r}.'
                )
            weight = {
                label: number(f"The weight of class {label!r}", value, 0)
                for label, value in weight.items()
            }
        return replace(super()._priors(), class_weight=weight)

    def _refuse_unsolved(self, model: Model) -> None:
        super()._refuse_unsolved(model)
        if isinstance(self.class_weight, Mapping):
            known = model.classes.tolist()
            unknown = [label for label in self.class_weight if label not in known]
            if unknown:
                listed = ", ".join(map(repr, known[:10]))
                raise ValueError(
                    f"class_weight names {unknown[0]!r}, which is no class. The classes are "
                    f"{listed}."
                )

    def predict(self, X: Any, decision: Any = None) -> Any:
        """Return the decision for each row, (m,); by default, the most probable class.

        `decision` is a threshold for the second of two classes, thresholds by class, or costs by
        (true class, decided class), whose expected value is minimised:
        `predict(X, decision={("bad", "good"): 5})`.
        """
        if decision is None:
            return super().predict(X)
        check_is_fitted(self)
        rule = Decision.of(decision, self.classes_)
        assert rule is not None
        return self.classes_[rule.decide(self.predict_proba(X))]

    def explain(self, X: Any, features: Any = None) -> TableExplanation:
        """Return the contribution of each column, and of each word of a text, to each class.

        X is one row, as a dictionary by column, or a table of rows. Contributions are Shapley
        values: they add up to the log-odds of `predict_log_proba` minus those of the class shares.
        """
        check_is_fitted(self)
        if features is not None:
            raise ValueError("The columns of a table already have names. Leave features out.")
        if isinstance(X, Mapping) and not any(np.ndim(v) for v in X.values()):
            X = {name: [value] for name, value in X.items()}
        frame, _ = self._as_matrix(X, reset=False)
        family: Any = self.model_.family
        found = family.explained(self.model_.parameters, frame)
        return TableExplanation(
            found.terms,
            np.tile(self.model_.log_prior, (len(frame), 1)),
            self.classes_,
            self._feature_names(),
            frame.values(),
            family.by_word(self.model_.parameters, frame, found.terms),
            found.error,
        )

    @property
    def feature_importances_(self) -> Array:
        """The mean absolute contribution of each column, (n,), in log-odds; not scaled to one.

        Contributions are those of `explain`, averaged over classes and rows: for two classes, to
        the log-odds; for more, to the log-odds of a class against the mean of the others. No data
        is needed: the rows are the 256 of the model's sample with the smallest hashes (fewer if
        there are many columns and classes). So a sum of models has the importances of one model
        fitted to all rows. A model without a sample (`calibrate=False`, `sample_size=0`) draws as
        many rows from its counts.
        """
        check_is_fitted(self)
        importance: Array = self.model_.parameters.importance
        return importance.copy()

    @overload
    def dependence_on(self, column: str, /) -> Dependence: ...

    @overload
    def dependence_on(self, column: str, other: str, /) -> PairDependence: ...

    def dependence_on(
        self, column: str, other: str | None = None, /
    ) -> Dependence | PairDependence:
        """Return how the log-odds depend on a column, or on two columns.

        The contributions are those of `explain`, for up to 1,024 rows of the model's sample, so no
        data is needed. For each category or range of numbers, the result has the mean contribution
        of the rows in it, and the range of the middle 80 % of them. For two columns it has the mean
        joint contribution.
        """
        check_is_fitted(self)
        names = (column,) if other is None else (column, other)
        found: Dependence | PairDependence
        found = dependence(self.model_.parameters, names, self.classes_)
        return found

    def summary(self) -> Summary:
        """Return a summary: the columns, their families and gains, the experts, and the scores."""
        check_is_fitted(self)
        return Summary.of(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what a notebook shows: the summary, if the model is fitted."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if self.__sklearn_is_fitted__() and self.class_count_.sum():
            shown["text/html"] = self.summary()._repr_html_()
        return shown

    def report(self, path: Any, data: Any = None, target: str | None = None) -> None:
        """Write a report on the model, as `genus report` does; `data` are rows new to the model."""
        from importlib import import_module

        check_is_fitted(self)
        import_module("genus.report").write(self, data, target, path)  # it imports this module

    def seen(self, X: Any) -> float:
        """Estimate the share of rows that the model was fitted to; return 0 if chance explains it.

        Some new rows equal earlier ones by chance: about as many as rows of the model's sample that
        equal others by chance. A model that keeps no rows returns 0.
        """
        check_is_fitted(self)
        statistics: Any = self.model_.statistics
        sample, family = statistics["sample"], cast(Any, self.model_.family)
        if len(sample) == 0:
            return 0.0
        hashes = family.how.row_hashes(Frame.of(self._opened(X).table(), self.plan_))
        hashes = hashes[hashes < np.uint64(sample.limit)]  # as the sample's rows
        known = float(np.isin(hashes, sample.hashes).mean()) if len(hashes) else 0.0
        equal = multiplicity(sample, family.how.numbers)[0] > 1
        copied = sample.weights[equal].sum() / sample.weights.sum()
        return known if known > copied + CHANCE else 0.0

    def cautions(self, weighted: bool = False) -> list[str]:
        """Return warnings about likely problems of the table: leaks, copies, identifiers.

        If rows have weights, which look like copies, say so with `weighted=True`.
        """
        check_is_fitted(self)
        return cautions(self, weighted)

    def adapt(self, X: Any) -> Self:
        """Return a copy with priors estimated from rows without labels.

        p(y) is found by expectation maximisation, with p(x|y) unchanged (Saerens et al. 2002).
        """
        check_is_fitted(self)
        p = self.predict_proba(X)
        if len(p) == 0:
            raise ValueError("There are no rows to adapt to. Give rows of the new population.")
        before = prior = self.model_.prior
        for _ in range(1000):
            posterior = p * np.divide(prior, before, out=np.zeros_like(prior), where=before > 0)
            posterior /= posterior.sum(axis=1, keepdims=True)
            after = posterior.mean(axis=0)
            if np.abs(after - prior).max() < 1e-9:
                break
            prior = after
        return self.resolve(priors=dict(zip(self.classes_.tolist(), prior.tolist(), strict=True)))

    def drift(self, X: Any) -> Drift:
        """Return how rows differ from those that were counted: which columns changed, and how far.

        Of a large table, some rows from everywhere in it are compared.
        """
        check_is_fitted(self)
        table, rows = rows_from_everywhere(self._opened(X), LOOK)
        if table.num_rows == 0:
            raise ValueError("There are no rows to compare. Give new rows.")
        frame = self._for_rereading(Frame.of(table, self.plan_), len(self.classes_))
        statistics, total = self._counted()
        cells, sample = statistics["cells"], statistics["sample"]
        columns = drift.of_frame(frame, cells, total) + drift.of_texts(frame, sample)
        columns.sort(key=lambda one: (-one.is_new, -one.has_moved, -one.distance))
        unlike = np.nan
        if len(sample):
            kept = self._family().how.decoded(sample, statistics)
            own = drift.log_shares(kept, cells, total)
            unlike = float((drift.log_shares(frame, cells, total) < np.quantile(own, RARE)).mean())
        return Drift(table.num_rows, tuple(columns), unlike, RARE, rows)

    def generative(self) -> TableClassifier:
        """Return a classifier with the same counts that is one density.

        Weighted probabilities come from several models and are not a density of rows. The result
        is like `TableClassifier(calibrate=False, dependence="tree")`, in which each column depends
        on at most one other: predictions, `log_density` and `sample` belong to one model. A
        classifier with `calibrate=False` is returned as it is.
        """
        check_is_fitted(self)
        if not self._option("calibrate"):
            return self
        return self._resolved(calibrate=False, dependence="tree")

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(x, y) = log p(y|x) + log p(x), (m, K); p(x) is by `generative()`."""
        check_is_fitted(self)
        if not self._option("calibrate"):
            return super().predict_joint_log_proba(X)
        table = self._opened(X).table()
        return self.predict_log_proba(table) + self.log_density(table)[:, None]

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        """Draw n new rows, as an Arrow table with the columns' own types, and their labels.

        They are drawn from `generative()`. A sample does not protect privacy: the words of texts
        are drawn one by one, so no text of the data is repeated, but rare words, categories and
        numbers may be those of a single row.
        """
        rng = np.random.default_rng(random_state)
        X, drawn = super().sample(n, y, rng)
        axes = iter(self.model_.statistics["cells"].keys or ())
        for j, column in enumerate(self.plan_.used):
            axis = next(axes, ()) if column.kind != "text" else ()
            if column.kind == "category":
                X[:, j] = without_texts(X[:, j], axis, rng)
        return Frame.to_arrow(X, self.plan_), drawn

    # Internals

    @property
    def weighing_(self) -> Weighing:
        """The weights of the experts, and the out-of-fold scores."""
        weighing = self._fitted().choice
        if weighing is None:
            raise AttributeError(
                'A model with calibrate=False or dependence="tree" has no weights, because it is a '
                "single model. Fit without these options."
            )
        return weighing

    def _family(self) -> Mixed:
        return build(self.plan_, self.families, self.dependence, self.calibrate, self.sample_size)

    def _look(self, rows: Any, target: str | None, y: Codes, total: int | None) -> None:
        """Decide what each column holds, and into which cells its values are counted."""
        refuse_many_columns(rows.schema.names)
        if isinstance(self.ignore, str) or not isinstance(self.ignore, Collection):
            raise ValueError(f"ignore must be a list of column names; got {self.ignore!r}.")
        refuse_unsaved([n for n in rows.schema.names if n != target], set(self.ignore))
        families = asked_families(self.families)
        asked = {name: FAMILIES[family].kind for name, family in families.items()}
        for name, family in families.items():
            # Categories that look like numbers are counted as numbers, one by one.
            if is_for(family, "number") and is_numeric(rows, name):
                asked[name] = "number"
        self._follow(look(rows, target, asked, list(self.ignore), y, total))
        if labels.about(y) >= MANY_CLASSES:
            own = self._family(), Frame.of(rows, self.plan_), labels.about(y)
            refuse_many_classes(*own, target)
            warn_of_many_classes(*own, total or rows.num_rows)
        self._looked = {}
        if total is None or total > rows.num_rows:
            seen = Frame.of(rows, self.plan_)
            for column, values in zip(self.plan_.used, seen.columns, strict=True):
                if column.kind == "number" and not np.isnan(values).all():
                    self._looked[column.name] = np.nanmin(values), np.nanmax(values)

    def _follow(self, plan: Any) -> None:
        """Read columns by this plan from now on."""
        plan.require()
        self.plan_ = plan
        self.n_features_in_ = len(plan)
        self.feature_names_in_ = np.array([c.name for c in plan.used], dtype=object)

    @property
    def _texts(self) -> Collection[str]:
        plan = vars(self).get("plan_")
        return () if plan is None else plan.texts

    def _opened(self, X: Any, target: str | None = None) -> Source:
        """Open a table of rows like those that were fitted; `target` has labels like theirs."""
        source = open_table(X, texts=self._texts)
        known = self.classes_ if self.__sklearn_is_fitted__() else None
        return source if target is None else labels_as_written(source, target, known)

    def _column_names(self) -> list[str]:
        return [column.name for column in self.plan_.used if not column.part]

    def _matrix(self, rows: Any) -> Frame:
        return Frame.of(rows, self.plan_)

    def _plan_options(self) -> dict[str, Any]:
        ignored = [self.ignore] if isinstance(self.ignore, str) else sorted(map(str, self.ignore))
        asked = self.families if isinstance(self.families, Mapping) else {}
        return {"ignore": ignored, "families": sorted([str(n), str(f)] for n, f in asked.items())}

    def _outgrown(self, rows: Any, model: Model) -> bool:
        """Return whether rows, or the cells so far, have values that the plan did not expect."""
        for column in self.plan_.left_out if rows is not None else ():
            if column.unseen and column.name in rows.schema.names:
                values = rows.column(column.name)
                if values.null_count < len(values):
                    return True
        plain = [column for column in self.plan_.used if column.kind != "text"]
        cells = model.statistics["cells"]
        axes = cells.keys or ()
        if any(
            column.note == CONSTANT and len(axis) > 1
            for column, axis in zip(plain, axes, strict=False)
        ):
            return True
        return rows is None and self._beyond(plain, cells)

    def _beyond(self, columns: Sequence[Column], cells: Tally) -> bool:
        """Return whether a column has many numbers outside the range of the plan."""
        looked = vars(self).get("_looked")
        if not looked or not cells.keys:
            return False
        counts = cells["rows"].sum(axis=0)
        starts = np.cumsum([0, *map(len, cells.keys)])
        for column, axis, start in zip(columns, cells.keys, starts, strict=False):
            if column.name not in looked or len(axis) == 0:
                continue
            least, largest = looked[column.name]
            values, own = column.grid.values(axis), counts[start : start + len(axis)]
            low, high = values + column.grid.step < least, values > largest
            if own[low | high].sum() > BEYOND * own.sum():
                return True
        return False

    @property
    def _target(self) -> str | None:
        plan = vars(self).get("plan_")
        return None if plan is None else plan.target

    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Any:
        if isinstance(y, str):
            X, y = self._apart(X, y, None)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give y, "
                "or the name of the column that has the classes: target=…"
            )
        return super()._check(X, y, sample_weight, reset=reset)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy; y may be the name of a column."""
        X, y = self._apart(X, y, None)
        return float(super().score(X, y, sample_weight))

    def _score(self, X: Any, score: Any) -> Any:
        if self.__sklearn_is_fitted__():
            self._refuse_other_width(X)
        return super()._score(X, score)

    def _refuse_other_width(self, X: Any) -> None:
        """Raise an error if an array has another number of columns than the array of `fit`."""
        width = np.shape(X)[1] if isinstance(X, np.ndarray) and X.ndim == 2 else None
        names = [column.name for column in self.plan_.columns if not column.part]
        if width not in (None, len(names)) and names == array_names(len(names)):
            raise TableError(
                f"X has {width} features, but {type(self).__name__} is expecting {len(names)} "
                "features as input. Give the columns of the array that it was fitted to."
            )

    def _as_matrix(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        if not reset:
            self._refuse_other_width(X)
        table = open_table(X, texts=() if reset else self._texts).table()
        if reset:
            codes = labels.factorize(np.asarray(y if y is not None else []))[1]
            self._look(*some_rows(table, codes), table.num_rows)
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

    def _is_rows(self, X: Any) -> bool:
        return True

    def _score_rows(self, source: Source, score: Any) -> Any:
        checked = False

        def score_and_compare(model: Model, rows: Frame) -> Any:
            nonlocal checked
            if not checked:
                drift.warn_of_new(rows, *self._counted())
                checked = True
            return score(model, rows)

        return super()._score_rows(source, score_and_compare)

    def _counted(self) -> tuple[Any, float]:
        """Return the statistics of the rows that were counted, and the number of these rows."""
        return self.model_.statistics, float(self.model_.weights["rows"].sum())

    def _for_rereading(self, X: Frame, classes: int) -> Frame:
        how = self._family().how
        columns = tuple(
            how.words_of(column).tokenizer.encode(values) if isinstance(values, Texts) else values
            for column, values in zip(self.plan_.used, X.columns, strict=True)
        )
        return replace(X, columns=columns)

    def _adopt(self, other: Any) -> None:
        super()._adopt(other)
        if "plan_" in vars(other):
            self.plan_ = other.plan_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def without_texts(values: NDArray[Any], axis: Any, rng: np.random.Generator) -> NDArray[Any]:
    """Replace each text by a new one with as many words, drawn at random from all texts.

    If several draws give no new text, the value becomes None.
    """
    texts = [str(name).split() for name in axis if is_text(str(name))]
    if not texts:
        return values
    words = np.array([word for text in texts for word in text], dtype=object)
    known = {" ".join(text) for text in texts}

    def drawn(text: str) -> str | None:
        for _ in range(TRIES):
            made = " ".join(rng.choice(words, len(text.split())))
            if made not in known:
                return made
        return None

    return np.array(
        [drawn(v) if isinstance(v, str) and is_text(v) else v for v in values.tolist()] + [None],
        dtype=object,
    )[:-1]


def is_text(category: str) -> bool:
    """Return whether a category is a text: it has more than MOST_WORDS words."""
    return len(category.split()) > MOST_WORDS


def some_rows(table: Any, codes: Codes) -> tuple[Any, None, Codes]:
    """Return rows to plan a table from, None in place of the target, and codes of labels.

    Raise an error if there are no rows.
    """
    if table.num_rows == 0:
        raise TableError("There are no rows to learn from. Give rows.")
    rows = some_of(table.num_rows, LOOK)
    if len(rows) == table.num_rows:
        return table, None, codes
    return table.take(rows), None, codes[rows] if len(codes) else codes


def is_numeric(table: Any, name: str) -> bool:
    """Return whether a column holds numbers; False if it is missing, which `look` reports."""
    import pyarrow.types as pt

    if name not in table.column_names:
        return False
    kind = table.schema.field(name).type
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))

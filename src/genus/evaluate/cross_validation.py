"""Cross-validation by subtraction: count every row once, subtract each fold from the sum.

Whatever is chosen from data (alpha, bins, shrinkage) is chosen again from the statistics without
each fold. Leave-one-out uses closed forms if there are any, and keeps the pseudo-count, the form of
Σ or the tree that was chosen from all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from genus.arrays import labels, matrix
from genus.arrays.matrix import Codes, Matrix
from genus.arrays.memory import available
from genus.estimators import GenerativeClassifier
from genus.estimators.table import TableClassifier
from genus.estimators.table_rows import labelled, weights_of
from genus.model import Model, counting_as, without
from genus.stacking.folds import Folds, grouped, in_time, stratified
from genus.stacking.outcome import CrossValidation
from genus.statistics import Array
from genus.table import TableError, open_table
from genus.table.plan import as_numbers
from genus.table.read.objects import arrow_column

COPIES = 3  # of the probabilities that exist at once, at least
TUNING_BYTES = 256 << 20  # memory for the probabilities of settings that are tried together


def cross_validate(
    estimator: GenerativeClassifier,
    X: Any,
    y: Any = None,
    folds: Any = 10,
    *,
    target: str | None = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: ArrayLike | str | None = None,
    random_state: int | None = 0,
    progress: Callable[[int], object] | None = None,
    chosen: Any = None,
) -> CrossValidation:
    """Predict each row from the statistics of the other folds; nothing is fitted twice.

    `folds` is a number (stratified and shuffled by `random_state`), "loo" for leave-one-out, a
    scikit-learn splitter, or pairs (train, test) of row numbers that test every row exactly once.
    Instead of giving `y`, name the column of the classes in `target`; X is then a table: a path, a
    query or a frame.

    Rows with the same value in `groups`, such as those of one patient, are in the same fold; rows
    without a value form one group. With `time`, each fold is predicted from earlier rows only, and
    the earliest rows are never predicted. Give `groups` or `time` as a value for each row, or as a
    column's name; a column of groups is left out of X, a column of times is not. `sample_weight`
    may also be the name of a column, which is left out of X.

    `progress` is called with the number of rows predicted since its last call. `chosen` is the
    `weighing_` or `choice_` of a model, to be used in every fold instead of the fold's own choice.

    >>> from sklearn.datasets import load_iris
    >>> from genus import GDA
    >>> cross_validate(GDA(), *load_iris(return_X_y=True), folds="loo").accuracy
    0.98
    """
    if groups is not None and time is not None:
        raise ValueError("groups= and time= are two ways to make folds. Give only one.")
    named = next((name for name in (groups, time) if isinstance(name, str)), None)
    ignored = ignored_by(estimator)
    X, y, groups, time, sample_weight = apart(X, y, target, groups, time, sample_weight, ignored)
    group: Codes | None = None
    if groups is not None or time is not None:
        folds, group = honest_folds(folds, groups, time, len(y), named)
    anew = chosen is None and is_fitted_anew(estimator, folds, time)
    if anew:
        X = open_table(X).table()  # it is read twice
    raw = X
    fresh, X, codes, classes, weight = checked(estimator, X, y, sample_weight)
    refuse_full_memory(len(codes), len(classes))
    empty = fresh._empty()
    weights = np.ones(len(codes)) if weight is None else weight
    if isinstance(folds, str):
        if folds != "loo":
            raise ValueError(f'folds must be a number, "loo" or a splitter; got {folds!r}.')
        model = replace(fresh._count(empty, X, codes, classes, weight), chosen=chosen)
        fresh._solve(model)
        here = labels.positions(model.classes, classes)
        # A class whose rows all have weight 0 does not exist, and nothing changes when they are
        # left out.
        there = np.zeros(len(classes), dtype=np.int64)
        there[here] = np.arange(len(here))
        probabilities = np.zeros((len(codes), len(classes)))
        with fresh._named_errors():
            probabilities[:, here] = model.leave_one_out(X, there[codes], weight, progress)
        return CrossValidation(probabilities, classes, codes, weights, np.arange(len(codes)))
    fold = folds if is_fold_numbers(folds) else fold_numbers(folds, X, codes, random_state)
    if anew:
        parts = range(int(time is not None), int(fold.max(initial=-1)) + 1)
        splits = ((fold < f if time is not None else fold != f, fold == f) for f in parts)
        probabilities = predicted_anew(fresh, raw, classes, codes, weights, splits, progress)
    elif time is None:
        with fresh._named_errors():
            counted = Folds.count(empty, X, codes, classes, weight, fold)
        (probabilities,) = out_of_fold(counted, [fresh], progress, chosen)
    else:
        with fresh._named_errors():
            counted = Folds.count(empty, X, codes, classes, weight, fold)
        (probabilities,) = out_of_fold(counted, [fresh], progress, chosen, counted.later())
    if time is None:
        return CrossValidation(probabilities, classes, codes, weights, fold, group=group)
    at = np.flatnonzero(fold > 0)
    return CrossValidation(probabilities[at], classes, codes[at], weights[at], fold[at] - 1)


def is_fitted_anew(estimator: Any, folds: Any, time: Any) -> bool:
    """Return whether a model is fitted for each fold, instead of subtracted from that of all rows.

    A plan made from all rows would contain information from later rows. And without a sample, the
    statistics of a fold say too little about the weights of experts.
    """
    if not isinstance(estimator, TableClassifier) or isinstance(folds, str):
        return False
    return time is not None or (estimator.sample_size == 0 and estimator.calibrate is True)


def predicted_anew(
    estimator: TableClassifier,
    rows: Any,
    classes: NDArray[Any],
    codes: Codes,
    weight: Array,
    splits: Iterable[tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    progress: Callable[[int], object] | None,
) -> Array:
    """Predict the rows of each split by a model that is fitted to its other rows, (m, K)."""
    found = np.zeros((len(codes), len(classes)))
    for past, test in (map(np.flatnonzero, split) for split in splits):
        model = clone(estimator).fit(rows.take(past), classes[codes[past]], weight[past])
        at = labels.positions(model.classes_, classes)
        with warnings.catch_warnings():
            # Categories that only later rows have are part of what is measured.
            warnings.simplefilter("ignore", UserWarning)
            found[np.ix_(test, at)] = model.predict_proba(rows.take(test))
        if progress is not None:
            progress(len(test))
    return found


def refuse_full_memory(rows: int, classes: int) -> None:
    """Raise an error if the probabilities of all rows do not fit into memory."""
    free, size = available(), COPIES * 8 * rows * classes
    if free is not None and size > free:
        raise ValueError(
            f"The probabilities of {classes:,} classes in {rows:,} rows take {size / 1e9:.1f} GB, "
            f"but only {free / 1e9:.1f} GB of memory are free. Give fewer rows or classes."
        )


def ignored_by(estimator: Any) -> Collection[str]:
    """Return the columns that a classifier leaves out by itself."""
    ignore = getattr(estimator, "ignore", ())
    return ignore if isinstance(ignore, Collection) else ()


def apart(
    X: Any,
    y: Any,
    target: str | None,
    groups: Any,
    time: Any,
    weight: Any,
    ignored: Collection[str] = (),
) -> tuple[Any, ...]:
    """Return X, y, groups, times and weights; columns of the table replace their names.

    The columns of groups and weights are left out of X, unless the classifier has `ignored` them.
    """
    target = y if isinstance(y, str) and target is None else target
    if target is None and y is None:
        raise ValueError("Give the classes: y, or target=, the name of their column in a table.")
    if target is None and not any(isinstance(one, str) for one in (groups, time, weight)):
        return X, y, groups, time, weight
    source = open_table(X)
    uses = "make the folds", "make the folds", "hold the weights"
    for name, use in zip((groups, time, weight), uses, strict=True):
        if isinstance(name, str):
            source.require(name)
            if name == target:
                raise TableError(
                    f"{name!r} is the target, so it cannot {use}. Give another column."
                )
    if target is None:
        rows = source.table()
    else:
        found = labelled(source, target)
        rows, y = found.rows, found.y
    if isinstance(time, str):
        time = rows.column(time)
    taken = {name for name in (groups, weight) if isinstance(name, str)}
    if isinstance(groups, str):
        groups = rows.column(groups)
    if isinstance(weight, str):
        weight = weights_of(rows.column(weight), weight)
    return rows.drop_columns(sorted(taken - set(ignored))), y, groups, time, weight


def honest_folds(
    folds: Any, groups: Any, time: Any, rows: int, named: str | None
) -> tuple[Codes, Codes | None]:
    """Return the fold of each row, by whole groups or by blocks of time, and its group.

    `named` is the column that the groups or times are from, for messages.
    """
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise ValueError(
            f"With groups or time, folds must be a whole number of 2 or more; got {folds!r}."
        )
    given = groups if time is None else time
    what = "groups" if time is None else "time"
    if not hasattr(given, "__len__"):
        raise ValueError(f"{what} must be a column's name or a value for each row; got {given!r}.")
    if len(given) != rows:
        raise ValueError(
            f"{what} has {len(given)} values, but there are {rows} rows. Give one for each row."
        )
    if time is not None:
        return in_time(int(folds), times_of(time, named or what)), None
    group = codes_of(groups, named or what)
    return grouped(int(folds), group), group


def codes_of(groups: Any, name: str) -> Codes:
    """Number the groups of rows; rows without a value form one group."""
    import pyarrow as pa

    column = arrow_column(groups, name)
    try:
        texts = pa.chunked_array(column.cast("string")).combine_chunks()
    except pa.ArrowException:
        raise TableError(
            f"{name!r} holds {column.type}, which cannot name groups. Give numbers or texts."
        ) from None
    codes: Codes = texts.dictionary_encode(null_encoding="encode").indices.to_numpy()
    return codes.astype(np.int64)


def times_of(time: Any, name: str) -> Array:
    """Convert numbers, dates or texts of dates to numbers that increase with time."""
    column = arrow_column(time, name)
    try:
        numbers: Array = as_numbers(column, name, "")
    except TableError:
        raise TableError(
            f"{name!r} holds values that are not times. Give dates, numbers, or texts such as "
            "2024-12-31 or 2024-12."
        ) from None
    missing = np.isnan(numbers)
    if missing.any():
        raise ValueError(
            f"{int(missing.sum()):,} of {len(numbers):,} rows have no time in {name!r}, such as "
            f"row {int(np.argmax(missing))}. Leave such rows out, or fill in the time."
        )
    return numbers


def is_fold_numbers(folds: Any) -> bool:
    """Return whether these are fold numbers from `honest_folds`."""
    return isinstance(folds, np.ndarray) and folds.ndim == 1


def checked(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[GenerativeClassifier, Matrix, Codes, NDArray[Any], Array | None]:
    """Return an unfitted copy, an X that can be read repeatedly, codes, classes and weights."""
    if isinstance(estimator, type):
        raise TypeError(
            f"Cross-validation needs a classifier, got the class {estimator.__name__}. Make one: "
            f"{estimator.__name__}()."
        )
    if not isinstance(estimator, GenerativeClassifier):
        raise TypeError(
            f"Cross-validation by subtraction needs a genus classifier, got "
            f"{type(estimator).__name__}. Use sklearn.model_selection.cross_validate for others."
        )
    fresh = clone(estimator)
    X, codes, classes, weight = fresh._check(X, y, sample_weight, reset=True)
    refuse_single(classes)
    # The codes may be the caller's own array, so do not change them.
    return fresh, fresh._for_rereading(X, len(classes)), codes.copy(), classes, weight


def refuse_single(classes: NDArray[Any]) -> None:
    """Raise an error unless there are at least two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"There is only one class, {labels.show(classes[0])}. Give rows of another class, too."
        )


@dataclass(frozen=True, eq=False)
class Tuning:
    """The out-of-fold scores of all settings, and the model of all rows with the best one.

    `scores` (settings, 3) are accuracy, log loss and Brier score.
    """

    settings: list[dict[str, Any]]
    scores: Array
    best: dict[str, Any]
    model: Any

    def __str__(self) -> str:
        """Return the settings as text, the best by log loss first."""
        order = np.argsort(self.scores[:, 1], kind="stable")
        names = [told(self.settings[i]) for i in order]
        width = max(map(len, names), default=0)
        head = f"{'setting':{width}}  accuracy  log loss    Brier"
        rows = (
            f"{name:{width}}    {accuracy:.4f}  {loss:8.4f}  {brier:7.4f}"
            for name, (accuracy, loss, brier) in zip(names, self.scores[order], strict=True)
        )
        return "\n".join([head, *rows])

    def __repr__(self) -> str:
        return f"Tuning(settings={len(self.settings)}, best={self.best})"


def told(setting: Mapping[str, Any]) -> str:
    """Format options and values as in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in setting.items())


def tune(
    estimator: GenerativeClassifier,
    X: Any,
    y: ArrayLike,
    settings: Any,
    folds: Any = 10,
    *,
    by: str = "log_loss",
    sample_weight: ArrayLike | None = None,
    random_state: int | None = 0,
) -> Tuning:
    """Cross-validate many settings of options; the rows are counted once.

    `settings` are dictionaries of options, or one dictionary of lists, of which every combination
    is tried. It must be possible to solve all settings from the same counts: they may differ in
    `shrinkage`, `shared` or `alpha`, for instance, but not in `ngrams`. The best setting is chosen
    `by` "log_loss", "accuracy" or "brier".

    >>> from sklearn.datasets import load_iris
    >>> from genus import GDA
    >>> tune(GDA(), *load_iris(return_X_y=True), {"shrinkage": [None, 0.1, "oas"]}).best
    {'shrinkage': 0.1}
    """
    worth = {"accuracy": 0, "log_loss": 1, "brier": 2}
    if not isinstance(by, str) or by not in worth:
        raise ValueError(f'by must be "log_loss", "accuracy" or "brier"; got {by!r}.')
    from sklearn.model_selection import ParameterGrid  # it imports all of scikit-learn's metrics

    grid = ParameterGrid(settings) if isinstance(settings, Mapping) else settings
    tried = list(grid) if isinstance(grid, Iterable) else []
    if not tried or not all(isinstance(setting, Mapping) for setting in tried):
        raise ValueError(
            f"settings must be dictionaries of options, at least one; got {str(settings)[:60]}."
        )
    fresh, X, codes, classes, weight = checked(estimator, X, y, sample_weight)
    weights = np.ones(len(codes)) if weight is None else weight
    fold = fold_numbers(folds, X, codes, random_state)
    copies = [clone(fresh).set_params(**setting) for setting in tried]
    for copy in copies:
        copy._adopt(fresh)
    base = serving_all([fresh, *copies], tried)
    with fresh._named_errors():
        counted = Folds.count(base._empty(), X, codes, classes, weight, fold)
    scores = np.empty((len(tried), 3))
    step = max(1, TUNING_BYTES // (8 * len(codes) * len(classes)))
    for start in range(0, len(tried), step):
        found = out_of_fold(counted, copies[start : start + step])
        for i, probabilities in enumerate(found, start):
            one = CrossValidation(probabilities, classes, codes, weights, fold)
            scores[i] = one.accuracy, one.log_loss, one.brier
    loss = -scores[:, 0] if by == "accuracy" else scores[:, worth[by]]
    best = int(np.argmin(np.where(np.isnan(loss), np.inf, loss)))
    tuned = copies[best]
    model = tuned._with_current_options(counted.everything)
    # A class whose rows all have weight 0 still counts as a class.
    unseen = classes[labels.find(classes, model.weights.classes) < 0]
    model = replace(model, declared=unseen)
    tuned._solve(model)
    tuned._keep(model)
    return Tuning([dict(setting) for setting in tried], scores, dict(tried[best]), tuned)


def serving_all(
    estimators: Sequence[GenerativeClassifier], settings: Sequence[Mapping[str, Any]]
) -> GenerativeClassifier:
    """Return the first estimator from whose counts all the estimators can be solved."""
    families = [estimator._family() for estimator in estimators]
    for base in families:
        try:
            for family in families:
                counting_as(family, base.counting)
        except ValueError:
            continue
        return estimators[families.index(base)]
    first = families[0].counting
    odd = next(s for f, s in zip(families[1:], settings, strict=True) if f.counting != first)
    raise ValueError(
        f"tune counts the rows once, so it cannot try {told(odd)}, which changes what is "
        "counted. Tune each way of counting separately, or use scikit-learn's GridSearchCV."
        + (' ("auto" also counts pairs of words.)' if "auto" in odd.values() else "")
    )


def out_of_fold(
    folds: Folds,
    estimators: Sequence[GenerativeClassifier],
    progress: Callable[[int], object] | None = None,
    chosen: Any = None,
    splits: Iterator[tuple[NDArray[np.intp], Model]] | None = None,
) -> list[Array]:
    """Return p(y|x), (m, K), for each estimator; each row is predicted without its own fold."""
    found = [np.zeros((len(folds.y), len(folds.classes))) for _ in estimators]
    for test, rest in folds.left_out() if splits is None else splits:
        columns = labels.positions(rest.classes, folds.classes)  # a class may be in one fold only
        rows = matrix.take(folds.X, test)
        for estimator, probabilities in zip(estimators, found, strict=True):
            model = replace(estimator._with_current_options(rest), chosen=chosen)
            with without(f"the {len(test)} rows of the fold of row {test[0]}"):
                estimator._solve(model)
            with estimator._named_errors(), matrix.numbered(test):
                posterior = model.posterior(rows, test)
            probabilities[test] = labels.spread(posterior, columns, len(folds.classes), axis=1)
        if progress is not None:
            progress(len(test))
    return found


def fold_numbers(folds: Any, X: Any, codes: Codes, random_state: int | None) -> Codes:
    """Return the fold in which each row is tested, 0, 1, …, (m,)."""
    if isinstance(folds, int | np.integer):
        if not 2 <= folds <= len(codes):
            raise ValueError(
                f"folds must be from 2 to the number of rows, {len(codes)}; got {folds}."
            )
        return stratified(int(folds), codes, random_state)
    if isinstance(folds, str) or not (hasattr(folds, "split") or isinstance(folds, Iterable)):
        raise ValueError(f'folds must be a whole number, "loo" or a splitter; got {folds!r}.')
    pairs: Iterable[Any] = folds.split(X, codes) if hasattr(folds, "split") else folds
    times, fold, count = np.zeros(len(codes), dtype=int), np.zeros(len(codes), dtype=np.int64), 0
    for pair in pairs:
        try:
            train, test = (row_numbers(rows, len(codes)) for rows in pair)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "A list of folds must hold pairs of row numbers, (train, test); got "
                f"{str(pair)[:60]}: {error}."
            ) from None
        times[test] += 1
        if len(train) + len(test) != len(codes) or len(np.union1d(train, test)) != len(codes):
            raise ValueError(
                "Each fold must train on all rows that it does not test, because "
                "cross-validation is by subtraction. Use "
                "sklearn.model_selection.cross_validate for other splits."
            )
        fold[test] = count
        count += len(test) > 0
    if (times != 1).any():
        raise ValueError(
            f"Every row must be tested exactly once; row {int(np.argmax(times != 1))} is tested "
            f"{times[np.argmax(times != 1)]} times. Use a k-fold splitter, or "
            "sklearn.model_selection.cross_validate for repeated and random splits."
        )
    return fold


def row_numbers(rows: Any, size: int) -> NDArray[np.intp]:
    """Return the row numbers that a mask or a list of row numbers selects."""
    given = np.asarray(rows)
    if given.dtype == bool:
        given = np.flatnonzero(given)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise ValueError("the rows must be given by number")
    given = given.astype(np.intp)
    if len(given) and not 0 <= given.min() <= given.max() < size:
        raise ValueError(f"there are {size} rows, so row numbers are from 0 to {size - 1}")
    return given

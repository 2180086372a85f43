"""Check sums of numbers that users give, and convert them for a model.

Symbols: K classes, n columns, z = x - origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.options import warn
from genus.estimators.columns import NUMBERS, Columns
from genus.estimators.count_tables import SLACK, Rows
from genus.families.sums import Sums
from genus.statistics import Array, ImpossibleError, Moments, divide

FEW_DIGITS = 1e4  # times the rounding error: smaller values have at most four digits


def statistics_of(
    estimator: Any,
    rows: Rows,
    sums: Any,
    squares: Any,
    origin: Any,
    missing: Any,
    columns: Sequence[str] | None,
) -> Any:
    """Return the statistics of the classifier's family; raise an error for impossible sums."""
    total = by_class("sums", sums, rows)
    if total.ndim != 2 or 0 in total.shape:
        raise ValueError(
            f"sums must have a number for each class and column, (K, n); got shape {total.shape}."
        )
    names = names_of(sums, columns, total.shape[1])
    for part, value in (("squares", squares), ("origin", origin), ("missing", missing)):
        if hasattr(value, "columns") and list(map(str, value.columns)) != names:
            raise ValueError(f"{part} must have the columns of sums, in the same order.")
    follow(estimator, names, total.shape[1])
    family, name = estimator._family(), type(estimator).__name__
    needs = getattr(family, "needs", None)
    if needs is None:
        raise ValueError(
            f"{name} with these options needs more than sums and squares, such as logarithms, "
            "fourth moments or the rows. Use fit."
        )
    given = Given(rows, estimator._feature_names(), needs.squares == "pairs")
    seen = given.seen(missing)
    given.refuse("sums", total, (total != 0) & (seen == 0), "No value is present there.")
    if needs.squares is not None:
        if squares is None:
            raise ValueError(f"{name} needs sums and squares. Give squares, too.")
        second = given.squares(squares, is_shared=family.structure == "pooled")
        about = by_class("origin", 0.0 if origin is None else origin, rows)
        about = broadcast("origin", about, total.shape)
        with np.errstate(over="ignore", invalid="ignore"):  # sums are checked later
            moments = family.of_sums(rows.classes, Sums(seen, total, second, about))
            return given.possible(moments) if moments.is_finite else moments
    if squares is not None or origin is not None:
        raise ValueError(f"{name} does not use squares or origin. Leave them out.")
    given.refuse("sums", total, total < 0, "A sum of counts is 0 or more.")
    if needs.above is not None:
        given.refuse("sums", total, total > SLACK * seen, "It exceeds the number of rows.")
        total = np.minimum(total, seen)
    return family.of_sums(rows.classes, Sums(seen, total))


def follow(estimator: Any, names: list[str] | None, size: int) -> None:
    """Set the columns of a classifier, with their names if they have any."""
    estimator.n_features_in_ = size
    if names is not None:
        estimator._follow(Columns(tuple(names), NUMBERS))


def names_of(sums: Any, columns: Sequence[str] | None, size: int) -> list[str] | None:
    """Return the names of the columns, as given or from a data frame."""
    own = list(map(str, sums.columns)) if hasattr(sums, "columns") else None
    if columns is None and own is None:
        return None
    if columns is not None and own is not None and list(columns) != own:
        raise ValueError(f"columns is {columns!r}, but sums has {own!r}. Leave columns out.")
    names = [columns] if isinstance(columns, str) else list(own or columns or ())
    if len(names) != size or not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns must be names (text) of {size} columns; got {names!r}.")
    if len(set(names)) < size:
        raise ValueError(f"Two of the columns {names!r} have the same name. Rename one.")
    return names


def by_class(name: str, given: Any, rows: Rows) -> Array:
    """Return numbers that are given by class, as an array (K, …) in the order of the classes.

    The index of a pandas data frame or series names the classes.
    """
    found = as_floats(name, given)
    labelled = name != "origin" or hasattr(given, "columns")
    if hasattr(given, "iloc") and labelled:
        codes = rows.codes(list(given.index), name)
        if sorted(codes.tolist()) != list(range(len(rows.classes))):
            raise ValueError(
                f"{name} has {len(codes)} rows for {len(rows.classes)} classes. Give one row for "
                "each class."
            )
        return found[np.argsort(codes)]
    if found.ndim < 2 and name == "origin":
        return found
    if found.ndim and len(found) != len(rows.classes):
        raise ValueError(
            f"{name} has shape {found.shape}, but there are {len(rows.classes)} classes. Its first "
            "axis must have one entry for each class, in the order of rows=."
        )
    return found[rows.order] if found.ndim else found


def as_floats(name: str, given: Any) -> Array:
    """Return numbers as float64; raise an error unless all are finite."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers; got {str(given)[:60]!r}.") from None
    if not np.isfinite(found).all():
        at = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        raise ValueError(
            f"{name} holds {found[at]} at {list(at)}. Sums must be finite numbers. Use 0 where "
            "there are no values."
        )
    return found


def broadcast(name: str, found: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast one number, or one for each column, to a shape."""
    try:
        return np.broadcast_to(found, shape).copy()
    except ValueError:
        raise ValueError(
            f"{name} has shape {found.shape}; it must broadcast to {shape}. Give one number, "
            "or one for each column."
        ) from None


@dataclass(frozen=True, eq=False)
class Given:
    """The rows of each class and the names of the columns, which given sums must match.

    With `pairs`, the squares are products of pairs of columns, over the complete rows.
    """

    rows: Rows
    names: list[str]
    pairs: bool

    @property
    def shape(self) -> tuple[int, int]:
        """K and n."""
        return len(self.rows.classes), len(self.names)

    def refuse(self, name: str, values: Array, odd: NDArray[np.bool_], why: str) -> None:
        """Raise an error for the first number marked in `odd`, with its class and column."""
        if not odd.any():
            return
        at = tuple(np.argwhere(odd)[0].tolist())
        raise ValueError(f"{name} has {values[at]:g} for {self.where(at)}. {why}")

    def where(self, at: tuple[int, ...]) -> str:
        """Name a class and a column, for errors."""
        column = "".join(f", column {j} ({self.names[j]!r})" for j in at[1:])
        return f"class {labels.show(self.rows.classes[at[0]])}{column}"

    def seen(self, missing: Any) -> Array:
        """Return the weight of known values, (K, n), or of complete rows, (K, 1)."""
        K, n = self.shape
        absent = by_class("missing", 0.0 if missing is None else missing, self.rows)
        shape = (K,) if self.pairs else (K, n)
        if absent.shape not in ((), shape):
            raise ValueError(f"missing has shape {absent.shape}; expected {shape}.")
        absent = np.broadcast_to(absent, shape)
        weights = self.rows.weights if self.pairs else np.tile(self.rows.weights[:, None], n)
        odd = (absent < 0) | (absent > SLACK * weights)
        self.refuse("missing", absent, odd, "It must be from 0 to the number of rows.")
        seen = np.maximum(weights - absent, 0.0)
        return seen[:, None] if self.pairs else seen

    def squares(self, given: Any, is_shared: bool) -> Array:
        """Return the given squares, checked, in the order of the classes."""
        K, n = self.shape
        wanted: list[tuple[int, ...]] = [(K, n, n)] if self.pairs else [(K, n)]
        if self.pairs and is_shared:
            wanted.append((n, n))
        found = as_floats("squares", given)
        if found.shape not in wanted:
            shapes = " or ".join(map(str, wanted))
            raise ValueError(f"squares has shape {found.shape}; expected {shapes}.")
        if not self.pairs:
            return by_class("squares", given, self.rows)
        spread = np.sqrt(np.abs(np.diagonal(found, axis1=-2, axis2=-1)))
        skew = np.abs(found - found.swapaxes(-1, -2))
        if (skew > 1e-9 * spread[..., :, None] * spread[..., None, :]).any():
            raise ValueError("squares must be symmetric, because Σz_j z_l equals Σz_l z_j.")
        return found if found.ndim == 2 else by_class("squares", given, self.rows)

    def possible(self, moments: Moments) -> Moments:
        """Return the moments, with zero for variances within the rounding error.

        Raise an error if the variance in any direction is negative.
        """
        explained = divide(moments.sums, moments.weights) * moments.sums
        if moments.structure == "pooled":
            explained = explained.sum(axis=0)
        second = moments.squares
        if moments.structure != "diagonal":
            second = np.diagonal(second, axis1=-2, axis2=-1)
        scatter = np.atleast_2d(second - explained)
        noise = np.atleast_2d(moments.noise)
        below = scatter < -4 * moments.width * noise
        if below.any():
            k, j = np.argwhere(below)[0].tolist()
            raise ValueError(
                f"squares is too small for sums: the variance of {self._named(moments, k, j)} "
                "would be negative. squares must be Σ(x - origin)², over the same rows and with "
                "the same origin as sums."
            )
        few = (scatter != 0) & (np.abs(scatter) < FEW_DIGITS * noise)
        if few.any():
            k, j = np.argwhere(few)[0].tolist()
            warn(
                f"The variance of {self._named(moments, k, j)} is so small that the rounding error "
                "of its squares leaves few correct digits. If the column is not constant, add up "
                "squares about an origin near its mean: origin=…"
            )
        try:
            return moments.without_noise() if len(moments.classes) else moments
        except ImpossibleError:
            raise ValueError(
                "squares do not match sums: some linear combination of columns would have a "
                "negative variance. squares must be Σzzᵀ, with z = x - origin, over the rows "
                "without a missing value."
            ) from None

    def _named(self, moments: Moments, k: int, j: int) -> str:
        column = f"column {j} ({self.names[j]!r})"
        shared = moments.structure == "pooled"
        return column if shared else f"{column} in class {labels.show(moments.classes[k])}"

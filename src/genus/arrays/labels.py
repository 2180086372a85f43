"""Keep sorted axes of labels (classes, categories, words), and align them.

An axis is a one-dimensional array of distinct labels in ascending order, or a vocabulary. Numbers
align with numbers and text with text; anything else is an error rather than a silent conversion.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import unique_codes
from genus.arrays.vocabulary import Vocabulary

Axis = NDArray[Any]
Keys = Any  # an Axis, or a Vocabulary
FEW = 16  # labels that are looked up one by one
LARGEST_EXACT = 2**53  # larger integers may be equal as floats


def empty_axis() -> Axis:
    """Return the axis without labels; it aligns with every other."""
    return np.empty(0, dtype=np.int64)


def show(label: Any) -> str:
    """Format a label as a user would write it.

    >>> show(np.int64(1)), show(np.str_("spam"))
    ('1', "'spam'")
    """
    return repr(label.item() if isinstance(label, np.generic) else label)


def meant(name: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """Return the question whether the most similar of the names is meant; "" if none is similar.

    >>> meant("Ages", ["job", "age"]), meant("sex", ["job", "age"])
    ("Did you mean 'age'? ", '')
    """
    known = {one.lower(): one for one in names}
    close = difflib.get_close_matches(str(name).lower(), known, 1, likeness)
    return f"Did you mean {known[close[0]]!r}? " if close else ""


def is_missing(item: Any) -> bool:
    """Return whether an item is None, NaN, NaT or pandas' NA."""
    try:
        return item is None or bool(item != item)
    except TypeError:  # pandas.NA has no truth value
        return True


def kind(axis: Axis) -> str:
    """Return the kind of an axis's labels: 'number', 'text' or, for anything else, 'object'.

    >>> kind(np.array([True, False])), kind(np.array(["a"])), kind(np.array(["a"], dtype=object))
    ('number', 'text', 'text')
    """
    if axis.dtype.kind in "biuf":
        return "number"
    if axis.dtype.kind == "U":
        return "text"
    return "text" if all(isinstance(label, str) for label in axis) else "object"


def is_same(a: Keys, b: Keys) -> bool:
    """Return whether two axes have the same labels."""
    if a is b:
        return True
    if isinstance(a, Vocabulary) or isinstance(b, Vocabulary):
        return isinstance(a, Vocabulary) and isinstance(b, Vocabulary) and a.is_same(b)
    if len(a) != len(b):
        return False
    return a.tolist() == b.tolist() if needs_care(a, b) else bool((a == b).all())


def needs_care(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Return whether NumPy would compare whole numbers as floats, and confuse some of them."""
    if a.dtype == b.dtype or a.dtype.kind not in "iuf" or b.dtype.kind not in "iuf":
        return False
    if np.promote_types(a.dtype, b.dtype).kind != "f":
        return False
    whole = [axis for axis in (a, b) if axis.dtype.kind in "iu" and len(axis)]
    return any(max(abs(int(x.min())), abs(int(x.max()))) > LARGEST_EXACT for x in whole)


def about(codes: NDArray[np.int64]) -> int:
    """Estimate the number of classes from the codes of some labels; 2 if there are none.

    >>> about(np.array([0, 2, 2])), about(np.array([], dtype=np.int64))
    (3, 2)
    """
    return int(codes.max()) + 1 if len(codes) else 2


def factorize(labels: NDArray[Any]) -> tuple[Axis, NDArray[np.int64]]:
    """Return the distinct labels, ascending (maybe `labels` itself), and each label's position.

    >>> factorize(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    if len(labels) == 1 and labels.dtype.kind in "biufU":
        return labels, np.zeros(1, dtype=np.int64)
    if labels.dtype.kind in "biu" and len(labels):
        # The span of labels is exact in Python's integers, whatever the dtype.
        least = int(labels.min())
        if int(labels.max()) - least < 1 << 20 and labels.dtype != np.uint64:
            offset = labels.astype(np.int64, copy=False)
            offset = offset if least == 0 else offset - least
            present = np.bincount(offset) > 0
            distinct = (np.flatnonzero(present) + least).astype(labels.dtype)
            # Labels 0, 1, …, if all are present, are their own codes.
            return distinct, offset if present.all() else (np.cumsum(present) - 1)[offset]
    if labels.dtype.kind in "fb" or (labels.dtype.kind in "iu" and labels.dtype != np.uint64):
        wide: Any = np.float64 if labels.dtype.kind == "f" else np.int64
        values: Any = labels.astype(wide)
        distinct, codes = unique_codes(values, 1)
        return distinct.astype(labels.dtype), codes
    if labels.dtype.kind not in "UO":
        distinct, codes = np.unique(labels, return_inverse=True)
        return distinct, codes.astype(np.int64)
    items = labels.tolist()
    try:
        ordered = sorted(set(items))
    except TypeError:
        kinds = sorted({type(item).__name__ for item in items})
        raise ValueError(
            f"The labels are of different types, {' and '.join(kinds)}. Convert all of them "
            "to text, or all to numbers."
        ) from None
    index = {item: i for i, item in enumerate(ordered)}
    codes = np.fromiter(map(index.__getitem__, items), dtype=np.int64, count=len(items))
    return np.array(ordered, dtype=labels.dtype), codes


def as_text(labels: NDArray[Any]) -> NDArray[Any]:
    """Return string labels as an array of text instead of objects, as scikit-learn does."""
    items = labels.tolist() if labels.dtype.kind == "O" else []
    texts = bool(items) and all(isinstance(item, str) and "\0" not in item for item in items)
    return labels.astype(str) if texts else labels


def union(a: Axis, b: Axis, what: str) -> Axis:
    """Return all labels of both axes, ascending; `what` names them in the error.

    >>> union(np.array([1, 3]), np.array([2, 3]), "classes")
    array([1, 2, 3])
    """
    if len(b) == 0 or is_same(a, b):
        return a
    if len(a) == 0:
        return b
    if a.dtype == b.dtype and len(b) <= FEW and {*a.tolist()}.issuperset(b.tolist()):
        return a
    if kind(a) != kind(b):
        raise ValueError(
            f"The {what} are of different kinds: {kind(a)} on one side ({show(a[0])}, …), "
            f"{kind(b)} on the other ({show(b[0])}, …). Convert one side first."
        )
    if not needs_care(a, b):
        if a.dtype.kind not in "iuf":
            return np.union1d(a, b)
        both = np.concatenate([a, b])
        both.sort(kind="stable")  # merges two sorted runs
        return both[np.append(True, both[1:] != both[:-1])]
    exact = sorted({*a.tolist(), *b.tolist()})  # Python compares numbers of all types exactly
    for dtype in (np.int64, np.uint64):
        limits = np.iinfo(dtype)
        if limits.min <= exact[0] and exact[-1] <= limits.max and all(x == int(x) for x in exact):
            return np.array([int(x) for x in exact], dtype=dtype)
    raise ValueError(
        f"The {what} are numbers that no single type can hold exactly, such as "
        f"{show(exact[0])} and {show(exact[-1])}. Convert them to text."
    )


def positions(labels: Axis, axis: Axis) -> NDArray[np.intp]:
    """Return the positions of `labels` on `axis`, which must contain them all."""
    if is_same(labels, axis):
        return np.arange(len(axis))
    return find(labels, axis) if needs_care(labels, axis) else np.searchsorted(axis, labels)


def merge(a: Keys, b: Keys, what: str) -> tuple[Keys, NDArray[np.intp], NDArray[np.intp]]:
    """Return all labels of both axes, and the positions of a's and of b's labels among them."""
    if isinstance(a, Vocabulary) and isinstance(b, Vocabulary):
        return a.merge(b)
    if isinstance(a, Vocabulary) or isinstance(b, Vocabulary):
        raise ValueError(
            f"The {what} are words of texts in only one of the two models. Merge models of the "
            "same columns."
        )
    both = union(a, b, what)
    return both, positions(a, both), positions(b, both)


def find(labels: NDArray[Any], axis: Axis) -> NDArray[np.intp]:
    """Return the positions of `labels` on `axis`; -1 for labels that are not on it.

    >>> find(np.array([7, 5, 6]), np.array([5, 7]))
    array([ 1,  0, -1])
    """
    if (
        len(axis) == 0
        or len(labels) == 0
        or (labels.dtype.kind in "biuf" and kind(axis) != "number")
    ):
        return np.full(len(labels), -1)
    if labels.dtype.kind not in "biufU" or needs_care(labels, axis):
        index = {label: i for i, label in enumerate(axis.tolist())}
        return np.array([index.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if labels.dtype.kind == "U" and kind(axis) == "number":
        return np.full(len(labels), -1)
    at = np.minimum(np.searchsorted(axis, labels), len(axis) - 1)
    return np.where(axis[at] == labels, at, -1)


def spread(
    values: NDArray[np.float64], index: NDArray[np.intp], size: int, axis: int = 0
) -> NDArray[np.float64]:
    """Return zeros of length `size` along `axis`, with `values` at `index`."""
    if len(index) == size and values.shape[axis] == size:
        return values
    shape = list(values.shape)
    shape[axis] = size
    out = np.zeros(shape)
    out[(slice(None),) * axis + (index,)] = values
    return out

"""Make Arrow arrays from buffers, because `pa.array` first imports pandas, which takes 0.2 s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def numbers(values: NDArray[Any]) -> Any:
    """Convert an array of numbers to an Arrow array of the same type.

    Only an array that is not contiguous is copied.

    >>> numbers(np.array([1.5, 2.0])).to_pylist()
    [1.5, 2.0]
    """
    import pyarrow as pa

    content = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, content])


def plain(values: Any, missing: float) -> NDArray[Any]:
    """Return the numbers of an Arrow array, with `missing` for nulls.

    >>> plain(numbers(np.array([1.5, 2.0])), np.nan)
    array([1.5, 2. ])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if values.null_count:
        values = pc.fill_null(values, numbers(np.array([missing]))[0].cast(values.type))
    if isinstance(values, pa.ChunkedArray):
        parts = [np.from_dlpack(chunk) for chunk in values.chunks]
        return np.concatenate(parts) if parts else np.empty(0)
    return np.array(np.from_dlpack(values))


def strings(values: Sequence[str]) -> Any:
    """Return an Arrow array of strings.

    >>> strings(["okapi", "", "żubr"]).to_pylist()
    ['okapi', '', 'żubr']
    """
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def is_text(type: Any) -> bool:
    """Return whether an Arrow type is a string type."""
    import pyarrow.types as pt

    return bool(pt.is_string(type) or pt.is_large_string(type) or pt.is_string_view(type))


def labels(values: NDArray[Any]) -> Any:
    """Return an Arrow array of classes: text, numbers or Booleans."""
    if values.dtype.kind in "iuf":
        return numbers(values)
    if values.dtype.kind in "UO" and all(isinstance(v, str) for v in values.tolist()):
        return strings(values.tolist())
    import pyarrow as pa

    return pa.array(values.tolist())

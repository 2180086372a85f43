"""Pack arrays into few bytes: small types for integers, differences if ascending, compression.

Counts are float64 in memory, but mostly small whole numbers, many of them zero. A packed array is a
buffer of bytes with a description: the type and shape of the array, and how its numbers are stored.
Unpacking restores the same array, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CODEC = "zstd"
SMALLEST = 256  # bytes; smaller arrays are not worth compressing
LARGEST_EXACT = 2.0**53  # whole numbers up to this are exact as float64


class UnpackError(Exception):
    """The bytes do not match their description."""


def pack(array: NDArray[Any]) -> tuple[NDArray[Any], dict[str, Any] | None]:
    """Return the array as bytes with a description, or unchanged with None if it would not shrink.

    >>> stored, description = pack(np.repeat([0.0, 3.0], 1000))
    >>> stored.nbytes < 50, description["stored"]
    (True, 'uint8')
    """
    if array.nbytes < SMALLEST:
        return array, None
    import pyarrow as pa

    numbers = as_whole(array.ravel())
    steps = numbers.dtype.kind in "iu" and bool((numbers[1:] >= numbers[:-1]).all())
    if steps:
        numbers = np.diff(numbers, prepend=numbers.dtype.type(0))
    stored = narrowed(numbers)
    packed = np.frombuffer(pa.compress(stored.tobytes(), CODEC, asbytes=True), np.uint8)
    if packed.nbytes >= array.nbytes:
        return array, None
    description = {
        "type": array.dtype.str,
        "shape": list(array.shape),
        "stored": str(stored.dtype),
        "steps": steps,
    }
    return packed, description


def unpack(packed: NDArray[np.uint8], description: dict[str, Any]) -> NDArray[Any]:
    """Return the array that `pack` packed, or raise UnpackError."""
    import pyarrow as pa

    try:
        shape = tuple(int(n) for n in description["shape"])
        # As text, because NumPy reads None as float64.
        stored, type = np.dtype(str(description["stored"])), np.dtype(str(description["type"]))
        if min(shape, default=0) < 0 or not {stored.kind, type.kind} <= set("biuf"):
            raise UnpackError("an array has an impossible shape or type")
        size = int(np.prod(shape, dtype=object)) * stored.itemsize
        content = pa.decompress(packed.tobytes(), size, CODEC, asbytes=True)
        numbers = np.frombuffer(content, stored)
        if description["steps"]:
            numbers = np.cumsum(numbers, dtype=type)
        return numbers.astype(type).reshape(shape)
    except (ArithmeticError, LookupError, MemoryError, OSError, TypeError, ValueError) as error:
        raise UnpackError(f"an array cannot be unpacked ({error})") from None


def as_whole(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return floats as integers if that is exact (-0.0 is not)."""
    if numbers.dtype != np.float64:
        return numbers
    with np.errstate(invalid="ignore"):
        exact = (np.floor(numbers) == numbers) & (np.abs(numbers) <= LARGEST_EXACT)
    if not exact.all() or (np.signbit(numbers) & (numbers == 0)).any():
        return numbers
    return numbers.astype(np.int64)


def narrowed(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return integers in the smallest type that holds them."""
    if numbers.dtype.kind not in "iu" or numbers.size == 0:
        return numbers
    least, largest = int(numbers.min()), int(numbers.max())
    type = np.result_type(np.min_scalar_type(least), np.min_scalar_type(largest))
    return numbers.astype(type) if type.kind in "iu" else numbers

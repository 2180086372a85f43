"""Read columns of texts, from lists, arrays or anything that exports Arrow, without a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import strings_of_array, strings_of_stream, take_runs
from genus.arrays import matrix
from genus.arrays.labels import is_missing

Chunk = tuple[Any, ...]  # a kind, and what the kernel needs for it: strings, utf8, views or tokens
SHOWN = 40  # characters of a value in an error


class NoText(ValueError):
    """A row does not contain a text."""

    def __init__(self, row: int, found: Any) -> None:
        kind = type(found).__name__
        what = f"nothing ({found})" if is_missing(found) else f"{str(found)[:SHOWN]} ({kind})"
        hint = 'Use "" for a text without words.' if is_missing(found) else "Make it text first."
        self.row, self.found = row, found
        super().__init__(f"Row {row} holds {what} where a text should be. {hint}")


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts in chunks that the kernel can read."""

    chunks: tuple[Chunk, ...]
    starts: tuple[int, ...]  # of the chunks, and the end

    dtype = np.dtype(object)  # as for a matrix with one column

    @classmethod
    def of(cls, X: Any) -> Texts:
        """Return the texts of a list, an array, or a column of pandas, Polars or Arrow."""
        return X if isinstance(X, Texts) else cls.from_chunks(chunks_of(X))

    @classmethod
    def from_chunks(cls, chunks: Iterable[Chunk]) -> Texts:
        kept = tuple(chunks)
        sizes = [size_of(chunk) for chunk in kept]
        return cls(kept, tuple(np.cumsum([0, *sizes]).tolist()))

    @property
    def shape(self) -> tuple[int, int]:
        return self.starts[-1], 1

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, rows: slice) -> Texts:
        """Return consecutive texts."""
        begin, end, step = rows.indices(len(self))
        if step != 1:
            raise IndexError(f"Texts can only be sliced in steps of 1; got a step of {step}.")
        return Texts.from_chunks(
            part_of(chunk, max(begin - start, 0), min(end, stop) - start)
            for chunk, start, stop in zip(self.chunks, self.starts, self.starts[1:], strict=False)
            if start < end and stop > begin
        )

    def take(self, rows: NDArray[np.intp]) -> Texts:
        """Return some texts, given their row numbers in ascending order."""
        ends = np.searchsorted(rows, self.starts)
        return Texts.from_chunks(
            taken(chunk, rows[begin:end] - start)
            for chunk, start, begin, end in zip(
                self.chunks, self.starts, ends, ends[1:], strict=False
            )
            if begin < end
        )

    def strings(self) -> Iterator[str]:
        """Yield the texts in order; raise UnicodeDecodeError if bytes are not UTF-8."""
        for chunk in self.chunks:
            yield from strings_of(chunk)


def chunks_of(X: Any) -> list[Chunk]:
    """Return X as chunks for the kernel; raise an error if it is not a column of texts."""
    X = single_column(X)
    if isinstance(X, str | bytes):
        raise ValueError(
            f"Expected a list of texts, got one text: {X[:SHOWN]!r}. Put it into a list: [text]."
        )
    found = arrow_chunks(X)
    if found is not None:
        return found
    if isinstance(X, Iterator):
        return chunks_of_batches(batches(X))
    if isinstance(X, np.ndarray) and X.dtype.kind not in "OUST":
        raise ValueError(
            f"Expected texts, got an array of {X.dtype}. Texts are strings; for numbers use "
            "another classifier, such as GaussianNB."
        )
    if isinstance(X, Iterable) and not isinstance(X, Mapping | Set):
        texts = tuple(listed(X))
        for row, text in enumerate(texts):
            if not isinstance(text, str | bytes):
                raise NoText(row, text)
        return [("strings", texts)] if texts else []
    raise ValueError(
        f"Expected a list of texts, or a column of pandas, Polars or Arrow; got {type(X).__name__}."
    )


def chunks_of_batches(items: Iterable[Any]) -> list[Chunk]:
    """Return the chunks of batches of texts; errors number rows across batches."""
    found: list[Chunk] = []
    rows = 0
    for item in items:
        try:
            chunks = chunks_of(item)
        except NoText as error:
            raise NoText(rows + error.row, error.found) from None
        found += chunks
        rows += sum(map(size_of, chunks))
    return found


def batches(items: Iterator[Any]) -> Iterator[Any]:
    """Yield batches of texts, from an iterator of batches or of texts."""
    single: list[Any] = []
    for item in items:
        if isinstance(item, str | bytes) or not hasattr(item, "__iter__"):
            single.append(item)
            continue
        if single:
            yield single
            single = []
        yield item
    if single:
        yield single


def listed(X: Any) -> Any:
    """Return the values of a column as Python objects."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(X, name):
            return getattr(X, name)()
    return X


def single_column(X: Any) -> Any:
    """Return the only column of a table or matrix, or X itself if it is a column."""
    numbers = isinstance(X, np.ndarray) and X.ndim > 1 and X.dtype.kind in "biufc"
    if matrix.is_sparse(X) or numbers:
        raise ValueError(
            f"Expected texts, got a matrix of numbers of shape {X.shape}. Give the texts "
            "themselves; for counts of words use MultinomialNB."
        )
    if hasattr(X, "num_columns") and hasattr(X, "column"):  # of Arrow
        if X.num_columns != 1:
            raise ValueError(
                f"Expected one column of texts, got a table of {X.num_columns} columns. Choose one."
            )
        return X.column(0)
    if hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape"):
        if X.shape[1] != 1:
            raise ValueError(
                f"Expected one column of texts, got a table of {X.shape[1]} columns. Choose one."
            )
        return X.iloc[:, 0] if hasattr(X, "iloc") else X[X.columns[0]]
    if hasattr(X, "ndim") and getattr(X, "ndim", 1) == 2 and X.shape[1] == 1:
        return np.asarray(X)[:, 0]
    if getattr(X, "ndim", 1) == 0:
        raise ValueError(
            f"Expected a list of texts, got one text: {str(X)[:SHOWN]!r}. Put it into a list: "
            "[text]."
        )
    if getattr(X, "ndim", 1) != 1:
        raise ValueError(
            f"Expected one column of texts, got an array of shape {X.shape}. Choose one column."
        )
    return X


def arrow_chunks(X: Any) -> list[Chunk] | None:
    """Return the chunks of an Arrow array or stream; None if X is better read value by value."""
    if str(getattr(X, "dtype", "")) == "object":
        return None
    try:
        if hasattr(X, "__arrow_c_stream__"):
            kind, chunks, null = strings_of_stream(X.__arrow_c_stream__())
        elif hasattr(X, "__arrow_c_array__"):
            kind, chunks, null = strings_of_array(*X.__arrow_c_array__())
        else:
            return None
    except (ImportError, UnicodeError):  # pandas needs pyarrow for it, which takes no surrogates
        return None
    if null >= 0 or (kind == "n" and len(X)):
        raise NoText(max(null, 0), None)
    if kind in ("dictionary", "n"):
        return None
    if chunks is None:
        raise ValueError(
            f"Expected texts, got a column of {getattr(X, 'dtype', getattr(X, 'type', kind))}. "
            "Texts are strings; for numbers use another classifier, such as GaussianNB."
        )
    return list(chunks)


def size_of(chunk: Chunk) -> int:
    """Return the number of texts in a chunk."""
    match chunk:
        case ("strings", texts):
            return len(texts)
        case ("utf8", offsets, _):
            return len(offsets) - 1
        case ("views", views, _):
            return len(views) // 16
        case ("tokens", _, _, rows):
            return len(rows) - 1
    raise AssertionError(chunk[0])


def part_of(chunk: Chunk, begin: int, end: int) -> Chunk:
    """Return consecutive texts of a chunk."""
    match chunk:
        case ("strings", texts):
            return "strings", texts[begin:end]
        case ("utf8", offsets, content):
            return "utf8", offsets[begin : end + 1], content
        case ("views", views, contents):
            return "views", views[16 * begin : 16 * end], contents
        case ("tokens", content, ends, rows):
            return "tokens", content, ends, rows[begin : end + 1]
    raise AssertionError(chunk[0])


def taken(chunk: Chunk, rows: NDArray[np.intp]) -> Chunk:
    """Return the texts of a chunk at some positions."""
    match chunk:
        case ("strings", texts):
            return "strings", tuple(texts[i] for i in rows.tolist())
        case ("utf8", offsets, content):
            starts = offsets[rows].astype(np.int64)
            places = np.concatenate([[0], np.cumsum(offsets[rows + 1] - starts)]).astype(np.int64)
            out = np.empty(places[-1], dtype=np.uint8)
            take_runs(content, starts, places, out, 1)
            return "utf8", places, out
        case ("views", views, contents):
            return "views", views.reshape(-1, 16)[rows].reshape(-1), contents
    raise AssertionError(chunk[0])


def strings_of(chunk: Chunk) -> Iterator[str]:
    """Yield the texts of a chunk as Python strings."""
    match chunk:
        case ("strings", texts):
            for text in texts:
                yield text if isinstance(text, str) else text.decode()
        case ("utf8", offsets, content):
            for start, end in zip(offsets.tolist(), offsets[1:].tolist(), strict=False):
                yield content[start:end].tobytes().decode()
        case ("views", views, contents):
            table = views.view(np.int32).reshape(-1, 4)
            inline = views.reshape(-1, 16)
            for i, (size, _, which, start) in enumerate(table.tolist()):
                near = inline[i, 4 : 4 + size] if size <= 12 else None
                far = contents[which][start : start + size] if near is None else near
                yield far.tobytes().decode()

"""Write names, texts, numbers and times for PostgreSQL and DuckDB.

Every name and text of a model is quoted here and nowhere else, so that none can break out of its
quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LARGEST_INTEGER = 2**63  # of a bigint, less one


@dataclass(frozen=True)
class Dialect:
    """The SQL of one database.

    `longest_name` is the number of bytes to which names are cut, or None. `fence` ends a
    subquery that is to be evaluated once, rather than once for each use. `columns` selects all
    columns of a {row}, and `microseconds` converts a date or time {x} to a number. `escapes` means
    that a backslash in a text may be an escape character, which depends on a setting of the server.
    `folds` means that names that differ only in case are the same.
    """

    name: str
    longest_name: int | None
    fence: str
    columns: str
    microseconds: str
    escapes: bool
    folds: bool

    def folded(self, name: str) -> str:
        """Return a key that is equal for names of the same column; DuckDB ignores case in ASCII."""
        if not self.folds:
            return name
        return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")

    def identifier(self, name: str) -> str:
        """Quote the name of a table or a column.

        >>> print(DUCKDB.identifier('a "b'))
        "a ""b"
        """
        self._refuse_unwritable("name", name)
        if not name:
            raise ValueError(
                "A table or a column has an empty name, which SQL does not allow. Rename it."
            )
        if self.longest_name is not None and len(name.encode()) > self.longest_name:
            raise ValueError(
                f"{self.name} truncates names after {self.longest_name} bytes, and {name!r} "
                "is longer. Use a shorter name."
            )
        return '"' + name.replace('"', '""') + '"'

    def text(self, text: str) -> str:
        """Quote a text.

        >>> print(DUCKDB.text("it's here"))
        'it''s here'
        """
        self._refuse_unwritable("text", text)
        quoted = "'" + text.replace("'", "''") + "'"
        if self.escapes and "\\" in text:
            # E'…' means the same whether standard_conforming_strings is on or off.
            return "E" + quoted.replace("\\", "\\\\")
        return quoted

    def label(self, label: Any) -> str:
        """Return a class as a literal of its own type."""
        if isinstance(label, str):
            return self.text(label)
        if isinstance(label, bool):
            return "TRUE" if label else "FALSE"
        if isinstance(label, int):
            fits = -LARGEST_INTEGER <= label < LARGEST_INTEGER
            return f"CAST('{label}' AS {'bigint' if fits else 'numeric(20, 0)'})"
        if isinstance(label, float):
            return number(label)
        raise ValueError(
            f"The class {label!r} is not text, a number or a Boolean, so SQL has no literal "
            "for it. Fit with classes that are text."
        )

    def table(self, table: str | Sequence[str]) -> str:
        """Quote the name of a table, or its parts, such as schema and table."""
        parts: list[Any] = list(table) if isinstance(table, list | tuple) else [table]
        if not 1 <= len(parts) <= 3 or not all(isinstance(part, str) for part in parts):
            raise ValueError(
                'table must be the name of a table, or its parts, such as ("schema", "table"); '
                f"got {table!r}."
            )
        return ".".join(map(self.identifier, parts))

    def _refuse_unwritable(self, what: str, text: str) -> None:
        if "\0" in text or (not text.isprintable() and any(map(is_surrogate, text))):
            raise ValueError(
                f"The {what} {text!r} contains a character that SQL cannot store (NUL, or "
                "half of a surrogate pair). Remove it and fit again."
            )


def is_surrogate(character: str) -> bool:
    """Return whether a character is half of a surrogate pair, which no database can store."""
    return "\ud800" <= character <= "\udfff"


POSTGRES = Dialect(
    name="PostgreSQL",
    longest_name=63,
    fence="\n  OFFSET 0",
    columns="({row}).*",
    microseconds="CAST(EXTRACT(epoch FROM {x}) * 1000000 AS float8)",
    escapes=True,
    folds=False,
)
DUCKDB = Dialect(
    name="DuckDB",
    longest_name=None,
    fence="",
    columns="unnest({row})",
    microseconds="CAST(epoch_us({x}) AS float8)",
    escapes=False,
    folds=True,
)
DIALECTS = {"postgres": POSTGRES, "postgresql": POSTGRES, "duckdb": DUCKDB}


def dialect_of(name: str) -> Dialect:
    """Look up a dialect by its name."""
    if not isinstance(name, str) or name not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}; got {name!r}.")
    return DIALECTS[name]


def number(x: float) -> str:
    """Return a literal that both databases read as the same double.

    >>> number(1.5), number(-np.inf)
    ("float8 '1.5'", "float8 '-Infinity'")
    """
    written = repr(float(x) + 0.0) if np.isfinite(x) else "Infinity" if x > 0 else "-Infinity"
    return f"float8 '{written}'"

"""DATA of a command: a path, a glob, a query or stdin, as a source of rows."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

STDIN = "-"
READ_BY_DUCKDB = ("utf-8", "utf-16", "latin-1")


@contextmanager
def opened(data: str, encoding: str = "utf-8") -> Iterator[Any]:
    """The source that DATA names; what is spooled to read it is gone afterwards."""
    from genus.table.sources import TableError, open_table

    with tempfile.TemporaryDirectory(prefix="genus-") as folder:
        path, name = (spool(folder), "stdin") if data == STDIN else (data, data)
        if not os.path.isfile(path):
            yield open_table(data, of_many(encoding))
            return
        refuse_model(path, name)
        copy = path if encoding in READ_BY_DUCKDB else recoded(path, encoding, folder)
        try:
            source = open_table(copy, encoding if copy == path else "utf-8")
        except TableError as error:
            raise TableError(str(error).replace(copy, name).replace(path, name)) from None
        yield replace(source, name=name)


def of_many(encoding: str) -> str:
    """The encoding of a glob or a folder, which is read where it is."""
    from genus.table.sources import TableError

    if encoding not in READ_BY_DUCKDB:
        raise TableError(f"{encoding} is read from one file at a time. Convert them with iconv.")
    return encoding


def spool(folder: str) -> str:
    """What stdin has, in a file: types are found by a look at the whole."""
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def recoded(path: str, encoding: str, folder: str) -> str:
    """A copy in UTF-8, of a file in an encoding that DuckDB does not know."""
    from genus.table.sources import TableError

    copy = os.path.join(folder, f"recoded{os.path.splitext(path)[1]}")
    try:
        with (
            open(path, encoding=encoding, newline="") as given,
            open(copy, "w", encoding="utf-8", newline="") as file,
        ):
            shutil.copyfileobj(given, file)
    except UnicodeError as error:
        raise TableError(f"{path} is not {encoding}: {error}. Try another --encoding.") from None
    return copy


def refuse_model(path: str, name: str) -> None:
    """Raise if a model stands where data should."""
    from genus.cli.models import is_model
    from genus.table.sources import TableError

    if is_model(path):
        raise TableError(f"{name} is a model; data is expected here. Give a table.")


def stem(data: str) -> str:
    """What a model of DATA is called."""
    from genus.table.sources import suffix_of

    if not os.path.exists(data):
        return "model"
    name = os.path.basename(os.path.abspath(data))
    suffix = suffix_of(name)
    at = name.lower().rfind(suffix) if suffix else -1
    return name[:at] if at > 0 else name


def tell_extra(source: Any, model: Any) -> None:
    """Say which columns of the data the model does not know."""
    from genus.cli.troubles import say

    plan = model.plan_
    familiar = {plan.target, *(column.name for column in plan.columns)}
    extra = [name for name in source.columns if name not in familiar]
    if extra:
        listed = ", ".join(map(repr, extra[:10])) + (" and more" if len(extra) > 10 else "")
        columns = "Column" if len(extra) == 1 else "Columns"
        say(f"{columns} ignored, for the model does not know them: {listed}.")

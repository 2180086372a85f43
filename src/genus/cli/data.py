"""Open a command's DATA: a path, a glob, a query or stdin."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

STDIN = "-"
COMPARED = 20  # tables whose columns are compared


@contextmanager
def opened(
    data: Sequence[str],
    encoding: str = "utf-8",
    skip_unreadable: bool = False,
    texts: Collection[str] = (),
) -> Iterator[Any]:
    """Open DATA, with the columns `texts` as written; temporary copies are removed afterwards."""
    from genus.table import TableError, open_table, readable_files

    if list(data).count(STDIN) > 1:
        raise TableError("- means stdin, which can be read only once. Give it once.")
    with tempfile.TemporaryDirectory(prefix="genus-") as folder:
        paths = [place(one, folder) for one in data]
        names = dict(zip(paths, data, strict=True))
        try:
            if skip_unreadable:
                paths = readable_files(paths, encoding)
            source = open_table(paths[0] if len(paths) == 1 else paths, encoding, texts)
            if 1 < len(paths) <= COMPARED:
                tell_uneven([open_table(path, encoding).columns for path in paths])
        except TableError as error:
            raise TableError(as_given(str(error), names)) from None
        yield replace(source, name=as_given(source.name, names))


def place(data: str, folder: str) -> str:
    """Return DATA unchanged, or the path of a copy of it: of stdin or a pipe."""
    from genus.table.read.packing import is_pipe, spooled

    path = spool(folder) if data == STDIN else data
    if os.path.exists(path) and is_pipe(path):
        path = spooled(path)
    if os.path.isfile(path):
        refuse_model(path, data)
    return path


def shown(data: str) -> str:
    """Return DATA as messages name it."""
    return "stdin" if data == STDIN else data


def as_given(text: str, names: Mapping[str, str]) -> str:
    """Replace the paths of copies in a text by the names that the user gave."""
    for path, name in names.items():
        text = text.replace(path, shown(name))
    return text


def spool(folder: str) -> str:
    """Copy stdin to a file: it is read twice, because finding the column types takes a pass."""
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def refuse_model(path: str, name: str) -> None:
    """Raise an error if a model is given instead of data."""
    from genus.cli.models import is_model
    from genus.table import TableError

    if is_model(path):
        raise TableError(
            f"{shown(name)} is a model, but a table is expected here. Commands that take a model "
            "take it first."
        )


def stem(data: Sequence[str]) -> str:
    """Return the default name of a model fitted to DATA."""
    from genus.table.read.formats import suffixless

    if len(data) > 1 or not os.path.exists(data[0]):
        return "model"
    return suffixless(os.path.basename(os.path.abspath(data[0])))


def columns_of(data: Sequence[str]) -> list[str]:
    """Return the columns of the first table, for completion in shells; [] after an error."""
    from genus.cli.models import is_model
    from genus.table import open_table

    for one in data:
        if one != STDIN and not is_model(one):
            try:
                return list(open_table(one).columns)
            except (ValueError, OSError):
                return []
    return []


def tell_uneven(columns: Sequence[Sequence[str]]) -> None:
    """Report the columns that only some of the tables have."""
    from genus.cli.errors import say

    every = dict.fromkeys(name for own in columns for name in own)
    some = [name for name in every if not all(name in own for own in columns)]
    if some:
        listed = ", ".join(map(repr, some[:10])) + (" and more" if len(some) > 10 else "")
        say(f"Some tables lack these columns, so their rows have no value there: {listed}.")


def tell_extra(source: Any, model: Any) -> None:
    """Report the columns of the data that the model does not use."""
    from genus.cli.errors import say

    plan = model.plan_
    familiar = {plan.target, *(column.name for column in plan.columns)}
    extra = [name for name in source.columns if name not in familiar]
    if extra:
        listed = ", ".join(map(repr, extra[:10])) + (" and more" if len(extra) > 10 else "")
        columns, them = ("Column", "it") if len(extra) == 1 else ("Columns", "them")
        say(f"{columns} ignored, because the model was fitted without {them}: {listed}.")

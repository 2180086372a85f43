"""Read and write a command's MODEL."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

STDIO = "-"
SUFFIX = ".genus"


def is_model(path: str) -> bool:
    """Return whether a file seems to be a model, by its suffix or its first bytes.

    A safetensors file begins with the length of its header, as eight bytes; the header begins with
    an opening brace.
    """
    if path.endswith(SUFFIX):
        return True
    if not os.path.isfile(path):  # a pipe can be read only once, later
        return False
    try:
        with open(path, "rb") as file:
            start = file.read(9)
        size = os.path.getsize(path)
    except (OSError, ValueError):
        return False
    header = int.from_bytes(start[:8], "little")
    return len(start) == 9 and start[8:] == b"{" and 2 <= header <= size


def read(path: str) -> Any:
    """Load the classifier in a file or on stdin."""
    from genus.persistence.loading import load

    return read_by(load, path)


def read_by(load: Callable[[str], Any], path: str) -> Any:
    """Load a model from a file, or from stdin, with the function `load`."""
    if path != STDIO:
        if os.path.isfile(path):
            with open(path, "rb"):  # a file without read permission is not a damaged model
                pass
            if not is_model(path):
                raise ValueError(
                    f"{path} is not a genus model. Give a file that `genus fit` wrote; MODEL "
                    "comes before DATA."
                )
        return load(path)
    with tempfile.TemporaryDirectory(prefix="genus-") as folder:
        spooled = Path(folder) / "stdin"
        spooled.write_bytes(sys.stdin.buffer.read())
        return load(str(spooled))


def read_table_model(path: str) -> Any:
    """Load the TableClassifier in a file."""
    from genus.estimators.table import TableClassifier

    model = read(path)
    if not isinstance(model, TableClassifier):
        raise no_table_model(path, type(model).__name__)
    return model


def read_predictor(path: str) -> Any:
    """Load a table model for prediction only, without waiting for scikit-learn."""
    from genus.persistence.predictor import load_predictor

    found = read_by(load_predictor, path)
    if isinstance(found, str):
        raise no_table_model(path, found)
    return found


def no_table_model(path: str, name: str) -> ValueError:
    """Return the error for a model that was not fitted to a table."""
    return ValueError(
        f"{path} is a {name}. This command needs a model of a table, which `genus fit` "
        "writes. Use this model from Python."
    )


def write(model: Any, path: str, for_prediction: bool = False) -> None:
    """Save a model to a file, or to stdout."""
    from genus.display.output import binary, named

    if path != STDIO:
        with named(path):
            model.save(path, for_prediction=for_prediction)
        return
    with tempfile.TemporaryDirectory(prefix="genus-") as folder:
        spooled = Path(folder) / "model"
        model.save(spooled, for_prediction=for_prediction)
        with binary(STDIO) as stdout:
            stdout.write(spooled.read_bytes())


def target_of(model: Any, path: str, given: str | None = None) -> str:
    """Return the name of the column that the model predicts."""
    target = given or model.plan_.target
    if target is None:
        raise ValueError(f"{path} was fitted without a target name. Give --target.")
    return str(target)


def refuse_name(out: str) -> None:
    """Raise an error if the name of a model is that of a table."""
    from genus.table.read.formats import READERS, suffix_of

    if suffix_of(out) in READERS:
        raise ValueError(
            f"{out} would be a model under the name of a table. Give a name that ends in {SUFFIX}."
        )


def refuse_out(out: str, *data: str) -> None:
    """Raise an error, before any work, if the output cannot be written or would replace DATA."""
    folder = os.path.dirname(os.path.realpath(out))
    if out != STDIO and not os.path.isdir(folder):
        raise ValueError(
            f"Cannot write {out}: the folder {folder} does not exist. Create it, or give another "
            "name."
        )
    if out != STDIO and not os.access(folder, os.W_OK, effective_ids=True):
        raise ValueError(
            f"Cannot write {out}: you have no permission to write in the folder {folder}. Give "
            "another name."
        )
    refuse_overwriting(out, *data)


def refuse_overwriting(out: str, *given: str) -> None:
    """Raise an error if the output is one of the given files."""
    for one in given:
        if os.path.exists(out) and os.path.exists(one) and os.path.samefile(out, one):
            raise ValueError(f"This would overwrite {one}. Give another name with -o.")

"""A model on disk: safetensors with JSON metadata. Nothing in such a file can run.

A tree of dictionaries, lists, numbers, text and arrays goes in and comes out. Arrays of numbers
are tensors; arrays of text are two (the characters as UTF-8, and where each text ends); the rest
is JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from genus.persistence.atomic import write_whole

FORMAT = "genus"
VERSION = 3  # 1 had no checksum and was never released; 2 had no sample of rows
OLDEST = 2


def write(path: str | os.PathLike[str], tree: dict[str, Any]) -> None:
    """Write a tree to a file, whole or not at all."""
    tensors: dict[str, NDArray[Any]] = {}
    document: dict[str, Any] = {"version": VERSION, "tree": flatten(tree, "", tensors)}
    document["checksum"] = checksum(VERSION, document["tree"], tensors)
    metadata = {FORMAT: json.dumps(document)}  # one entry: safetensors shuffles several
    content = save({name: np.ascontiguousarray(t) for name, t in tensors.items()}, metadata)
    write_whole(path, content)


def checksum(version: int, tree: Any, tensors: dict[str, NDArray[Any]]) -> str:
    """A digest of all that a file holds; from version 3 on also of the version."""
    begin = b"" if version < 3 else f"version {version}\n".encode()
    digest = hashlib.blake2b(begin + json.dumps(tree).encode(), digest_size=16)
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape}".encode())
        digest.update(tensor.data.cast("B") if tensor.size else b"")
    return digest.hexdigest()


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tree in a file, or an error that says why it is not one of ours."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file {os.fspath(path)!r}.")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            document = checked(path, file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if document["checksum"] != checksum(document["version"], document["tree"], tensors):
            raise damaged(path, "its checksum is wrong")
        tree = unflatten(document["tree"], tensors)
    except SafetensorError as error:
        raise ValueError(
            f"{os.fspath(path)!r} is not a genus model, or was cut short or changed ({error}). "
            "Restore it from a copy, or save the model again."
        ) from None
    except (AttributeError, LookupError, TypeError, RecursionError, UnicodeError) as error:
        raise damaged(path, type(error).__name__) from None
    except json.JSONDecodeError as error:
        raise damaged(path, error) from None
    if not isinstance(tree, dict):
        raise damaged(path, "no model in it")
    return tree | {"version": document["version"]}


def damaged(path: str | os.PathLike[str], why: object) -> ValueError:
    """What to raise for a file of ours that does not make sense."""
    return ValueError(
        f"The model file {os.fspath(path)!r} is damaged ({why}). Restore it from a copy, or save "
        "the model again."
    )


def checked(path: str | os.PathLike[str], metadata: dict[str, str]) -> dict[str, Any]:
    """What the metadata holds; files of others and of later versions are refused."""
    if FORMAT not in metadata:
        raise ValueError(
            f"{os.fspath(path)!r} is a safetensors file, but not of a genus model. "
            "Give a file that save() wrote."
        )
    document: dict[str, Any] = json.loads(metadata[FORMAT])
    version = document["version"]
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(
            f"{os.fspath(path)!r} has format version {version}; this genus reads up to {VERSION}. "
            "Upgrade genus to open it."
        )
    if version < OLDEST:
        raise ValueError(
            f"{os.fspath(path)!r} has format version {version}, of before the first release, and "
            f"this genus reads {OLDEST} and later. Fit and save the model again."
        )
    return document


def flatten(node: Any, name: str, tensors: dict[str, NDArray[Any]]) -> Any:
    """A tree as JSON, its arrays moved to `tensors`."""
    if isinstance(node, dict):
        return {"map": {key: flatten(v, f"{name}/{key}", tensors) for key, v in node.items()}}
    if isinstance(node, list | tuple):
        return {"list": [flatten(v, f"{name}/{i}", tensors) for i, v in enumerate(node)]}
    if isinstance(node, np.ndarray) and node.ndim == 0:
        node = node[()]
    if isinstance(node, np.ndarray) and node.dtype.kind in "biuf" and node.dtype.itemsize <= 8:
        tensors[name] = node.astype(node.dtype.newbyteorder("="), copy=False)
        return {"tensor": name}
    if isinstance(node, np.ndarray) and node.dtype.kind in "UO":
        texts = [str(item).encode("utf-8", "surrogatepass") for item in node.ravel()]
        tensors[f"{name}/text"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
        tensors[f"{name}/ends"] = np.cumsum([len(t) for t in texts], dtype=np.int64)
        return {"texts": name, "object": node.dtype.kind == "O"}
    if isinstance(node, np.generic):
        return {"value": node.item()}
    if node is None or isinstance(node, bool | int | float | str):
        return {"value": node}
    kind = f"{node.dtype} array" if isinstance(node, np.ndarray) else type(node).__name__
    raise TypeError(
        f"{name.lstrip('/')} is a {kind}, which a model file cannot hold; numbers, "
        "text and arrays can."
    )


def unflatten(node: Any, tensors: dict[str, NDArray[Any]]) -> Any:
    """The tree that `flatten` took apart."""
    match node:
        case {"map": children}:
            return {key: unflatten(child, tensors) for key, child in children.items()}
        case {"list": children}:
            return [unflatten(child, tensors) for child in children]
        case {"tensor": name}:
            return tensors[name]
        case {"texts": name, "object": is_object}:
            content, ends = tensors[f"{name}/text"].tobytes(), tensors[f"{name}/ends"].tolist()
            texts = [
                content[start:end].decode("utf-8", "surrogatepass")
                for start, end in zip([0, *ends], ends, strict=False)
            ]
            if is_object:
                return np.array(texts, dtype=object)
            return np.array(texts, dtype=str)
        case {"value": value}:
            return value
    raise KeyError(f"unknown node {str(node)[:40]}")

"""Save a model as safetensors with JSON metadata, which contain no code.

The model is a tree of dictionaries, lists, numbers, text and arrays. Arrays of numbers are stored
as tensors, packed if that makes them smaller, and arrays of text as two tensors: the characters in
UTF-8, and the end of each text. Everything else is JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from genus.persistence.atomic import write_whole
from genus.persistence.packing import UnpackError, pack, unpack

FORMAT = "genus"
# 1 had no checksum and was never released; 2 had no sample of rows; 3 packed nothing;
# 4 had a forest instead of boosted trees; 5 had weights of columns, too; 6 had no linear expert
# over all columns of wide tables
VERSION = 7
OLDEST = 2
MOST_HEADER = 100_000_000  # bytes of metadata that safetensors accepts


def write(path: str | os.PathLike[str], tree: dict[str, Any]) -> None:
    """Write a tree to a file, completely or not at all."""
    write_whole(path, to_bytes(tree))


def to_bytes(tree: dict[str, Any]) -> bytes:
    """Return the bytes of the file for a tree."""
    tensors: dict[str, NDArray[Any]] = {}
    document: dict[str, Any] = {"version": VERSION, "tree": flatten(tree, "", tensors)}
    document["checksum"] = checksum(VERSION, document["tree"], tensors)
    metadata = {FORMAT: json.dumps(document)}  # one entry: safetensors shuffles several
    try:
        content = save({name: np.ascontiguousarray(t) for name, t in tensors.items()}, metadata)
        if int.from_bytes(content[:8], "little") > MOST_HEADER:  # safetensors 0.4 only reads less
            raise SafetensorError("its metadata is too large")
        return content
    except SafetensorError as error:
        raise ValueError(
            f"The model cannot be saved ({error}), because it has too many columns. Fit it to "
            "fewer columns."
        ) from None


def checksum(version: int, tree: Any, tensors: dict[str, NDArray[Any]]) -> str:
    """Return a digest of a file's content; from version 3 on, it includes the version."""
    begin = b"" if version < 3 else f"version {version}\n".encode()
    digest = hashlib.blake2b(begin + json.dumps(tree).encode(), digest_size=16)
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape}".encode())
        digest.update(tensor.data.cast("B") if tensor.size else b"")
    return digest.hexdigest()


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the tree in a file; raise an error with the reason if it is not a genus model."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file {os.fspath(path)!r}. Check the path.")
    return from_bytes(Path(path).read_bytes(), path)


def from_bytes(content: bytes, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return the tree that `to_bytes` wrote; messages name the file `path`, if there is one."""
    try:
        document = checked(path, metadata_of(content))
        tensors = load(content)
        if document["checksum"] != checksum(document["version"], document["tree"], tensors):
            raise damaged(path, "its checksum is wrong")
        tree = unflatten(document["tree"], tensors)
    except SafetensorError as error:
        raise ValueError(
            f"{named(path)} is not a genus model, or was cut short or changed ({error}). "
            "Restore it from a copy, or save the model again."
        ) from None
    except (AttributeError, LookupError, TypeError, RecursionError, UnicodeError) as error:
        raise damaged(path, type(error).__name__) from None
    except (json.JSONDecodeError, UnpackError) as error:
        raise damaged(path, error) from None
    if not isinstance(tree, dict):
        raise damaged(path, "it contains no model")
    return tree | {"version": document["version"]}


def metadata_of(content: bytes) -> dict[str, str]:
    """Return the metadata of a safetensors file: 8 bytes of length, then JSON."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, MOST_HEADER):
        raise SafetensorError("its header is incomplete")
    try:
        header = json.loads(content[8 : 8 + length])
    except ValueError:
        raise SafetensorError("its header is not JSON") from None
    found = header.get("__metadata__") if isinstance(header, dict) else None
    return found if isinstance(found, dict) else {}


def named(path: str | os.PathLike[str] | None) -> str:
    """Return the first words of a message about a file, or about bytes if `path` is None."""
    return "The given content" if path is None else repr(os.fspath(path))


def damaged(path: str | os.PathLike[str] | None, why: object) -> ValueError:
    """Return the error for a damaged model."""
    model = "The given model" if path is None else f"The model file {os.fspath(path)!r}"
    return ValueError(
        f"{model} is damaged ({why}). Restore it from a copy, or save the model again."
    )


def checked(path: str | os.PathLike[str] | None, metadata: dict[str, str]) -> dict[str, Any]:
    """Return the document in the metadata; raise an error for other files and later versions."""
    if FORMAT not in metadata:
        raise ValueError(
            f"{named(path)} is a safetensors file, but not a genus model. Give what save() or "
            "to_bytes() wrote."
        )
    document: dict[str, Any] = json.loads(metadata[FORMAT])
    version = document["version"]
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(
            f"{named(path)} has format version {version}; this version of genus reads "
            f"up to {VERSION}. Upgrade genus to open it."
        )
    if version < OLDEST:
        raise ValueError(
            f"{named(path)} has format version {version}, from before the first "
            f"release; this version of genus reads {OLDEST} and later. Fit and save the model "
            "again."
        )
    return document


def flatten(node: Any, name: str, tensors: dict[str, NDArray[Any]]) -> Any:
    """Convert a tree to JSON, and move its arrays to `tensors`."""
    if isinstance(node, dict):
        return {"map": {key: flatten(v, f"{name}/{key}", tensors) for key, v in node.items()}}
    if isinstance(node, list | tuple):
        return {"list": [flatten(v, f"{name}/{i}", tensors) for i, v in enumerate(node)]}
    if isinstance(node, np.ndarray) and node.ndim == 0:
        node = node[()]
    if isinstance(node, np.ndarray) and node.dtype.kind in "biuf" and node.dtype.itemsize <= 8:
        tensors[name], packed = pack(node.astype(node.dtype.newbyteorder("="), copy=False))
        return {"tensor": name} if packed is None else {"tensor": name, "packed": packed}
    if isinstance(node, np.ndarray) and node.dtype.kind in "UO":
        texts = [str(item).encode("utf-8", "surrogatepass") for item in node.ravel()]
        parts = {
            "text": np.frombuffer(b"".join(texts), dtype=np.uint8),
            "ends": np.cumsum([len(t) for t in texts], dtype=np.int64),
        }
        return {"texts": flatten(parts, name, tensors), "object": node.dtype.kind == "O"}
    if isinstance(node, np.generic):
        return {"value": node.item()}
    if node is None or isinstance(node, bool | int | float | str):
        return {"value": node}
    kind = f"{node.dtype} array" if isinstance(node, np.ndarray) else type(node).__name__
    raise TypeError(
        f"{name.lstrip('/')} is a {kind}, which a model file cannot store; it stores numbers, "
        "text and arrays."
    )


def unflatten(node: Any, tensors: dict[str, NDArray[Any]]) -> Any:
    """Return the tree that `flatten` converted."""
    match node:
        case {"map": children}:
            return {key: unflatten(child, tensors) for key, child in children.items()}
        case {"list": children}:
            return [unflatten(child, tensors) for child in children]
        case {"tensor": name, "packed": packed}:
            return unpack(tensors[name], packed)
        case {"tensor": name}:
            return tensors[name]
        case {"texts": parts, "object": is_object}:
            if isinstance(parts, str):  # up to version 3
                found = {key: tensors[f"{parts}/{key}"] for key in ("text", "ends")}
            else:
                found = unflatten(parts, tensors)
            content, ends = found["text"].tobytes(), found["ends"].tolist()
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

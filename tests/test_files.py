"""Model files: what is saved is what was fitted, and what is no model is refused.

Nothing is lost: a file is whole or not there, and one that was there before stays until then.
"""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import struct

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save, save_file

import genus
from cases import (
    CASES,
    CATEGORICAL,
    GAUSSIAN,
    LABELS,
    LINEAR,
    NUMBERS,
    each,
    refused,
)
from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    Discretizer,
    GammaNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    TableClassifier,
    TextClassifier,
)
from genus.persistence import files, packing
from genus.persistence.loading import unfitted_from_tree
from genus.persistence.trees import parameters_to_tree, to_tree

TEXT = np.array(["ham", "spam", "eggs"])

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(0, 1, (30, 2)), RNG.normal(5, 9, (30, 2))])
Y = np.repeat(["a", "b"], 30)


# What is saved is what was fitted


def again(model, path):
    model.save(path)
    return genus.load(path)


@pytest.mark.parametrize("least", [0.0, -0.0, -1.0, 0.5, -(2.0**53), -(2.0**60), np.nan])
def test_packed_numbers_are_the_same_bit_for_bit(least):
    numbers = np.append(least, np.arange(400.0) % 7)
    for array in (numbers, np.sort(numbers), -numbers):
        packed, description = packing.pack(array)
        assert description is not None
        assert packing.unpack(packed, description).tobytes() == array.tobytes()


def test_options_changed_after_fitting_are_not_saved(tmp_path):
    own = Discretizer()
    alpha, priors = np.array([1.0, 2.0]), [0.2, 0.8]
    models = {
        "bins": CategoricalNB(bins=own).fit(X, Y),
        "nested": CategoricalNB(bins=Discretizer()).fit(X, Y),
        "alpha": BernoulliNB(alpha=alpha).fit(X, Y),
        "priors": GaussianNB(priors=priors).fit(X, Y),
    }
    before = {name: model.predict_proba(X) for name, model in models.items()}
    derived = {name: 0.5 * model for name, model in models.items()}
    derived["nested"].set_params(bins__strategy="uniform")
    derived["alpha"].alpha[0] = 50
    derived["priors"].priors[0] = 0.9
    own.set_params(origin=3.0)
    models["nested"].set_params(bins__strategy="quantile")
    alpha[0] = -1
    priors[:] = [0.5, 0.5]
    for name, model in models.items():
        assert_array_equal(model.predict_proba(X), before[name], err_msg=name)
        loaded = again(model, tmp_path / name)
        assert_array_equal(loaded.predict_proba(X), before[name], err_msg=name)


def test_options_of_pandas_and_numpy_are_saved(tmp_path):
    for model in (
        BernoulliNB(alpha=pd.Series([1.0, 2.0])),
        BernoulliNB(alpha=np.array(0.5)),
        GaussianNB(priors=pd.Series({"b": 0.2, "a": 0.8})),
        CategoricalNB(bins=Discretizer(edges=pd.Series([0.0, 2.0]))),
    ):
        model.fit(X, Y)
        loaded = again(model, tmp_path / "model")
        assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_class_that_load_does_not_know_is_not_saved(tmp_path):
    class Mine(GDA):
        pass

    with pytest.raises(TypeError, match="Mine is a class of your own"):
        Mine().fit(X, Y).save(tmp_path / "model")
    assert not any(tmp_path.iterdir())


def test_a_flipped_bit_of_any_byte_is_noticed(tmp_path):
    path = tmp_path / "model"
    GDA().fit(X, Y).save(path)
    content = path.read_bytes()
    for i in range(len(content)):
        path.write_bytes(content[:i] + bytes([content[i] ^ (1 << i % 8)]) + content[i + 1 :])
        with pytest.raises((ValueError, OSError)):
            genus.load(path)


def test_metadata_that_safetensors_refuses_is_said_to_be_too_much(tmp_path):
    with pytest.raises(ValueError, match=r"cannot be saved .* too many columns"):
        files.to_bytes({"names": "x" * (files.MOST_HEADER + 1)})


def test_a_file_keeps_its_place_and_mode(tmp_path):
    model = GDA().fit(X, Y)
    target, link = tmp_path / "target", tmp_path / "link"
    model.save(target)
    target.chmod(0o600)
    link.symlink_to(target)
    model.save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    model.save(tmp_path / ("x" * 240))
    with pytest.raises(OSError, match="not a regular file"):
        model.save(tmp_path)
    with pytest.raises(ValueError, match="needs a file name"):
        model.save("")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        model.save(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


# Writing files


@pytest.fixture
def saved(tmp_path):
    """A saved model, its path and what the file held."""
    model = GaussianNB().fit(NUMBERS, LABELS)
    path = tmp_path / "model.genus"
    model.save(path)
    return model, path, path.read_bytes()


def test_save_to_no_folder(saved, tmp_path):
    model, path, _ = saved
    with refused("folder", "missing", by=FileNotFoundError):
        model.save(tmp_path / "missing" / "model")
    with refused("folder", by=OSError):
        model.save(path / "model")  # a file is no folder
    with refused(by=OSError):
        model.save(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_save_to_a_read_only_folder(saved, tmp_path):
    model, path, content = saved
    tmp_path.chmod(0o500)
    try:
        with refused(by=PermissionError):
            model.save(path)
    finally:
        tmp_path.chmod(0o700)
    assert path.read_bytes() == content


class Full:
    """A file that takes some bytes and then has no room left."""

    def __init__(self, file, error):
        self.file, self.error = file, error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        raise self.error


FAULTS = [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt(), MemoryError()]


@pytest.mark.parametrize("error", FAULTS, ids=repr)
@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
def test_an_interrupted_save_leaves_the_old_file(saved, tmp_path, monkeypatch, where, error):
    model, path, content = saved

    def fail(*_, **__):
        raise error

    if where == "write":
        full = lambda *given: Full(open(*given), error)  # noqa: E731, SIM115 Full closes it
        monkeypatch.setattr("genus.persistence.atomic.open", full, raising=False)
    else:
        monkeypatch.setattr(os, where, fail)
    with pytest.raises(type(error)):
        (2 * model).save(path)
    with pytest.raises(type(error)):
        model.save(tmp_path / "another.genus")
    monkeypatch.undo()
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert genus.load(path).model_ == model.model_


# Reading files


def test_load_of_no_file(tmp_path):
    with refused("no", "missing.genus", by=FileNotFoundError):
        genus.load(tmp_path / "missing.genus")
    with refused(str(tmp_path), by=(OSError, ValueError)):
        genus.load(tmp_path)


class Danger:
    """Pickled, it leaves a file behind when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


OTHERS = {
    "empty": b"",
    "one byte": b"\0",
    "text": b"height,weight\n1,2\n",
    "zeros": bytes(1000),
    "ones": b"\xff" * 1000,
    "random": np.random.default_rng(0).bytes(5000),
    "a long header": struct.pack("<Q", 2**62) + b"{}",
    "zip": b"PK\x03\x04" + bytes(100),
    "NumPy": b"\x93NUMPY\x01\x00" + bytes(100),
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS)
def test_load_of_other_files(content, tmp_path):
    path = tmp_path / "other.genus"
    path.write_bytes(content)
    with refused("other.genus", "genus model", by=ValueError):
        genus.load(path)


def test_load_of_a_pickle_runs_nothing(tmp_path):
    path, victim = tmp_path / "other.genus", tmp_path / "ran"
    path.write_bytes(pickle.dumps(Danger(victim)))
    with refused("other.genus", by=ValueError):
        genus.load(path)
    assert not victim.exists()


@pytest.mark.parametrize(
    "estimator",
    [
        TextClassifier(ngrams=(1, 2), stop_words=["the"]),
        TableClassifier(ignore=("a", "b"), families={"c": "gaussian"}),
        CategoricalNB(bins=Discretizer("quantile", n_bins=4)),
        GaussianNB(priors={0: 0.25, 1: 0.75}),
    ],
    ids=str,
)
def test_options_are_the_same_after_json(estimator):
    own = parameters_to_tree(estimator.get_params(deep=False))
    tree = json.loads(json.dumps({"estimator": type(estimator).__name__, "parameters": own}))
    loaded = unfitted_from_tree(tree)
    given, found = ({**one.get_params(), "bins": None} for one in (estimator, loaded))
    assert found == given


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"genus": "foo"}, {"genus": "{}"}])
def test_load_of_another_safetensors_file(metadata, tmp_path):
    path = tmp_path / "other.genus"
    save_file({"weight": np.ones((2, 2))}, path, metadata)
    with refused("other.genus", "genus", by=ValueError):
        genus.load(path)


def test_bytes_that_are_no_model():
    content = GaussianNB().fit(X, Y).to_bytes()
    flipped = content[:-1] + bytes([content[-1] ^ 1])
    with refused("The given model is damaged (its checksum is wrong)", by=ValueError):
        genus.from_bytes(flipped)
    with refused("The given content is not a genus model, or was cut short", by=ValueError):
        genus.load(io.BytesIO(content[:-1]))
    with refused("The given content is a safetensors file", "to_bytes()", by=ValueError):
        genus.from_bytes(save({"weight": np.ones((2, 2))}))


@each(CASES)
def test_load_of_a_file_cut_short(case, tmp_path):
    case.fit().save(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    path = tmp_path / "part.genus"
    for end in [*range(0, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:end])
        with refused("part.genus", "cut short", "copy", by=ValueError):
            genus.load(path)
    path.write_bytes(content + b"more")
    with refused("part.genus", by=ValueError):
        genus.load(path)


@each(CASES)
def test_load_of_flipped_bytes(case, tmp_path):
    model = case.fit()
    model.save(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    path = tmp_path / "part.genus"
    for at in np.random.default_rng(0).integers(0, len(content), 60):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        loads_or_refuses(path, case.X)


def loads_or_refuses(path, X):
    """A changed file is refused in our words, or is a model that works: there is no third."""
    try:
        model = genus.load(path)
    except ValueError as error:
        assert path.name in str(error)  # noqa: PT017
        return False
    try:
        with np.errstate(all="ignore"):
            model.predict_proba(X)
            model.partial_fit(X, LABELS)
    except ValueError:
        pass
    return True


def read_parts(path):
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    return header, json.loads(header["__metadata__"]["genus"])["tree"], content[8 + size :]


def write_parts(path, header, tree, body, version=files.VERSION):
    """Write a file whose checksum is right if its tensors can be read at all."""
    write_document(path, header, {"version": version, "tree": tree}, body)
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError:
        return
    checksum = files.checksum(version if isinstance(version, int) else 0, tree, tensors)
    write_document(path, header, {"version": version, "tree": tree, "checksum": checksum}, body)


def write_document(path, header, document, body):
    header = {**header, "__metadata__": {"genus": json.dumps(document)}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def test_load_of_a_later_version(saved):
    _, path, _ = saved
    header, tree, body = read_parts(path)
    for version in (99, 2.5, 0, -1, None, "foo"):
        write_parts(path, header, tree, body, version)
        with refused(path.name, "version", str(version), by=ValueError):
            genus.load(path)
    write_parts(path, header, tree, body, 99)
    with refused("upgrade"):
        genus.load(path)


def changed(tree, at, value):
    """The tree with another value at one place; `...` takes the place away."""
    if not at:
        return value
    key, *rest = at
    out = dict(tree) if isinstance(tree, dict) else list(tree)
    if rest:
        out[key] = changed(tree[key], rest, value)
    elif value is ...:
        del out[key]
    else:
        out[key] = value
    return out


def places(tree, at=()):
    yield at
    pairs = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree if isinstance(tree, list) else ())
    )
    for key, child in pairs:
        yield from places(child, (*at, key))


STRANGE = [None, -1, 1e400, "foo", [], {}, {"value": None}, {"value": 1e400}, {"map": {}}, ...]


@each([GAUSSIAN[0], GAUSSIAN[-1], *CATEGORICAL, LINEAR[0]], GAUSSIAN[0])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_load_of_changed_metadata(case, tmp_path):
    path = tmp_path / "changed.genus"
    case.new().fit(pd.DataFrame(case.X, columns=case.names), TEXT[case.y]).save(path)
    header, tree, body = read_parts(path)
    refusals = 0
    for at in places(tree):
        for value in STRANGE:
            if value is ... and not at:
                continue
            write_parts(path, header, changed(tree, at, value), body)
            refusals += not loads_or_refuses(path, case.X)
    assert refusals > 100


@each([GAUSSIAN[0], GAUSSIAN[2], GAUSSIAN[-1], *CATEGORICAL, LINEAR[0]])
def test_load_of_changed_tensors(case, tmp_path):
    path = tmp_path / "changed.genus"
    case.fit().save(path)
    header, tree, body = read_parts(path)
    other = {"F64": "I64", "I64": "F64", "U8": "I8"}
    for name in header.keys() - {"__metadata__"}:
        tensor = header[name]
        flat = int(np.prod(tensor["shape"]))
        for change in (
            {name: {**tensor, "dtype": other.get(tensor["dtype"], "U8")}},
            {name: {**tensor, "shape": [flat]}},
            {name: {**tensor, "shape": tensor["shape"][::-1]}},
            {name: {**tensor, "shape": [*tensor["shape"], 1]}},
            {f"{name}?": tensor},
        ):
            kept = {key: value for key, value in header.items() if key != name}
            write_parts(path, {**kept, **change}, tree, body)
            with np.errstate(all="ignore"):
                loads_or_refuses(path, case.X)


def test_load_of_wrong_metadata(saved):
    _, path, _ = saved
    header, tree, body = read_parts(path)
    top = ("map",)
    for at, value in (
        ((*top, "estimator"), {"value": "RandomForest"}),
        ((*top, "estimator"), {"value": "os.system"}),
        ((*top, "estimator"), {"value": "MultinomialNB"}),
        ((*top, "columns"), {"value": 7}),
        ((*top, "columns"), {"value": -3}),
        ((*top, "parameters", "map", "gamma"), {"value": 1}),
        ((*top, "parameters", "map", "var_smoothing"), {"value": -1}),
        ((*top, "statistics", "map", "kind"), {"value": "foo"}),
        ((*top, "statistics", "map", "squares"), ...),
        ((*top, "statistics", "map", "squares"), {"tensor": "/nowhere"}),
        ((*top, "statistics"), ...),
    ):
        write_parts(path, header, changed(tree, at, value), body)
        with refused(path.name, "copy", by=ValueError):
            genus.load(path)


def test_load_of_a_deeply_nested_tree(saved):
    _, path, _ = saved
    header, _, body = read_parts(path)
    deep = '{"list":[' * 20_000 + "]}" * 20_000
    header["__metadata__"] = {"genus": f'{{"version":{files.VERSION},"tree":{deep}}}'}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    with refused(path.name, by=ValueError):
        genus.load(path)


def test_load_of_statistics_that_no_rows_have(saved):
    _, path, _ = saved
    header, tree, body = read_parts(path)
    weights = np.frombuffer(body, dtype=np.uint8).copy()
    start, end = header["/statistics/weights"]["data_offsets"]
    for value in (-1.0, np.nan, np.inf):
        weights[start:end] = np.full((end - start) // 8, value).view(np.uint8)
        write_parts(path, header, tree, weights.tobytes())
        with refused(path.name, by=ValueError):
            genus.load(path)


@pytest.mark.parametrize("classes", [["a", "a"], ["b", "a"]])
def test_load_of_classes_that_are_not_in_order(tmp_path, classes):
    tree = to_tree(GaussianNB().fit(X, Y))
    tree["classes"]["classes"] = tree["statistics"]["classes"] = np.array(classes)
    files.write(tmp_path / "model", tree)
    with refused("model", "not in order", by=ValueError):
        genus.load(tmp_path / "model")


@pytest.mark.parametrize(
    "classifier", [GammaNB(), PoissonNB(), MultinomialNB(), BernoulliNB(), GaussianNB()], ids=str
)
def test_a_column_without_values_in_a_class_and_weights_that_round(classifier, monkeypatch):
    """Sums by row and sums by thread round differently, and what is left is no count."""
    monkeypatch.setenv("GENUS_THREADS", "2")
    rows = 70_000
    X = 1.0 + np.arange(2 * rows).reshape(rows, 2) % 3
    y, weight = np.arange(rows) % 2, np.random.default_rng(1).random(rows)
    X[y == 1, 0] = np.nan
    model = classifier.fit(X, y, sample_weight=weight)
    loaded = genus.from_bytes(model.to_bytes())
    loaded.forget(X[:10], y[:10], sample_weight=weight[:10])
    left = classifier.fit(X[10:], y[10:], sample_weight=weight[10:])
    np.testing.assert_allclose(loaded.predict_proba(X[:50]), left.predict_proba(X[:50]), rtol=1e-6)

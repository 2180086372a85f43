"""scikit-learn's own tests, run against other classes.

An installed test module is executed once more while its classes are replaced at the place it
imports them from, so that parametrisations see the replacements too. A test that does not apply is
listed with the line where it must fail and the reason: all before that line must pass, and a test
that starts to pass is noticed.
"""

from __future__ import annotations

import functools
import importlib.util
import linecache
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")  # whose tests the exceptions are to

SEEDS = [0, 1, 42]  # scikit-learn asks of its tests that every seed from 0 to 99 will do


@pytest.fixture(params=SEEDS)
def global_random_seed(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request: pytest.FixtureRequest) -> Any:
    return request.param


class NotApplicable(NamedTuple):
    """A test that must fail at a line that holds the text `at`."""

    at: str
    reason: str


Exceptions = Mapping[str, NotApplicable]


class FailedAsExpected(Exception):
    """A test failed at the line where it must."""


def upstream_tests(
    module: str,
    home: ModuleType,
    classes: Mapping[str, type],
    exceptions: Exceptions,
    left_out: Mapping[str, str],
) -> dict[str, Any]:
    """The tests of an installed module, with `classes` in place of those of the module `home`.

    The keys of `exceptions` are names of tests, or names with some of the parameters, such as
    "test_prior[ComplementNB]". `left_out` are tests that are not run, with the reasons.
    """
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        pytest.skip(f"{module} is not installed", allow_module_level=True)
    code = compile(Path(spec.origin).read_text(encoding="utf-8"), spec.origin, "exec")
    names: dict[str, Any] = {"__name__": f"{module} of genus"}
    with patch.multiple(home, **classes):
        exec(code, names)
    tests = {name: value for name, value in names.items() if name.startswith("test_")}
    listed = {key.partition("[")[0] for key in exceptions} | left_out.keys()
    assert listed <= tests.keys(), f"{module} has no tests {sorted(listed - tests.keys())}"
    for key, exception in exceptions.items():
        name = key.partition("[")[0]
        tests[name] = failing(tests[name], exception.at, spec.origin)
    tests |= {name: skipping(reason) for name, reason in left_out.items()}
    return {**tests, "expect_failures": expecting(exceptions)}


def failing(test: Callable[..., None], at: str, path: str) -> Callable[..., None]:
    """The test, with a failure at the line `at` of the file `path` told from others."""

    @functools.wraps(test)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            test(*args, **kwargs)
        except (Exception, pytest.fail.Exception) as error:
            frames = traceback.walk_tb(error.__traceback__)
            lines = [line for frame, line in frames if frame.f_code.co_filename == path]
            if lines and at in linecache.getline(path, lines[-1]):
                raise FailedAsExpected(str(error)) from error
            raise

    return wrapped


def skipping(reason: str) -> Callable[[], None]:
    @pytest.mark.skip(reason=reason)
    def not_run() -> None:
        pass

    return not_run


def expecting(exceptions: Exceptions) -> Any:
    """A fixture that marks the tests in `exceptions` as expected to fail."""

    @pytest.fixture(autouse=True)
    def expect_failures(request: pytest.FixtureRequest) -> None:
        for key, exception in exceptions.items():
            if is_about(key, request.node):
                request.applymarker(
                    pytest.mark.xfail(strict=True, raises=FailedAsExpected, reason=exception.reason)
                )

    return expect_failures


def is_about(key: str, item: Any) -> bool:
    """Whether a key of the exceptions is about a test item."""
    name, _, parameters = key.partition("[")
    if item.originalname != name:
        return False
    return not parameters or f"-{parameters.removesuffix(']')}-" in f"-{item.callspec.id}-"

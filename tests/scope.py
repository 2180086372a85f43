"""How much of the suite runs: the short one, or all of it, which takes half an hour and more.

`make test` runs the short one, where a case is left out if others reach the same code. Each test
with such cases is named in its last lines, and `make test-all` runs them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

EVERYTHING = os.environ.get("GENUS_TESTS") == "all"
SANITIZED = os.environ.get("GENUS_SANITIZED") == "1"

nightly = pytest.mark.nightly
nightly_if_sanitized = nightly if SANITIZED else lambda test: test


def at_night(cases: Iterable[Any], *always: Any) -> list[Any]:
    """Cases of a test, of which only those in `always` are in the short suite."""
    cases = list(cases)
    unknown = [case for case in always if case not in cases]
    assert not unknown, f"no such cases: {unknown}"
    return [pytest.param(case, marks=() if case in always else nightly) for case in cases]

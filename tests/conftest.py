"""Profiles of hypothesis, what runs at night only, the sanitized kernel, and the optional data."""

from __future__ import annotations

import gc
import importlib.machinery
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

import chromium
from scope import EVERYTHING, SANITIZED

ROOT = Path(__file__).parents[1]

# Tests that share a cluster, a server, a browser or a site: one worker runs all of a file.
TOGETHER = {
    "tests/test_databases.py",
    "tests/test_engines.py",
    "tests/test_formats.py",
    "tests/test_explore.py",
    "tests/test_mail_laws.py",
    "tests/test_mail_recipes.py",
    "tests/test_mail_serve.py",
    "tests/test_mail_store.py",
    "tests/test_mail_watch.py",
    "tests/test_published.py",
    "tests/test_report.py",
    "tests/test_site.py",
    "tests/test_sql.py",
    "tests/test_studio.py",
    "tests/test_studio_page.py",
    "tests/test_tokens.py",
}

quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
reproducible = os.environ.get("CI") == "true"
brief = [phase for phase in Phase if phase is not Phase.explain]  # which may take minutes
settings.register_profile(
    "default",
    deadline=None,
    derandomize=reproducible,
    suppress_health_check=quiet,
    phases=brief,
)
everything = settings.get_profile("default")
settings.register_profile("short", everything, max_examples=20)
settings.register_profile("sanitize", everything, max_examples=25, derandomize=True)
settings.register_profile("short sanitize", everything, max_examples=3, derandomize=True)
profile = ("" if EVERYTHING else "short ") + ("sanitize" if SANITIZED else "")
settings.load_profile(profile.strip() or "default")


# These start servers, and need what only POSIX has.
if sys.platform == "win32":
    collect_ignore = [path.name for path in Path(__file__).parent.glob("test_mail*.py")]
    collect_ignore += ["test_agreement.py", "test_servers.py"]

# Pictures and pages take minutes under the sanitizer, and call nothing that other tests do not.
if SANITIZED:
    collect_ignore = ["test_explore.py", "test_figures.py", "test_ng_jordan.py", "test_site.py"]
    collect_ignore += ["test_studio.py", "test_studio_page.py"]


def load_kernel(folder: Path) -> None:
    """Let `genus._kernel` be the one that was built in a folder, by other means than pip."""
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    path = next(path for s in suffixes if (path := folder / f"_kernel{s}").exists())
    spec = importlib.util.spec_from_file_location("genus._kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["genus._kernel"] = module
    spec.loader.exec_module(module)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nightly: runs in make test-all only")
    if "GENUS_KERNEL" in os.environ:
        load_kernel(ROOT / os.environ["GENUS_KERNEL"])
    from genus import _kernel

    if _kernel.sanitized != SANITIZED:
        raise pytest.UsageError(f"The kernel loaded is the wrong one: {_kernel.__file__}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal tests out to workers one by one, but those of the files in TOGETHER as one."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if file in TOGETHER else nodeid

    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs at night only, and list it in build/nightly.txt, test by test."""
    if EVERYTHING:
        return
    left_out = [item for item in items if item.get_closest_marker("nightly")]
    if not left_out:
        return
    items[:] = [item for item in items if not item.get_closest_marker("nightly")]
    config.hook.pytest_deselected(items=left_out)
    one = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"  # all workers have the same list
    if one and not SANITIZED:
        cases = Counter(item.nodeid.partition("[")[0] for item in left_out)
        lines = [f"{name}: {n} case{'s' * (n > 1)}\n" for name, n in sorted(cases.items())]
        (ROOT / "build").mkdir(exist_ok=True)
        (ROOT / "build" / "nightly.txt").write_text("".join(lines), encoding="utf-8")


GENERATORS: dict[str, list[tuple[np.random.Generator, Any]]] = {}  # by module, as imported


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remember the random generators of modules before a test draws from them.

    The garbage collector passes over what is there now, some 14,000 tests: it lasts to the end.
    """
    gc.freeze()
    for module in {item.module for item in session.items if isinstance(item, pytest.Function)}:
        found = [g for g in vars(module).values() if isinstance(g, np.random.Generator)]
        GENERATORS[module.__name__] = [(g, g.bit_generator.state) for g in found]


@pytest.fixture(autouse=True)
def same_random_numbers(request: pytest.FixtureRequest) -> None:
    """Give a test the same random numbers, whichever tests the worker ran before it."""
    if isinstance(request.node, pytest.Function):
        for generator, state in GENERATORS.get(request.module.__name__, []):
            generator.bit_generator.state = state


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return Chromium, driven by selenium."""
    with chromium.started() as made:
        yield made


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of the optional data sets: GENUS_DATA, or ../shared/data."""
    folder = Path(os.environ.get("GENUS_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data in {folder}: set GENUS_DATA")
    return folder

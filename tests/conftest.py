"""Profiles of hypothesis, the sanitized kernel, and the optional data."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).parents[1]

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
settings.register_profile(
    "sanitize", settings.get_profile("default"), max_examples=25, derandomize=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# Pictures and pages take minutes under the sanitizer, and call nothing that other tests do not.
if os.environ.get("GENUS_SANITIZED") == "1":
    collect_ignore = ["test_figures.py", "test_ng_jordan.py", "test_site.py"]


def load_sanitized_kernel() -> None:
    """Let `genus._kernel` be the one that `make sanitize` builds."""
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    path = ROOT / "build" / "sanitize" / f"_kernel{suffix}"
    spec = importlib.util.spec_from_file_location("genus._kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["genus._kernel"] = module
    spec.loader.exec_module(module)


def pytest_configure(config: pytest.Config) -> None:
    sanitized = os.environ.get("GENUS_SANITIZED") == "1"
    if sanitized:
        load_sanitized_kernel()
    from genus import _kernel

    if _kernel.sanitized != sanitized:
        raise pytest.UsageError(f"The kernel loaded is the wrong one: {_kernel.__file__}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return Chromium, driven by selenium."""
    if os.environ.get("GENUS_SANITIZED") == "1":
        pytest.skip("a browser does not start with the sanitizer loaded")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium or chromedriver is not installed: run scripts/install-chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(driver)
    made = webdriver.Chrome(options=options, service=service)
    yield made
    made.quit()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of the optional data sets: GENUS_DATA, or ../shared/data."""
    folder = Path(os.environ.get("GENUS_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data in {folder}: set GENUS_DATA")
    return folder

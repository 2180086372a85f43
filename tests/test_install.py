"""Two installs from one checkout at once do not meet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scope import nightly

ROOT = Path(__file__).parents[1]
LOAD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_kernel", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(len(dir(module)))
"""


@nightly
def test_two_installs_at_once(tmp_path: Path) -> None:
    """Both end well, with kernels that load, and leave nothing in the checkout."""
    before = sorted(path.name for path in ROOT.iterdir())
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    targets = [tmp_path / name for name in ("one", "two")]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "pip", "install", *options, "--target", target, ROOT],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for target in targets
    ]
    for one in running:
        told, _ = one.communicate(timeout=1800)
        assert one.returncode == 0, told
    names = set()
    for target in targets:
        (kernel,) = (target / "genus").glob("_kernel*.so")
        command = [sys.executable, "-c", LOAD, str(kernel)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        names.add(done.stdout)
    assert len(names) == 1
    assert sorted(path.name for path in ROOT.iterdir()) == before

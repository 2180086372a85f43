"""Write a picture in its four forms: NAME, NAME-dark, NAME-narrow and NAME-narrow-dark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from genus.plots.style import as_file, style


def written(folder: Path, name: str, draw: Callable[[bool], Any]) -> None:
    """Draw for light and dark pages, wide and, for phones, narrow; `draw` is told which."""
    folder.mkdir(parents=True, exist_ok=True)
    for narrow in (False, True):
        for dark in (False, True):
            form = f"{'-narrow' if narrow else ''}{'-dark' if dark else ''}"
            with style(dark):
                (folder / f"{name}{form}.svg").write_bytes(as_file(draw(narrow), "svg"))

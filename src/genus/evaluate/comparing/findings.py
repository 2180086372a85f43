"""Constants and phrases that all tests of assumptions share."""

from __future__ import annotations

LEVEL = 0.01  # significance level


def p_told(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"

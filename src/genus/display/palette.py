"""Colours of the report, in light and dark, as variables of its style sheet.

The colours of classes are those of Okabe and Ito, which people with colour blindness can
distinguish. They are darker where they would be too pale for lines on the page, and brighter where
too dark.
"""

from __future__ import annotations

LIGHT = {
    "page": "#ffffff",
    "panel": "#f6f7f9",
    "text": "#1a1d21",
    "muted": "#555c66",
    "rule": "#d5d9df",
    "link": "#00528a",
    "axis": "#6b727c",
    "bar": "#e9ecf0",
    "bar-edge": "#7b828c",
    "class-0": "#0072b2",
    "class-1": "#c24f00",
    "class-2": "#007a59",
    "class-3": "#a8508a",
    "class-4": "#8f6200",
    "class-5": "#368bbf",
    "class-6": "#1a1d21",
    "others": "#757c86",
    "right-1": "#e6f1f8",
    "right-2": "#c6dff0",
    "right-3": "#9cc9e6",
    "wrong-1": "#fdeee2",
    "wrong-2": "#fad5b8",
    "wrong-3": "#f4b183",
}
DARK = {
    "page": "#14171b",
    "panel": "#1d2126",
    "text": "#e8eaed",
    "muted": "#a9b0ba",
    "rule": "#3a4149",
    "link": "#7cc4f5",
    "axis": "#9199a4",
    "bar": "#2a3037",
    "bar-edge": "#808893",
    "class-0": "#56b4e9",
    "class-1": "#ff8a3d",
    "class-2": "#2fc79a",
    "class-3": "#e59ac6",
    "class-4": "#e6a817",
    "class-5": "#f0e442",
    "class-6": "#f2f4f7",
    "others": "#929aa5",
    "right-1": "#16293a",
    "right-2": "#1a3d59",
    "right-3": "#1f527a",
    "wrong-1": "#33241a",
    "wrong-2": "#52331d",
    "wrong-3": "#6f4220",
}
COLOURS = 7  # classes with their own colour
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "12 3", "1 4")  # for print without colours


def variables(colours: dict[str, str]) -> str:
    """Return the colours as declarations of CSS variables."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def contrast(a: str, b: str) -> float:
    """Return the contrast of two colours, from 1 to 21 (WCAG 2.2)."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Return the luminance of a colour such as #0072b2, from 0 to 1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

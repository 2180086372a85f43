"""Chromium: how it starts, what it emulates, mouse, touch and keys, and what it says of a page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scope import EVERYTHING, SANITIZED, nightly

AXE = Path(__file__).parents[1] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
# Each width and colour scheme in which a page is looked at.
LOOKS = [
    (1280, "light"),
    pytest.param(390, "dark", marks=nightly),
    pytest.param(390, "light", marks=nightly),
    pytest.param(1280, "dark", marks=nightly),
]


@contextmanager
def started(*flags: str) -> Iterator[Any]:
    """Start Chromium, driven by selenium; skip the test if it is not installed."""
    if SANITIZED:
        pytest.skip("a browser does not start with the sanitizer loaded")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium or chromedriver is not installed: run scripts/install-chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", *flags):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield made
    finally:
        made.quit()


def emulate(
    browser: Any,
    width: int | None = None,
    scheme: str = "light",
    *,
    media: str = "",
    motion: str = "reduce",
    height: int = 900,
) -> None:
    """Show pages as wide as this, in light or dark, on a screen or in print."""
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": motion},
    ]
    given = {"media": media, "features": features}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", given)
    if width is None:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        return
    mobile = width < 500
    given = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", given)


# Mouse, touch and keys


def drag(
    browser: Any, path: Sequence[tuple[float, float]], touch: bool = False, pause: int = 0
) -> None:
    """Press at the first place, move over the others, and let go at the last one.

    `pause` is in milliseconds, after each move.
    """
    for i, (x, y) in enumerate(path):
        if touch:
            given: dict[str, Any] = {"touchPoints": [{"x": x, "y": y}]}
            given["type"] = "touchMove" if i else "touchStart"
            browser.execute_cdp_cmd("Input.dispatchTouchEvent", given)
        else:
            mouse(browser, "mouseMoved" if i else "mousePressed", x, y)
        if pause:
            browser.execute_async_script("setTimeout(arguments[1], arguments[0])", pause)
    if touch:
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    else:
        mouse(browser, "mouseReleased", *path[-1])


def mouse(browser: Any, kind: str, x: float, y: float) -> None:
    """Send one event of the mouse."""
    given = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
    if kind != "mouseReleased":
        given["buttons"] = 1
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", given)


KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def press(browser: Any, *keys: str) -> None:
    """Press keys, where the focus is."""
    for key in keys:
        given: dict[str, Any] = {"key": key, "code": "Space" if key == " " else key}
        if key in KEYS:  # without its number, a key moves no slider
            given["windowsVirtualKeyCode"] = KEYS[key]
        text = {"text": key} if key == " " else {}
        browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", **given, **text})
        browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", **given})


# What it says of a page


def violations(browser: Any, within: str = "body") -> list[Any]:
    """Return what axe-core finds wrong in a part of a page; skip the test without axe-core."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: run scripts/install-axe, which needs npm")
    if not browser.execute_script("return 'axe' in globalThis"):
        browser.execute_script(AXE.read_text(encoding="utf-8"))
    found: list[Any] = browser.execute_async_script(
        """const [within, contrast, done] = arguments;
        const said = ({id, help, nodes}) => [id, help, nodes.map((n) => n.html.slice(0, 200))];
        const rules = {'color-contrast': {enabled: contrast}};
        axe.run(within, {resultTypes: ['violations'], preload: false, rules})
            .then(({violations}) => done(violations.map(said)))""",
        within,
        EVERYTHING,  # contrasts take as long as all other rules
    )
    return found


def wider_than_the_page(browser: Any, within: str, but: str) -> list[str]:
    """Return the visible elements in a part that are cut off on the right, but for some."""
    found: list[str] = browser.execute_script(
        """const [within, but] = arguments;
        return [...document.querySelectorAll(`${within} *`)].filter((e) =>
            e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 &&
            !e.closest(but)).map((e) => e.outerHTML.slice(0, 120))""",
        within,
        but,
    )
    return found


def requested(browser: Any) -> list[str]:
    """Return the addresses that were asked for since the last call."""
    sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        one["params"]["request"]["url"]
        for one in sent
        if one["method"] == "Network.requestWillBeSent"
    ]

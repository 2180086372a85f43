"""The documentation as a site: no warnings, no dead links, and a browser shows it as it should."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import chromium
import genus
from scope import nightly

ROOT = Path(__file__).parents[1]
pytestmark = nightly  # Sphinx alone takes 40 seconds; test_docs checks links and code

for package in ("sphinx", "myst_parser", "furo", "ziamath"):
    pytest.importorskip(package, reason=f"{package} is not installed: pip install .[docs]")


class Page(HTMLParser):
    """What a page is made of: its elements, and the names that links can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if "id" in attributes:
            self.ids.add(attributes["id"])

    def links(self) -> Iterator[tuple[str, str]]:
        """Each tag with what it refers to."""
        for tag, attributes in self.elements:
            for name in ("href", "src"):
                if name in attributes:
                    yield tag, attributes[name]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the folder of the site, built from a copy of docs, and what Sphinx complained of."""
    folder = tmp_path_factory.mktemp("site")
    docs, site = folder / "docs", folder / "built"
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("genus*.rst"))
    run = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", str(docs), str(site)]
    told = subprocess.run(run, capture_output=True, text=True, encoding="utf-8", check=False)
    return site, told.stderr


@pytest.fixture(scope="module")
def site(build: tuple[Path, str]) -> Path:
    """Return the folder of the site."""
    return build[0]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Return all pages by their paths."""
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_no_warnings(build: tuple[Path, str]) -> None:
    assert build[1] == ""


def test_every_page_is_there(site: Path, pages: dict[Path, Page]) -> None:
    written = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert {site / path.with_suffix(".html") for path in written} <= set(pages)


def test_every_link_and_image_leads_somewhere(pages: dict[Path, Page]) -> None:
    dead = []
    for path, page in pages.items():
        for _, link in page.links():
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            other = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not other.is_file() or (anchor and anchor not in pages[other].ids):
                dead.append(f"{path.name}: {link}")
    assert dead == []


def test_nothing_comes_from_the_network(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        loaded = [link for tag, link in page.links() if tag in ("script", "link", "img")]
        far = [link for link in loaded if urlsplit(link).netloc]
        assert far == [], path.name


def test_fences_are_as_high_as_what_they_enclose(pages: dict[Path, Page]) -> None:
    """An exponent raises all of |Σ| and not its right bar; braces of 1{…} do not stretch."""
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<ms(up|ub|ubsup)>\s*<mo[^>]*>[|}]</mo>", text), path.name
        assert not re.search(r"<mo>[{}|]</mo>", text), path.name


def test_figures_to_drag_come_with_their_script(site: Path, pages: dict[Path, Page]) -> None:
    found = set()
    for path, page in pages.items():
        names = [a["data-explorable"] for _, a in page.elements if "data-explorable" in a]
        loaded = any("explore.js" in link for _, link in page.links())
        assert loaded == bool(names), path.name
        found |= set(names)
    modules = {path.stem for path in (ROOT / "docs" / "explore").glob("*.js")}
    assert found <= modules
    assert len(found) == 9


def test_every_public_name_has_its_entry(pages: dict[Path, Page]) -> None:
    plots = pytest.importorskip("genus.plots")
    names = {f"genus.{name}" for name in genus.__all__}
    names |= {f"genus.plots.{name}" for name in plots.__all__}
    assert names - set().union(*(page.ids for page in pages.values())) == set()


def test_the_reference_has_types_and_related_names(site: Path) -> None:
    for name in genus.__all__:
        text = (site / "api" / f"genus.{name}.html").read_text(encoding="utf-8")
        assert "seealso" in text, name
        assert "_SupportsArray" not in text, f"{name}: a type of NumPy is spelled out"
    fit = (site / "api" / "genus.GDA.html").read_text(encoding="utf-8")
    words = " ".join(re.sub(r"<[^>]+>", " ", fit).split())
    assert "sample_weight : array-like (rows,) | str | None = None" in words
    assert "ndarray[float64]" in words


def test_no_parameter_is_said_to_be_anything(site: Path) -> None:
    """Except options, which are passed on."""
    vague = []
    for path in sorted((site / "api").glob("genus*.html")):
        text = path.read_text(encoding="utf-8")
        for signature in re.findall(r'<dt class="sig .*?</dt>', text, re.S):
            words = " ".join(re.sub(r"<[^>]+>", "", signature).split())
            vague += [f"{path.stem}: {name}" for name in re.findall(r"(?<!\*)\b\w+: Any\b", words)]
            assert "~" not in words, words
    assert vague == []


def test_images_come_in_pairs_where_there_is_one_for_dark_pages(pages: dict[Path, Page]) -> None:
    files = {path.name for path in (ROOT / "docs" / "images").rglob("*.*")}
    for path, page in pages.items():
        for tag, attributes in page.elements:
            if tag != "img":
                continue
            name = Path(attributes["src"])
            classes = attributes.get("class", "")
            if f"{name.stem}-dark{name.suffix}" in files:
                assert "only-light" in classes, f"{path.name}: {name}"
            if name.stem.endswith("-dark"):
                assert "only-dark" in classes, f"{path.name}: {name}"
            if f"{name.stem}-narrow{name.suffix}" in files:
                assert "only-wide" in classes, f"{path.name}: {name}"
            assert attributes["alt"], f"{path.name}: {name} has no words"


# In a browser


LOOK = """
const [width, done] = arguments;
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const known = {};
const rgba = colour => {
  if (colour in known) return known[colour];
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return known[colour] = [r, g, b, a / 255];
};
const over = ([r, g, b, a], [R, G, B]) => [r*a + R*(1-a), g*a + G*(1-a), b*a + B*(1-a), 1];
const behind = element => {
  if (!element) return [255, 255, 255, 1];
  const own = rgba(getComputedStyle(element).backgroundColor);
  return own[3] === 1 ? own : over(own, behind(element.parentElement));
};
const light = c => c.slice(0, 3).map(v => v / 255)
  .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = element => {
  const back = behind(element);
  const pair = [light(over(rgba(getComputedStyle(element).color), back)), light(back)];
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
};
const scrolls = e => e.tagName !== 'ARTICLE' &&
  (['auto', 'scroll'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
document.fonts.ready.then(() => {
  const words = [...document.querySelectorAll('article *')].filter(e =>
    e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()));
  const seen = {};  // the least readable of each kind
  for (const e of words) {
    const key = `${e.tagName}.${e.className} in ${e.parentElement.tagName}`;
    const found = contrast(e);
    if (!(key in seen) || found < seen[key]) seen[key] = found;
  }
  const images = [...document.querySelectorAll('article img')];
  const prose = document.querySelector('article').cloneNode(true);
  prose.querySelectorAll('pre, code, math').forEach(e => e.remove());
  done({
    cut: [...document.querySelectorAll('article *')].filter(e => e.checkVisibility() &&
      e.getBoundingClientRect().right > width && !scrolls(e.parentElement) &&
      !e.closest('[clip-path]'))
      .map(e => `${e.tagName} ${e.textContent.slice(0, 40)}`),
    page: light(behind(document.body)),
    faint: Object.entries(seen).filter(([, found]) => found < 4.5),
    math: [...document.querySelectorAll('math')].map(m => m.getBoundingClientRect())
      .map(box => [box.width, box.height]),
    font: [...document.fonts].filter(f => f.family === 'Formulas').map(f => f.status),
    broken: document.querySelectorAll('merror').length,
    asleep: [...document.querySelectorAll('[data-explorable]:not(.ex-ready)')].map(e => e.id),
    raw: /\\$\\$|\\\\frac|\\\\sum|\\\\mid/.test(prose.textContent),
    sideways: [...document.querySelectorAll('article pre')].filter(e => e.checkVisibility() &&
      e.scrollWidth > e.clientWidth + 1).map(e => Array.from(e.textContent).slice(0, 40).join('')),
    covered: [...document.querySelectorAll('article button.copy')].filter(button => {
      if (!button.checkVisibility()) return false;
      const code = document.createRange();
      code.selectNodeContents(button.parentElement.querySelector('pre'));
      return code.getBoundingClientRect().top < button.getBoundingClientRect().bottom - 1;
    }).map(button => button.parentElement.textContent.slice(0, 40)),
    bare: [...document.querySelectorAll('article div.highlight')]
      .filter(e => !e.querySelector('button.copy')).length,
    wrong: images.filter(i => i.checkVisibility() && !i.naturalWidth).map(i => i.src),
    shown: images.filter(i => i.checkVisibility()).map(i => i.className),
  });
});
"""


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (400, "light"),
        pytest.param(1280, "dark", marks=nightly),
        pytest.param(400, "dark", marks=nightly),
        pytest.param(1280, "light", marks=nightly),
    ],
)
def test_browser_shows_it(browser: Any, site: Path, width: int, scheme: str) -> None:
    chromium.emulate(browser, width, scheme)
    paths = [*site.glob("notes/*.html"), site / "index.html", site / "api" / "genus.GDA.html"]
    if (width, scheme) in ((400, "light"), (1280, "dark")):  # the others would take as long again
        paths += site.glob("*.html")
    wrong_form = "only-wide" if width < 640 else "only-narrow"
    troubles = []
    for path in sorted(set(paths) - {site / "search.html"}):  # which is empty without a question
        browser.get(path.as_uri())
        seen = browser.execute_async_script(LOOK, width)
        other = "only-dark" if scheme == "light" else "only-light"
        found = {
            "console": browser.get_log("browser"),
            "cut": seen["cut"],  # the theme hides what is wider than the page
            "theme": (seen["page"] > 0.5) != (scheme == "light"),
            "faint": seen["faint"],
            "formulas": [box for box in seen["math"] if min(box) < 3]
            or seen["broken"]
            or seen["raw"],
            "figures to drag": seen["asleep"],
            "font": bool(seen["math"]) and seen["font"] != ["loaded"],
            "code that scrolls": width >= 1280 and seen["sideways"],
            "code without a button": seen["bare"],
            "code under a button": seen["covered"],
            "forms": [name for name in seen["shown"] if wrong_form in name],
            "images": seen["wrong"] + [name for name in seen["shown"] if other in name],
        }
        troubles += [(path.name, name, what) for name, what in found.items() if what]
    assert troubles == []


def test_no_page_scrolls_sideways(browser: Any, site: Path) -> None:
    """The theme has breakpoints at 1008, 1312 and 1552 pixels: widths below and above each."""
    wide = []
    for path in sorted([*site.glob("*.html"), *site.glob("*/*.html")]):
        if path.parent.name.startswith("_"):
            continue
        browser.get(path.as_uri())
        for width in 390, 700, 1000, 1020, 1100, 1280, 1400, 1600:
            browser.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
            )
            needed = browser.execute_script("return document.documentElement.scrollWidth")
            if needed > width:
                wide.append((path.name, width, needed))
    assert wide == []


def test_search_finds_a_word(browser: Any, site: Path) -> None:
    browser.get_log("browser")
    browser.get(f"{(site / 'search.html').as_uri()}?q=nips")
    titles = "return [...document.querySelectorAll('#search-results li a')].map(a => a.textContent)"
    end = time.monotonic() + 10
    while (found := browser.execute_script(titles)) == [] and time.monotonic() < end:
        time.sleep(0.1)
    assert found[0] == "Laplace smoothing"
    snippet = "return document.querySelector('#search-results li p.snippet').textContent"
    assert "NIPS" in browser.execute_script(snippet)
    assert browser.get_log("browser") == []


def test_the_search_shows_no_tex(site: Path) -> None:
    texts = (site / "_static" / "texts.js").read_text(encoding="utf-8")
    assert "log p(x, y)" in texts
    assert "φ_k" in texts
    assert not re.search(r"\\\\(phi|mid|lvert|Sigma|frac)", texts)


def test_signs_stay_on_the_line_of_their_formula(browser: Any, site: Path) -> None:
    chromium.emulate(browser, 390)
    browser.get((site / "notes" / "event-models.html").as_uri())
    gaps = """return [...document.querySelectorAll('article p .together')]
        .filter((group) => group.checkVisibility() && group.lastChild.nodeType === 3)
        .map((group) => {
            const sign = document.createRange();
            sign.selectNode(group.lastChild);
            const formula = group.querySelector('math').getBoundingClientRect();
            return sign.getBoundingClientRect().left - formula.right;
        })"""
    found = browser.execute_script(gaps)
    assert found
    assert all(abs(gap) < 5 for gap in found)


def test_a_screenshot_opens_to_be_enlarged(browser: Any, site: Path) -> None:
    for scheme in ("light", "dark"):
        chromium.emulate(browser, 390, scheme)
        browser.get((site / "studio.html").as_uri())
        links = """return [...document.querySelectorAll('article p > a.image-reference')]
            .filter((link) => link.firstChild.checkVisibility()).map((link) => link.href)"""
        shown = [link.rpartition("/")[2] for link in browser.execute_script(links)]
        assert len(shown) == 4
        assert all(("dark" in name) == (scheme == "dark") for name in shown)


def test_the_button_copies_what_can_be_pasted(browser: Any, site: Path) -> None:
    """Without prompts, and without output."""
    browser.get((site / "notes" / "bayes.html").as_uri())
    block = "return pasteable(document.querySelector('article div.highlight > pre'))"
    copied = browser.execute_script(block)
    assert copied.startswith("import numpy as np\nfrom genus import GDA")
    names: dict[str, Any] = {}
    exec(copied, names)
    assert list(names["model"].classes_) == ["dog", "elephant"]

"""How the pages in this folder become a site: `make docs` writes it to build/site.

The pages are Markdown that reads well without Sphinx, so what only a site needs is added here: the
table of contents, the drawing for the theme in use, the look of formulas, and the script of the
figures to drag, whose modules are in explore/. The types in the reference are in signatures.py.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unicodedata import lookup

from genus.display.palette import DARK, LIGHT

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "explore")]

project = "genus"
author = "The genus developers"
copyright = author
version = release = version_of("genus")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
root_doc = "index"
exclude_patterns = ["_templates", "_static", "explore"]
templates_path = ["_templates"]

# Pages

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
highlight_language = "text"  # of indented blocks, which are formulas and drawings
TEXT = ("crontab", "dovecot", "exim", "fetchmail", "maildrop", "mutt", "postfix", "procmail")
TEXT += ("sendmail", "sieve", "systemd")  # no lexer, or one that does not know all of it

CONTENTS = {
    "Start": ["tables", "studio", "text", "mail", "mail-server", "models"],
    "In depth": [
        "smoothing",
        "gaussian",
        "logistic",
        "discretising",
        "missing",
        "merging",
        "evaluating",
        "explaining",
        "plots",
        "digits",
        "files",
        "scale",
        "databases",
        "sql",
    ],
    "The notes": ["notes/index"],
    "Pictures": ["gallery"],
    "Comparing": ["compare*", "scikit-learn", "coming-from", "benchmarks"],
    "Reference": ["api", "cli", "glossary", "design"],
}
NOTES = ["bayes", "normal", "gda", "gda-and-logistic", "naive-bayes", "discretising", "smoothing"]
NOTES += ["event-models", "m-estimates", "explore"]

# Reference

default_role = "code"
smartquotes = False  # "auto" is an option's value
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88  # a longer one has a line for each parameter
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
add_module_names = False
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!genus\b).*"),  # other libraries' names: no network to look
    ("py:class", r"genus(\.\w+){2,}"),  # types in signatures that have no page of their own
]

# What else to look at, and the guide, for each public name.
SEE_ALSO = {
    "TableClassifier": (["TextClassifier", "GDA", "cross_validate", "compare"], "tables"),
    "TextClassifier": (["MultinomialNB", "TableClassifier", "tune"], "text"),
    "GDA": (["GaussianNB", "LinearDiscriminantAnalysis", "MultivariateNormal"], "gaussian"),
    "LinearDiscriminantAnalysis": (["GDA", "QuadraticDiscriminantAnalysis"], "gaussian"),
    "QuadraticDiscriminantAnalysis": (["GDA", "LinearDiscriminantAnalysis"], "gaussian"),
    "GaussianNB": (["GDA", "GammaNB", "CategoricalNB"], "models"),
    "BernoulliNB": (["MultinomialNB", "CategoricalNB", "TextClassifier"], "models"),
    "CategoricalNB": (["Discretizer", "TAN", "AODE", "BernoulliNB"], "models"),
    "NearestShrunkenCentroids": (["GDA", "GaussianNB"], "gaussian"),
    "TAN": (["AODE", "CategoricalNB", "Discretizer"], "models"),
    "AODE": (["TAN", "CategoricalNB", "Discretizer"], "models"),
    "MultinomialNB": (["ComplementNB", "BernoulliNB", "TextClassifier"], "models"),
    "ComplementNB": (["MultinomialNB", "TextClassifier"], "models"),
    "PoissonNB": (["MultinomialNB", "GammaNB"], "models"),
    "GammaNB": (["GaussianNB", "PoissonNB"], "models"),
    "cross_validate": (["CrossValidation", "tune", "compare"], "evaluating"),
    "CrossValidation": (["cross_validate"], "evaluating"),
    "compare": (["Comparison", "cross_validate"], "compare"),
    "Comparison": (["compare"], "compare"),
    "tune": (["Tuning", "cross_validate"], "evaluating"),
    "Tuning": (["tune"], "evaluating"),
    "Choice": (["TextClassifier"], "text"),
    "Explanation": (["TableExplanation", "TextExplanation"], "explaining"),
    "TableExplanation": (["Explanation", "Dependence"], "explaining"),
    "TextExplanation": (["Explanation", "TextClassifier"], "text"),
    "Dependence": (["PairDependence", "TableExplanation"], "explaining"),
    "PairDependence": (["Dependence"], "explaining"),
    "Discretizer": (["CategoricalNB"], "discretising"),
    "MultivariateNormal": (["GDA"], "gaussian"),
    "load": (["from_bytes"], "files"),
    "from_bytes": (["load"], "files"),
    "from_counts": (["from_parameters"], "databases"),
    "from_parameters": (["from_counts"], "scikit-learn"),
    "readable_files": (["TableClassifier"], "scale"),
    "SingularCovarianceError": (["SingularCovarianceWarning", "GDA"], "gaussian"),
    "SingularCovarianceWarning": (["SingularCovarianceError", "GDA"], "gaussian"),
    "TableError": (["TableClassifier"], "tables"),
}

# Looks

html_theme = "furo"
html_title = "genus"
html_css_files = ["site.css"]
CLASSES = [name for name in LIGHT if name.startswith("class-") or name == "others"]
html_theme_options = {
    "light_logo": "logo.svg",
    "dark_logo": "logo-dark.svg",
    "light_css_variables": {name: LIGHT[name] for name in CLASSES},
    "dark_css_variables": {
        "color-background-primary": DARK["page"],
        **{name: DARK[name] for name in CLASSES},
    },
}
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # fetches pages, which fails for files on a disk: see snippets.js

# Formulas become MathML, which browsers draw by themselves: no script, nothing from the network.
# Docutils, which Sphinx needs anyway, has the converter. (MathJax is 2 MB beside the site or comes
# from elsewhere; KaTeX needs Node to build or a script to view.) What a browser needs for good
# spacing is a font with tables for mathematics: STIX Two Math, copied from the package ziamath.
ziamath = find_spec("ziamath")
fonts = Path(ziamath.origin).parent / "fonts" if ziamath and ziamath.origin else HERE / "_static"
html_static_path = ["_static", str(fonts / "STIXTwoMath-Regular.ttf")]
html_js_files = ["copy.js", "breaks.js", "pictures.js"]
html_favicon = "_static/logo.svg"
html_math_renderer = "mathml"
THIN = '<mspace width="0.17em"/>'  # as in log p, and not as in exp(x)


# Braces of 1{…} and bars of |Σ| are as high as a letter, not as the whole formula. (Those of \left
# and \right would be too, so that those are for round and square brackets only.)
FENCES = {
    "<mo>{</mo>": '<mo stretchy="false">{</mo>',
    "<mo>}</mo>": '<mo stretchy="false">}</mo>',
    '<mo class="mathopen">|</mo>': '<mo stretchy="false" form="prefix">|</mo>',
    "<mo>|</mo>": '<mo stretchy="false" form="postfix">|</mo>',
}


def formula(translator: Any, node: Any) -> None:
    from docutils import nodes
    from docutils.utils.math import MathError
    from docutils.utils.math.latex2mathml import tex2mathml
    from sphinx.util.logging import getLogger

    block = isinstance(node, nodes.math_block)
    try:
        math = tex2mathml(node.astext(), as_block=block)
        math = re.sub(r"(ApplyFunction;</mo>)(?!\s*<mo[^>]*>\()", r"\1" + THIN, math)
        for sign, upright in FENCES.items():
            math = math.replace(sign, upright)
    except MathError as error:
        getLogger(__name__).warning("%s: %s", error, node.astext(), location=node)
        math = "<math></math>"
    translator.body.append(f'<div class="formula">{math}</div>\n' if block else math)
    raise nodes.SkipNode


def add_contents(app: Any, page: str, source: list[str]) -> None:
    """The table of contents, as far as the pages exist, at the end of the two that have one."""
    if page == "index":
        trees = CONTENTS.items()
    elif page == "notes/index":
        trees = [("", [f"notes/{name}" for name in NOTES])]
    else:
        return
    for caption, pages in trees:
        found = [sorted(HERE.glob(f"{name}.md"), key=lambda path: path.stem) for name in pages]
        names = [path.relative_to(HERE).with_suffix("") for paths in found for path in paths]
        there = "\n".join(f"/{name}" for name in names)
        title = f":caption: {caption}\n" if caption else ""
        source[0] += f"\n```{{toctree}}\n:hidden:\n{title}\n{there}\n```\n"


def show_by_theme(app: Any, doctree: Any) -> None:
    """Replace an image by its forms for light and dark pages and for phones, as far as there are.

    They are x.svg, x-dark.svg, x-narrow.svg and x-narrow-dark.svg.
    """
    from docutils import nodes

    folder = (HERE / app.env.docname).parent
    for image in list(doctree.findall(nodes.image)):
        path = Path(image["uri"])
        narrow, dark = (path.with_stem(f"{path.stem}-{form}") for form in ("narrow", "dark"))
        forms = {path: []}
        if (folder / narrow).exists():
            forms = {path: ["only-wide"], narrow: ["only-narrow"]}
        if (folder / dark).exists():
            light = {one: [*classes, "only-light"] for one, classes in forms.items()}
            forms = light | {
                one.with_stem(f"{one.stem}-dark"): [*classes, "only-dark"]
                for one, classes in forms.items()
            }
        shown = []
        for one, classes in forms.items():
            other = image.deepcopy()
            other["uri"] = str(one)
            other["classes"].extend(classes)
            shown.append(other)
        image.replace_self(shown)


def keep_together(app: Any, doctree: Any) -> None:
    """A formula in a sentence stays on one line with the signs that touch it: (x), y."""
    from docutils import nodes

    for math in list(doctree.findall(nodes.math)):
        parent, at = math.parent, math.parent.index(math)
        before, after = (parent[i] if 0 <= i < len(parent) else "" for i in (at - 1, at + 1))
        opening = re.search(r"[(\[]$", before) if isinstance(before, nodes.Text) else None
        closing = re.match(r"[.,;:?!)\]]+", after) if isinstance(after, nodes.Text) else None
        if not (opening or closing):
            continue
        group = nodes.inline(classes=["together"])
        if opening:
            parent.replace(before, nodes.Text(before[: opening.start()]))
            group += nodes.Text(opening[0])
        if closing:
            parent.replace(after, nodes.Text(after[closing.end() :]))
        parent.replace(math, group)
        group += math
        if closing:
            group += nodes.Text(closing[0])


def trim_code(app: Any, doctree: Any) -> None:
    """The empty line that ends a block with `>>>`, for doctest's sake, is not to be seen."""
    from docutils import nodes

    for block in doctree.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip()
        block.children[:] = [nodes.Text(block.rawsource)]


def write_explorables(app: Any) -> None:
    """Join the modules of the figures to drag into one script: see explore/bundle.py."""
    from bundle import bundle

    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "explore.js").write_text(bundle(), encoding="utf-8")
    style = (HERE / "explore" / "explore.css").read_text(encoding="utf-8")
    (static / "explore.css").write_text(style, encoding="utf-8")


def load_explorables(app: Any, page: str, template: str, context: Any, doctree: Any) -> None:
    """Load the script on pages that have such a figure, and on no other."""
    if "data-explorable=" in context.get("body", ""):
        app.add_css_file("explore.css")
        app.add_js_file("explore.js", loading_method="defer")


def plain_formula(tex: str) -> str:
    """A formula as a line of text: \\phi_{jk} is φ_jk."""
    signs = {"mid": "|", "lvert": "|", "rvert": "|", "ge": "≥", "le": "≤", "sim": "~", "cdot": "·"}

    def sign(found: re.Match[str]) -> str:
        name = found[1]
        for size in ("SMALL", "CAPITAL"):
            if name == (name.lower() if size == "SMALL" else name.capitalize()):
                with suppress(KeyError):
                    return lookup(f"GREEK {size} LETTER {name.upper()}")
        return signs.get(name, name if name in ("log", "exp", "sum", "prod") else "")

    spaced = re.sub(r"\\[,; !]", " ", re.sub(r"\\([{}|])", r"\1", tex))
    fractions = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", spaced)
    named = re.sub(r"\\([A-Za-z]+)", sign, fractions)
    return " ".join(re.sub(r"(?<!1)\{([^{}]*)\}", r"\1", named).split())


def write_texts(app: Any, error: Exception | None) -> None:
    """Write the text of all pages for the snippets of the search: see _static/snippets.js."""
    if error:
        return
    from docutils import nodes

    texts = {}
    for page in sorted(app.env.found_docs):
        tree = app.env.get_doctree(page)
        for math in list(tree.findall(nodes.math)):
            math.children[:] = [nodes.Text(plain_formula(math.astext()))]
        parts = tree.findall(nodes.paragraph)
        texts[page] = " ".join(" ".join(part.astext() for part in parts).split())
    script = f"const genusTexts = {json.dumps(texts, ensure_ascii=False)};\n"
    (Path(app.outdir) / "_static" / "texts.js").write_text(script, encoding="utf-8")


def load_texts(app: Any, page: str, template: str, context: Any, doctree: Any) -> None:
    """Load the text of all pages on the page of the search only."""
    if page == "search":
        app.add_js_file("texts.js", loading_method="defer")
        app.add_js_file("snippets.js", loading_method="defer")


def list_parameters(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Lines as "alpha : what it does", with or without a heading above, become a list."""
    heading, listing, code, found = "Parameters", False, False, []
    for line in lines:
        code = line.lstrip().startswith(">>>") or (code and bool(line.strip()))
        listing = listing and bool(line.strip())
        if re.fullmatch("-{5,}", line):
            heading = found.pop()
            continue
        if code:
            found.append(line)
            continue
        parts = line.split("`")
        parts[::2] = [re.sub(r"(\w)_(?!\w)", r"\1\_", part) for part in parts[::2]]  # not a link
        line = "`".join(parts)
        if entry := re.match(r"([\w\\]+(?:, [\w\\]+)*) : (.+)", line):
            if not listing:
                found.append(f":{heading}:")
            names = ", ".join(f"**{name}**" for name in entry[1].split(", "))
            line, listing = f"  - {names}: {entry[2]}", True
        elif listing:
            line = f"    {line.strip()}"
        found.append(line)
    lines[:] = found


def see_also(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add the related names, and the guide, to the docstring of a public name."""
    package, _, short = name.partition(".")
    if package != "genus" or short not in SEE_ALSO:
        return
    others, guide = SEE_ALSO[short]
    links = ", ".join(f":py:obj:`~genus.{other}`" for other in others)
    lines += ["", ".. seealso::", "", f"   {links}; the guide :doc:`/{guide}`", ""]


def leave_out(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """What is inherited from elsewhere is documented there."""
    module = getattr(obj, "__module__", None) or ""
    return True if module and not module.startswith("genus") else None


def setup(app: Any) -> None:
    from pygments.lexers.special import TextLexer
    from signatures import improve, readable

    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("builder-inited", write_explorables)
    app.connect("html-page-context", load_explorables)
    app.connect("html-page-context", load_texts)
    app.connect("build-finished", write_texts)
    app.connect("source-read", add_contents)
    app.connect("doctree-read", show_by_theme, priority=100)  # before images are collected
    app.connect("doctree-read", keep_together)
    app.connect("doctree-read", trim_code)
    app.connect("doctree-read", improve)
    app.connect("autodoc-process-signature", readable)
    app.connect("autodoc-process-docstring", list_parameters)
    app.connect("autodoc-process-docstring", see_also)
    app.connect("autodoc-skip-member", leave_out)
    for name in TEXT:
        app.add_lexer(name, TextLexer)

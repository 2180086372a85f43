"""Join the modules of this folder into one classic script, without a JavaScript tool.

A browser loads no modules from `file://`, where the site has to work, so the site gets one script.
Each module becomes a function that is called once, after those that it imports; what it exports is
what the function returns. Elements and plots (dom.js, plot.js) are those of `genus studio`.
"""

from __future__ import annotations

import re
from pathlib import Path

import genus.studio

HERE = Path(__file__).parent
SHARED = Path(genus.studio.__file__).parent / "static"
IMPORT = re.compile(r'^import (?:(\* as \w+|\{[^}]*\}) from )?"\./([\w-]+)\.js";\n', re.MULTILINE)
DECLARED = re.compile(r"^export (?=(?:const|function|async function|class) (\w+))", re.MULTILINE)
LISTED = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)


def bundle(entry: str = "main", folder: Path = HERE) -> str:
    """Return the script that runs the module `entry`."""
    done: dict[str, str] = {}
    load(entry, folder, done, ())
    body = "\n".join(done.values())
    return f'"use strict";\n(() => {{\nconst modules = {{}};\n{body}}})();\n'


def load(name: str, folder: Path, done: dict[str, str], within: tuple[str, ...]) -> None:
    """Add a module after those that it imports."""
    if name in within:
        raise ValueError(f"Modules import each other in a circle: {' → '.join((*within, name))}.")
    if name in done:
        return
    own = folder / f"{name}.js"
    source = (own if own.exists() else SHARED / own.name).read_text(encoding="utf-8")
    for imported in IMPORT.finditer(source):
        load(imported[2], folder, done, (*within, name))
    exported = DECLARED.findall(source)
    for names in LISTED.findall(source):
        exported += [part.strip() for part in names.split(",") if part.strip()]
    source = IMPORT.sub(as_constant, source)
    source = LISTED.sub("", DECLARED.sub("", source))
    if left := re.search(r"^(import|export)\b.*", source, re.MULTILINE):
        raise ValueError(f"{name}.js: cannot read {left[0]!r}. Name what is exported, one by one.")
    done[name] = (
        f'modules["{name}"] = (() => {{\n{source}return {{ {", ".join(exported)} }};\n}})();\n'
    )


def as_constant(found: re.Match[str]) -> str:
    """Return the declaration that an import becomes."""
    if found[1] is None:
        return ""
    if found[1].startswith("*"):
        return f'const {found[1].removeprefix("* as ")} = modules["{found[2]}"];\n'
    return f'const {" ".join(found[1].split())} = modules["{found[2]}"];\n'

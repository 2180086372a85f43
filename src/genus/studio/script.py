"""Generate the Python script that repeats the changes of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genus.studio import edits as edits_of
from genus.studio.edits import runs
from genus.studio.session import Session
from genus.studio.views.scores import costs_of, outcome_of, rule

WIDTH = 96


def script(session: Session) -> str:
    """Return the script, which reads the same file and saves the same model."""
    data = session.data
    lines = [f'"""What was done in genus studio with {doc(session.name or "a model")}."""', ""]
    if not session.is_own or data is None:
        return "\n".join([*lines, *of_a_model(session)]) + "\n"
    body: list[str] = []
    needs_labels = False
    start = session.options
    options = edits_of.options_after([], start)
    body += [
        f"rows = open_table({place(session)}).table()",
        f"target = {data.target!r}",
    ]
    body += ["", f"model = {constructor(options)}.fit(rows, target=target)"]
    active = False
    for i, edit in enumerate(session.edits):
        body += ["", f"# {edit.told(session.class_names())}"]
        if edit.is_of_rows:
            body += picked(data.numbers[list(edit.rows)].tolist())
            body.append("model.forget(rows.take(picked), target=target)")
            if edit.kind == edits_of.FORGET:
                body.append("forgotten.update(picked)")
                active = True
            else:
                needs_labels = True
                value = data.label_values(session.classes)[edit.label].as_py()
                body.append(f"rows = relabelled(rows, picked, {value!r})")
                body.append("model.partial_fit(rows.take(picked), target=target)")
            continue
        options = edits_of.options_after(session.edits[: i + 1], start)
        if session.solved[i]:
            body.append(f"model = model.resolve(families={options['families']!r})")
        else:
            left = "rows.take(sorted(set(range(len(rows))) - forgotten))" if active else "rows"
            body.append(f"model = {constructor(options)}.fit({left}, target=target)")
    if active:
        at = body.index("") + 1
        body.insert(at, "forgotten: set[int] = set()")
    body += ["", "print(model.summary())"]
    decision = decision_of(session)
    if decision:
        body.append(f"decision = {decision}")
        body.append("print(model.predict(rows.slice(0, 5), decision=decision))")
    body += ["", f'model.save("{stem(session.name)}.genus")']
    imports = ["from genus import TableClassifier", "from genus.table import open_table"]
    imports = ["import pyarrow as pa", "", *imports] if needs_labels else imports
    imports += ["", "", *RELABELLED, ""] if needs_labels else []
    return "\n".join([*lines, *imports, "", *body]) + "\n"


RELABELLED = [
    "def relabelled(rows, picked, label):",
    '    """Return the rows with another label for some of them."""',
    "    place, column = rows.column_names.index(target), rows[target]",
    "    labels = column.to_pylist()",
    "    for row in picked:",
    "        labels[row] = label",
    "    return rows.set_column(place, target, pa.chunked_array([pa.array(labels, column.type)]))",
]


def place(session: Session) -> str:
    """Return the arguments of `open_table` as Python."""
    told = repr(session.path or session.name)
    return told if session.encoding == "utf-8" else f"{told}, {session.encoding!r}"


def of_a_model(session: Session) -> list[str]:
    """Return the lines that load and change a fitted model."""
    lines = ["from genus import load", "", f"model = load({session.path!r})"]
    if session.edits:
        start = {name: getattr(session.given, name) for name in ("families", "ignore")}
        options = edits_of.options_after(session.edits, start)
        lines.append(f"model = model.resolve(families={options['families']!r})")
    name = f"{stem(session.name)}-changed.genus"
    return [*lines, "print(model)", "", f"model.save({name!r})"]


def constructor(options: dict[str, Any]) -> str:
    """Return the call that makes a classifier with the given options."""
    given = []
    if options["families"] != edits_of.AUTO:
        given.append(f"families={options['families']!r}")
    if options["ignore"]:
        given.append(f"ignore={options['ignore']!r}")
    return f"TableClassifier({', '.join(given)})"


def picked(rows: Sequence[int]) -> list[str]:
    """Return the lines that pick rows by their numbers; consecutive numbers become ranges."""
    found = runs(rows)
    parts = [
        str(first) if first == last else f"*range({first}, {last + 1})" for first, last in found
    ]
    lines, line = [], "numbers = ["
    for part in parts:
        if len(line) + len(part) > WIDTH:
            lines.append(line.rstrip())
            line = "    "
        line += f"{part}, "
    last = f"{line.rstrip().removesuffix(',')}]  # the first row is 1"
    return [*lines, last, "picked = [number - 1 for number in numbers]"]


def decision_of(session: Session) -> str:
    """Return the decision rule as Python, if one was set."""
    if not session.decision or session.now.scores is None:
        return ""
    now = rule(session)
    labels = outcome_of(session).classes.tolist()
    if now["threshold"] is not None:
        own = float(now["threshold"])  # of the class of interest, while predict takes the second's
        is_first = labels[1] == session.now.model.classes_[0]
        return repr(round(1 - own, 12) if is_first else own)
    costs = {
        pair: cost
        for pair, cost in costs_of(labels, now["costs"]).items()
        if cost != (pair[0] != pair[1])
    }
    return repr(costs) if costs else ""


def doc(name: str) -> str:
    """Return a name with characters that are safe in a docstring."""
    return "".join(c for c in name if c.isprintable() and c not in '"\\')[:80]


def stem(name: str) -> str:
    """Return the name of the file to save to, without a suffix."""
    kept = "".join(c for c in name.split(".")[0] if c.isalnum() or c in "-_ ")[:60].strip()
    return kept or "model"

"""The types that the reference shows instead of Any, and short types of arrays.

The code declares Any where only the running program can tell what was passed. The words are
explained in api.md, under "Types".
"""

from __future__ import annotations

import re
from typing import Any

ROWS = "array-like (rows, columns) | table"
LABELS = "array-like (rows,)"
LABEL = "class"
PRIORS = "array-like (classes,) | dict | None"
BY_CLASS = "array-like (classes, columns)"

# By name, after that of the class or the method (or both) where it alone does not say it.
TYPES = {
    "X": ROWS,
    "TextClassifier X": "texts | table",
    "TableClassifier X": "table | array-like (rows, columns)",
    "explain X": ROWS + " | dict",
    "TextClassifier explain X": "str | texts",
    "TableClassifier explain X": "dict | table | array-like (rows, columns)",
    "EvidenceDisplay X": ROWS + " | dict | str | texts",
    "SigmoidDisplay X": "array-like (rows, 1)",
    "y": LABELS + " | None",
    "learn_one y": LABEL,
    "sample y": f"{LABEL} | {LABELS} | None",
    "sample_weight": LABELS + " | str | None",
    "like": "classifier | None",
    "random_state": "int | Generator | None",
    "priors": PRIORS,
    "class_prior": PRIORS,
    "from_parameters priors": "dict | Series",
    "label": LABEL + " | None",
    "log_odds label": LABEL,
    "against": LABEL + " | None",
    "alpha": "float | array-like | 'auto'",
    "TextClassifier alpha": "float | 'auto'",
    "m": "float | None",
    "p": "float | array-like | None",
    "min_categories": "int | array-like | None",
    "ax": "Axes | array of Axes | None",
    "estimator": "classifier",
    "terms": "explanation",
    "covariance_estimator": "estimator | None",
    "stop_words": "'english' | list of str | None",
    "input_features": "None",
    "features": "None",
    "edges": "array-like | list of array-like | None",
    "one": "str | int",
    "other": "str | int",
    "before": "Points",
    "families": "'auto' | dict",
    "ignore": "sequence of str",
    "class_weight": "dict | 'balanced' | None",
    "decision": "float | dict | None",
    "path": "str | PathLike",
    "data": "table | None",
    "readable_files data": "str | PathLike | list",
    "folds": "int | 'loo' | splitter | pairs",
    "groups": LABELS + " | str | None",
    "time": LABELS + " | str | None",
    "chosen": "choice of a model | None",
    "settings": "dict of lists | list of dict",
    "model": "classifier",
    "classes": "ndarray",
    "counts": "dict | table | None",
    "rows": "dict | Series",
    "sums": BY_CLASS + " | None",
    "squares": BY_CLASS + " | array-like (classes, columns, columns) | None",
    "origin": "float | array-like | None",
    "missing": BY_CLASS + " | array-like (classes,) | None",
    "means": BY_CLASS + " | None",
    "variances": BY_CLASS + " | array-like (columns,) | None",
    "covariance": "array-like (columns, columns) | array-like (classes, columns, columns) | None",
    "probabilities": BY_CLASS + " | dict | None",
    "rates": BY_CLASS + " | None",
}
RETURNED = {
    "predict": "ndarray (rows,) | frame",
    "predict_proba": "ndarray[float64] (rows, classes) | frame",
    "predict_one": LABEL + " | None",
    "predict_proba_one": "dict[class, float]",
    "generative": "classifier",
    "load": "classifier",
    "from_bytes": "classifier",
    "density": "float | ndarray[float64]",
    "log_density": "float | ndarray[float64]",
    "present": "Points | Moments",
    "settled": "Points | Moments",
    "cancelled": "Points | Moments",
    "under": "Points | Moments",
    "to_networkx": "networkx.DiGraph",
    "alpha_": "float | ndarray[float64] | None",
    "shared_": "bool | float",
    "shrinkage_": "float | ndarray[float64]",
    "epsilon_": "float | ndarray[float64]",
}
ARRAY = re.compile(r"~?(?:numpy\.)?ndarray\[tuple\[[^]]*\], ~?(?:numpy\.)?dtype\[([~\w.]+)\]\]")
LIKE = re.compile(r"_Buffer \| _SupportsArray.*?_NestedSequence\[complex \| bytes \| str\]")


def shorten(shown: str) -> str:
    """Write a type of NumPy as people do: ndarray[float64], ArrayLike."""
    kinds = {found: found.rpartition(".")[2].strip("~") for found in ARRAY.findall(shown)}
    short = {found: f"ndarray[{kind}]".replace("[Any]", "") for found, kind in kinds.items()}
    return LIKE.sub("ArrayLike", ARRAY.sub(lambda found: short[found[1]], shown))


def readable(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: Any
) -> tuple[str, Any] | None:
    """Make a signature with a default of a dataclass one that Sphinx can parse."""
    if signature is None or "<factory>" not in signature:
        return None
    short = re.sub(r"~(?:\w+\.)+", "", shorten(signature))
    return short.replace("<factory>", "..."), returned


def improve(app: Any, doctree: Any) -> None:
    """Show in all signatures the types above, and short ones of arrays."""
    from docutils import nodes
    from sphinx import addnodes

    for signature in doctree.findall(addnodes.desc_signature):
        *owners, name = signature["fullname"].split(".")
        for parameter in signature.findall(addnodes.desc_parameter):
            parts = list(parameter.findall(addnodes.desc_sig_name))
            if len(parts) == 2 and parts[1].astext() == "Any":
                given = parts[0].astext()
                owner = owners[-1] if owners else name
                keys = (f"{owner} {name} {given}", f"{owner} {given}", f"{name} {given}", given)
                known = next((TYPES[key] for key in keys if key in TYPES), None)
                if known:
                    parts[1].children[:] = [nodes.Text(known)]
        for kind in (addnodes.desc_returns, addnodes.desc_annotation):
            for node in signature.findall(kind):
                shown = node.astext()
                if re.fullmatch(r"( -> |: )(Any|dict\[Any, float\])", shown) and name in RETURNED:
                    colon = ": " if shown.startswith(": ") else ""
                    node.children[:] = [nodes.Text(colon + RETURNED[name])]
    for kind in (addnodes.desc_sig_name, addnodes.desc_returns, addnodes.desc_annotation):
        for node in doctree.findall(kind):
            before = node.astext()
            after = shorten(before)
            if after != before:
                node.children[:] = [nodes.Text(after.removeprefix(" -> "))]
    for given in doctree.findall(addnodes.desc_parameterlist):  # many fit into one line now
        room = app.config.python_maximum_signature_line_length
        given["multi_line_parameter_list"] = len(given.parent.astext()) > room

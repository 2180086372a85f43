"""What columns of a table hold, and the families that model each.

By itself, so that the command line can list them before anything is loaded.
"""

FAMILIES = {
    "gaussian": "number",
    "discretised": "number",
    "poisson": "number",
    "categorical": "category",
    "bernoulli": "category",
    "text": "text",
}
KINDS = tuple(dict.fromkeys(FAMILIES.values()))


def is_for(family: str, kind: str) -> bool:
    """Whether a family can model what a column holds; numbers may be categories, too.

    >>> is_for("categorical", "number"), is_for("gaussian", "category")
    (True, False)
    """
    own = FAMILIES[family]
    return kind == own or (own, kind) == ("category", "number")

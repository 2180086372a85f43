"""Check the user's options, and build the model of a table from them and a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from genus.arrays import labels
from genus.arrays.options import flag, whole
from genus.registry import FAMILIES, is_for
from genus.table import Plan
from genus.table.model.counts import Counting
from genus.table.model.mixed import Mixed
from genus.text import Tokenizer
from genus.text.model import Selection, Words

MOST_SAMPLED = 10_000_000  # rows


def build(plan: Plan, families: Any, dependence: Any, calibrate: Any, sample_size: Any) -> Mixed:
    """Check the options, and return the family of a table."""
    asked = asked_families(families)
    kinds = {column.name: column.kind for column in plan.columns}
    for name, family in asked.items():
        if name not in kinds:
            raise ValueError(
                f"There is no column {name!r}, for which you chose the family {family!r}. "
                f"{labels.meant(name, kinds) or 'Check the name.'}".rstrip()
            )
        if not is_for(family, kinds[name]):
            held = f"has the kind {kinds[name]!r}" if kinds[name] else "is left out"
            raise ValueError(
                f"Column {name!r} {held}, but the family {family!r} is for columns of the kind "
                f"{FAMILIES[family].kind!r}. Choose another family, or none."
            )
    weighs = flag("calibrate", calibrate)
    size = whole("sample_size", sample_size, least=0, most=MOST_SAMPLED)
    # Pairs of words need weights: in a plain product they would count everything twice.
    tokenizer = Tokenizer(ngrams=(1, 2) if weighs else (1, 1))
    words = Words(tokenizer, selection=Selection(runs=False))
    belief = weighs and size == 0
    how = Counting(plan, words, together(families), size if weighs else 0, belief)
    own = {name: family for name, family in asked.items() if family != "text"}
    if isinstance(dependence, str):
        if dependence != "tree":
            raise ValueError(f'dependence must be True, False or "tree"; got {dependence!r}.')
        if weighs:
            raise ValueError(
                'dependence="tree" is a density, which has no weights to calibrate. Use it with '
                "calibrate=False."
            )
        return Mixed(how, own, False, False, True)
    return Mixed(how, own, flag("dependence", dependence) and weighs, weighs)


def asked_families(families: Any) -> dict[str, str]:
    """Return the families that the user chose, by column."""
    if isinstance(families, str) and families == "auto":
        return {}
    if not isinstance(families, Mapping):
        raise ValueError(f'families must be "auto" or a dictionary by column; got {families!r}.')
    for name, family in families.items():
        known = isinstance(family, str) and family in FAMILIES
        if not (isinstance(name, tuple) or known):
            raise ValueError(
                f"The family of {name!r} must be one of {', '.join(map(repr, FAMILIES))}; got "
                f"{family!r}."
            )
    single = {k: v for k, v in families.items() if not isinstance(k, tuple)}
    return single | {name: "gaussian" for names in together(families) for name in names}


def together(families: Any) -> tuple[tuple[str, ...], ...]:
    """Return the groups of columns of numbers that are modelled jointly."""
    if not isinstance(families, Mapping):
        return ()
    found = [(k, v) for k, v in families.items() if isinstance(k, tuple)]
    for names, family in found:
        if family != "gaussian" or len(names) < 2:
            raise ValueError(
                "A joint family needs two or more columns and must be gaussian; got "
                f"{names!r}: {family!r}."
            )
    named = [name for names, _ in found for name in names]
    named += [name for name in families if not isinstance(name, tuple)]
    twice = {name for name in named if named.count(name) > 1}
    if twice:
        raise ValueError(f"Column {min(twice)!r} has two families. Give it one.")
    return tuple(names for names, _ in found)

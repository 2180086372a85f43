"""Texts: where they come from, their tokens, and documents as counts of words.

Names are imported when they are used, because mail needs the kernel's words and pages but not
SciPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genus.text.documents import Documents as Documents
    from genus.text.documents import Entries as Entries
    from genus.text.sources import NoText as NoText
    from genus.text.sources import Texts as Texts
    from genus.text.tokenizer import DEFAULT_PATTERN as DEFAULT_PATTERN
    from genus.text.tokenizer import Tokenizer as Tokenizer

WHERE = {
    "DEFAULT_PATTERN": "tokenizer",
    "Documents": "documents",
    "Entries": "documents",
    "NoText": "sources",
    "Texts": "sources",
    "Tokenizer": "tokenizer",
}

__all__ = sorted(WHERE)


def __getattr__(name: str) -> Any:
    if name not in WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"genus.text.{WHERE[name]}"), name)

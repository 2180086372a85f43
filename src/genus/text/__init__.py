"""Texts: where they come from, how they become tokens, and documents as counts of words."""

from genus.text.documents import Documents, Entries
from genus.text.sources import NoText, Texts
from genus.text.tokenizer import DEFAULT_PATTERN, Tokenizer

__all__ = ["DEFAULT_PATTERN", "Documents", "Entries", "NoText", "Texts", "Tokenizer"]

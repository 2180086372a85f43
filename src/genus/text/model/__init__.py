"""The model of texts: its counts, and everything that is solved from them."""

from genus.text.model.combination import Combination, mixture, plain
from genus.text.model.corpus import Corpus
from genus.text.model.selection import Selection
from genus.text.model.words import EVENT_MODELS, Words

__all__ = ["EVENT_MODELS", "Combination", "Corpus", "Selection", "Words", "mixture", "plain"]

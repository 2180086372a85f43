"""Store lessons and counts: in SQLite for one machine, in PostgreSQL for many."""

from __future__ import annotations

from genus.mail.store.layers import Layers
from genus.mail.store.lessons import UNIT, Lesson
from genus.mail.store.opening import default_place, open_store
from genus.mail.store.protocol import Change, Store, StoreError, Totals

__all__ = [
    "UNIT",
    "Change",
    "Layers",
    "Lesson",
    "Store",
    "StoreError",
    "Totals",
    "default_place",
    "open_store",
]

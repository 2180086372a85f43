"""Tables: where they come from, what their columns hold, and rows as they are counted."""

from genus.table.columns import Column, Plan, look
from genus.table.frame import Frame, Values
from genus.table.opening import open_table
from genus.table.sources import Source, TableError

__all__ = ["Column", "Frame", "Plan", "Source", "TableError", "Values", "look", "open_table"]

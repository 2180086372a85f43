"""Tables: read them, plan their columns, and convert their rows to the form that is counted."""

from genus.table.frame import Frame, Values
from genus.table.plan import Column, Plan, look
from genus.table.read.objects import array_names
from genus.table.read.opening import open_table, readable_files
from genus.table.read.sources import Source, TableError

__all__ = [
    "Column",
    "Frame",
    "Plan",
    "Source",
    "TableError",
    "Values",
    "array_names",
    "look",
    "open_table",
    "readable_files",
]

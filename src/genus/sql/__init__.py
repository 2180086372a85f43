"""Write models as SQL: one SELECT statement that predicts inside a database."""

from genus.sql.statement import select

__all__ = ["select"]

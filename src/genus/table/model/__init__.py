"""The model of a table: its counts, and everything that is solved from them."""

"""What is counted of a table, and what is solved from it."""

"""Format results: numbers and names as text, colours, and rows written to files."""

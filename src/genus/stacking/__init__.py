"""One probability from several scores, learned from rows that had no part in the counts."""

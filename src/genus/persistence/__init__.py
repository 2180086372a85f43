"""A model on disk."""

"""Save and load models."""

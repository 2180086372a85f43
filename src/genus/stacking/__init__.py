"""Stacking: one probability from several scores, with weights learned out of fold."""

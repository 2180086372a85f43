"""Stacking: combine several scores into one probability, with weights learned out of fold."""

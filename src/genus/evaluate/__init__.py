"""Evaluation: cross-validation by subtraction, tuning, and comparison with logistic regression."""

from genus.evaluate.cross_validation import Tuning, cross_validate, tune

__all__ = ["Tuning", "cross_validate", "tune"]

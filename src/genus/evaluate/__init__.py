"""What models are worth: cross-validation by subtraction, tuning, comparison with regression."""

from genus.evaluate.cross_validation import Tuning, cross_validate, tune

__all__ = ["Tuning", "cross_validate", "tune"]

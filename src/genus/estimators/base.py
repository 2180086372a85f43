"""The base of every classifier: the scikit-learn interface of a `Model`.

Input from users is checked where it enters (`inputs`, `options`). Errors that only the counting
loop can find, such as an infinite value, are raised there with their row and column.
"""

from __future__ import annotations

from genus.estimators.exporting import Exporting
from genus.estimators.group import Group
from genus.estimators.single_rows import SingleRows


class GenerativeClassifier(SingleRows, Group, Exporting):
    """The base class: it models p(x|y) and p(y) by counting, and predicts by Bayes' rule."""

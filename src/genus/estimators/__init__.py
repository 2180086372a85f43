"""The scikit-learn interface: one file per classifier."""

from genus.estimators.base import GenerativeClassifier
from genus.estimators.bernoulli import BernoulliNB
from genus.estimators.categorical import CategoricalNB
from genus.estimators.complement import ComplementNB
from genus.estimators.discretizer import Discretizer
from genus.estimators.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from genus.estimators.gamma import GammaNB
from genus.estimators.gaussian import GDA, GaussianNB
from genus.estimators.multinomial import MultinomialNB
from genus.estimators.poisson import PoissonNB
from genus.estimators.table import TableClassifier
from genus.estimators.text import TextClassifier

__all__ = [
    "GDA",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "Discretizer",
    "GammaNB",
    "GaussianNB",
    "GenerativeClassifier",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "PoissonNB",
    "QuadraticDiscriminantAnalysis",
    "TableClassifier",
    "TextClassifier",
]

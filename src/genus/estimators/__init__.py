"""The scikit-learn interface: all classifiers, and the `Discretizer`."""

from genus.estimators.base import GenerativeClassifier
from genus.estimators.bernoulli import BernoulliNB
from genus.estimators.categorical import CategoricalNB
from genus.estimators.centroids import NearestShrunkenCentroids
from genus.estimators.complement import ComplementNB
from genus.estimators.discretizer import Discretizer
from genus.estimators.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from genus.estimators.gamma import GammaNB
from genus.estimators.gaussian import GDA, GaussianNB
from genus.estimators.multinomial import MultinomialNB
from genus.estimators.one_dependence import AODE, TAN
from genus.estimators.poisson import PoissonNB
from genus.estimators.table import TableClassifier
from genus.estimators.text import TextClassifier

__all__ = [
    "AODE",
    "GDA",
    "TAN",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "Discretizer",
    "GammaNB",
    "GaussianNB",
    "GenerativeClassifier",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "NearestShrunkenCentroids",
    "PoissonNB",
    "QuadraticDiscriminantAnalysis",
    "TableClassifier",
    "TextClassifier",
]

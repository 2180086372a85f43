"""genus: generative classifiers. Model what each class looks like; let Bayes' rule decide."""

from importlib.metadata import version

from genus.choosing import Choice
from genus.estimators import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    TextClassifier,
    load,
)
from genus.evaluate import CrossValidation, Tuning, cross_validate, tune
from genus.explanation import Explanation, TextExplanation
from genus.normal import MultivariateNormal, SingularCovarianceError

__version__ = version("genus")

__all__ = [
    "GDA",
    "BernoulliNB",
    "CategoricalNB",
    "Choice",
    "ComplementNB",
    "CrossValidation",
    "Discretizer",
    "Explanation",
    "GaussianNB",
    "MultinomialNB",
    "MultivariateNormal",
    "PoissonNB",
    "SingularCovarianceError",
    "TextClassifier",
    "TextExplanation",
    "Tuning",
    "cross_validate",
    "load",
    "tune",
]

"""genus: generative classifiers. Model what each class looks like; let Bayes' rule decide."""

from genus.estimators import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    load,
)
from genus.evaluate import cross_validate
from genus.explanation import Explanation
from genus.normal import MultivariateNormal, SingularCovarianceError

__version__ = "0.1.0"

__all__ = [
    "GDA",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "Discretizer",
    "Explanation",
    "GaussianNB",
    "MultinomialNB",
    "MultivariateNormal",
    "PoissonNB",
    "SingularCovarianceError",
    "cross_validate",
    "load",
]

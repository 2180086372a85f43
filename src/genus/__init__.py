"""genus: generative classifiers. Model what each class looks like; let Bayes' rule decide."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from genus.registry import ESTIMATORS

if TYPE_CHECKING:
    from genus.estimators import AODE as AODE
    from genus.estimators import GDA as GDA
    from genus.estimators import TAN as TAN
    from genus.estimators import BernoulliNB as BernoulliNB
    from genus.estimators import CategoricalNB as CategoricalNB
    from genus.estimators import ComplementNB as ComplementNB
    from genus.estimators import Discretizer as Discretizer
    from genus.estimators import GammaNB as GammaNB
    from genus.estimators import GaussianNB as GaussianNB
    from genus.estimators import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from genus.estimators import MultinomialNB as MultinomialNB
    from genus.estimators import NearestShrunkenCentroids as NearestShrunkenCentroids
    from genus.estimators import PoissonNB as PoissonNB
    from genus.estimators import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from genus.estimators import TableClassifier as TableClassifier
    from genus.estimators import TextClassifier as TextClassifier
    from genus.estimators.from_counts import from_counts as from_counts
    from genus.estimators.from_parameters import from_parameters as from_parameters
    from genus.evaluate import Tuning as Tuning
    from genus.evaluate import cross_validate as cross_validate
    from genus.evaluate import tune as tune
    from genus.evaluate.comparing import Comparison as Comparison
    from genus.evaluate.comparing import compare as compare
    from genus.explanation import Explanation as Explanation
    from genus.explanation import TableExplanation as TableExplanation
    from genus.explanation import TextExplanation as TextExplanation
    from genus.persistence.loading import from_bytes as from_bytes
    from genus.persistence.loading import load as load
    from genus.solve.normal import MultivariateNormal as MultivariateNormal
    from genus.solve.normal import SingularCovarianceError as SingularCovarianceError
    from genus.solve.normal import SingularCovarianceWarning as SingularCovarianceWarning
    from genus.stacking.outcome import CrossValidation as CrossValidation
    from genus.table import TableError as TableError
    from genus.table import readable_files as readable_files
    from genus.table.model.dependence import Dependence as Dependence
    from genus.table.model.dependence import PairDependence as PairDependence
    from genus.text.model.choosing import Choice as Choice

WHERE = ESTIMATORS | {
    "Choice": "genus.text.model.choosing",
    "Comparison": "genus.evaluate.comparing",
    "compare": "genus.evaluate.comparing",
    "Discretizer": "genus.estimators.discretizer",
    "from_bytes": "genus.persistence.loading",
    "from_counts": "genus.estimators.from_counts",
    "from_parameters": "genus.estimators.from_parameters",
    "load": "genus.persistence.loading",
    "Tuning": "genus.evaluate",
    "cross_validate": "genus.evaluate",
    "tune": "genus.evaluate",
    "Explanation": "genus.explanation",
    "TableExplanation": "genus.explanation",
    "TextExplanation": "genus.explanation",
    "MultivariateNormal": "genus.solve.normal",
    "SingularCovarianceError": "genus.solve.normal",
    "SingularCovarianceWarning": "genus.solve.normal",
    "CrossValidation": "genus.stacking.outcome",
    "TableError": "genus.table",
    "Dependence": "genus.table.model.dependence",
    "PairDependence": "genus.table.model.dependence",
    "readable_files": "genus.table",
}


def __getattr__(name: str) -> Any:
    """Import a name of the package when it is first used: scikit-learn takes a second to import."""
    if name == "spark":
        return import_module("genus.spark")
    if name == "__version__":
        return import_module("importlib.metadata").version("genus")
    if name not in WHERE:
        raise AttributeError(f"module 'genus' has no attribute {name!r}")
    value = getattr(import_module(WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


__all__ = [
    "AODE",
    "GDA",
    "TAN",
    "BernoulliNB",
    "CategoricalNB",
    "Choice",
    "Comparison",
    "ComplementNB",
    "CrossValidation",
    "Dependence",
    "Discretizer",
    "Explanation",
    "GammaNB",
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "MultivariateNormal",
    "NearestShrunkenCentroids",
    "PairDependence",
    "PoissonNB",
    "QuadraticDiscriminantAnalysis",
    "SingularCovarianceError",
    "SingularCovarianceWarning",
    "TableClassifier",
    "TableError",
    "TableExplanation",
    "TextClassifier",
    "TextExplanation",
    "Tuning",
    "compare",
    "cross_validate",
    "from_bytes",
    "from_counts",
    "from_parameters",
    "load",
    "readable_files",
    "tune",
]

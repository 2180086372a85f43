"""Names and where they are: classifiers, and the families that columns of a table can have.

It imports nothing, so that the command line can list them before anything is loaded.
"""

ESTIMATORS = {
    "GDA": "genus.estimators.gaussian",
    "GaussianNB": "genus.estimators.gaussian",
    "BernoulliNB": "genus.estimators.bernoulli",
    "CategoricalNB": "genus.estimators.categorical",
    "MultinomialNB": "genus.estimators.multinomial",
    "ComplementNB": "genus.estimators.complement",
    "PoissonNB": "genus.estimators.poisson",
    "GammaNB": "genus.estimators.gamma",
    "TextClassifier": "genus.estimators.text",
    "TableClassifier": "genus.estimators.table",
}

FAMILIES = {
    "gaussian": "number",
    "discretised": "number",
    "poisson": "number",
    "categorical": "category",
    "bernoulli": "category",
    "text": "text",
}
KINDS = tuple(dict.fromkeys(FAMILIES.values()))


def is_for(family: str, kind: str) -> bool:
    """Whether a family can model what a column holds; numbers may be categories, too.

    >>> is_for("categorical", "number"), is_for("gaussian", "category")
    (True, False)
    """
    own = FAMILIES[family]
    return kind == own or (own, kind) == ("category", "number")

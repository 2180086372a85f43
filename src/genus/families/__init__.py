"""Families: the class-conditional distributions p(x|y)."""

from genus.families.aode import OneDependence
from genus.families.bernoulli import Bernoulli
from genus.families.categorical import Categorical
from genus.families.complement import Complement
from genus.families.gamma import Gamma
from genus.families.gaussian import Gaussian
from genus.families.multinomial import Multinomial
from genus.families.poisson import Poisson
from genus.families.protocol import Family
from genus.families.tan import TreeAugmented

__all__ = [
    "Bernoulli",
    "Categorical",
    "Complement",
    "Family",
    "Gamma",
    "Gaussian",
    "Multinomial",
    "OneDependence",
    "Poisson",
    "TreeAugmented",
]

"""One file per class-conditional distribution p(x|y)."""

from genus.families.bernoulli import Bernoulli
from genus.families.categorical import Categorical
from genus.families.combination import Combination, mixture, plain
from genus.families.complement import Complement
from genus.families.gaussian import Gaussian
from genus.families.multinomial import Multinomial
from genus.families.poisson import Poisson
from genus.families.protocol import Family
from genus.families.selection import Selection
from genus.families.words import EVENT_MODELS, Words

__all__ = [
    "EVENT_MODELS",
    "Bernoulli",
    "Categorical",
    "Combination",
    "Complement",
    "Family",
    "Gaussian",
    "Multinomial",
    "Poisson",
    "Selection",
    "Words",
    "mixture",
    "plain",
]

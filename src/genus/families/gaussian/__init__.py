"""x|k ~ N(μ_k, Σ_k): the family, its statistics, its scores, and leave-one-out."""

from genus.families.gaussian.family import Gaussian

__all__ = ["Gaussian"]

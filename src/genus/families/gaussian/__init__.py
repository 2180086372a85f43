"""x|k ~ N(μ_k, Σ_k): the family, what it counts, how it scores, and leaving one out."""

from genus.families.gaussian.family import Gaussian

__all__ = ["Gaussian"]

"""Solve parameters from sums: smoothing, shrinkage, priors, bins, the normal distribution."""

"""From sums to parameters: smoothing, shrinkage, priors, bins, the normal distribution."""

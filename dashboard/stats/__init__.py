"""Pure statistics: a frame in, a tidy frame out. The only place that imports statsmodels, pingouin and scipy."""

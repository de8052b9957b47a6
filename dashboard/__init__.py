"""Exploratory analytics for SENSE-7: turn-by-turn ratings of perceived empathy."""

import os

__version__ = "0.1.0"

# The matrices here are small and many: a second BLAS thread costs more than it gives, several times over on a busy
# machine. It is read when numpy is first imported; who sets it otherwise keeps it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

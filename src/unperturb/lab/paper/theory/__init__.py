"""The Lemmas and Theorems of the paper, checked by measurement.

One file for each kind of check says how it is measured: channel.py (Lemmas 1 and 2, Theorem 3),
convergence.py (Theorem 1) and samples.py (Theorems 2 and 4).
"""

NAME = "theory"
GAMMA = 0.7
"""Short-sighted, so that errors settle within a run of seconds."""

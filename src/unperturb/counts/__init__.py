"""How often each cell showed each level: all time, the last D_max of each cell, or forgetting."""

from unperturb.counts.all_time import AllTime
from unperturb.counts.base import Counts, FloatArray, IntArray
from unperturb.counts.forgetting import Forgetting
from unperturb.counts.last_per_cell import LastPerCell

__all__ = ["AllTime", "Counts", "FloatArray", "Forgetting", "IntArray", "LastPerCell"]

"""The streaming pipeline: observed rewards in, corrected rewards out.

A reward is counted (`memory.py`) and looked up (`lookup.py`, `smoothing.py`). When an estimate is
due (`schedule.py`), C and all that follows from it are made anew (`estimation.py`, `values.py`).
`pipeline.py` brings these together; `options.py` checks the settings, `state.py` what is saved.
"""

from unperturb.corrector.lookup import Tables
from unperturb.corrector.pipeline import RewardCorrector

__all__ = ["RewardCorrector", "Tables"]

"""Audit and correct the rewards of a log: CSV, Parquet, NPZ or a Minari dataset.

`audit_log` and `correct_log` are what `unperturb audit` and `unperturb correct` call.
"""

from __future__ import annotations

from unperturb.logs.analysis import LogAnalysis, Suspect
from unperturb.logs.api import LogOptions, audit_log, correct_log

__all__ = ["LogAnalysis", "LogOptions", "Suspect", "audit_log", "correct_log"]

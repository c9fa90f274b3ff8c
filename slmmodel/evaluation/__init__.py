"""Evaluation: bits per byte with a byte check, intervals, comparisons, breakdowns and certificates.

Works on ids, byte lengths and logits; byte baselines need text and are computed by the command (`slm eval`).
"""

from __future__ import annotations

from slmmodel.evaluation.comparison import Interval, interval, units
from slmmodel.evaluation.scoring import Scores, score

__all__ = ["Interval", "Scores", "interval", "score", "units"]

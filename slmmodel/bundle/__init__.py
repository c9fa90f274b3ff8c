"""The bundle: a run as one folder, written whole or not at all, read strictly, and nothing pickled in it."""

from __future__ import annotations

from slmmodel.bundle.bundle import Bundle, load_weights
from slmmodel.bundle.steps import Steps

__all__ = ["Bundle", "Steps", "load_weights"]

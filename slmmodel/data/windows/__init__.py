"""Windowing strategies: ways to slide a window of C slots over documents. One file each; `WINDOWS` names them."""

from __future__ import annotations

from collections.abc import Callable

from slmmodel.data.spans import Plan

WINDOWS: dict[str, Callable[..., Plan]] = {}

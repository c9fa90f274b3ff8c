"""Locks: what a run was trained on and with, recorded before its first step and compared before it goes on.

A difference is refused by name, together with the flag that allows it. Number of ranks and micro-batch are not among
them: they change the order of sums and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from slmmodel.errors import LockMismatch

FORMAT = 1
NAMES = {
    "fingerprint": ("tokenizer", "the tokenizer of the data"),
    "data": ("data", "the training data"),
    "val": ("data", "the validation data"),
    "plan": ("plan", "how the data are cut into rows"),
    "config": ("config", "what the configuration decides"),
    "torch": ("torch", "the version of torch"),
    "device": ("device", "the type of device"),
    "threads": ("threads", "the number of threads"),
}
"""Each lock with the name that allows it to differ, and what it is."""


def check(recorded: Mapping[str, Any], now: Mapping[str, Any], allowed: Collection[str], *, where: str) -> list[str]:
    """Raises `LockMismatch` for the first lock that differs and is not allowed to; gives the names of those that are.

    On a GPU the number of threads decides nothing, so it is not compared.
    """
    differing: list[str] = []
    for lock, (name, what) in NAMES.items():
        if lock == "threads" and now.get("device") != "cpu":
            continue
        if recorded.get(lock) == now.get(lock):
            continue
        if name not in allowed:
            raise LockMismatch(
                f"{what} differ{'' if what.endswith('data') else 's'} from what the run recorded: "
                f"{_short(now.get(lock))} now, {_short(recorded.get(lock))} then",
                where=where,
                limit="a run goes on exactly as it began",
                fix=f"restore it, or --allow-mismatch {name}",
                field=lock,
            )
        differing.append(name)
    return differing


def _short(value: Any) -> str:
    text = str(value)
    return text[:8] + "…" if len(text) == 64 else text

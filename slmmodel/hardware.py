"""Devices as torch names them, and a capability that torch does not expose publicly."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from slmmodel.errors import Argument, OptionError
from slmmodel.foreign_names import FOREIGN_VALUES

if TYPE_CHECKING:
    import torch


DEVICE_KINDS = ("auto", "cpu", "cuda", "mps")
DEVICE_NAMES = "auto, cpu, cuda, cuda:N, mps"
DEVICE_PATTERN = re.compile(r"auto|cpu(:0)?|(cuda|mps)(:[0-9]+)?")
"""Names of devices that a machine may have; torch has one CPU."""

MAX_THREADS = 1024
"""Of one process on a CPU: with 9,999 a step takes minutes, in which threads wait for each other."""


def use_threads(threads: int) -> None:
    """Sets the number of threads of torch; 0 leaves its choice. Raises `OptionError` above `MAX_THREADS`."""
    import torch

    if threads > MAX_THREADS:
        raise OptionError(
            f"threads is {threads}",
            where=f"this machine has {os.cpu_count()} processors",
            limit=f"at most {MAX_THREADS}; 0 takes torch's choice",
            fix=(Argument("run.threads", os.cpu_count()),),
            option="threads",
        )
    if threads:
        torch.set_num_threads(threads)


def _use_one_thread() -> None:
    """In a forked process: of OpenMP's threads it has none, and the next step that is shared among them would hang."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_use_one_thread)


def has_bf16_matmul(device: str) -> bool:
    """Whether a device type (`cpu`, `cuda`, …) has instructions for bf16 matrix products."""
    import torch

    probe = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return device == "cuda" or (device == "cpu" and probe is not None and bool(probe()))


def available_devices() -> dict[str, int]:
    """The number of devices of each type that torch sees, without types that have none."""
    import torch

    counts = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    return {kind: count for kind, count in counts.items() if count}


def device_limit() -> str:
    """The names of devices, and which of them this machine has, where torch is loaded."""
    if "torch" not in sys.modules:
        # It takes seconds to load, which a name that no machine has is not worth.
        return DEVICE_NAMES
    found = available_devices()
    here = ", ".join(f"{kind}:0 to {kind}:{count - 1}" if count > 1 else kind for kind, count in found.items())
    return f"{DEVICE_NAMES}; here {here}" + (", since torch sees no GPU" if len(found) == 1 else "")


def meant_device(name: str) -> str | None:
    """The device that a name in other letters or of another tool (`gpu`) stands for, if torch sees one; else cpu.

    Before torch is loaded, `auto` stands for either. None for a name that is no device.
    """
    typed, _, number = name.lower().partition(":")
    kind = FOREIGN_VALUES["run.device"].get(typed, typed)
    if kind not in DEVICE_KINDS or not (number.isdigit() or not number):
        return None
    if "torch" not in sys.modules and kind not in ("auto", "cpu"):
        # It takes seconds to load, which a wrong name is not worth.
        return f"{kind}:{number}" if number else "auto"
    count = available_devices().get(kind, 0) if kind not in ("auto", "cpu") else 1
    return f"{kind}:{number}" if number and int(number) < count else kind if count or kind == "auto" else "cpu"


def check_device_name(name: str) -> None:
    """Raises `OptionError` for a name that no device has, which needs no torch."""
    if not DEVICE_PATTERN.fullmatch(name):
        raise _no_device(name, "does not exist")


def _no_device(name: str, verb: str) -> OptionError:
    return OptionError(
        f"device {name!r} {verb}",
        where="torch on this machine" if "torch" in sys.modules else None,
        limit=device_limit(),
        fix=(Argument("device", meant_device(name) or "auto"),),
        option="device",
    )


def device_for(name: str) -> torch.device:
    """The device of that name; `auto` is cuda, else mps, else cpu. Raises `OptionError` where it is not available."""
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    check_device_name(name)
    if meant_device(name) != name:
        raise _no_device(name, "is not available")
    return torch.device(name)

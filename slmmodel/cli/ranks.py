"""Messages of the processes that torchrun starts: rank 0 prints, and an error of several ranks is printed once."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta

from slmmodel import torchrun

STORE_TIMEOUT_SECONDS = 5.0
"""For connecting to torchrun's store; without it every rank prints."""


def reports(error: str) -> bool:
    """Whether this process prints an error: of the ranks with the same text, the first to ask. A rank may fail alone.

    The ranks agree through the store of torchrun, which is there before a process group is.
    """
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return True
    try:
        if torchrun.number("WORLD_SIZE", 1) == 1:
            return True
        import torch.distributed as dist

        address, port = os.environ["MASTER_ADDR"], torchrun.number("MASTER_PORT")
        wait = timedelta(seconds=STORE_TIMEOUT_SECONDS)
        store = dist.TCPStore(address, port, timeout=wait)  # type: ignore[attr-defined]
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        key = f"slm/error/{attempt}/{hashlib.sha256(error.encode()).hexdigest()}"
        return int(store.add(key, 1)) == 1
    except (KeyError, ValueError, RuntimeError, ImportError):
        return True

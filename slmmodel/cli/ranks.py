"""The processes that torchrun starts: which commands they share, and that an error of several ranks is printed once."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta

import click

from slmmodel import torchrun
from slmtok.cli.ranks import several_processes

OF_RANKS = ("train", "resume")
"""Commands whose work the processes share."""
STORE_TIMEOUT_SECONDS = 5.0
"""For connecting to torchrun's store; without it every rank prints."""


def check_is_alone() -> None:
    """Raises `OptionError` in one of several processes of torchrun, each of which would do the whole work.

    An environment with a rank and no local one is that of a machine of a cluster, where one also types commands.
    """
    if "LOCAL_RANK" not in os.environ or not torchrun.is_rank():
        return
    context = click.get_current_context()
    limit = f"{' and '.join(f'slm {name}' for name in OF_RANKS)} share their work between processes"
    raise several_processes(context, str(torchrun.number("WORLD_SIZE")), limit)


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

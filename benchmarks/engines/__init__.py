"""The registry of engines. To add a peer, write its file with an `Engine` subclass named `Peer` and its line here.

A member is imported in the process that runs it, so a peer that is not installed costs the others nothing.
"""

from __future__ import annotations

from importlib import import_module

from benchmarks.engines.base import Engine

ENGINES: dict[str, str] = {
    "slmtok": "benchmarks.engines.slmtok_engine",
    "tiktoken": "benchmarks.engines.tiktoken_engine",
    "tokenizers": "benchmarks.engines.tokenizers_engine",
    "rustbpe": "benchmarks.engines.rustbpe_engine",
    "gigatoken": "benchmarks.engines.gigatoken_engine",
}


def engine(name: str) -> Engine:
    """The engine of this name. Raises ImportError where its package is not installed."""
    peer: type[Engine] = import_module(ENGINES[name]).Peer
    return peer()

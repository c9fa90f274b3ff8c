"""The registry of engines. To add a peer, write its file with an `Engine` subclass named `Peer` and its line here.

A member is imported in the process that runs it, so a peer that is not installed costs the others nothing. Versions are
those that the adapters were written for.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from slmtok.bench.base import Engine


class Entry(NamedTuple):
    """A peer: where its adapter is, its version on the package index, whether it encodes; its key is its name there."""

    module: str
    version: str
    encodes: bool = True

    def requirement(self, name: str) -> str:
        """What pip is told."""
        return f"{name}=={self.version}"


_AT = "slmtok.bench.engines"
ENGINES: dict[str, Entry] = {
    "slmtok": Entry(f"{_AT}.slmtok_engine", ""),
    "gigatoken": Entry(f"{_AT}.gigatoken_engine", "0.10.0"),
    "fastokens": Entry(f"{_AT}.fastokens_engine", "0.3.5"),
    "splintr-rs": Entry(f"{_AT}.splintr_engine", "0.22.0"),
    "quicktok-v1": Entry(f"{_AT}.quicktok_engine", "0.4.0"),
    "tiktoken": Entry(f"{_AT}.tiktoken_engine", "0.14.0"),
    "tokenizers": Entry(f"{_AT}.tokenizers_engine", "0.23.3"),
    "kitoken": Entry(f"{_AT}.kitoken_engine", "0.11.1"),
    "wordchipper": Entry(f"{_AT}.wordchipper_engine", "0.9.2"),
    "tokie": Entry(f"{_AT}.tokie_engine", "0.1.4"),
    "riptoken": Entry(f"{_AT}.riptoken_engine", "0.2.4"),
    "bpe-openai": Entry(f"{_AT}.bpe_openai_engine", "0.1.4"),
    "rs-bpe": Entry(f"{_AT}.rs_bpe_engine", "0.1.0"),
    "iree-tokenizer": Entry(f"{_AT}.iree_engine", "0.3.0"),
    "rustbpe": Entry(f"{_AT}.rustbpe_engine", "0.1.0", encodes=False),
    "bpeasy": Entry(f"{_AT}.bpeasy_engine", "0.1.6", encodes=False),
    "ffbpe": Entry(f"{_AT}.ffbpe_engine", "0.1.10", encodes=False),
    "sentencepiece": Entry(f"{_AT}.sentencepiece_engine", "0.2.3", encodes=False),
}


def engine(name: str) -> Engine:
    """The engine of this name. Raises ImportError only when it is used and its package is not installed."""
    peer: type[Engine] = import_module(ENGINES[name].module).Peer
    return peer()


def installed(name: str) -> str | None:
    """The version of a peer in this environment."""
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None

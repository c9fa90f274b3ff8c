"""The kind of text of the corpus that a command has noted, to which its other notes refer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from slmtok.corpus.text_kinds import KindFound

_KIND = "kind of text of the corpus"


def remember_kind(kind: KindFound) -> None:
    """Keeps a kind that is noted before the corpus is read, for what is said after it."""
    if context := click.get_current_context(silent=True):
        context.meta[_KIND] = kind


def noted_kind() -> KindFound | None:
    """The kind that the running command has noted; else None."""
    context = click.get_current_context(silent=True)
    return context.meta.get(_KIND) if context else None


def text_first() -> str:
    """What comes before changing text that is more than prose, whose headers count its characters; else ""."""
    kind = noted_kind()
    return kind.comes_first if kind and kind.kind.program else ""

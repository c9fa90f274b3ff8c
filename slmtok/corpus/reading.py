"""`read`: the one way from a corpus to its documents, each with where it came from. Every command takes this one.

Sources are files in the order of `find`; records are numbered from 0 within each, before anything is left out, so that
(source, record) names a document for ever, whatever is sampled or limited.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slmtok.corpus.options import ReadOptions
from slmtok.corpus.paths import expand
from slmtok.corpus.readers import check_fields, documents
from slmtok.corpus.selection import Selection, Skipped
from slmtok.errors import MissingInput


class CorpusDocument(NamedTuple):
    """One document: its bytes; the index of its source; its number within that, from 0; the index of its domain."""

    text: bytes
    source: int
    record: int
    domain: int


class Sources(list[str]):
    """Sources that `find` has found and judged, or some of them: it takes them as they are."""

    units: tuple[int, int | None] | None = None
    """Of one file that the engine reads, the units that count: the first, and the one behind the last; None: all."""


def find(corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], options: ReadOptions) -> Sources:
    """The sources of a corpus in their order, `exclude` applied. Of `Sources`, they themselves.

    Raises `MissingInput`, also where `exclude` leaves nothing, and `InvalidOption` for options that no source uses.
    """
    if isinstance(corpus, Sources):
        return corpus
    found = expand(corpus)
    kept = Sources(source for source in found if not options.excluded(source))
    if not kept:
        raise MissingInput(
            f"exclude= leaves none of {len(found):,} files",
            where=f"the globs {', '.join(map(repr, options.exclude))}",
            fix="leave out the glob that matches too much",
        )
    check_fields(kept, options)
    return kept


def read(
    sources: Sequence[str], options: ReadOptions, skipped: Skipped | None = None, *, whole: bool = False
) -> Iterator[CorpusDocument]:
    """The documents of all sources, in order, under all options.

    `skipped` is filled as it goes. `max_bytes` and `max_chars` end the corpus inside a document, between two
    characters; with `whole` behind the document that reaches them. Raises `MissingInput`, `Unreadable`,
    `MalformedRecord`, `MissingExtra`.
    """
    skipped = Skipped() if skipped is None else skipped
    selection = Selection(options, skipped, whole)
    for index, source in enumerate(sources):
        domain = options.domain_of(source)
        for record, text in enumerate(documents([source], options, skipped)):
            kept = selection.admit(text) if options.selects else text
            if kept is not None:
                yield CorpusDocument(kept, index, record, domain)
            if selection.full:
                return

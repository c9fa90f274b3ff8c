"""One run of `pack`: takes the folder or finds its own unfinished work there, then encodes, commits and publishes.

Order of things: the plan is written first, shards are journalled one by one, manifest.json comes last and means that
all is there; then plan and journal go. See docs/formats/shards.md.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from slmtok.corpus import STDIN, ReadOptions
from slmtok.errors import CorpusTooSmall, SlmtokError
from slmtok.shards import canonical, folder, plan, split
from slmtok.shards.commit import Committer, Limits
from slmtok.shards.encoding import Encode, Encoded
from slmtok.shards.header import JOURNAL, MANIFEST, PLAN, SPLITS, TOKENIZER, VOCAB, Header, frame_flags, id_bytes
from slmtok.shards.in_order import in_order
from slmtok.shards.journal import Journal, State, sync_folder
from slmtok.shards.manifest import manifest, read_manifest
from slmtok.shards.options import PackOptions
from slmtok.shards.sources import Corpus, Stretch
from slmtok.shards.units import Cursor, Position, Unit
from slmtok.shards.vocabulary_of import vocabulary_metadata
from slmtok.vocabulary import render_metadata

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

Watch: TypeAlias = Callable[[State], object]
"""Called with the state of the run after each unit; also the point where Ctrl-C is seen."""

Elsewhere: TypeAlias = Callable[[Corpus, Encode, Cursor], Generator[tuple[Unit, Encoded], None, None]]
"""Encodes a corpus from a cursor on, in order, on other machines."""


class Run:
    """What one call of `pack` does in one folder."""

    elsewhere: Elsewhere | None = None

    def __init__(
        self, out: Path, tokenizer: Tokenizer, options: PackOptions, paths: list[str], read: ReadOptions
    ) -> None:
        """Looks at the sources. Raises `Unreadable`."""
        self.folder, self.tokenizer, self.options, self.read = out, tokenizer, options, read
        self.corpus = Corpus(paths, read)
        self.names = plan.source_names(paths)
        self.metadata = vocabulary_metadata(tokenizer)
        self.plan: dict[str, Any] = {
            "format": plan.FORMAT,
            "version": plan.VERSION,
            "tokenizer": {"fingerprint": tokenizer.fingerprint, "sha256": tokenizer.sha256},
            "options": {**options.recorded(), "read": read.recorded()},
            "sources": plan.sources(paths, self.names),
        }
        self._journal: Journal | None = None
        self._committer: Committer | None = None
        self._held: Iterator[Unit] | None = None
        self._stretch: Stretch | None = None

    @property
    def state(self) -> State:
        """How far the run has got."""
        return State() if self._committer is None else self._committer.state

    @property
    def missing(self) -> int | None:
        """About how many bytes are still to be written, where that can be told."""
        share, written = self.share, sum(self.state.totals(name).tokens for name in SPLITS)
        if not share or not written:
            return None
        return int(written * id_bytes(cast("int", self.metadata["n_vocab"])) * (1 - share) / share)

    # --- beginning ----------------------------------------------------------------------------------------------------

    def finished_before(self, *, again: bool) -> bool:
        """Whether this very run was killed between its manifest and its end, or `again` is asked for; then it is tidy.

        Raises `OutputExists` for packed data that nobody is to replace.
        """
        if not (self.folder / MANIFEST).is_file():
            return False
        if not (again or (self.folder / JOURNAL).is_file()) or not self.made_this():
            raise folder.finished(self.folder)
        self._clean()
        return True

    def made_this(self) -> bool:
        """Whether the packed data in the folder is what this run would make."""
        made: dict[str, Any] = read_manifest(self.folder)["plan"]
        return {key: value for key, value in made.items() if key != "split"} == self.plan

    def begin(self, *, force: bool) -> None:
        """Takes the folder: goes on with the plan that is there, or begins with this one.

        Raises `OutputExists`, `PlanMismatch`, `CorpusTooSmall`, what reading raises, `OSError`.
        """
        if not force:
            folder.refuse_strangers(self.folder)
        folder.make(self.folder)
        self._journal = journal = Journal(self.folder)
        if journal.held:
            raise folder.held(self.folder)
        found = None if force else plan.read(self.folder)
        if found is None:
            state = self._anew()
        else:
            resolved = found.pop("split")
            plan.check_same(found, self.plan, self.folder)
            self.plan["split"] = resolved
            self._split = self._again(resolved)
            state = journal.read()
            folder.remove_unknown(self.folder, state)
        limits = Limits(self.read.max_docs, self.read.max_bytes, self.options.max_tokens, self.options.max_chunks)
        n_vocab = cast("int", self.metadata["n_vocab"])
        header = Header(0, 0, 0, n_vocab, frame_flags(self.options.frame), self.tokenizer.fingerprint, 0)
        self._committer = Committer(
            self.folder,
            journal,
            state,
            header=header,
            shard_tokens=self.options.shard_tokens,
            split=self._split,
            limits=limits,
            domains=[self.read.domain_of(path) for path in self.corpus.paths] if self.read.domain_names else None,
        )

    def _anew(self) -> State:
        folder.wipe(self.folder)
        self._split = self._resolve()
        self.plan["split"] = self._split.described()
        folder.replace(self.folder / PLAN, canonical.pretty(self.plan))
        return State()

    # --- the split ----------------------------------------------------------------------------------------------------

    def _resolve(self) -> split.Split:
        """What the rule means for this corpus; where that takes reading, as little as is needed."""
        found = split.by_rule(self.options.val, self.names)
        if found is not None:
            return found
        units = self.corpus.units()
        kept: list[Unit] = []
        once = STDIN in self.corpus.paths
        seen = split.look(
            _keeping(units, kept) if once else units,
            most_docs=self.read.max_docs,
            most_bytes=self.read.max_bytes,
            enough=split.MANY if self.options.val == "auto" else None,
        )
        if not seen.sizes:
            raise _empty()
        chosen = split.by_lengths(self.options.val, seen, ids_limited=self._ids_limited)
        self.corpus = replace(self.corpus, cut=chosen.cut)
        if once:
            self._held = chain(kept if chosen.cut is None else [_halved(kept, chosen.cut)], units)
        return chosen

    @property
    def _ids_limited(self) -> bool:
        return self.options.max_tokens is not None or self.options.max_chunks is not None

    def _again(self, resolved: dict[str, Any]) -> split.Split:
        """The split that an earlier run settled."""
        rule = str(resolved["rule"])
        found = split.by_rule(rule, self.names)
        if found is None:
            found = split.Split(rule, first=Position(*resolved["first"]), cut=resolved["cut"])
        self.corpus = replace(self.corpus, cut=found.cut)
        return found

    # --- the work -----------------------------------------------------------------------------------------------------

    def write(self, threads: int, watch: Watch | None) -> None:
        """Encodes and commits everything, then writes what belongs to a whole folder."""
        committer = self._committer
        assert committer is not None
        try:
            if not committer.full:
                self._commit(committer, self._encoded(threads, committer.state.cursor), watch)
            committer.finish()
        except BaseException:
            # Ctrl-C and SIGTERM among them: what is certain is noted, if the disk still takes a line.
            with suppress(OSError, SlmtokError):
                committer.save()
            raise
        if not committer.state.shards:
            raise _empty()
        self._publish(committer.state)

    def _encoded(self, threads: int, start: Cursor) -> Generator[tuple[Unit, Encoded], None, None]:
        """Units and their ids in order. Standard input is read by this thread, since no other could be stopped."""
        encode = Encode(self.tokenizer, self.metadata, self.options.frame)
        if self.elsewhere is not None:
            return self.elsewhere(self.corpus, encode, start)
        if STDIN in self.corpus.paths:
            together = encode.on(threads)
            return ((unit, together(unit.held)) for unit in self._held or self.corpus.units(start))
        found = in_order(self._seen(self.corpus.stretches(start)), encode, threads)
        return ((unit, encoded.since(unit.dropped)) for unit, encoded in found)

    def _seen(self, stretches: Iterator[Stretch]) -> Iterator[Stretch]:
        for stretch in stretches:
            self._stretch = stretch
            yield stretch

    @property
    def share(self) -> float | None:
        """The part of the sources that has been read, as they lie on disk; None where their sizes are not known."""
        sizes: list[Any] = [source["bytes"] for source in self.plan["sources"]]
        if None in sizes or not sum(sizes):
            return None
        source, taken = (self.state.cursor.position.source, 0) if self._stretch is None else self._stretch.at
        share: float = (sum(sizes[:source]) + taken) / sum(sizes)
        return min(1.0, share)

    def _commit(
        self, committer: Committer, units: Generator[tuple[Unit, Encoded], None, None], watch: Watch | None
    ) -> None:
        try:
            for unit, encoded in units:
                committer.take(unit, encoded)
                if watch is not None:
                    watch(replace(committer.state, share=self.share))
                if committer.full:
                    return
        finally:
            units.close()

    def _publish(self, state: State) -> None:
        """The files that make the folder whole, the manifest last; then the traces of the run go."""
        folder.replace(self.folder / VOCAB, render_metadata(self.metadata))
        folder.replace(self.folder / TOKENIZER, self.tokenizer.to_bytes())
        content = manifest(self.plan, self.metadata, state, list(self.read.domain_names))
        folder.replace(self.folder / MANIFEST, canonical.pretty(content))
        self._clean()

    def _clean(self) -> None:
        (self.folder / PLAN).unlink(missing_ok=True)
        sync_folder(self.folder)
        (self.folder / JOURNAL).unlink(missing_ok=True)

    def leave(self) -> None:
        """Lets go of files and of the folder."""
        if self._committer is not None:
            self._committer.leave()
        if self._journal is not None:
            self._journal.close()


def _keeping(units: Iterator[Unit], kept: list[Unit]) -> Iterator[Unit]:
    for unit in units:
        kept.append(unit)
        yield unit


def _halved(kept: list[Unit], cut: int) -> Unit:
    """The one document of what was read before the cut was known, as two."""
    from slmtok._engine import Documents

    (unit,) = (unit for unit in kept if len(unit))
    text = unit.held[0]
    return Unit(Documents([text[:cut], text[cut:]]), 2, unit.starts, unit.skips)


def _empty() -> CorpusTooSmall:
    return CorpusTooSmall("the corpus has no documents", fix="name files that have some")

"""`pack`: a corpus and a tokenizer to a folder of token shards; resumable at any moment, equal for any threads.

The plan is written first, shards are journalled one by one, manifest.json comes last and marks a complete folder; then
plan and journal are removed. See docs/formats/shards.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from slmtok.checks import check_threads
from slmtok.corpus import STDIN, Batch, Corpus, Position, find
from slmtok.corpus.paths import domain_of
from slmtok.errors import CorpusTooSmall, SlmtokError
from slmtok.options import ReadOptions
from slmtok.shards import folder, plan, split
from slmtok.shards.format import (
    FRAMES,
    JOURNAL,
    MANIFEST,
    PLAN,
    SPLITS,
    TOKENIZER,
    VOCAB,
    Header,
    canonical_json,
    frame_flags,
    id_bytes,
    id_dtype,
    make_manifest,
    read_manifest,
    special_id,
    vocabulary_metadata,
)
from slmtok.shards.journal import Journal, State, sync_folder
from slmtok.shards.options import SHARD_TOKENS, PackOptions
from slmtok.shards.reader import Shards, open_shards
from slmtok.shards.writer import Committer, Encoded, Limits
from slmtok.vocabulary import render_metadata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids
    from slmtok.corpus.batches import Batches
    from slmtok.tokenizer import Tokenizer

OnProgress: TypeAlias = Callable[[State], object]
"""Called with the state of the run after each batch; Ctrl-C is raised there."""

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


class EncodedBatches(Protocol):
    """Batches of a corpus with their ids, in order."""

    def __iter__(self) -> Iterator[tuple[Batch, Encoded]]:
        """The batches."""

    def close(self) -> None:
        """Stops the work."""

    @property
    def progress(self) -> tuple[int, int] | None:
        """How far reading has got: (source, bytes of its file); None if unknown."""


RemoteEncoder: TypeAlias = Callable[[Corpus, "BatchEncoder", Position], EncodedBatches]
"""Encodes a corpus from a position on, on other machines."""


def pack(
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    tokenizer: Tokenizer,
    out: str | os.PathLike[str],
    *,
    frame: str = "bos_eos",
    val: str = "auto",
    shard_tokens: int = SHARD_TOKENS,
    max_tokens: int | None = None,
    max_chunks: int | None = None,
    read: ReadOptions | None = None,
    threads: int = 0,
    force: bool = False,
    reuse: bool = False,
    on_progress: OnProgress | None = None,
    remote: RemoteEncoder | None = None,
) -> Shards:
    """Packs a corpus into the folder `out`, or resumes an unfinished run of the same plan.

    For `frame`, `val` and the sizes see `PackOptions`; `read` says how the corpus is read. threads: 0 means one for
    each physical core; the result does not depend on it. force: replaces what an earlier run left. reuse: opens the
    folder if the same run has finished. remote: encodes on other machines, see `slmtok.cluster`.

    Raises `MissingInput`, `MalformedRecord`, `OutputExists`, `PlanMismatch`, `CorpusTooSmall`, `DiskFull`.
    """
    options = PackOptions(frame=frame, val=val, shard_tokens=shard_tokens, max_tokens=max_tokens, max_chunks=max_chunks)
    read = read or ReadOptions()
    threads = check_threads(threads) or physical_cores()
    run = PackRun(Path(out), tokenizer, options, find(corpus, read), read)
    run.remote = remote
    try:
        if not force and run.is_finished(reuse=reuse):
            return open_shards(out)
        run.begin(force=force)
        run.write(threads, on_progress)
    except OSError as error:
        raise folder.explained(error, run.folder, run.state, run.bytes_left) from error
    finally:
        run.leave()
    return open_shards(out)


def physical_cores() -> int:
    """Physical cores that this process may use, at least 1: two threads on one core share its caches."""
    try:
        allowed = sorted(os.sched_getaffinity(0))
        return len({Path(_TOPOLOGY.format(cpu)).read_text(encoding="ascii") for cpu in allowed}) or 1
    except (OSError, AttributeError, ValueError):
        return os.cpu_count() or 1


class BatchEncoder:
    """Encodes batches with one tokenizer and frame; `vocabulary` is the content of the folder's `vocab.json`."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: dict[str, Any], frame: str) -> None:
        self._tokenizer, self._threads = tokenizer, 1
        begin, end = FRAMES[frame]
        # The encoder does not know roles that were appended to a foreign table.
        bos, eos = "bos" in tokenizer.specials, "eos" in tokenizer.specials
        self._bos = tokenizer.specials["bos"] if begin and bos else None
        self._eos = tokenizer.specials["eos"] if end and eos else None
        self._appended_bos = special_id(vocabulary, "bos") if begin and not bos else None
        self._appended_eos = special_id(vocabulary, "eos") if end and not eos else None
        self._n_vocab = int(vocabulary["n_vocab"])

    def with_threads(self, threads: int) -> BatchEncoder:
        """The same, with this many threads on one batch."""
        other = copy(self)
        other._threads = threads
        return other

    def encode(self, corpus: Corpus, start: Position, threads: int) -> LocalBatches:
        """The batches of a corpus with their ids; 0 threads work in the calling thread."""
        batches = corpus.batches(
            start,
            threads=threads,
            encoder=self._tokenizer._encoder,
            encode_threads=self._threads,
            bos=self._bos,
            eos=self._eos,
        )
        return LocalBatches(self, batches)

    def encode_batch(self, batch: Batch) -> Encoded:
        """The ids of one batch."""
        encoder = self._tokenizer._encoder
        rows = encoder.encode_documents(batch.texts, threads=self._threads, bos=self._bos, eos=self._eos)
        return self.framed(batch, *rows)

    def framed(self, batch: Batch, ids: Ids, offsets: NDArray[np.int64]) -> Encoded:
        """What the encoder returned for a batch, with the appended roles."""
        import numpy as np

        row: NDArray[Any] = ids.astype(id_dtype(self._n_vocab), copy=False)
        if self._appended_eos is not None:
            row = np.insert(row, offsets[1:], self._appended_eos)
            offsets = offsets + np.arange(len(offsets))
        if self._appended_bos is not None:
            row = np.insert(row, offsets[:-1], self._appended_bos)
            offsets = offsets + np.arange(len(offsets))
        return Encoded(
            ids=row,
            offsets=offsets,
            nbytes=batch.texts.sizes.astype(np.uint64),
            digests=np.frombuffer(batch.texts.digests, dtype=np.uint8).reshape(-1, 32),
        )


class LocalBatches:
    """Batches that this machine encodes. See `EncodedBatches`."""

    def __init__(self, encoder: BatchEncoder, batches: Batches) -> None:
        self._encoder, self._batches = encoder, batches

    def __iter__(self) -> Iterator[tuple[Batch, Encoded]]:
        for batch, rows in self._batches:
            assert rows is not None
            yield batch, self._encoder.framed(batch, *rows)

    def close(self) -> None:
        """Stops the threads."""
        self._batches.close()

    @property
    def progress(self) -> tuple[int, int] | None:
        """See `EncodedBatches`."""
        return self._batches.progress


class PackRun:
    """One call of `pack` in one folder."""

    remote: RemoteEncoder | None = None

    def __init__(
        self, out: Path, tokenizer: Tokenizer, options: PackOptions, sources: list[str], read: ReadOptions
    ) -> None:
        """Makes the plan from the options and the edges of the sources. Raises `Unreadable`."""
        self.folder, self.tokenizer, self.options, self.read = out, tokenizer, options, read
        # The committer applies these limits: it knows what an earlier run has written.
        self.corpus = Corpus(sources, replace(read, max_docs=None, max_bytes=None), whole=True)
        self.names = plan.source_names(sources)
        self.vocabulary = vocabulary_metadata(tokenizer)
        self.plan: dict[str, Any] = {
            "format": plan.FORMAT,
            "version": plan.VERSION,
            "tokenizer": {"fingerprint": tokenizer.fingerprint, "sha256": tokenizer.sha256},
            "options": {**options.recorded(), "read": read.read_record()},
            "sources": plan.sources(sources, self.names),
        }
        self._journal: Journal | None = None
        self._committer: Committer | None = None
        self._peeked: list[Batch] | None = None
        self._batches: EncodedBatches | None = None

    @property
    def state(self) -> State:
        """How far the run has got."""
        return State() if self._committer is None else self._committer.state

    @property
    def _n_vocab(self) -> int:
        return cast("int", self.vocabulary["n_vocab"])

    @property
    def bytes_left(self) -> int | None:
        """An estimate of the bytes that are still to be written, None if unknown."""
        share, written = self.share, sum(self.state.totals(name).tokens for name in SPLITS)
        return int(written * id_bytes(self._n_vocab) * (1 - share) / share) if share and written else None

    @property
    def share(self) -> float | None:
        """The part of the source files that has been read; None where a size is unknown."""
        sizes: list[Any] = [source["bytes"] for source in self.plan["sources"]]
        if None in sizes or not sum(sizes):
            return None
        progress = self._batches.progress if self._batches is not None else None
        source, done = progress or (self.state.position.source, 0)
        share: float = (sum(sizes[:source]) + done) / sum(sizes)
        return min(1.0, share)

    # --- begin --------------------------------------------------------------------------------------------------------

    def is_finished(self, *, reuse: bool) -> bool:
        """Whether this run finished before, and either left its journal or may be reused; the folder is then clean.

        Raises `OutputExists` for other packed data.
        """
        if not (self.folder / MANIFEST).is_file():
            return False
        if not (reuse or (self.folder / JOURNAL).is_file()) or not self._same_plan():
            raise folder.finished(self.folder)
        self._remove_traces()
        return True

    def _same_plan(self) -> bool:
        found: dict[str, Any] = read_manifest(self.folder)["plan"]
        return {key: value for key, value in found.items() if key != "split"} == self.plan

    def begin(self, *, force: bool) -> None:
        """Locks the folder and resumes the plan in it, or starts this one.

        Raises `OutputExists`, `PlanMismatch`, `CorpusTooSmall`, what reading raises, `OSError`.
        """
        if not force:
            folder.refuse_other_files(self.folder)
        folder.make(self.folder)
        self._journal = journal = Journal(self.folder)
        if journal.held:
            raise folder.held(self.folder)
        found = None if force else plan.read(self.folder)
        if found is None:
            state = self._start()
        else:
            resolved = found.pop("split")
            plan.check_same(found, self.plan, self.folder)
            self.plan["split"] = resolved
            self._split = self._resume_split(resolved)
            state = journal.read()
            folder.remove_unknown(self.folder, state)
        names = self.read.domain_names
        self._committer = Committer(
            self.folder,
            journal,
            state,
            header=Header(0, 0, 0, self._n_vocab, frame_flags(self.options.frame), self.tokenizer.fingerprint, 0),
            shard_tokens=self.options.shard_tokens,
            split=self._split,
            limits=Limits(self.read.max_docs, self.read.max_bytes, self.options.max_tokens, self.options.max_chunks),
            domains=[domain_of(self.read, path) for path in self.corpus.sources] if names else None,
        )

    def _start(self) -> State:
        folder.wipe(self.folder)
        self._split = self._resolve_split()
        self.plan["split"] = self._split.to_json()
        folder.replace(self.folder / PLAN, canonical_json(self.plan))
        return State()

    # --- split --------------------------------------------------------------------------------------------------------

    def _resolve_split(self) -> split.Split:
        """What the rule means for this corpus; reads as few documents as it needs."""
        found = split.by_rule(self.options.val, self.names)
        if found is not None:
            return found
        read_once = STDIN in self.corpus.sources
        batches = self.corpus.batches()
        peeked: list[Batch] = []
        lengths = split.measure(
            (_keep(batch, peeked) if read_once else batch for batch, _ in batches),
            max_docs=self.read.max_docs,
            max_bytes=self.read.max_bytes,
            enough=split.MANY_DOCUMENTS if self.options.val == "auto" else None,
        )
        if not lengths.sizes:
            raise _no_documents()
        limited = self.options.max_tokens is not None or self.options.max_chunks is not None
        chosen = split.by_lengths(self.options.val, lengths, ids_limited=limited)
        self.corpus = replace(self.corpus, cut=chosen.cut)
        if read_once:
            self._peeked = peeked if chosen.cut is None else [_cut_in_two(peeked, chosen.cut)]
            self._rest = batches
        return chosen

    def _resume_split(self, resolved: dict[str, Any]) -> split.Split:
        """The split that an earlier run resolved."""
        rule = str(resolved["rule"])
        found = split.by_rule(rule, self.names)
        if found is None:
            found = split.Split(rule, first=Position(*resolved["first"]), cut=resolved["cut"])
        self.corpus = replace(self.corpus, cut=found.cut)
        return found

    # --- work ---------------------------------------------------------------------------------------------------------

    def write(self, threads: int, on_progress: OnProgress | None) -> None:
        """Encodes and commits the corpus, then writes the files of a complete folder."""
        committer = self._committer
        assert committer is not None
        try:
            if not committer.full:
                self._commit(committer, threads, on_progress)
            committer.finish()
        except BaseException:
            # Also for Ctrl-C and SIGTERM: saves the state, if the disk still takes a line.
            with suppress(OSError, SlmtokError):
                committer.save()
            raise
        if not committer.state.shards:
            raise _no_documents()
        self._publish(committer.state)

    def _commit(self, committer: Committer, threads: int, on_progress: OnProgress | None) -> None:
        self._batches = batches = self._encode(threads, committer.state.position)
        try:
            for batch, encoded in batches:
                committer.take(batch, encoded)
                if on_progress is not None:
                    on_progress(replace(committer.state, share=self.share))
                if committer.full:
                    return
        finally:
            batches.close()

    def _encode(self, threads: int, start: Position) -> EncodedBatches:
        encoder = BatchEncoder(self.tokenizer, self.vocabulary, self.options.frame)
        if self.remote is not None:
            return self.remote(self.corpus, encoder, start)
        if self._peeked is not None:
            return _PeekedBatches(encoder.with_threads(threads), self._peeked, self._rest)
        if self.corpus.blocks:
            return encoder.with_threads(threads).encode(self.corpus, start, threads=0)
        return encoder.encode(self.corpus, start, threads)

    def _publish(self, state: State) -> None:
        """Writes the files of a complete folder, the manifest last; then removes plan and journal."""
        folder.replace(self.folder / VOCAB, render_metadata(self.vocabulary))
        folder.replace(self.folder / TOKENIZER, self.tokenizer.to_bytes())
        manifest = make_manifest(self.plan, self.vocabulary, state, list(self.read.domain_names))
        folder.replace(self.folder / MANIFEST, canonical_json(manifest))
        self._remove_traces()

    def _remove_traces(self) -> None:
        (self.folder / PLAN).unlink(missing_ok=True)
        sync_folder(self.folder)
        (self.folder / JOURNAL).unlink(missing_ok=True)

    def leave(self) -> None:
        """Closes all files and releases the folder."""
        if self._committer is not None:
            self._committer.leave()
        if self._journal is not None:
            self._journal.close()


class _PeekedBatches:
    """Standard input after its beginning was read to resolve the split. See `EncodedBatches`."""

    progress = None

    def __init__(self, encoder: BatchEncoder, peeked: list[Batch], rest: Batches) -> None:
        self._encoder, self._peeked, self._rest = encoder, peeked, rest

    def __iter__(self) -> Iterator[tuple[Batch, Encoded]]:
        for batch in self._peeked:
            yield batch, self._encoder.encode_batch(batch)
        for batch, _ in self._rest:
            yield batch, self._encoder.encode_batch(batch)

    def close(self) -> None:
        self._rest.close()


def _keep(batch: Batch, kept: list[Batch]) -> Batch:
    kept.append(batch)
    return batch


def _cut_in_two(batches: list[Batch], cut: int) -> Batch:
    """The only document of these batches as two."""
    from slmtok._engine import Documents

    (batch,) = (batch for batch in batches if len(batch))
    text = batch.texts[0]
    return Batch(Documents([text[:cut], text[cut:]]), 2, batch.starts, batch.skips)


def _no_documents() -> CorpusTooSmall:
    return CorpusTooSmall("the corpus has no documents", fix="name files that have some")

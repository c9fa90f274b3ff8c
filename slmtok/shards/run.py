"""One run of `pack` in a folder of token shards: resumable at any moment, equal for any number of threads.

The plan is written first, shards are journalled one by one, manifest.json comes last and marks a complete folder; then
plan and journal are removed. See docs/formats/shards.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from slmtok import atomic
from slmtok.corpus import STDIN, Batch, Corpus, Position, find, format_of
from slmtok.corpus.contents import UNUSUAL, no_text
from slmtok.corpus.paths import domain_of
from slmtok.errors import (
    CorpusTooSmall,
    DocumentTooLarge,
    MalformedRecord,
    Message,
    PlanMismatch,
    Setting,
    SlmtokError,
)
from slmtok.option_values import dropout_rate
from slmtok.options import PackOptions
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
    Totals,
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
from slmtok.shards.reader import Shards, open_shards
from slmtok.shards.subset import check_subset
from slmtok.shards.writer import Committer, Encoded, Limits, digest_sum
from slmtok.vocab_json import render_metadata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Encoder
    from slmtok.aliases import Ids
    from slmtok.corpus.batches import Batches
    from slmtok.tokenizer import Tokenizer

OnProgress: TypeAlias = Callable[[State], object]
"""Called with the state of the run after each batch; Ctrl-C is raised there."""

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


Encoding: TypeAlias = "Generator[tuple[Batch, Encoded], None, None]"
"""Batches of a corpus with their ids, in order; closing it stops the work."""
RemoteEncoder: TypeAlias = Callable[[Corpus, "BatchEncoder", Position], Encoding]
"""Encodes a corpus from a position on, on other machines."""


def pack_shards(
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    tokenizer: Tokenizer,
    out: Path,
    options: PackOptions,
    *,
    force: bool,
    reuse: bool,
    on_progress: OnProgress | None,
    remote: RemoteEncoder | None,
) -> Shards:
    """Packs a corpus into shards, `bos` and `eos` of the options set. reuse: opens the folder of an equal finished run.

    See `slmtok.shards.pack`.
    """
    run = PackRun(out, tokenizer, options, find(corpus, options))
    run.remote = remote
    try:
        if not force and run.is_finished(reuse=reuse):
            return open_shards(out)
        run.begin(force=force)
        run.write(options.threads or physical_cores(), on_progress)
    except SlmtokError as error:
        is_of_text = isinstance(error, (MalformedRecord, DocumentTooLarge))
        if isinstance(error, CorpusTooSmall) or run.is_new_and_empty or (is_of_text and not run.state.shards):
            run.discard()
        elif is_of_text:
            _require_force(error, run.folder)
        raise
    except OSError as error:
        raise folder.explained(error, run.folder, run.state, run.bytes_left) from error
    finally:
        run.leave()
    return open_shards(out)


def _require_force(error: SlmtokError, path: Path) -> None:
    """Adds `force` to the remedy: it is another option or text, with which no command continues the shards there."""
    fix = error.parts["fix"] or ()
    again = ("; ", Setting("force", True), f" as well, because {str(path)!r} holds shards of this command")
    error.fix = (*([fix] if isinstance(fix, str) else fix), *again)


def physical_cores() -> int:
    """Physical cores that this process may use, at least 1: two threads on one core share its caches."""
    try:
        allowed = sorted(os.sched_getaffinity(0))
        return len({Path(_TOPOLOGY.format(cpu)).read_text(encoding="ascii") for cpu in allowed}) or 1
    except (OSError, AttributeError, ValueError):
        return os.cpu_count() or 1


@dataclass(frozen=True)
class Dropout:
    """The documents of which merges are skipped at random: those of training, so that validation has one encoding."""

    rate: float
    seed: int
    split: split.Split

    def rates(self, batch: Batch) -> NDArray[np.float64]:
        """The rate of each document of a batch, shape (n,)."""
        import numpy as np

        return np.where(self.split.validation(batch, batch.digests), 0.0, self.rate)


@dataclass(frozen=True)
class BatchEncoder:
    """Encodes batches; `vocabulary` is the content of the folder's `vocab.json`."""

    tokenizer: Tokenizer
    vocabulary: dict[str, Any]
    bos: bool
    eos: bool
    threads: int = 1
    """Of one batch."""
    longest: bool = False
    """Whether text is cut by longest match."""
    dropout: Dropout | None = None

    def encode(self, corpus: Corpus, start: Position, threads: int) -> Encoding:
        """The batches of a corpus with their ids; 0 threads work in the calling thread."""
        return self.add_ids(self.open(corpus, start, threads))

    def open(self, corpus: Corpus, start: Position, threads: int) -> Batches:
        """The batches of a corpus, encoded as they are read."""
        if self.dropout is not None:
            return corpus.batches(start, threads=threads)
        own = self._own_delimiters
        return corpus.batches(start, threads=threads, encoder=self._encoder, encode_threads=self.threads, **own)

    def add_ids(self, batches: Batches, before: Sequence[Batch] = ()) -> Encoding:
        """Batches with their ids, those of `before` first; encodes what is not encoded. Closes `batches`."""
        try:
            for batch, rows in chain(((batch, None) for batch in before), batches):
                if rows is None:
                    rows = self._encode(batch)
                yield batch, self._with_appended(batch, *rows)
        finally:
            batches.close()

    def _encode(self, batch: Batch) -> tuple[Ids, NDArray[np.int64]]:
        """Ids and offsets of the documents of a batch."""
        own = self._own_delimiters
        if self.dropout is None:
            return self._encoder.encode_documents(batch.texts, threads=self.threads, **own)
        rates, seed = self.dropout.rates(batch), self.dropout.seed
        return self._encoder.encode_with_dropout(batch.texts, rates, seed=seed, threads=self.threads, **own)

    @cached_property
    def _encoder(self) -> Encoder:
        encoder = self.tokenizer._encoder
        return (encoder.longest_match() or encoder) if self.longest else encoder

    @cached_property
    def _own_delimiters(self) -> dict[str, Any]:
        """What the encoder adds. It does not know roles that were appended to a foreign table."""
        wanted = {"bos": self.bos, "eos": self.eos}
        return {role: self.tokenizer.specials.get(role) if add else None for role, add in wanted.items()}

    def _with_appended(self, batch: Batch, ids: Ids, offsets: NDArray[np.int64]) -> Encoded:
        """What the encoder returned for a batch, with the appended roles."""
        import numpy as np

        row: NDArray[Any] = ids.astype(id_dtype(self.vocabulary["n_vocab"]), copy=False)
        for role, add, ends in (("eos", self.eos, slice(1, None)), ("bos", self.bos, slice(-1))):
            if add and role not in self.tokenizer.specials:
                row = np.insert(row, offsets[ends], special_id(self.vocabulary, role))
                offsets = offsets + np.arange(len(offsets))
        return Encoded(
            ids=row,
            offsets=offsets,
            nbytes=batch.texts.sizes.astype(np.uint64),
            digests=batch.digests,
            unusual=np.stack([batch.texts.occurrences(needle) for needle in UNUSUAL.values()], axis=1),
        )


class PackRun:
    """One call of `pack` in one folder."""

    remote: RemoteEncoder | None = None

    def __init__(self, out: Path, tokenizer: Tokenizer, options: PackOptions, sources: list[str]) -> None:
        """Makes the plan from the options and the edges of the sources. Raises `Unreadable`."""
        self.folder, self.tokenizer, self.options = out, tokenizer, options
        # The committer applies these limits: it knows what an earlier run has written.
        self.corpus = Corpus(sources, replace(options, max_docs=None, max_bytes=None), whole=True)
        self.names = plan.source_names(sources)
        self.vocabulary = vocabulary_metadata(tokenizer)
        # Taken before the edges are read: whoever writes between the two is noticed.
        self._stamp = plan.stamp(sources)
        self.plan: dict[str, Any] = {
            "format": plan.FORMAT,
            "version": plan.VERSION,
            "tokenizer": {"fingerprint": tokenizer.fingerprint, "sha256": tokenizer.sha256},
            "options": {"frame": self._frame, **options.pack_record(), "read": options.read_record()},
            "sources": plan.sources(sources, self.names),
        }
        self._split: split.Split | None = None
        self._journal: Journal | None = None
        self._committer: Committer | None = None
        self._peeked: list[Batch] = []
        self._reading: Batches | None = None
        self._is_new = self._is_made = False

    @property
    def is_new_and_empty(self) -> bool:
        """Whether this run began in its folder and has packed no document, so that there is nothing to resume."""
        return self._is_new and not sum(map(self.state.totals, SPLITS), Totals()).docs

    @property
    def state(self) -> State:
        """How far the run has got."""
        return State() if self._committer is None else self._committer.state

    @property
    def _n_vocab(self) -> int:
        return cast("int", self.vocabulary["n_vocab"])

    @property
    def _frame(self) -> str:
        return next(name for name, both in FRAMES.items() if both == (self.options.bos, self.options.eos))

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
        source, done = self._reading.progress if self._reading is not None else (self.state.position.source, 0)
        share: float = (sum(sizes[:source]) + done) / sum(sizes)
        return min(1.0, share)

    # --- begin --------------------------------------------------------------------------------------------------------

    def is_finished(self, *, reuse: bool) -> bool:
        """Whether this run finished before, and either left its journal or may be reused; the folder is then clean.

        Raises `OutputExists` for other packed data.
        """
        if not (self.folder / MANIFEST).is_file():
            return False
        found = read_manifest(self.folder)
        before = {key: value for key, value in found["plan"].items() if key != "split"}
        if not (reuse or (self.folder / JOURNAL).is_file()) or before != self.plan:
            changes = plan.differences(before, self.plan)
            has_option = bool(changes) and not str(changes[0]).startswith("without ")
            packed = "packed with " if has_option else "packed "
            difference: Message = (packed, *changes) if changes else self._state_of_folder()
            kept = plan.given_before(before, self.plan, self.corpus.sources, self.options)
            raise folder.finished(self.folder, found, self.vocabulary, difference, kept)
        self._remove_traces()
        return True

    def _state_of_folder(self) -> str:
        """That this command made the packed data, and which shard was damaged since, as its size or header tells."""
        try:
            open_shards(self.folder).close()
        except SlmtokError as error:
            return f"this command made it, and it was damaged since: {error.fact}"
        return "this command made it"

    def begin(self, *, force: bool) -> None:
        """Locks the folder and resumes the plan in it, or starts this one.

        Raises `OutputExists`, `PlanMismatch`, `CorpusTooSmall`, what reading raises, `OSError`.
        """
        if not force:
            folder.refuse_files(self.folder, allow_own=True)
        if self.options.subset and (force or not (self.folder / PLAN).is_file()):
            self._check_subset(max(self.options.subset))
        self._is_made = not self.folder.exists()
        folder.make(self.folder)
        self._journal = journal = Journal(self.folder)
        folder.refuse_held(self.folder, journal)
        found = None if force else plan.read(self.folder)
        state = None if found is None else self._resume(found, journal)
        if state is None:
            state = State()
            # Reads the corpus: what cannot be read removes nothing.
            self._split = self._split or self._resolve_split()
            folder.wipe(self.folder, folder.shards_of_run(self.folder, journal))
            self._is_new = True
            self.plan["split"] = self._split.to_json()
            folder.replace(self.folder / PLAN, canonical_json(self.plan))
        assert self._split is not None
        if journal.stamp != self._stamp:
            journal.begin(canonical_json(self.plan), self._stamp)
        options = self.options
        self._committer = Committer(
            self.folder,
            journal,
            state,
            header=Header(0, 0, 0, self._n_vocab, frame_flags(self._frame), self.tokenizer.fingerprint, 0),
            shard_tokens=options.shard_tokens,
            split=self._split,
            limits=Limits(options.max_docs, options.max_bytes, options.max_tokens, options.max_chunks),
            domains=[domain_of(options, path) for path in self.corpus.sources] if options.domains else None,
        )

    def _check_subset(self, number: int) -> None:
        """Raises `OptionError` before anything is written where the corpus has too few training documents.

        Reads as many documents as the subset has. Stdin is read once only, and limits in bytes or ids end the corpus
        elsewhere: `write_subsets` checks these.
        """
        options = self.options
        if STDIN in self.corpus.sources or options.max_bytes or options.max_tokens or options.max_chunks:
            return
        self._split = self._resolve_split()
        training, left = 0, options.max_docs
        with closing(self.corpus.batches()) as batches:
            for batch, _ in batches:
                held = self._split.validation(batch, batch.digests)[:left]
                training += len(held) - int(held.sum())
                left = None if left is None else left - len(held)
                if training >= number or left == 0:
                    break
        check_subset(number, training, ", ".join(self.names[:3]), options.subset)

    def _resume(self, found: dict[str, Any], journal: Journal) -> State | None:
        """The state of an earlier run of this plan; None where shards that it closed are gone, as after a removal that
        was interrupted. Raises `PlanMismatch`, `CorruptShard`, `OutputExists`.
        """
        before = {key: value for key, value in found.items() if key != "split"}
        plan.check_same(before, self.plan, self.folder, self.corpus.sources, self.options)
        state = journal.read(canonical_json(found))
        closed = [f"{shard['name']}.{suffix}" for shard in state.shards for suffix in shard["sha256"]]
        if not all((self.folder / name).exists() for name in closed):
            return None
        self.plan["split"] = found["split"]
        self._split = self._resume_split(found["split"])
        folder.remove_unfinished(self.folder, state)
        if journal.stamp != self._stamp:
            self._check_read(state)
        return state

    def _check_read(self, state: State) -> None:
        """Raises `PlanMismatch` where the corpus does not begin with what is packed.

        Sources that have changed since the run began may have changed before the position at which it resumes.
        """
        if not self._has_packed(state):
            docs = sum(map(state.totals, SPLITS), Totals()).docs
            raise PlanMismatch(
                f"the corpus has changed since {str(self.folder)!r} was started",
                where=str(self.folder / JOURNAL),
                limit=f"the first {docs:,} documents are packed, and have other bytes now",
                fix=("restore the corpus, or ", Setting("force", True), " to start again"),
                path=str(self.folder),
                field="sources",
            )

    def _has_packed(self, state: State) -> bool:
        """Whether the corpus, read again, begins with the documents that are packed."""
        packed = sum(map(state.totals, SPLITS), Totals())
        if not packed.docs or STDIN in self.corpus.sources:
            return True
        docs, digest = 0, 0
        with closing(self.corpus.batches(threads=0 if self.corpus.blocks else self.options.threads or 1)) as batches:
            for batch, _ in batches:
                count = batch.index_of(state.position)
                docs, digest = docs + count, digest + digest_sum(batch.digests[:count])
                if count < len(batch):
                    break
        return (docs, digest % (1 << 256)) == (packed.docs, packed.digest)

    # --- split --------------------------------------------------------------------------------------------------------

    def _resolve_split(self) -> split.Split:
        """What the rule means for this corpus; reads as few documents as it needs."""
        found = split.by_rule(self.options.val, self.names)
        if found is not None:
            return found
        read_once = STDIN in self.corpus.sources
        batches = self.corpus.batches()
        peeked: list[Batch] = []

        def read() -> Iterator[Batch]:
            for batch, _ in batches:
                if read_once:
                    peeked.append(batch)
                yield batch

        lengths = split.measure(
            read(),
            max_docs=self.options.max_docs,
            max_bytes=self.options.max_bytes,
            enough=split.MANY_DOCUMENTS if self.options.val == "auto" else None,
        )
        if not lengths.sizes:
            raise _no_documents(self.corpus.sources, self.options, None if self.options.skip_malformed else 0)
        limited = self.options.max_tokens is not None or self.options.max_chunks is not None
        chosen = split.by_lengths(self.options.val, lengths, ids_limited=limited)
        self.corpus = replace(self.corpus, cut=chosen.cut)
        if read_once:
            self._peeked = peeked if chosen.cut is None else [_cut_in_two(peeked, chosen.cut)]
            self._reading = batches
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
        if not any(committer.state.totals(name).bytes for name in SPLITS):
            raise _no_documents(self.corpus.sources, self.options, committer.state.skipped)
        self._check_sources(committer.state)
        self._publish(committer.state)

    def _commit(self, committer: Committer, threads: int, on_progress: OnProgress | None) -> None:
        with closing(self._encode(threads, committer.state.position)) as batches:
            for batch, encoded in batches:
                committer.take(batch, encoded)
                if on_progress is not None:
                    on_progress(replace(committer.state, share=self.share))
                if committer.full:
                    return

    def _encode(self, threads: int, start: Position) -> Encoding:
        encoder = self._batch_encoder(threads)
        if self.remote is not None:
            return self.remote(self.corpus, encoder, start)
        if self.corpus.blocks:
            # Batches are read in the calling thread; each is encoded on all threads.
            encoder, threads = replace(encoder, threads=threads), 0
        if self._reading is None:
            self._reading = encoder.open(self.corpus, start, threads)
        return encoder.add_ids(self._reading, self._peeked)

    def _batch_encoder(self, threads: int) -> BatchEncoder:
        encoder = BatchEncoder(self.tokenizer, self.vocabulary, bool(self.options.bos), bool(self.options.eos))
        rate = dropout_rate(self.options.inference)
        if rate is None:
            return replace(encoder, longest=self.options.inference == "longest")
        assert self._split is not None
        # Batches are read by the pipeline and encoded here, each on all threads.
        return replace(encoder, threads=threads, dropout=Dropout(rate, self.options.dropout_seed, self._split))

    def _check_sources(self, state: State) -> None:
        """Raises `PlanMismatch`, and removes what was packed, where a source was changed while it was read."""
        paths = self.corpus.sources
        if not all(Path(path).is_file() for path in paths) or plan.stamp(paths) == self._stamp:
            return
        if plan.sources(paths, self.names) != self.plan["sources"] or not self._has_packed(state):
            self.discard()
            raise PlanMismatch(
                "the corpus was changed while it was packed",
                where=f"{self.folder}; {folder.left_by_removal(self.folder)}",
                limit="a file must stay as it is while a command reads it",
                fix="run the same command again",
                path=str(self.folder),
                field="sources",
            )

    def _publish(self, state: State) -> None:
        """Writes the files of a complete folder, the manifest last; then removes plan and journal."""
        folder.replace(self.folder / VOCAB, render_metadata(self.vocabulary))
        folder.replace(self.folder / TOKENIZER, self.tokenizer.to_bytes())
        manifest = make_manifest(
            self.plan, self.vocabulary, state.shards, state.skipped, list(self.options.domain_names)
        )
        folder.replace(self.folder / MANIFEST, canonical_json(manifest))
        self._remove_traces()

    def _remove_traces(self) -> None:
        for name in (PLAN, VOCAB, TOKENIZER, MANIFEST):
            atomic.remove_stale(self.folder / name)
        for name in (PLAN, folder.REMOVED):
            (self.folder / name).unlink(missing_ok=True)
        sync_folder(self.folder)
        if self._journal is None:
            (self.folder / JOURNAL).unlink(missing_ok=True)
        else:
            self._journal.remove()

    def discard(self) -> None:
        """Removes what a run without a result wrote, and the folder, if nothing else lies in it."""
        if self._committer is not None:
            self._committer.leave()
        if self._journal is not None:
            folder.wipe(self.folder, folder.shards_of_run(self.folder, self._journal))
            self._journal.remove()
            with suppress(OSError):
                self.folder.rmdir()

    def leave(self) -> None:
        """Closes all files and releases the folder."""
        if self._committer is not None:
            self._committer.leave()
        if self._journal is not None:
            self._journal.close()
            if self._is_made:
                with suppress(OSError):
                    self.folder.rmdir()


def _cut_in_two(batches: list[Batch], cut: int) -> Batch:
    """The only document of these batches as two."""
    from slmtok._engine import Documents

    (batch,) = (batch for batch in batches if len(batch))
    text = batch.texts[0]
    return Batch(Documents([text[:cut], text[cut:]]), 2, batch.starts, batch.skips)


def _no_documents(sources: Sequence[str], options: PackOptions, malformed: int | None) -> CorpusTooSmall:
    is_one = len(sources) == 1 and format_of(sources[0], options).is_whole
    sampled = 0 if options.sample is None else 1 if is_one else None
    return no_text("it has no documents, or none with text", malformed=malformed, sampled=sampled)

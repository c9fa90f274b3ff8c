"""`pack`: a corpus and a tokenizer to a folder of token shards, resumable at any moment, byte-identical for any threads.

Order of things: the plan is written first, shards are journalled one by one, manifest.json comes last and means that
all is there. A run that was killed goes on where its journal ends; see docs/formats/shards.md.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import atomic
from slmtok.arguments import threads as check_threads
from slmtok.corpus import STDIN, ReadOptions, check_text_key, expand
from slmtok.errors import CorpusTooSmall, DiskFull, InvalidOption, OutputExists, Unreadable, unknown_name
from slmtok.metadata import render
from slmtok.shards import canonical, plan, split
from slmtok.shards.commit import Committer, Limits
from slmtok.shards.cores import physical_cores
from slmtok.shards.encoding import Encode, in_order
from slmtok.shards.header import FRAMES, JOURNAL, MANIFEST, PLAN, TOKENIZER, VOCAB, Header, frame_flags, is_shard_file
from slmtok.shards.journal import Journal, State, sync_folder
from slmtok.shards.manifest import manifest
from slmtok.shards.reader import Shards, open_shards
from slmtok.shards.units import Corpus, Position, Unit
from slmtok.shards.vocabulary_of import vocabulary_metadata
from slmtok.whole_numbers import whole

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

SHARD_TOKENS = 1 << 27
Watch = Callable[[State], object]
"""Called with the state of the run after each unit; also the point where Ctrl-C is seen."""


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    """What decides the bytes of the output, besides corpus and tokenizer. See `pack`."""

    frame: str = "bos_eos"
    val: str = "auto"
    shard_tokens: int = SHARD_TOKENS
    max_docs: int | None = None
    max_bytes: int | None = None
    max_tokens: int | None = None
    max_chunks: int | None = None

    def __post_init__(self) -> None:
        """Raises `UnknownName`, `InvalidOption`, `WrongType`."""
        if self.frame not in FRAMES:
            raise unknown_name("frame", self.frame, FRAMES)
        split.check_rule(self.val)
        whole("shard_tokens", self.shard_tokens, 1, 1 << 40)
        for name in ("max_docs", "max_bytes", "max_tokens", "max_chunks"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1)
        if self.max_tokens is not None and self.val.startswith("tail:"):
            raise InvalidOption(
                f"val={self.val!r} cannot go with max_tokens=: the tail is known before there are tokens",
                fix="val='hash:10%', or max_bytes= in place of max_tokens=",
                option="val",
            )

    @property
    def limits(self) -> Limits:
        """Where the run ends before the corpus does."""
        return Limits(self.max_docs, self.max_bytes, self.max_tokens, self.max_chunks)


def pack(
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    tokenizer: Tokenizer,
    out: str | os.PathLike[str],
    *,
    options: PackOptions | None = None,
    read: ReadOptions | None = None,
    threads: int = 0,
    force: bool = False,
    watch: Watch | None = None,
) -> Shards:
    """Packs a corpus into the folder `out`, or goes on with an unfinished run of the same plan.

    threads: 0 means one for each physical core; the result does not depend on it. force: replaces what an earlier run
    left. Raises `MissingInput`, `MalformedRecord`, `OutputExists`, `PlanMismatch`, `DiskFull`, `CorpusTooSmall`.
    """
    options, read = options or PackOptions(), read or ReadOptions()
    threads = check_threads(threads) or physical_cores()
    paths = expand(corpus)
    check_text_key(paths, read)
    run = _Run(Path(out), tokenizer, options, paths, read)
    with _explained(run):
        if run.finished_before(force=force):
            return open_shards(run.folder)
        run.begin(force=force)
        try:
            run.write(threads, watch)
        finally:
            run.leave()
    return open_shards(run.folder)


class _Run:
    """One call of `pack`."""

    def __init__(
        self, folder: Path, tokenizer: Tokenizer, options: PackOptions, paths: list[str], read: ReadOptions
    ) -> None:
        self.folder, self.tokenizer, self.options = folder, tokenizer, options
        self.corpus = Corpus(paths, read)
        self.names = plan.source_names(paths)
        self.metadata = vocabulary_metadata(tokenizer)
        self.plan = {
            "format": plan.FORMAT,
            "version": plan.VERSION,
            "tokenizer": {"fingerprint": tokenizer.fingerprint, "sha256": tokenizer.sha256},
            "options": {**asdict(options), "read": asdict(read)},
            "sources": plan.sources(paths, self.names),
        }
        self.journal: Journal | None = None
        self.committer: Committer | None = None
        self._held: Iterator[Unit] | None = None

    # --- beginning ----------------------------------------------------------------------------------------------------

    def finished_before(self, *, force: bool) -> bool:
        """Whether this very run was killed between its manifest and its end. Raises `OutputExists`."""
        if self.folder.exists() and not self.folder.is_dir():
            raise OutputExists(
                f"output {str(self.folder)!r} is a file", fix="name a folder, or a new one", path=str(self.folder)
            )
        if force or not (self.folder / MANIFEST).is_file():
            return False
        left = plan.read(self.folder)
        if (self.folder / JOURNAL).is_file() and (left is None or self._same(left)):
            self._clean()
            return True
        raise OutputExists(
            f"output {str(self.folder)!r} is packed data already",
            fix="force=True to replace it, or name another output",
            path=str(self.folder),
        )

    def _same(self, found: dict[str, Any]) -> bool:
        return {key: value for key, value in found.items() if key != "split"} == self.plan

    def begin(self, *, force: bool) -> None:
        """Takes the folder: finds the plan of an earlier run, or writes this one's."""
        self._make_folder()
        self.journal = Journal(self.folder)
        if self.journal.held:
            raise OutputExists(
                f"{str(self.folder)!r} is being packed by another process",
                where=str(self.folder / JOURNAL),
                fix="wait for it, or name another output",
                path=str(self.folder),
            )
        found = None if force else plan.read(self.folder)
        if found is None:
            self._refuse_strangers(force=force)
            self._wipe()
            state = State()
            self.split = self._resolve()
            self.plan["split"] = self.split.described()
            _replace(self.folder / PLAN, canonical.pretty(self.plan))
        else:
            resolved = found.pop("split")
            plan.check_same(found, self.plan, self.folder)
            state = self.journal.read()
            self.split = self._again(resolved)
            self.plan["split"] = resolved
            self._remove_unknown(state)
        header = Header(
            0, 0, 0, int(str(self.metadata["n_vocab"])), frame_flags(self.options.frame), self.tokenizer.fingerprint, 0
        )
        self.committer = Committer(
            self.folder,
            self.journal,
            state,
            header=header,
            shard_tokens=self.options.shard_tokens,
            split=self.split,
            limits=self.options.limits,
            domains=False,
        )

    def _make_folder(self) -> None:
        if not self.folder.parent.is_dir():
            self.folder.parent.mkdir(parents=True)
        self.folder.mkdir(exist_ok=True)

    def _refuse_strangers(self, *, force: bool) -> None:
        """Raises `OutputExists` for a folder with files that are not ours."""
        ours = {MANIFEST, PLAN, JOURNAL, VOCAB, TOKENIZER}
        others = [path.name for path in self.folder.iterdir() if path.name not in ours and not is_shard_file(path.name)]
        if others and not force:
            assert self.journal is not None
            self.journal.remove()
            raise OutputExists(
                f"the folder {str(self.folder)!r} holds other files, such as {sorted(others)[0]!r}",
                fix="name a new folder",
                path=str(self.folder),
            )

    def _wipe(self) -> None:
        """Removes what an earlier run left, the manifest first, so that nothing half removed looks whole."""
        for name in (MANIFEST, PLAN, VOCAB, TOKENIZER):
            (self.folder / name).unlink(missing_ok=True)
        for path in sorted(self.folder.iterdir()):
            if is_shard_file(path.name):
                path.unlink()
        os.truncate(self.folder / JOURNAL, 0)

    def _remove_unknown(self, state: State) -> None:
        """Removes files of shards that the journal does not know."""
        known = {shard["name"] for shard in state.shards}
        known |= {f"{name}-{len(state.closed(name)):05d}" for name, totals in state.open.items() if totals.docs}
        for path in sorted(self.folder.iterdir()):
            if is_shard_file(path.name) and path.name.partition(".")[0] not in known:
                path.unlink()

    # --- the split ----------------------------------------------------------------------------------------------------

    def _resolve(self) -> split.Split:
        """What the rule means for this corpus; where that takes reading, as little as is needed."""
        rule = self.options.val
        found = split.by_rule(rule, self.names)
        if found is not None:
            return found
        units: Iterator[Unit] = self.corpus.units()
        kept: list[Unit] = []
        once = STDIN in self.corpus.paths
        seen = split.look(
            _keeping(units, kept) if once else units,
            most_docs=self.options.max_docs,
            most_bytes=self.options.max_bytes,
            enough=split.MANY if rule == "auto" else None,
        )
        if not seen.sizes:
            raise _empty()
        chosen = split.by_lengths(rule, seen)
        self.corpus = Corpus(self.corpus.paths, self.corpus.options, chosen.cut)
        if once:
            self._held = chain(map(self.corpus.halved, kept), units)
        return chosen

    def _again(self, resolved: dict[str, Any]) -> split.Split:
        """The split that an earlier run settled."""
        found = split.by_rule(str(resolved["rule"]), self.names)
        if found is None:
            first = Position(*resolved["first"])
            found = split.Split(str(resolved["rule"]), first=first, cut=resolved["cut"])
        self.corpus = Corpus(self.corpus.paths, self.corpus.options, found.cut)
        return found

    # --- the work -----------------------------------------------------------------------------------------------------

    def write(self, threads: int, watch: Watch | None) -> None:
        """Encodes and commits everything, then writes what belongs to a whole folder."""
        committer = self.committer
        assert committer is not None
        units = self._held or self.corpus.units(committer.state.cursor)
        encode = Encode(self.tokenizer, self.metadata, self.options.frame)
        try:
            if not committer.full:
                self._commit(committer, in_order(units, encode, threads), watch)
            committer.finish()
        except BaseException:
            # Ctrl-C and SIGTERM among them: what is certain is noted, if the disk still takes a line.
            with suppress(OSError):
                committer.save()
            raise
        if not committer.state.shards:
            raise _empty()
        self._publish(committer.state)

    @staticmethod
    def _commit(committer: Committer, units: Iterator[Any], watch: Watch | None) -> None:
        for unit in units:
            committer.take(unit)
            if watch is not None:
                watch(committer.state)
            if committer.full:
                units.close()  # type: ignore[attr-defined]  # a generator
                return

    def _publish(self, state: State) -> None:
        """The files that make the folder whole, the manifest last; then the traces of the run go."""
        _replace(self.folder / VOCAB, render(self.metadata))
        _replace(self.folder / TOKENIZER, self.tokenizer.to_bytes())
        _replace(self.folder / MANIFEST, canonical.pretty(manifest(self.plan, self.metadata, state)))
        self._clean()

    def _clean(self) -> None:
        (self.folder / PLAN).unlink(missing_ok=True)
        sync_folder(self.folder)
        if self.journal is not None:
            self.journal.remove()
        (self.folder / JOURNAL).unlink(missing_ok=True)

    def leave(self) -> None:
        """Lets go of files and of the folder."""
        if self.committer is not None:
            self.committer.leave()
        if self.journal is not None:
            self.journal.close()


def _keeping(units: Iterator[Unit], kept: list[Unit]) -> Iterator[Unit]:
    for unit in units:
        kept.append(unit)
        yield unit


def _replace(path: Path, data: bytes) -> None:
    atomic.write(path, data, force=True)
    sync_folder(path.parent)


def _empty() -> CorpusTooSmall:
    return CorpusTooSmall("the corpus has no documents", fix="name files that have some; slmtok count tells")


@contextmanager
def _explained(run: _Run) -> Iterator[None]:
    """Faults of the disk as errors of ours."""
    try:
        yield
    except OSError as error:
        if isinstance(error, (OutputExists, Unreadable, DiskFull)) or error.__class__.__module__ == "slmtok.errors":
            raise
        raise _disk_error(run, error) from error


def _disk_error(run: _Run, error: OSError) -> Exception:
    folder = str(run.folder)
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return Unreadable(
            f"cannot write to {folder!r}: {error.strerror or error}",
            where=str(error.filename or folder),
            fix="name an output in a folder that may be written to; the same command goes on from here",
            path=folder,
            os_error=error.errno,
        )
    state = run.committer.state if run.committer is not None else State()
    docs = sum(state.totals(name).docs for name in state.open)
    with suppress(OSError):
        free = shutil.disk_usage(run.folder).free
        return DiskFull(
            f"no space left while writing shard {len(state.shards)} (free {free / (1 << 20):,.0f} MiB)",
            where=f"{folder}; {len(state.shards)} shards are complete, and nothing partial is read as whole",
            fix=f"free some space, then run the same command again; it continues at document {docs:,}",
            path=folder,
        )
    return DiskFull(f"no space left while writing to {folder!r}", fix="free some space, then run it again", path=folder)

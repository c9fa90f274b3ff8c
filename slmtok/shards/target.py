"""`Target`: the output of `slmtok pack`, shards or another layout, with subsets.

Another layout is made in two steps: resumable shards in the hidden folder `.packing` of the output, then the files of
the layout from them. `meta.json` comes last and marks a complete folder; then the shards are removed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from slmtok.checks import check_int
from slmtok.errors import OptionError, Setting, unknown_name
from slmtok.options import PackOptions, ReadOptions
from slmtok.shards import folder
from slmtok.shards.format import FRAMES, MANIFEST, TOKENIZER, VOCAB, vocabulary_metadata
from slmtok.shards.layouts import LAYOUTS, WriteJob, require_u16, require_validation
from slmtok.shards.options import SHARD_TOKENS
from slmtok.shards.packing import pack
from slmtok.shards.reader import Shards
from slmtok.shards.subset import subset_folder, write_subsets
from slmtok.shards.token_files import META, META_FORMAT, make_meta

if TYPE_CHECKING:
    from slmtok.shards.packing import OnProgress, RemoteEncoder
    from slmtok.tokenizer import Tokenizer

WORK_FOLDER = ".packing"


@dataclass(frozen=True)
class Packed:
    """The result: the folder, the names of its files, the manifest of the shards, and the folders of subsets."""

    out: Path
    layout: str
    files: list[str]
    manifest: dict[str, Any]
    subsets: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Target:
    """What to write. For `val` and the sizes see `PackOptions`; `frame` None is that of the layout."""

    out: Path
    layout: str = "slm"
    frame: str | None = None
    val: str = "auto"
    shard_tokens: int = SHARD_TOKENS
    max_tokens: int | None = None
    max_chunks: int | None = None
    chunk_size: int | None = None
    subsets: Sequence[int] = ()

    @classmethod
    def from_options(cls, out: str | os.PathLike[str], options: PackOptions) -> Target:
        """The target of `slmtok pack`; `bos` and `eos` that are not given are those of the layout."""
        bos, eos = FRAMES[LAYOUTS[options.output_format].frame]
        wanted = (bos if options.bos is None else options.bos, eos if options.eos is None else options.eos)
        return cls(
            out=Path(out),
            layout=options.output_format,
            frame=next(name for name, both in FRAMES.items() if both == wanted),
            val=options.val,
            shard_tokens=options.shard_tokens,
            max_tokens=options.max_tokens,
            max_chunks=options.max_chunks,
            chunk_size=options.chunk_size,
            subsets=tuple(options.subset),
        )

    def __post_init__(self) -> None:
        """Raises `UnknownName`, `OptionError`."""
        if self.layout not in LAYOUTS:
            raise unknown_name("layout", self.layout, LAYOUTS)
        if self.chunk_size is not None and self.layout != "npy":
            raise OptionError(
                (Setting("chunk_size", self.chunk_size), f" makes rows, which the layout {self.layout} does not have"),
                limit="layout npy",
                fix="--output-format npy",
                option="chunk_size",
            )
        if self.chunk_size is not None:
            check_int("chunk_size", self.chunk_size, 1, 1 << 40)
        if self.subsets and self.layout != "slm":
            raise OptionError(
                f"subsets are written as shards, not as {self.layout}",
                limit="layout slm",
                fix="--output-format slm",
                option="subset",
            )

    def pack(
        self,
        corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        tokenizer: Tokenizer,
        *,
        read: ReadOptions | None = None,
        threads: int = 0,
        force: bool = False,
        on_progress: OnProgress | None = None,
        remote: RemoteEncoder | None = None,
    ) -> Packed:
        """Writes it, or resumes writing it. Raises what `pack` raises."""
        is_slm, layout = self.layout == "slm", LAYOUTS[self.layout]
        # Before the work, not after it.
        if layout.u16_only:
            require_u16(cast("int", vocabulary_metadata(tokenizer)["n_vocab"]), self.layout)
        if layout.needs_validation:
            require_validation(self.val != "none", self.layout)
        if force:
            _remove_layout(self.out)
        if not is_slm:
            self._begin(force=force)
        rows = self.max_chunks * self.chunk_size if self.max_chunks and self.chunk_size else None
        shards = pack(
            corpus,
            tokenizer,
            self.out if is_slm else self.out / WORK_FOLDER,
            frame=self.frame or layout.frame,
            val=self.val,
            # One shard that is just large enough for the rows.
            shard_tokens=rows or self.shard_tokens,
            max_tokens=self.max_tokens,
            max_chunks=1 if rows else self.max_chunks,
            read=read,
            threads=threads,
            force=force,
            reuse=not is_slm or self._subsets_missing(),
            on_progress=on_progress,
            remote=remote,
        )
        if is_slm:
            subsets = write_subsets(shards, tokenizer, self.subsets)
            return Packed(self.out, "slm", layout.write(WriteJob(shards, self.out)), shards.manifest, subsets)
        return self._publish(shards)

    def _subsets_missing(self) -> bool:
        return any(not (subset_folder(self.out, number) / MANIFEST).exists() for number in self.subsets)

    def _begin(self, *, force: bool) -> None:
        """Makes the folder of another layout. Raises `OutputExists` for files that this run has not written."""
        started = (self.out / WORK_FOLDER).exists()
        if not force and not started:
            if (self.out / META).exists():
                raise folder.finished(self.out)
            folder.refuse_files(self.out)
        folder.make(self.out)
        if force:
            shutil.rmtree(self.out / WORK_FOLDER, ignore_errors=True)
            if (self.out / MANIFEST).exists():
                folder.wipe(self.out)

    def _publish(self, shards: Shards) -> Packed:
        """Writes the files of the layout, then moves them to the output folder; meta.json last."""
        work = self.out / WORK_FOLDER / "files"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        names = LAYOUTS[self.layout].write(WriteJob(shards, work, self.chunk_size, self.max_chunks))
        for name in names:
            folder.sync_file(work / name)
            (work / name).replace(self.out / name)
        for name in (VOCAB, TOKENIZER):
            folder.replace(self.out / name, (shards.folder / name).read_bytes())
        meta = make_meta(shards, self.out, layout=self.layout, files=names, chunk_size=self.chunk_size)
        folder.replace(self.out / META, meta)
        shutil.rmtree(self.out / WORK_FOLDER)
        return Packed(self.out, self.layout, names, shards.manifest)


def _remove_layout(out: Path) -> None:
    """Removes the files of an earlier layout: a loader that takes all files of a pattern would read stale ones."""
    try:
        content: Any = json.loads((out / META).read_bytes())
        names = content["files"] if content["format"] == META_FORMAT else []
    except (OSError, ValueError, TypeError, KeyError):
        return
    (out / META).unlink()
    for name in [*names, VOCAB, TOKENIZER]:
        if isinstance(name, str) and Path(name).name == name:
            (out / name).unlink(missing_ok=True)

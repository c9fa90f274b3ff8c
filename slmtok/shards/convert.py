"""`Target`: what `slmtok pack` is to make, our shards or another layout, with subsets.

Another layout is made in two steps: shards of ours in the hidden folder `.packing` of the output, resumable as always,
then that layout's files from them. `meta.json` comes last and means that all is there; then the shards go.
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
from slmtok.corpus import ReadOptions
from slmtok.errors import InvalidOption, unknown_name
from slmtok.shards import folder, layout_meta
from slmtok.shards.header import MANIFEST, TOKENIZER, VOCAB
from slmtok.shards.layout_meta import FORMAT, META
from slmtok.shards.layouts import LAYOUTS, Writing
from slmtok.shards.layouts.base import need_u16, need_validation
from slmtok.shards.options import SHARD_TOKENS
from slmtok.shards.pack import pack
from slmtok.shards.reader import Shards
from slmtok.shards.subset import subset_folder, write_subsets
from slmtok.shards.vocabulary_of import vocabulary_metadata

if TYPE_CHECKING:
    from slmtok.shards.run import Elsewhere, Watch
    from slmtok.tokenizer import Tokenizer

PACKING = ".packing"


@dataclass(frozen=True)
class Packed:
    """What was made: the folder, its files by name, the manifest of the shards, and the folders of subsets."""

    out: Path
    layout: str
    files: list[str]
    manifest: dict[str, Any]
    subsets: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is to be made. For `val` and the sizes see `PackOptions`; `frame` None means that of the layout."""

    out: Path
    layout: str = "slm"
    frame: str | None = None
    val: str = "auto"
    shard_tokens: int = SHARD_TOKENS
    max_tokens: int | None = None
    max_chunks: int | None = None
    chunk_size: int | None = None
    subsets: Sequence[int] = ()

    def __post_init__(self) -> None:
        """Raises `UnknownName`, `InvalidOption`."""
        if self.layout not in LAYOUTS:
            raise unknown_name("layout", self.layout, LAYOUTS)
        if self.chunk_size is not None and self.layout != "npy":
            raise InvalidOption(
                f"chunk_size={self.chunk_size} makes rows, which the layout {self.layout} has not",
                limit="layout npy",
                fix="--output-format npy",
                option="chunk_size",
            )
        if self.chunk_size is not None:
            check_int("chunk_size", self.chunk_size, 1, 1 << 40)
        if self.subsets and self.layout != "slm":
            raise InvalidOption(
                f"subsets are shards of ours, not {self.layout}", limit="layout slm", fix="--output-format slm", option="subset"
            )

    def pack(
        self,
        corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        tokenizer: Tokenizer,
        *,
        read: ReadOptions | None = None,
        threads: int = 0,
        force: bool = False,
        watch: Watch | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> Packed:
        """Makes it, or goes on making it. Raises what `slmtok.shards.pack` raises."""
        own, chosen = self.layout == "slm", LAYOUTS[self.layout]
        # Told before the work, not after it.
        if chosen.narrow:
            need_u16(cast("int", vocabulary_metadata(tokenizer)["n_vocab"]), self.layout)
        if chosen.validates:
            need_validation(self.val != "none", self.layout)
        if force:
            _drop_layout(self.out)
        if not own:
            self._begin(force=force)
        rows = self.max_chunks * self.chunk_size if self.max_chunks and self.chunk_size else None
        shards = pack(
            corpus,
            tokenizer,
            self.out if own else self.out / PACKING,
            frame=self.frame or LAYOUTS[self.layout].frame,
            val=self.val,
            # Rows are counted in one shard that is just large enough for them.
            shard_tokens=rows or self.shard_tokens,
            max_tokens=self.max_tokens,
            max_chunks=1 if rows else self.max_chunks,
            read=read,
            threads=threads,
            force=force,
            again=not own or self._subsets_missing(),
            watch=watch,
            elsewhere=elsewhere,
        )
        if own:
            subsets = write_subsets(shards, tokenizer, self.subsets)
            return Packed(self.out, "slm", LAYOUTS["slm"].write(Writing(shards, self.out)), shards.manifest, subsets)
        return self._publish(shards)

    def _subsets_missing(self) -> bool:
        return any(not (subset_folder(self.out, number) / MANIFEST).exists() for number in self.subsets)

    def _begin(self, *, force: bool) -> None:
        """Makes the folder of another layout. Raises `OutputExists` for files that this run has not begun."""
        begun = (self.out / PACKING).exists()
        if not force and not begun:
            if (self.out / META).exists():
                raise folder.finished(self.out)
            folder.refuse_all(self.out)
        folder.make(self.out)
        if force:
            shutil.rmtree(self.out / PACKING, ignore_errors=True)
            if (self.out / MANIFEST).exists():
                folder.wipe(self.out)

    def _publish(self, shards: Shards) -> Packed:
        """Writes the layout's files beside their places, then renames them; meta.json last."""
        making = self.out / PACKING / "files"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        names = LAYOUTS[self.layout].write(Writing(shards, making, self.chunk_size, self.max_chunks))
        for name in names:
            folder.sync_file(making / name)
            (making / name).replace(self.out / name)
        for name in (VOCAB, TOKENIZER):
            folder.replace(self.out / name, (shards.folder / name).read_bytes())
        meta = layout_meta.render(shards, self.out, layout=self.layout, files=names, chunk_size=self.chunk_size)
        folder.replace(self.out / META, meta)
        shutil.rmtree(self.out / PACKING)
        return Packed(self.out, self.layout, names, shards.manifest)


def _drop_layout(out: Path) -> None:
    """Removes the files of a layout that are there: a loader that takes all of a name would read stale ones too."""
    try:
        content: Any = json.loads((out / META).read_bytes())
        names = content["files"] if content["format"] == FORMAT else []
    except (OSError, ValueError, TypeError, KeyError):
        return
    (out / META).unlink()
    for name in [*names, VOCAB, TOKENIZER]:
        if isinstance(name, str) and Path(name).name == name:
            (out / name).unlink(missing_ok=True)

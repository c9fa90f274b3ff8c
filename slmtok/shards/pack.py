"""`pack`: a corpus and a tokenizer to a folder of token shards; resumable at any moment, the same for any threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.checks import check_threads as check_threads
from slmtok.corpus import ReadOptions, find
from slmtok.shards import folder
from slmtok.shards.cores import physical_cores
from slmtok.shards.options import SHARD_TOKENS, PackOptions
from slmtok.shards.reader import Shards, open_shards
from slmtok.shards.run import Elsewhere, Run, Watch

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer


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
    again: bool = False,
    watch: Watch | None = None,
    elsewhere: Elsewhere | None = None,
) -> Shards:
    """Packs a corpus into the folder `out`, or goes on with an unfinished run of the same plan.

    For `frame`, `val` and the sizes see `PackOptions`; `read` says how the corpus is read. threads: 0 means one for
    each physical core; the result does not depend on it. force: replaces what an earlier run left. again: where
    the very same run is finished already, opens what it made. elsewhere: encodes on other machines, see
    `slmtok.cluster`.

    Raises `MissingInput`, `MalformedRecord`, `OutputExists`, `PlanMismatch`, `CorpusTooSmall`, `DiskFull`.
    """
    options = PackOptions(frame=frame, val=val, shard_tokens=shard_tokens, max_tokens=max_tokens, max_chunks=max_chunks)
    read = read or ReadOptions()
    threads = check_threads(threads) or physical_cores()
    run = Run(Path(out), tokenizer, options, find(corpus, read), read)
    run.elsewhere = elsewhere
    try:
        if not force and run.finished_before(again=again):
            return open_shards(out)
        run.begin(force=force)
        run.write(threads, watch)
    except OSError as error:
        raise folder.explained(error, run.folder, run.state, run.missing) from error
    finally:
        run.leave()
    return open_shards(out)

"""`--memory` of `slmtok train`: where spills go, and what is said before merging."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.cli import _files
from slmtok.cli._numbers import grouped, in_bytes

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts


WORTH_A_LINE = 50_000_000


def options(memory: str | None, output: str) -> dict[str, str | None]:
    """What counting is told. Spills go to $TMPDIR, else beside the output: the system's own folder is often memory."""
    beside = None if output == _files.STDIO else str(Path(output).parent)
    return {"memory": memory, "spill_folder": os.environ.get("TMPDIR") or beside}


def tell(counts: PretokenCounts) -> None:
    """Says, on stderr, what the merge loop will need, where that is worth a line; the summary has it in any case."""
    need, limit = counts.merge_memory, counts.memory
    if counts.scheme != "bpe" or need < WORTH_A_LINE:
        return
    more = f", more than counting was allowed ({in_bytes(limit)})" if limit is not None and need > limit else ""
    sys.stderr.write(f"merging {grouped(counts.distinct)} distinct pieces takes about {in_bytes(need)}{more}\n")
    sys.stderr.flush()


def over_limit(need: int | None, limit: int | None) -> bool:
    """Whether the merge loop will take more than counting was allowed."""
    return need is not None and limit is not None and need > limit

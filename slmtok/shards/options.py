"""`PackOptions`: what determines packed data, besides the corpus, how it is read, and the tokenizer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from slmtok.checks import check_int
from slmtok.errors import OptionError, Setting, unknown_name
from slmtok.shards.format import FRAMES
from slmtok.shards.split import check_rule

SHARD_TOKENS = 1 << 27


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    """How documents become shards.

    frame: the specials around the ids of a document, a name in `FRAMES`. val: which documents are validation. A shard
    closes at `shard_tokens` ids, and the run ends at `max_tokens` ids or `max_chunks` training shards: always at a
    document end.
    """

    frame: str = "bos_eos"
    val: str = "auto"
    shard_tokens: int = SHARD_TOKENS
    max_tokens: int | None = None
    max_chunks: int | None = None

    def __post_init__(self) -> None:
        """Raises `UnknownName`, `OptionError`, `WrongType`."""
        if self.frame not in FRAMES:
            raise unknown_name("frame", self.frame, FRAMES)
        check_rule(self.val)
        check_int("shard_tokens", self.shard_tokens, 1, 1 << 40)
        for name in ("max_tokens", "max_chunks"):
            if getattr(self, name) is None:
                continue
            check_int(name, getattr(self, name), 1)
            if self.val.startswith("tail:"):
                raise OptionError(
                    (
                        Setting("val", self.val),
                        " cannot be combined with ",
                        Setting(name),
                        ": the tail is chosen before encoding",
                    ),
                    fix=(Setting("val", "hash:10%"), ", or ", Setting("max_bytes"), " instead"),
                    option="val",
                )

    def recorded(self) -> dict[str, Any]:
        """Its record in plan and manifest."""
        return asdict(self)

"""minbpe's `BasicTokenizer` and `RegexTokenizer` on our engine.

As there, ids start at 0 with the bytes, special tokens are registered by hand with ids of their own, training takes one
text and a `vocab_size` without specials, and `encode` refuses special tokens in text unless told otherwise. On purpose
it differs: of equally frequent pairs the one with the smaller ids is merged (there the one seen first), text that the
pattern does not match is kept, a text with fewer pairs than asked for gives fewer merges, the file is JSON of our own
in which a custom pattern is stored and, when loaded, used.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.checks import U32, U64, check_int
from slmtok.compat._learn import encoder_of, merges_of, one_str, room, unknown_id
from slmtok.compat.tiktoken.special_rules import Allowed, Rules
from slmtok.errors import CorruptFile, InvalidSpecials, SlmtokError, WrongType

if TYPE_CHECKING:
    from slmtok._engine import Encoder

__all__ = ["GPT4_SPLIT_PATTERN", "BasicTokenizer", "RegexTokenizer"]

GPT4_SPLIT_PATTERN = "cl100k-hf"
"""The default pattern of `RegexTokenizer`, by our name for it."""
_FORMAT = "slmtok-minbpe"
_MAX_BYTES = 256 << 20


class RegexTokenizer:
    """Splits text by a pattern, trains on one text, knows special tokens."""

    def __init__(self, pattern: str | None = None) -> None:
        """pattern: a name of ours or a regex; GPT-4's if None. Raises `InvalidPattern`."""
        from slmtok.patterns import parse_pattern

        self._pattern = parse_pattern(pattern if pattern is not None else GPT4_SPLIT_PATTERN)
        self.special_tokens: dict[str, int] = {}
        self._learn([])

    def _learn(self, merges: Sequence[tuple[int, int]]) -> None:
        self.merges = {pair: 256 + k for k, pair in enumerate(merges)}
        self._encoder: Encoder = encoder_of(self._pattern, merges)

    @property
    def pattern(self) -> str:
        """The regex of the split pattern."""
        return self._pattern.regex

    @property
    def vocab(self) -> dict[int, bytes]:
        """The bytes of each id, specials last."""
        table = {id: self._encoder.token_bytes(id) for id in range(256 + len(self.merges))}
        return table | {id: text.encode() for text, id in self.special_tokens.items()}

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Learns `vocab_size` - 256 merges of one text. verbose: logs each merge (there it prints).

        Raises `VocabularyTooSmall`, `WrongType`.
        """
        self._learn(merges_of([one_str(text)], room(vocab_size), self._pattern))
        if verbose:
            log = logging.getLogger(__name__)
            for k, (pair, id) in enumerate(self.merges.items(), 1):
                log.info("merge %d/%d: %s -> %d (%r)", k, len(self.merges), pair, id, self._encoder.token_bytes(id))

    def register_special_tokens(self, special_tokens: Mapping[str, int]) -> None:
        """Spelling to id, in place of those registered before. Raises `InvalidSpecials`."""
        if not isinstance(special_tokens, Mapping):
            raise WrongType(
                f"special_tokens must be a dict from spelling to id, not {type(special_tokens).__name__}",
                fix="{'<|endoftext|>': 100257}",
            )
        tokens = {one_str(text): check_int(f"the id of {text!r}", id, -U64, U32) for text, id in special_tokens.items()}
        if len(set(tokens.values())) != len(tokens):
            raise InvalidSpecials(f"two special tokens share an id: {tokens}", fix="give each an id of its own")
        for text, id in tokens.items():
            if not text or id < 256 + len(self.merges):
                raise InvalidSpecials(
                    f"special token {text!r} cannot have id {id}",
                    limit=f"a spelling, and an id of {256 + len(self.merges)} or more (bytes and merges are below)",
                    fix="give it a higher id",
                    id=id,
                )
        self.special_tokens = tokens

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which nothing is special."""
        return self._encoder.encode_list(one_str(text))

    def encode(self, text: str, allowed_special: Allowed = "none_raise") -> list[int]:
        """The ids of a text.

        allowed_special: "all", "none" (all is text), "none_raise" (a special in the text raises `SpecialInText`), or a
        set of spellings, of which all others are text.
        """
        rules = Rules.of(self.special_tokens, allowed_special, ())
        rules.check(one_str(text), roles={})
        ids: list[int] = []
        for index, part in enumerate(rules.cut(text)):
            ids.extend([self.special_tokens[part]] if index % 2 else self._encoder.encode_list(part))
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, bytes that are no UTF-8 replaced. Raises `UnknownId`."""
        from slmtok.id_arrays import check_ids, check_row

        spelled = {id: text.encode() for text, id in self.special_tokens.items()}
        size = 256 + len(self.merges)
        parts = []
        for id in check_ids(check_row(ids), size):
            if not (0 <= id < size or id in spelled):
                raise unknown_id(id, size)
            parts.append(spelled.get(id) or self._encoder.token_bytes(id))
        return b"".join(parts).decode("utf-8", "replace")

    def save(self, file_prefix: str) -> None:
        """Writes `file_prefix`.model, over an old one if there is one."""
        from slmtok import atomic

        content = {
            "format": _FORMAT,
            "version": 1,
            "pattern": self._pattern.name or self._pattern.regex,
            "specials": self.special_tokens,
            "merges": list(self.merges),
        }
        atomic.write(f"{file_prefix}.model", json.dumps(content, ensure_ascii=False).encode() + b"\n", force=True)

    def load(self, model_file: str) -> None:
        """Reads what `save` wrote; its pattern is compiled and used. Raises `MissingInput`, `CorruptFile`."""
        from slmtok._engine import Pattern
        from slmtok.checks import check_path
        from slmtok.files import read_file

        if not check_path(model_file).endswith(".model"):
            raise WrongType(f"{str(model_file)!r} does not end in .model", fix=f"load({str(model_file)!r} + '.model')")
        content = _parse(read_file(Path(model_file), _MAX_BYTES), str(model_file))
        try:
            self._pattern = Pattern(content["pattern"])
            self._learn([(left, right) for left, right in content["merges"]])
            self.register_special_tokens(content["specials"])
        except (SlmtokError, KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise CorruptFile(
                f"{str(model_file)!r} is damaged: {error}",
                where=str(model_file),
                fix="save it again",
                path=str(model_file),
            ) from error


class BasicTokenizer(RegexTokenizer):
    """Without a split: the text is one piece, and merges go across words."""

    def __init__(self) -> None:
        super().__init__("whole")


def _parse(data: bytes, source: str) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != _FORMAT or content.get("version") != 1:
        raise CorruptFile(
            f"{source!r} is not a model that this class saved",
            limit="minbpe's own files are not read",
            fix="train again, and save with this class",
            path=source,
        )
    return content

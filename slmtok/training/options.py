"""The settings of counting and training, judged once. Their names are those of the command line, with underscores."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from slmtok.checks import U32, U64, check_int
from slmtok.corpus import ReadOptions
from slmtok.errors import OptionError, WrongType
from slmtok.schemes import Limits, Scheme, TieBreak, scheme
from slmtok.specials import FIRST_LEARNED
from slmtok.training.memory import budget, judged
from slmtok.training.mixing import judged as judged_temperature
from slmtok.training.mixing import weight
from slmtok.vocabulary import MAX_IDS, vocabulary_too_small

DEFAULT_VOCAB = 8192
TIES: tuple[TieBreak, ...] = ("rank", "bytes-greatest", "hf")


@dataclass(frozen=True, kw_only=True)
class CountOptions:
    """What is counted. `doc_cap`: characters of a document; `max_chars`, `max_bytes`: of the check_int corpus.

    `memory`: bytes that the program may hold while it counts, as a number or as people write it; None is half of what
    is free. `spill_folder`: where what does not fit is written; None is the system's own.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    doc_cap: int | None = None
    max_chars: int | None = None
    max_bytes: int | None = None
    threads: int = 0
    memory: int | str | None = None
    spill_folder: str | None = None

    def __post_init__(self) -> None:
        """Raises `OptionError`, `WrongType`."""
        object.__setattr__(self, "memory", judged(self.memory))
        for name in ("doc_cap", "max_chars", "max_bytes"):
            _judge(self, name, 1)
        _judge(self, "threads", 0, U32)

    @property
    def budget(self) -> tuple[int, str] | None:
        """What the engine's counter is told of memory."""
        return budget(self.memory if isinstance(self.memory, int) else None, self.spill_folder)

    def recorded(self) -> dict[str, Any]:
        """What the tokenizer file says of them: all that can change a count. It holds no fractions and no tables."""
        record = {
            **self.read.recorded(),
            "doc_cap": self.doc_cap,
            "max_chars": self.max_chars,
            "max_bytes": self.max_bytes,
        }
        return {name: _plain(value) for name, value in record.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return str(value)
    if isinstance(value, Mapping):
        return [f"{name}={glob}" for name, globs in value.items() for glob in globs]
    return value


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What is learned. `vocab` None means 8192, or the one size that the scheme has; 0 means no limit for lengths."""

    vocab: int | None = None
    scheme: str = "bpe"
    ties: TieBreak = "rank"
    min_count: int = 2
    max_token_bytes: int = 64
    max_token_chars: int = 0
    forbid_regex: str | None = None
    require: tuple[bytes, ...] = ()
    special: Mapping[str, str] = field(default_factory=dict)
    allow_smaller: bool = False
    mix: Mapping[str, Fraction | float | str] = field(default_factory=dict)
    """Weights of domains."""
    temperature: float | str | None = None

    def __post_init__(self) -> None:
        """Raises `UnknownName`, `OptionError`, `VocabularyTooSmall`, `WrongType`."""
        kind = scheme(self.scheme)
        if self.ties not in TIES:
            raise OptionError(f"ties={self.ties!r} is unknown", limit=", ".join(TIES), fix="ties='rank'", option="ties")
        if self.forbid_regex is not None:
            _check_regex(self.forbid_regex)
        _judge(self, "min_count", 1)
        _judge(self, "max_token_bytes", 0, U32)
        _judge(self, "max_token_chars", 0, U32)
        _judge(self, "vocab", 0, MAX_IDS, example=DEFAULT_VOCAB)
        _check_size(self.vocab, kind)
        for name, value in self.mix.items():
            weight(name, value)
        if self.temperature is not None:
            judged_temperature(self.temperature)

    @property
    def weighs(self) -> bool:
        """Whether domains have weights."""
        return bool(self.mix) or self.temperature is not None

    @property
    def size(self) -> int:
        """The final total of ids that is asked for."""
        if self.vocab is not None:
            return self.vocab
        return FIRST_LEARNED if scheme(self.scheme).fixed_size else DEFAULT_VOCAB

    @property
    def limits(self) -> Limits:
        """What the scheme may learn."""
        return Limits(
            tie_break=self.ties,
            min_count=self.min_count,
            max_token_bytes=self.max_token_bytes,
            max_token_chars=self.max_token_chars,
            forbid_regex=self.forbid_regex,
            require=self.require,
        )

    def recorded(self) -> dict[str, Any]:
        """What the tokenizer file says of them."""
        return {
            "vocab": self.size,
            "ties": self.ties,
            "min_count": self.min_count,
            "max_token_bytes": self.max_token_bytes,
            "max_token_chars": self.max_token_chars,
            "forbid_regex": self.forbid_regex,
            "require": [b2a_base64(token, newline=False).decode() for token in self.require],
            "allow_smaller": self.allow_smaller,
            **({} if self.temperature is None else {"temperature": str(self.temperature)}),
        }


def _judge(options: object, name: str, least: int, most: int = U64, *, example: int | None = None) -> None:
    """Makes a number of a frozen dataclass an `int`, None aside. Raises `OptionError`, `WrongType`."""
    value = getattr(options, name)
    if value is not None:
        object.__setattr__(options, name, check_int(name, value, least, most, example=example))


def _check_regex(forbid: object) -> None:
    if not isinstance(forbid, str):
        raise WrongType(f"forbid_regex= must be a regex, not {type(forbid).__name__}", fix="forbid_regex='[0-9]{4}'")
    if not forbid:
        raise OptionError(
            "forbid_regex= is empty, which matches every token",
            limit="a regex",
            fix="leave forbid_regex= out",
            option="forbid_regex",
        )


def _check_size(vocab: int | None, kind: Scheme) -> None:
    if vocab is None:
        return
    if vocab < FIRST_LEARNED:
        raise vocabulary_too_small(vocab, kind.name, option="vocab")
    if kind.fixed_size and vocab != FIRST_LEARNED:
        raise OptionError(
            f"vocab={vocab} with scheme {kind.name}, which learns nothing",
            limit=f"always {FIRST_LEARNED}",
            fix="leave vocab= out",
            option="vocab",
        )


def required(tokens: Iterable[str | bytes]) -> tuple[bytes, ...]:
    """Required tokens as bytes, in their order, each once. Raises `WrongType`, for a lone string too."""
    if isinstance(tokens, (str, bytes)):
        raise WrongType("require takes many tokens, this is one", fix=f"require=[{tokens!r}]")
    if not isinstance(tokens, Iterable):
        raise WrongType(f"require takes many tokens, not {type(tokens).__name__}", fix="require=[' the']")
    return tuple(dict.fromkeys(_token(index, token) for index, token in enumerate(tokens)))


def _token(index: int, token: object) -> bytes:
    if isinstance(token, str):
        return token.encode()
    if isinstance(token, (bytes, bytearray, memoryview)):
        return bytes(token)
    raise WrongType(
        f"require[{index}] is {type(token).__name__} {token!r}", limit="str or bytes", fix="require=[' the', b'\\n']"
    )


def pattern_spec(kind: Scheme, pattern: str | None) -> str:
    """The pattern that a scheme uses when `pattern` (None: its own) is asked for. Raises `OptionError`."""
    if pattern is None or pattern == kind.pattern:
        return kind.pattern
    if not kind.own_pattern:
        raise OptionError(
            f"pattern={pattern!r} with scheme {kind.name}, which has a pattern of its own",
            limit=f"scheme {kind.name}: {kind.pattern}",
            fix="leave pattern= out",
            option="pattern",
        )
    return pattern

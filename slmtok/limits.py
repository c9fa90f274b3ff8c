"""What a scheme may learn and must learn, and the errors for limits that no corpus can meet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from slmtok.errors import InvalidPattern, RequiredToken, RequiredTooMany

if TYPE_CHECKING:
    from slmtok._engine import Pattern

TieBreak: TypeAlias = Literal["rank", "bytes-greatest", "hf"]
TIE_BREAKS: tuple[TieBreak, ...] = get_args(TieBreak)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a scheme may learn. Zero or None means no limit; `require` holds tokens that must be learned."""

    tie_break: TieBreak = "rank"
    min_count: int = 2
    max_token_bytes: int = 64
    max_token_chars: int = 0
    forbid_regex: str | None = None
    require: tuple[bytes, ...] = ()

    @property
    def required_ids(self) -> int:
        """How many ids the required tokens take; single bytes have theirs already."""
        return sum(len(token) > 1 for token in self.require)

    def scaled(self, scale: int) -> Limits:
        """The same for counts that were all multiplied by `scale`."""
        return replace(self, min_count=min(self.min_count * scale, (1 << 64) - 1))

    def check_room(self, available: int) -> None:
        """Raises `RequiredTooMany` where the required tokens take more ids than there are."""
        if self.required_ids > available:
            raise too_many(self.required_ids, available)

    def check_pieces(self, pattern: Pattern) -> None:
        """Raises `RequiredToken` for a token that no piece can be."""
        for token in self.require:
            if len(pattern.split(token)) != 2:
                raise RequiredToken(
                    f"required token {token!r} is not one piece of the pattern",
                    where="require=",
                    limit=f"the pattern {pattern.name or pattern.regex!r}",
                    fix="leave it out, or choose a pattern that does not cut it",
                    token=token,
                )


def too_many(needed: int, available: int) -> RequiredTooMany:
    """The error for required tokens that no vocabulary of the size asked for can hold."""
    return RequiredTooMany(
        f"the required tokens take {needed} ids, there are {available}",
        where="require=",
        limit="vocab= less 16 specials and 256 bytes",
        fix=f"vocab={needed + 272} or more, or require fewer tokens",
        needed=needed,
        available=available,
    )


@contextmanager
def retold(limits: Limits) -> Iterator[None]:
    """The engine's errors about limits, with the options that they are about."""
    try:
        yield
    except RequiredToken as error:
        error.where = "require="
        error.fix = "leave it out, or choose a pattern and limits that allow it"
        raise
    except RequiredTooMany as error:
        needed, available = error.fields.get("needed"), error.fields.get("available")
        if isinstance(needed, int) and isinstance(available, int):
            raise too_many(needed, available) from None
        raise
    except InvalidPattern as error:
        if error.fields.get("pattern") != limits.forbid_regex:
            raise
        reason = str(error.fields.get("reason")).strip().rpartition("\n")[2].removeprefix("error: ")
        raise InvalidPattern(
            f"forbid_regex={limits.forbid_regex!r} does not compile: {reason}",
            where="forbid_regex=",
            limit="a regular expression without look-around and back-references",
            fix="repair it; forbid_regex='[0-9]{4}' forbids tokens with four digits in a row",
            **error.fields,
        ) from None

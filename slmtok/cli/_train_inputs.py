"""What `slmtok train` makes of its options before any text is read: sizes, special tokens, required tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slmtok.errors import InvalidOption, InvalidSpecials, MissingInput, Unreadable
from slmtok.token_text import unescape_token


def sizes(vocab: Sequence[int] | None, scheme: str) -> list[int | None]:
    """`--vocab`, which only a scheme of fixed size may leave out. Raises `InvalidOption`."""
    from slmtok.cli._usage import EXAMPLES
    from slmtok.schemes import SCHEMES

    if not vocab and not SCHEMES[scheme].fixed_size:
        raise InvalidOption("--vocab is missing", where="slmtok train", fix=EXAMPLES["train"], option="vocab")
    return [*vocab] if vocab else [None]


def weights(values: Sequence[str]) -> dict[str, str]:
    """`--mix NAME=W`, repeated. Raises `InvalidOption`."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, weight = value.partition("=")
        if not equals or not name or name in found:
            raise InvalidOption(
                f"--mix {value!r} is not NAME=W, or names {name!r} again", fix="--mix code=0.5", option="mix"
            )
        found[name] = weight
    return found


def named(values: Sequence[str], option: str) -> dict[str, str]:
    """`ROLE=SPELLING`, repeated; `option` is how they were given. Raises `InvalidOption`."""
    found: dict[str, str] = {}
    for value in values:
        role, equals, text = value.partition("=")
        if not equals or not role or not text:
            prefix = "" if option == "ROLE=SPELLING" else f"{option} "
            told = f"{prefix}{value!r}"
            raise InvalidOption(f"{told} is not ROLE=SPELLING", fix=f"{prefix}'user=<|user|>'", option="special")
        if role in found:
            raise InvalidOption(
                f"{option} names the role {role!r} twice", where=option, fix="leave one of them out", option="special"
            )
        found[role] = text
    return found


def specials(values: Sequence[str]) -> dict[str, str]:
    """`--special ROLE=SPELLING`, repeated. Raises `InvalidOption`, `InvalidSpecials`."""
    from slmtok.specials import default_specials

    found = named(values, "--special")
    try:
        default_specials(found)
    except InvalidSpecials as error:
        error.where = "--special"
        error.fields["option"] = "special"
        raise
    return found


def required_tokens(path: str | None) -> tuple[bytes, ...]:
    """The tokens of a `--require` file: one a line, escapes as `slmtok vocab` prints them, empty lines left out."""
    if path is None:
        return ()
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except FileNotFoundError:
        raise MissingInput(f"no file {path!r}", where="--require", fix="check the name", path=path) from None
    except OSError as error:
        raise Unreadable(
            f"cannot read {path!r}: {error.strerror}", where="--require", fix="name a file that may be read", path=path
        ) from error
    tokens: list[bytes] = []
    for number, line in enumerate(lines, 1):
        word = line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
        try:
            token = unescape_token(word)
        except InvalidOption as error:
            error.where = f"{path}, line {number}"
            raise
        if token:
            tokens.append(token)
    return tuple(tokens)


def check(learn: Mapping[str, Any], read: Mapping[str, Any], pattern: str | None, *, explain: int = 0) -> None:
    """Raises what training would raise for these options, before it reads anything."""
    from slmtok.corpus import ReadOptions
    from slmtok.training.options import CountOptions, TrainOptions
    from slmtok.training.run import rehearse

    options = TrainOptions(**learn)
    if explain and learn["scheme"] != "bpe":
        raise InvalidOption(
            f"--explain with scheme {learn['scheme']}, which does not merge",
            limit="scheme bpe",
            fix="leave --explain out",
            option="explain",
        )
    limits = {key: read[key] for key in read if key not in ReadOptions.__dataclass_fields__}
    CountOptions(read=ReadOptions(**{key: value for key, value in read.items() if key not in limits}), **limits)
    rehearse(options, pattern)

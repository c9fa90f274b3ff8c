"""The bytes of a token as one unambiguous, printable word, and back.

A space is `␣`, line feed, return and tab are `\\n`, `\\r`, `\\t`, a backslash is `\\\\`, invalid UTF-8 is `\\xNN`, and
characters that are not printable (and `␣` itself) are `\\uNNNN`, so the bytes can be recovered.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NoReturn

from slmtok.errors import InvalidText, Message, MissingInput, OptionError, Setting, UnknownId, Unreadable
from slmtok.path_arguments import free_name

SPACE = "␣"
_NAMED = {" ": SPACE, "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


FOREIGN_SPACES = str.maketrans("ĠĊĉ▁", " \n\t ")
"""White space as the files of GPT-2 and of SentencePiece write it."""


def escape_token(data: bytes) -> str:
    """The word for these bytes."""
    return "".join(map(_character, data.decode("utf-8", "surrogateescape")))


def _character(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if char == SPACE or not char.isprintable():
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return char


class Words(dict[str, int]):
    """The words of tokens and their ids: a dict whose error for another key names the word that may be meant.

    Copies and pickles are plain dicts.
    """

    def __missing__(self, key: object) -> NoReturn:
        """Raises `UnknownId`, a `KeyError`."""
        texts = (key, key.translate(FOREIGN_SPACES)) if isinstance(key, str) else ()
        forms = [key] if isinstance(key, bytes) else [text.encode(errors="backslashreplace") for text in texts]
        words = map(escape_token, forms)
        fact, fix = f"no token has the word {key!r}", "tok.encode_list(text) gives the ids of any text"
        if meant := next((word for word in words if word in self), None):
            fix = f"{meant!r}, whose id is {self[meant]}"
        elif isinstance(key, int):
            fact, fix = f"{key} is an id, and the keys are words", f"tok.id_to_token({key})"
        raise UnknownId(fact, limit="words as tok.id_to_token(id) gives them, with ␣ for a space", fix=fix)

    def __reduce__(self) -> tuple[type[dict[str, int]], tuple[dict[str, int]]]:
        return dict, (dict(self),)


_ESCAPE = re.compile(r"\\(?:([nrt\\])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|)")
_LETTERS = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}


def unescape_token(word: str) -> bytes:
    """The bytes that a word stands for; a plain space is a space as well. Raises `OptionError` for a bad escape."""
    data = b""
    end = 0
    for match in _ESCAPE.finditer(word):
        data += _plain(word[end : match.start()]) + _unescape(match)
        end = match.end()
    return data + _plain(word[end:])


def _plain(text: str) -> bytes:
    try:
        return text.replace(SPACE, " ").encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        fact = f"{text!r} has a lone surrogate U+{ord(text[error.start]):04X}"
        raise InvalidText(fact, fix="text, or its bytes as \\xNN") from None


def _unescape(match: re.Match[str]) -> bytes:
    letter, byte, short, long = match.groups()
    if letter:
        return _LETTERS[letter]
    if byte:
        return bytes.fromhex(byte)
    code = int(short or long or "-1", 16)
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise OptionError(
            f"bad escape {match.string[match.start() : match.start() + 6]!r}",
            limit=r"\n, \r, \t, \\, \xNN (a byte), \uNNNN, \UNNNNNNNN",
            fix=r"write \\ for a backslash",
        )
    return chr(code).encode()


_LISTED = re.compile(rb" *[0-9]+ {2,}[0-9]+ {2,}[^ ]+( {2,}[^ ]+)?| *id +bytes +token +parts")
"""A line of `slmtok vocab`: id, bytes, token, and a role or parts; and its heading."""
_MAX_FILE_BYTES = 64 << 20
"""Of a list of tokens."""


def _no_file_of_tokens(path: str, option: str) -> MissingInput:
    """The error for a file of tokens that does not exist; the fix writes the tokens that may be meant to one."""
    fix: Message = "check the name"
    if not Path(path).suffix and "/" not in path:
        words = [word for part in path.split(",") if (word := part.strip())] or [path]
        what, name = "the token" if len(words) == 1 else "the tokens", free_name("tokens.txt")
        written = f"printf '%s\\n' {shlex.join(words)} > {name}"
        fix = (f"check the name, or write {what} to a file: {written} # and ", Setting(option, name))
    where, limit = (Setting(option),), "a file with one token a line"
    return MissingInput(f"no file {path!r}", where=where, limit=limit, fix=fix, path=path, option=option)


def read_tokens(path: str, option: str = "require") -> tuple[bytes, ...]:
    """The tokens of a file, one escaped word a line, without empty lines.

    Raises `MissingInput`, `Unreadable`, `OptionError`; `option` is how the file was given.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise _no_file_of_tokens(path, option) from None
    except OSError as error:
        raise Unreadable(
            f"cannot read {path!r}: {error.strerror}", where=(Setting(option),), fix="name a readable file", path=path
        ) from error
    if len(data) > _MAX_FILE_BYTES:
        raise OptionError(
            f"{path} is too large for a list of tokens",
            where=(Setting(option),),
            limit=f"{_MAX_FILE_BYTES:,} bytes",
            fix="name a file with one token a line",
            option=option,
        )
    if b"\0" in data:
        raise OptionError(
            f"{path!r} is binary data (it has zero bytes), not a list of tokens",
            where=(Setting(option),),
            limit="one token a line, spelled as slmtok vocab spells them",
            fix="name a text file",
            option=option,
        )
    if data.strip() and all(_LISTED.fullmatch(line) for line in data.splitlines()):
        name = free_name(f"{option}.txt")
        raise OptionError(
            f"{path!r} is a list of slmtok vocab, with ids, numbers of bytes and parts beside the tokens",
            where=(Setting(option),),
            limit="one token a line and nothing else",
            # Tokens of one byte, and special ones, which have 0, are in every tokenizer.
            fix=(f"awk '$2 > 1 {{print $3}}' {shlex.quote(path)} > {name} # and ", Setting(option, name)),
            option=option,
        )
    tokens: list[bytes] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            token = unescape_token(line.removesuffix(b"\r").decode("utf-8", "surrogateescape"))
        except OptionError as error:
            error.where = f"{path}, line {number}"
            raise
        if token:
            tokens.append(token)
    return tuple(tokens)


def unicode_to_bytes() -> dict[str, int]:
    """GPT-2's `bytes_to_unicode`, inverted: printable characters are their own byte, U+0100 and on are the others."""
    printable = [byte for byte in range(256) if chr(byte).isprintable() and byte != 0x20]
    others = sorted(set(range(256)).difference(printable))
    return {chr(byte): byte for byte in printable} | {chr(256 + index): byte for index, byte in enumerate(others)}

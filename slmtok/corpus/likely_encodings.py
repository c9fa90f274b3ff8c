"""The encodings other than UTF-8 in which the first bytes of a text form words: those that a message may propose.

An encoding of single bytes decodes nearly any text, so strict decoding alone shows little. Letters of two scripts in
one word, capitals inside words, symbols between letters and rare characters show that a text is in another one.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import NamedTuple

from slmtok.errors import Message, Setting
from slmtok.text_encodings import text_codec

LATIN_1 = "latin-1"
_MAX_BYTES = 1 << 14
"""From the first byte beyond ASCII on, what is decoded: some milliseconds for each encoding."""
_MIN_LETTERS = 4
"""Letters beyond ASCII without which text of another script than Latin is not recognised; in an alphabet, different
ones: `é` alone is a letter of any."""
_MAX_LATIN_SHARE = 0.5
"""Letters beyond ASCII in words that have some: about 0.3 in European languages, 1 in other scripts read as Latin."""
_MIN_PURE, _MIN_USUAL, _MAX_INNER_CAPITALS, _MAX_INNER_SYMBOLS = 0.9, 0.5, 0.2, 0.02
_MAX_SYMBOLS, _MIN_COMMON, _MIN_KANA = 0.25, 0.9, 0.15
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_C1 = re.compile(rb"[\x80-\x9f]")
_WORD = re.compile(r"[^\W\d_]+")
_SYMBOL_IN_WORD = re.compile("(?<=[^\\W\\d_])[^\\w\\s\0-\x7f\u2019\u2018\u2010-\u2015\xad\xb7](?=[^\\W\\d_])")
"""Beyond ASCII, without apostrophes and hyphens."""
_USUAL_SIGNS = {*"‘’“”„–—…•«»°£€§©®\xa0"}
_LATIN = ("iso8859-1", "iso8859-15", "cp1252")
_ALPHABETS = {
    "cp1251": "CYRILLIC",
    "koi8-r": "CYRILLIC",
    "cp866": "CYRILLIC",
    "iso8859-5": "CYRILLIC",
    "cp1253": "GREEK",
    "cp1255": "HEBREW",
    "cp1256": "ARABIC",
}
"""Encodings of single bytes, and how the Unicode names of their letters begin."""
_USUAL_LETTERS = {
    "CYRILLIC": "оаеинтсрвлдкіу",
    "GREEK": "αοιετσνηυρπκςίόάέή",
    "HEBREW": "יוהלאתרבמש",
    "ARABIC": "اليومنرةتبكه",
}
"""Letters that make up more than half of texts in the languages of a script, read in the right encoding."""

_WESTERN = "àâæçèéêëîïôœùûüÿ äöüß áéíñóúü áâãàçéêíóôõúü àèéìíîòóùú äåöæøé áðéíóúýþæö àçèéíïòóúü äõöüšž áéëèïíóöü"
"""The letters beyond ASCII of each language of Western Europe: French, German, Spanish, Portuguese and so on."""
_CENTRAL = "ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíĺľňóôŕšťúýž áéíóöőúüű ăâîşţ čćđšž"
_OTHER_LATIN = {
    "cp1250": _CENTRAL,
    "iso8859-2": _CENTRAL,
    "cp1254": "çğıöşüâîû",
    "cp1257": "ąčęėįšųūž āčēģīķļņšūž",
}
"""Other encodings of Latin letters, and the letters beyond ASCII of each language that is written in them."""
_MIN_OF_WESTERN, _MIN_OF_OTHER, _MIN_CERTAIN_LETTERS = 0.95, 0.98, 12
"""Shares of letters that are those of one language, and the number of letters by which that is certain."""


class _DoubleByte(NamedTuple):
    """leads: the first bytes of the usual characters. first_trail: the lowest second byte of those. kana: needed."""

    leads: bytes
    first_trail: int = 0x40
    kana: bool = False


_DOUBLE_BYTES = {
    "shift_jis": _DoubleByte(bytes((0x82, 0x83, *range(0x88, 0x99))), kana=True),
    "euc_jp": _DoubleByte(bytes((0xA4, 0xA5, *range(0xB0, 0xD0))), 0xA1, kana=True),
    "euc_kr": _DoubleByte(bytes(range(0xB0, 0xC9)), 0xA1),
    "big5": _DoubleByte(bytes(range(0xA4, 0xC7))),
    "gb18030": _DoubleByte(bytes(range(0xB0, 0xD8)), 0xA1),
}
"""The first that fits is meant: the usual characters of Korean lie among those of Chinese, and not the reverse."""


_SUPERSETS = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "big5": "cp950"}
"""Encodings with more characters at the same bytes, as Windows writes them under the name of the first."""


def superset_of(encoding: str) -> str | None:
    """The encoding that has the characters of this one at the same bytes, and more; None without one."""
    return _SUPERSETS.get(text_codec(encoding) or "")


def decodes(part: bytes, encoding: str, *, is_inside: bool = False) -> bool:
    """Whether bytes, which may end inside a character, are in an encoding. is_inside: they may begin inside one."""
    return any(_decoded(part[at:], encoding) is not None for at in range(4 if is_inside else 1))


def likely_encodings(head: bytes) -> tuple[str, ...]:
    """The encodings in which text with these first bytes, which are not UTF-8, may be; none for binary data."""
    first = _BEYOND_ASCII.search(head)
    part = head[first.start() : first.start() + _MAX_BYTES] if first else b""
    double_bytes = [(each, usual) for name, usual in _DOUBLE_BYTES.items() for each in (name, _SUPERSETS.get(name))]
    found = next((name for name, each in double_bytes if name and _is_double_byte(part, name, each)), None)
    if found is not None:
        return (found,)
    names = tuple(name for name, script in _ALPHABETS.items() if _is_alphabet(_decoded(part, name), script))
    if names:
        return names
    # The word before the first byte beyond ASCII belongs to it.
    begin = max(first.start() - 32, 0) if first else 0
    return _latin_encodings(head[begin : begin + _MAX_BYTES])


def _latin_encodings(part: bytes) -> tuple[str, ...]:
    """The encoding of Western Europe, unless another one alone makes the letters those of one language.

    Few letters leave both.
    """
    western = "cp1252" if _C1.search(part) else LATIN_1
    found = (western,) if _is_latin(_decoded(part, western)) else ()
    if _share_of_language(_decoded(part, "cp1252"), _WESTERN) >= _MIN_OF_WESTERN:
        return found
    for name, languages in _OTHER_LATIN.items():
        text = _decoded(part, name)
        if _is_latin(text) and _share_of_language(text, languages) >= _MIN_OF_OTHER:
            return (name,) if len(_beyond_ascii(text or "")) >= _MIN_CERTAIN_LETTERS else (name, *found)
    return found


def misread_as(head: bytes, encoding: str) -> tuple[str, ...]:
    """The encodings in which such text is likely to be, where it is read as Latin and is not; else none."""
    if text_codec(encoding) not in _LATIN:
        return ()
    names = likely_encodings(head)
    return () if any(text_codec(name) in _LATIN for name in names) else names


def controls_of_cp1252(head: bytes, encoding: str) -> int:
    """The control characters of Latin-1, as which text in cp1252 with these first bytes is read; 0 for other text."""
    if text_codec(encoding) not in _LATIN[:2] or likely_encodings(head) != ("cp1252",):
        return 0
    return len(_C1.findall(head))


def what_reads_in(names: tuple[str, ...]) -> str:
    """What is known of text that may be in these encodings; the option that names one follows."""
    if not names:
        return "for text in another encoding, name it: "
    return "for text in Latin-1, for instance, " if names == (LATIN_1,) else f"it reads as words in {listed(names)}: "


def listed(names: tuple[str, ...]) -> str:
    """Encodings in a sentence."""
    return " and in ".join(names)


def encoding_remedy(head: bytes) -> Message:
    """What to do about text with these first bytes, which are not UTF-8."""
    names = likely_encodings(head)
    options = [part for name in names for part in (", or ", Setting("encoding", name))][1:]
    return what_reads_in(names), *(options or [Setting("encoding", "NAME")])


def _decoded(head: bytes, encoding: str) -> str | None:
    """The text of bytes that may end inside a character; None for bytes that are not in the encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return None


def _is_latin(text: str | None) -> bool:
    """Whether few letters beyond ASCII stand in words of others."""
    words = [] if text is None else [word for word in _WORD.findall(text) if not word.isascii()]
    # A word of one letter, such as `à`, has no others; a single one may be a damaged byte.
    longer = [word for word in words if len(word) > 1]
    is_written = bool(longer) or len(words) >= _MIN_LETTERS
    beyond = sum(map(_count_beyond_ascii, longer))
    if text is None or beyond > _MAX_LATIN_SHARE * sum(map(len, longer)):
        return False
    # A text in English may have quotes alone.
    signs = {char for char in text if not char.isascii()}
    return _has_few_symbols(text, beyond) and (is_written or (bool(signs) and signs <= _USUAL_SIGNS))


def _share_of_language(text: str | None, languages: str) -> float:
    """How many of the letters beyond ASCII are those of one language, at most; 1 for a text without any.

    0 for bytes that are not in the encoding.
    """
    if text is None:
        return 0
    letters = _beyond_ascii(text)
    return max(sum(map(letters.count, each)) for each in languages.split()) / len(letters) if letters else 1


def _beyond_ascii(text: str) -> list[str]:
    """The letters beyond ASCII, and the signs like ¹ that stand in words where letters are read in a wrong encoding."""
    return [char for char in text.lower() if char.isalnum() and not char.isascii()]


def _is_alphabet(text: str | None, script: str) -> bool:
    """Whether what is beyond ASCII is words of one script, of its usual letters, with capitals at their beginnings."""
    words = [] if text is None else [word for word in _WORD.findall(text) if not word.isascii()]
    letters = sum(map(len, words))
    scripts = {char: unicodedata.name(char, "").startswith(script) for char in {*"".join(words)}}
    if text is None or len(scripts) < _MIN_LETTERS:
        return False
    pure = sum(len(word) for word in words if all(map(scripts.__getitem__, word)))
    capitals = sum(char.isupper() for word in words for char in word[1:])
    usual = sum(map("".join(words).casefold().count, _USUAL_LETTERS[script]))
    symbols = sum(not (char.isascii() or char.isalpha()) for char in text)
    is_usual = usual >= _MIN_USUAL * letters and pure >= _MIN_PURE * letters
    is_rare = capitals <= _MAX_INNER_CAPITALS * letters and symbols <= _MAX_SYMBOLS * letters
    return is_usual and is_rare and _has_few_symbols(text, letters)


def _has_few_symbols(text: str, letters: int) -> bool:
    return len(_SYMBOL_IN_WORD.findall(text)) <= _MAX_INNER_SYMBOLS * letters


def _is_double_byte(part: bytes, encoding: str, usual: _DoubleByte) -> bool:
    """Whether the letters beyond ASCII are usual characters, few of them in words with letters of ASCII."""
    text = _decoded(part, encoding)
    words = [] if text is None else [word for word in _WORD.findall(text) if not word.isascii()]
    letters = [char for word in words for char in word if not char.isascii()]
    if len(letters) < _MIN_LETTERS:
        return False
    pure = sum(len(word) for word in words if _count_beyond_ascii(word) == len(word))
    written = [char.encode(encoding) for char in letters]
    common = sum(len(each) == 2 and each[0] in usual.leads and each[1] >= usual.first_trail for each in written)
    kana = sum("\u3040" <= char <= "\u30ff" for char in letters)
    is_kana = kana >= _MIN_KANA * len(letters) if usual.kana else kana <= _MIN_KANA * len(letters)
    return is_kana and common >= _MIN_COMMON * len(letters) and 2 * pure > len(letters)


def _count_beyond_ascii(text: str) -> int:
    return sum(not char.isascii() for char in text)

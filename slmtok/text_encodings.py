"""Names of the encodings of text that Python knows."""

from __future__ import annotations

import codecs

_ASCII_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_MAX_NEAR = 5
_UTF_8_WITH_MARK = ("utf8bom", "utf8withbom", "utf8withsignature")
"""Names that editors give to UTF-8 with a byte order mark."""
_OF_WINDOWS = {"ansi": "cp1252"}
"""Names that Windows gives to encodings: ANSI is cp1252 in Western Europe and America, and others elsewhere."""
_NO_FILES = ("idna", "punycode")
"""Codecs of host names, which no file is in."""


def text_codec(name: str) -> str | None:
    """The usual name of an encoding; None for a name that Python does not know, and for codecs that take no text."""
    try:
        found = codecs.lookup(name).name
        "".encode(found)
    except (LookupError, UnicodeError, ValueError):
        return None
    return found


def similar_codec(name: str) -> str | None:
    """The encoding whose name is spelled almost like this one; None without one, or where several are as near.

    A name may be that of a locale: `de_DE.ISO8859-15@euro`.
    """
    import encodings
    import pkgutil
    from difflib import SequenceMatcher, get_close_matches
    from encodings.aliases import aliases

    if _letters(name) in _UTF_8_WITH_MARK:
        return "utf-8-sig"
    if of_windows := _OF_WINDOWS.get(_letters(name)):
        return of_windows
    bare = name.lower().partition("@")[0].rpartition(".")[2]
    if text_codec(bare):
        return bare
    names: dict[str, str] = {}
    for spelled in sorted({*aliases, *(module.name for module in pkgutil.iter_modules(encodings.__path__))}):
        codec = text_codec(spelled)
        if codec and codec not in _NO_FILES:
            names.setdefault(_letters(spelled), codec)
    wanted = _letters(bare)
    near = get_close_matches(wanted, names, n=_MAX_NEAR, cutoff=0.8)
    ratios = [SequenceMatcher(None, each, wanted).ratio() for each in near]
    best = {names[each] for each, ratio in zip(near, ratios, strict=True) if ratio == max(ratios)}
    return best.pop() if len(best) == 1 else None


def is_of_several(name: str) -> bool:
    """Whether a name stands for an encoding that depends on the country, so that a text may be in another one."""
    return _letters(name) in _OF_WINDOWS


def _letters(name: str) -> str:
    """A name without what separates its words."""
    return "".join(filter(_ASCII_LETTERS.__contains__, name.lower()))

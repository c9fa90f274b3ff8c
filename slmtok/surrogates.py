"""Surrogates in a text: halves of a character of UTF-16, or bytes that are not UTF-8; UTF-8 has none of either."""

from __future__ import annotations

import re

from slmtok.errors import InvalidText

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_OF_HALVES = "[\ud800-\udc7f\udd00-\udfff]"
"""What `errors='surrogateescape'` never makes: it keeps a byte as U+DC80 to U+DCFF (PEP 383)."""
_OWN = "text stands for your own value"


def remedy(text: str) -> str:
    """The call that makes text, or bytes, of a text with surrogates, without a loss where that can be."""
    if not re.search(_OF_HALVES, text):
        return f"text.encode('utf-8', 'surrogateescape'), the bytes that the text was read from; {_OWN}"
    if not _SURROGATE.search(_PAIR.sub("", text)):
        return f"text.encode('utf-16', 'surrogatepass').decode('utf-16') joins the pairs; {_OWN}"
    joined = "text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
    return f"{joined} joins pairs and replaces halves; {_OWN}"


def invalid_text(
    text: str, document: int | None, index: int, what: str = "text", where: str | None = None
) -> InvalidText:
    """The error for the surrogate at `index` of a text, one of several where `document` is its number."""
    fields: dict[str, object] = {} if document is None else {"document": document}
    return InvalidText(
        f"{what} has a lone surrogate U+{ord(text[index]):04X}"
        if not _PAIR.match(text, index)
        else f"{what} has the surrogates U+{ord(text[index]):04X} U+{ord(text[index + 1]):04X} for one character",
        where=where or f"character {index} of document {document}",
        limit="UTF-8 has no surrogates",
        fix=remedy(text),
        index=index,
        **fields,
    )

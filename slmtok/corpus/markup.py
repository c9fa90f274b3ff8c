"""Pages and documents of markup that are read as text, by their first bytes, and how to get their text alone."""

from __future__ import annotations

import re
import shlex
from codecs import BOM_UTF8
from pathlib import Path

from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import bare_suffix, is_plain
from slmtok.files import free_name

_BEGINNING = re.compile(rb"<(\?xml|!doctype html|html)[\s>]", re.IGNORECASE)
MARKUP_SUFFIXES = {".xml": "XML", ".html": "HTML", ".htm": "HTML"}
_EXTRACTED, _DUMP = "output of WikiExtractor", "XML of MediaWiki"
_KNOWN = {
    re.compile(rb"(<\?xml[^>]*>\s*)?<mediawiki\s"): _DUMP,
    re.compile(rb'<doc id="[^"\n]*" (revid="[^"\n]*" )?url='): _EXTRACTED,
}
"""How files begin whose kind is known more exactly."""
_TEXT_OF_HTML = (
    r'import html, re; page = open(0, errors="replace").read(); '
    r'print(html.unescape(re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", " ", page)))'
)
_ARTICLES_OF_DUMP = (
    "import json, sys, xml.etree.ElementTree as tree; "
    '[print(json.dumps({"text": each.text})) for _, each in tree.iterparse(sys.stdin.buffer) '
    'if each.tag.endswith("}text") and each.text or each.tag.endswith("}page") and each.clear()]'
)
_TEXT_OF_XML = (
    'import sys, xml.etree.ElementTree as tree; print("".join(tree.parse(sys.stdin.buffer).getroot().itertext()))'
)
_COMMANDS = {
    "HTML": (f"python -c {shlex.quote(_TEXT_OF_HTML)}", "-text.txt"),
    "XML": (f"python -c {shlex.quote(_TEXT_OF_XML)}", "-text.txt"),
    _DUMP: (f"python -c {shlex.quote(_ARTICLES_OF_DUMP)}", "-text.jsonl"),
    _EXTRACTED: (r"sed '/^<doc id=.*>$/d; /^<\/doc>$/d'", "-text.txt"),
}
"""The command that writes the text of a page or document, or the articles of a dump, and the end of its output."""


def markup_of(path: str, head: bytes) -> str | None:
    """The language of a text that begins as XML or HTML, or with a tag in a file of such a name."""
    begin = head.removeprefix(BOM_UTF8).lstrip()
    if known := next((name for pattern, name in _KNOWN.items() if pattern.match(begin)), None):
        return known
    if found := _BEGINNING.match(begin):
        return "XML" if found[1] == b"?xml" else "HTML"
    return MARKUP_SUFFIXES.get(bare_suffix(path)) if begin.startswith(b"<") else None


def text_command(path: str, language: str) -> str:
    """The command that writes the text of a plain file beside it; "" for another file."""
    if path == STDIN or not is_plain(path):
        return ""
    program, end = _COMMANDS[language]
    target = free_name(f"{path.removesuffix(Path(path).suffix)}{end}")
    return f"{program} < {shlex.quote(path)} > {shlex.quote(target)}"

"""Text that is more than prose: markup, subtitles, mail, dumps, archives of the web and annotated sentences.

`KINDS` has one line for each: how it begins, and the program that writes its text alone.
"""

from __future__ import annotations

import re
import shlex
from codecs import BOM_UTF8
from collections.abc import Sequence
from typing import NamedTuple

from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import UTF_8, bare_suffix
from slmtok.corpus.text_commands import piped, rewrite, without_encoding
from slmtok.errors import Setting

HEAD_BYTES = 1 << 12
"""Of a file, what is looked at."""
MARKUP_SUFFIXES = {".xml": "XML", ".html": "HTML", ".htm": "HTML"}


class Kind(NamedTuple):
    """A kind of text that is not prose.

    parts: what of it is read as text. begins: its beginning, with line feeds at the ends of lines and without white
    space before it. program: reads stdin and writes its text, as documents of the format of `suffix`; "" where there is
    no short one. advice: what to name instead, where there is none. in_utf_8: the program for text that was converted
    to UTF-8, where `program` finds the encoding in the text itself; "" for what is not converted, None for `program`.
    """

    name: str
    parts: str
    begins: re.Pattern[bytes]
    program: str = ""
    suffix: str = ".txt"
    advice: str = ""
    in_utf_8: str | None = None


class KindFound(NamedTuple):
    """paths: the files of the corpus that are of a kind."""

    kind: Kind
    paths: list[str]

    @property
    def fact(self) -> str:
        """What the first file is, how many more are, and what of them was read as text."""
        name, more = "stdin" if self.paths[0] == STDIN else self.paths[0], len(self.paths) - 1
        if not more:
            return f"{name} is {self.kind.name}, and its {self.kind.parts} were read as text"
        also = f"{name} and {more:,} more file{'s' * (more > 1)} are"
        return f"{also} {self.kind.name}, and their {self.kind.parts} were read as text"

    @property
    def comes_first(self) -> str:
        """What other notes on the files say where the remedy changes what they are about."""
        return f"first do what the note on {self.kind.name} says"

    def remedy(self, among: Sequence[str], encoding: str) -> tuple[str | Setting, ...]:
        """What to do; among: the files of the corpus. encoding: of the text in the files."""
        return remedy_of(self.kind, self.paths, among, encoding)


def _python(program: str) -> str:
    return f"python -c {shlex.quote(program)}"


_TAGS = r"(?is)<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>"
_TEXT_OF_HTML = _python(
    'import html, re; keep = {"encoding": "utf-8", "errors": "surrogateescape"}; page = open(0, **keep).read(); '
    f'print(html.unescape(re.sub(r"{_TAGS}", " ", page)), file=open(1, "w", **keep))'
)
"""It keeps bytes that are not UTF-8."""
_TEXT_OF_EPUB = _python(
    "import html, re, sys, zipfile; book = zipfile.ZipFile(sys.stdin.buffer); "
    f'[print(html.unescape(re.sub(r"{_TAGS}", " ", book.read(name).decode(errors="replace")))) '
    'for name in book.namelist() if re.search("[.]x?html?$", name)]'
)
_TEXT_OF_XML, _TEXT_OF_XML_IN_UTF_8 = (
    _python(
        "import sys, xml.etree.ElementTree as tree; "
        f'print(" ".join(tree.parse(sys.stdin.buffer{parser}).getroot().itertext()))'
    )
    for parser in ("", ', tree.XMLParser(encoding="utf-8")')
)
"""A space for each tag, as for HTML: paragraphs have often no white space between them.

The declaration of XML names its encoding, which converted text no longer has.
"""
_ARTICLES_OF_DUMP = _python(
    "import json, sys, xml.etree.ElementTree as tree; "
    '[print(json.dumps({"text": each.text})) for _, each in tree.iterparse(sys.stdin.buffer) '
    'if each.tag.endswith("}text") and each.text or each.tag.endswith("}page") and each.clear()]'
)
_TEXTS_OF_WET = _python(
    "import json, re, sys; from itertools import takewhile; file = sys.stdin.buffer; "
    '[print(json.dumps({"text": body.decode(errors="replace")})) for line in file if line.startswith(b"WARC/") '
    'for head in [b"".join(takewhile(bytes.strip, file))] '
    'for body in [file.read(int(re.search(rb"(?i)\\bcontent-length: *(\\d+)", head)[1]))] '
    'if re.search(rb"(?i)\\bwarc-type: *conversion", head)]'
)
_TEXTS_OF_MAIL = _python(
    "import codecs, email, html, json, re, sys; from email.policy import default; "
    'codecs.register(lambda name: codecs.lookup("utf-8")); '
    'mails = re.split(rb"(?m)^From \\S+ +\\w{3} \\w{3} +\\d+ \\d\\d:\\d\\d.*\\n", sys.stdin.buffer.read()); '
    '[print(json.dumps({"text": html.unescape(re.sub(r"' + _TAGS + '", " ", text)) '
    'if part.get_content_subtype() == "html" else text})) for mail in mails if mail.strip() '
    'for part in [email.message_from_bytes(re.sub(rb"(?m)^>(>*From )", rb"\\1", mail), policy=default)'
    '.get_body(("plain", "html"))] if part for text in [part.get_content().replace("\\r\\n", "\\n")]]'
)
"""Of an mbox, or of one mail. Old mail names encodings that Python does not know; most of its text is ASCII."""
_CELLS_OF_NOTEBOOK = _python(
    "import json, sys; book = json.load(sys.stdin); "
    '[print("".join(cell.get("source", cell.get("input", ""))), end="\\n\\n") '
    'for sheet in book.get("worksheets", [book]) for cell in sheet.get("cells", [])]'
)
"""Notebooks before version 4 have sheets, and the text of code as its input."""
_TEXTS_OF_TWEETS = _python(
    'import json, sys; rows = json.loads(sys.stdin.buffer.read().partition(b"=")[2].strip().rstrip(b";")); '
    '[print(json.dumps({"text": row["tweet"]["full_text"]})) for row in rows]'
)
_LINES_OF_SUBTITLES = (
    r"/^\W*[0-9]+\r?$/{N; / --> /d;}; / --> /d; s/\r//g; s/<\/?[a-zA-Z0-9][^<>]*>//g; s/\{\\[^}]*\}//g"
)
"""Without the numbers before time codes, these, tags of voices and style, and carriage returns."""
_LINES_OF_ASS = r"/^Dialogue:/{s/\r$//; s/^([^,]*,){9}//; s/\{[^}]*\}//g; s/\\[Nnh]/ /g; p;}"
_WORDS_OF_CONLL = (
    """awk '$1 == "-DOCSTART-" {next} NF {line = line (line == "" ? "" : " ") $1} """
    """!NF && line != "" {print line; line = ""} END {if (line != "") print line}'"""
)
_CONLL_U_ROW = rb"(?:#[^\n]*\n)*\d+(?:[-.]\d+)?(?:\t[^\t\n]+){9}\n"
_ROWS_OF_DUMP = rb"(?:(?:INSERT (?:IGNORE )?|REPLACE )INTO \S+\s*(?:VALUES|SELECT|\()|COPY [^;\n]+ FROM stdin;)"
_DUMP = re.compile(
    rb"(?:/\*[^\n]*\n|--[ \t]*\n)*-- (?:MySQL|MariaDB|PostgreSQL database|phpMyAdmin SQL) dump\b|"
    rb"(?:--[^\n]*\n|/\*[^\n]*\n|\s)*(?:PRAGMA foreign_keys=OFF;|" + _ROWS_OF_DUMP + rb"|"
    rb"(?:SET|USE|BEGIN|START TRANSACTION|LOCK TABLES|(?:DROP|CREATE) (?:TABLE|DATABASE|SCHEMA))\b"
    rb"[^;]*;.*?^" + _ROWS_OF_DUMP + rb")",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
"""A statement, and one with rows: what begins like a statement may be prose."""
_HEADERS = rb"(?:[a-z][a-z0-9-]*:[^\n]*\n(?:[ \t][^\n]*\n)*)*"
_MAIL = re.compile(
    rb"From \S+ +[a-z]{3} [a-z]{3} +\d+ \d\d:\d\d[^\n]*\n>?[a-z][a-z-]*:|"
    rb"(?=" + _HEADERS + rb"(?:From|Return-Path|Delivered-To):)"
    rb"(?=" + _HEADERS + rb"(?:Message-ID|MIME-Version|Received):)",
    re.IGNORECASE,
)
"""An mbox, or one mail. The headers that servers add may fill the head, so there may be no sender in it."""
_HTML = Kind("HTML", "tags", re.compile(rb"<(!doctype html|html)[\s>]", re.IGNORECASE), _TEXT_OF_HTML)
_XML = Kind("XML", "tags", re.compile(rb"<\?xml\s", re.IGNORECASE), _TEXT_OF_XML, in_utf_8=_TEXT_OF_XML_IN_UTF_8)
_MARKUP = (
    Kind(
        "XML of MediaWiki",
        "tags",
        re.compile(rb"(<\?xml[^>]*>\s*)?<mediawiki\s"),
        _ARTICLES_OF_DUMP,
        ".jsonl",
        in_utf_8="",
    ),
    Kind(
        "output of WikiExtractor",
        "tags",
        re.compile(rb'<doc id="[^"\n]*" (revid="[^"\n]*" )?url='),
        r"sed '/^<doc id=.*>$/d; /^<\/doc>$/d'",
    ),
    _HTML,
    _XML,
)
CONLL_U = Kind(
    "CoNLL-U",
    "columns",
    re.compile(rb"(?=(?:#[^\n]*\n)*# text = )" + _CONLL_U_ROW),
    "sed -n 's/^# text = //p'",
    ".lines",
)
NOTEBOOK = Kind("a notebook", "JSON", re.compile(rb"\{"), _CELLS_OF_NOTEBOOK, in_utf_8="")
"""It is refused by its name, and not noted."""
EPUB = Kind("an EPUB book", "tags", re.compile(rb"PK"), _TEXT_OF_EPUB, in_utf_8="")
"""It is refused as an archive."""
RTF, WORD, OPEN_DOCUMENT = (
    Kind(name, "markup", re.compile(begin), f"pandoc -f {of} -t plain --wrap=none", in_utf_8="")
    for name, begin, of in (
        ("an RTF document", rb"\{\\rtf", "rtf"),
        ("a Word document", rb"PK", "docx"),
        ("an OpenDocument file", rb"PK", "odt"),
    )
)
"""They are refused as no text."""
KINDS = (
    *_MARKUP,
    Kind(
        "an export of tweets",
        "keys",
        re.compile(rb'window\.YTD\.tweets?\.\w+\s*=\s*\[\s*\{\s*"tweet"(?=.*"full_text")', re.DOTALL),
        _TEXTS_OF_TWEETS,
        ".jsonl",
        in_utf_8="",
    ),
    Kind(
        "JSON in JavaScript",
        "keys",
        re.compile(rb'window(?:\.\w+)+\s*=\s*(?:\[\s*)?\{\s*"'),
        "sed -E '1s/^[^=]*= *//; $s/;[[:space:]]*$//'",
        ".json",
    ),
    Kind(
        "subtitles (SRT)",
        "time codes",
        re.compile(rb"\d+[ \t]*\n\d+:\d\d:\d\d[,.]\d{3} --> \d"),
        f"sed -E {shlex.quote(_LINES_OF_SUBTITLES)}",
    ),
    Kind(
        "subtitles (WebVTT)",
        "time codes",
        re.compile(rb"WEBVTT\s"),
        f"sed -E {shlex.quote(f'1,/^{chr(92)}r?$/d; {_LINES_OF_SUBTITLES}')}",
    ),
    Kind(
        "subtitles (ASS)", "time codes", re.compile(rb"\[Script Info\]\s*\n"), f"sed -nE {shlex.quote(_LINES_OF_ASS)}"
    ),
    Kind(
        "text of the web (WET)",
        "headers",
        re.compile(rb"WARC/\d(?=.*^WARC-Type: *conversion)", re.DOTALL | re.IGNORECASE | re.MULTILINE),
        _TEXTS_OF_WET,
        ".jsonl",
        in_utf_8="",
    ),
    Kind("pages of the web (WARC)", "headers and tags", re.compile(rb"WARC/\d"), advice=", such as a WET file"),
    Kind("mail", "headers", _MAIL, _TEXTS_OF_MAIL, ".jsonl", in_utf_8=""),
    Kind(
        "a dump of a database",
        "statements",
        _DUMP,
        advice=", such as a column of a table as .csv",
    ),
    CONLL_U,
    Kind("CoNLL-U", "columns", re.compile(_CONLL_U_ROW)),
    Kind(
        "CoNLL",
        "columns",
        re.compile(
            rb"-DOCSTART-[ \t\n]|"
            rb"(?=(?:[^\n]*\n)*?[^\n]*[ \t][BIES]-[A-Z])(?:\S+(?:[ \t]\S+){0,8}[ \t](?:O|[BIES]-[A-Za-z]+)\n+){3}"
        ),
        _WORDS_OF_CONLL,
        ".lines",
    ),
)
"""Kinds of text, the more exact ones first."""


def kind_of(path: str, head: bytes) -> Kind | None:
    """The kind of a text with these first bytes; a tag makes markup of a file of such a name."""
    begin = head.removeprefix(BOM_UTF8).lstrip().replace(b"\r\n", b"\n")
    found = next((kind for kind in KINDS if kind.begins.match(begin)), None)
    if found is None and begin.startswith(b"<"):
        suffix = bare_suffix(path)
        return next((kind for kind in (_XML, _HTML) if kind.name == MARKUP_SUFFIXES.get(suffix)), None)
    return found


def markup_of(path: str, head: bytes) -> str | None:
    """The language of a text that begins as XML or HTML, or with a tag in a file of such a name."""
    found = kind_of(path, head)
    return found.name if found in _MARKUP else None


def remedy_of(
    kind: Kind, paths: Sequence[str], among: Sequence[str], encoding: str = UTF_8
) -> tuple[str | Setting, ...]:
    """The command that writes the text of files of one kind, and what to name then.

    among: the files of the corpus. encoding: of the text in the files.
    """
    program, named = kind.program, encoding
    if encoding != UTF_8 and kind.in_utf_8 is not None:
        # A file that says its encoding is not converted.
        program, encoding = (kind.in_utf_8, encoding) if kind.in_utf_8 else (kind.program, UTF_8)
    if not kind.program:
        return (f"name {'files with their' if len(paths) > 1 else 'a file with its'} text alone{kind.advice}",)
    made = rewrite(paths, among, program, f"-text{kind.suffix}", encoding)
    if made is None:
        told = (", with ", Setting("format", kind.suffix[1:])) if kind.suffix != ".txt" else ()
        return f"pipe it through {piped(program, encoding)}", *told, *without_encoding(named, ", ")
    if made.more:
        return (f"name files with their text alone; of the first: {made.command}",)
    return f"{made.command} # and name {made.named if len(paths) > 1 else 'it'}", *without_encoding(named)

"""Errors about options that are raised before the files of the corpus are known: their fixes by what these are."""

from __future__ import annotations

import click

from slmtok.cli.arguments import positional, takes_corpus
from slmtok.errors import Setting, SlmtokError


def explain_by_files(error: SlmtokError, ctx: click.Context) -> None:
    """Puts what the files of the corpus say into the fix of an error that leaves it open."""
    names, fix = error.fields.get("weighted"), error.parts["fix"]
    is_encoding = error.fields.get("unknown_encoding") is not None
    is_sample = error.fields.get("option") == "sample"
    is_separator = error.fields.get("empty_separator") is not None
    if not (isinstance(names, tuple) or is_encoding or is_sample or is_separator) or not takes_corpus(ctx.command):
        return
    from slmtok.corpus.paths import expand

    try:
        files = expand(positional(ctx))
    except SlmtokError:
        return
    if is_encoding:
        _name_encoding(error, files)
    elif is_sample and len(files) == 1:
        _name_document(error, files[0], ctx)
    elif is_separator:
        _name_separator(error, files)
    elif isinstance(names, tuple) and isinstance(fix, tuple):
        from slmtok.training.mixing import glob_of

        globs = Setting("domains", {name: glob_of(name, files) for name in names})
        error.fix = tuple(globs if isinstance(part, Setting) and part.name == "domains" else part for part in fix)


def _name_document(error: SlmtokError, path: str, ctx: click.Context) -> None:
    """What makes documents of the only one, where the corpus is one file of text: a share of it is all or nothing."""
    from slmtok.corpus.formats import format_of
    from slmtok.corpus.paths import STDIN
    from slmtok.options import ReadOptions

    given = {name: ctx.params.get(name) or getattr(ReadOptions(), name) for name in ("format", "document", "separator")}
    fix = error.parts["fix"] or ()
    if format_of(path, ReadOptions(**given)).is_whole:
        lines = (
            f"; {'stdin' if path == STDIN else path} is one document: ",
            Setting("document", "line"),
            " beside it for its lines",
        )
        error.fix = (*([fix] if isinstance(fix, str) else fix), *lines)


_BLANK_LINES = ("\n\n", "\r\n\r\n")


def _name_separator(error: SlmtokError, files: list[str]) -> None:
    """What occurs between the documents of the files, in the place of a separator that is empty; none for records."""
    from slmtok.corpus.contents import is_in_texts
    from slmtok.corpus.document_marks import mark_among
    from slmtok.corpus.formats import format_of, not_text
    from slmtok.options import ReadOptions

    read = ReadOptions()
    files = [path for path in files if not_text(path) is None]
    if files and all(format_of(path, read).records for path in files):
        error.fix = ("leave ", Setting("separator"), " out: a record is a document")
        return
    mark = mark_among(files, read)
    found = mark.spelling if mark else next((each for each in _BLANK_LINES if is_in_texts(each, files, read)), None)
    if found is not None:
        rest = error.parts["fix"] or ()
        error.fix = (Setting("separator", found), ", which occurs in the text; or ", *rest)


def _name_encoding(error: SlmtokError, files: list[str]) -> None:
    """The encoding that the files show, in the place of a name that is of none, such as `auto`, or of several.

    ANSI in Western Europe has the letters of Latin-1, so that text in these shows no other encoding.
    """
    from slmtok.cli.encoding_notes import encoding_meant
    from slmtok.corpus.kept_bytes import first_heads
    from slmtok.corpus.likely_encodings import LATIN_1
    from slmtok.file_content import content_of, is_utf_8
    from slmtok.options import ReadOptions

    read, fix = ReadOptions(), error.parts["fix"]
    is_near = isinstance(fix, tuple) and isinstance(fix[0], Setting)
    heads = dict(first_heads(files, read))
    marked = (content for head in heads.values() if (content := content_of(head)) and content.encoded)
    if (first := next(marked, None)) and isinstance(first.read_by, Setting):
        error.fix = (first.read_by,)
    elif (found := encoding_meant(files, read)) and not (is_near and LATIN_1 in found[1]):
        path, names = found
        shown = [part for name in names for part in (", or ", Setting("encoding", name))][1:]
        error.fix = (*shown, f", in which {path} reads as words")
    elif is_near and all(map(bytes.isascii, heads.values())):
        # ASCII is the same in both.
        return
    elif any(heads.values()) and all(map(is_utf_8, heads.values())):
        error.fix = ("leave ", Setting("encoding"), " out: the text is UTF-8")

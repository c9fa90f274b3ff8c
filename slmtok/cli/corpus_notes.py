"""Notes on a corpus that is probably something else than it is read as, and on globs that match none of it."""

from __future__ import annotations

import re
import shlex
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slmtok.cli.noted_kind import noted_kind, remember_kind, text_first
from slmtok.cli.output import again_with, flag_naming, with_force
from slmtok.errors import CorpusTooSmall, MissingInput, Setting, render
from slmtok.file_kinds import UNKNOWN, kind_of_file
from slmtok.files import free_name
from slmtok.sizes import counted

if TYPE_CHECKING:
    from slmtok.corpus import Sources
    from slmtok.options import ReadOptions

_LIST = "LIST.OF.FILES"
"""Stands in a command line for the words of a list, which the shell replaces."""
_CAUSE, _SEPARATOR = "list of files", "separator of the text"
_DOMAINS = "domains without a file"
_CORPUS, NAMED = "corpus that is read", "corpora that are named"
_IN_RECORDS = "they are in the texts of records"
_MAX_FILES, _HEAD_BYTES = 256, 1 << 16
"""Of a corpus with unusual characters, what is looked at for the ends of its lines."""
_DIVIDED = re.compile(r"[\s*?\[\\]")
"""Characters of a name with which the shell makes another word of it, or several."""
_MAX_XARGS_CHARS = 1 << 14
"""Of the names of files that `xargs` gets: for more than one command takes, it runs several."""


def corpus_notes(found: Sources, read: ReadOptions) -> Iterator[str]:
    """The notes on the sources of a corpus; none for most."""
    from slmtok.corpus.beside_records import beside_records
    from slmtok.corpus.contents import ids_among, kind_among, list_among, records_as_text
    from slmtok.corpus.json_objects import texts_of_object_among
    from slmtok.corpus.kept_bytes import encoding_of
    from slmtok.corpus.saved_data_set import unread_splits
    from slmtok.corpus.unnamed_tables import table_among

    for glob in (each for each in found.unused_globs if not _matches_output(each)):
        yield f"--exclude {shlex.quote(glob)} matches no file of the corpus{glob_meant(glob, found, '--exclude ')}"
    yield from _notes_on_documents(found, read)
    yield from _domain_notes(found, read)
    if records := records_as_text(found, read):
        yield f"{records.fact}; {again_with(f'--format {records.format}')} for the text of its records"
    if path := ids_among(found, read):
        remedy = with_force("name the text that was encoded")
        yield f"{path} looks like lines of ids, and its digits were read as text; {remedy}"
    if path := next((each for each in found if each.endswith(".counts") and kind_of_file(each) == UNKNOWN), None):
        # Such as the summary that slmtok count prints.
        remedy = with_force("name the file that slmtok count wrote")
        yield f"{path} has the name of counts and holds text, which was read; {remedy}"
    if splits := unread_splits(found):
        yield f"{splits.fact}; {with_force(splits.remedy)}"
    if beside := beside_records(found, read):
        yield f"{beside.fact}; {again_with(render((beside.exclude,), flag_naming))} to leave {beside.them} out"
    kind = kind_among(found, read)
    if kind:
        remember_kind(kind)
        told = kind.remedy(found, encoding_of(kind.paths, read))
        yield f"{kind.fact}; {with_force(render(told, flag_naming))}"
    if texts := texts_of_object_among(found, read):
        meant = (again_with if isinstance(texts.fix[0], Setting) else with_force)(render(texts.fix, flag_naming))
        are = "is one JSON object with texts, and its"
        if texts.more:
            are = f"and {counted(texts.more, 'more file')} are each one JSON object with texts, and their"
        yield f"{texts.path} {are} JSON was read as text; {meant}"
    if not kind and (table := table_among(found, read)):
        again = f"{again_with(table.options)} {table.fix}".rstrip()
        yield f"{'stdin' if table.path == '-' else table.path} {table.fact}; {again}"
    if path := list_among(found, read):
        line, name = _line_of_list(path, path), "stdin" if path == "-" else path
        if len(found) == 1:
            _remember(_CAUSE, (name, line))
        yield f"the lines of {name} are names of files, and these names were read as text; {line}"
    yield from _table_notes(found, read)


def _domain_notes(found: Sources, read: ReadOptions) -> Iterator[str]:
    """Notes on domains without a file, which it remembers, and on globs of others that are folders or suffixes."""
    from slmtok.corpus.globs import matches
    from slmtok.corpus.notes import domain_fact, domain_meant

    for domain, globs in read.domains.items():
        if any(matches(path, glob) for glob in globs for path in found):
            each_meant = ((glob, glob_meant(glob, found, f"--domain {domain}=", globs)) for glob in globs)
            for glob, meant in ((glob, meant) for glob, meant in each_meant if meant):
                yield f"--domain {shlex.quote(f'{domain}={glob}')} matches no file of the corpus{meant}"
            continue
        fact = render(domain_fact(domain, globs), flag_naming)
        if near := domain_meant(domain, globs, found):
            meant = shlex.quote(f"{domain}={near[0]}")
            fact += f"; {again_with(f'--domain {meant}')} for the files {near[1]}"
        yield fact
        if context := click.get_current_context(silent=True):
            context.meta.setdefault(_DOMAINS, set()).add(domain)


def is_noted(domain: str) -> bool:
    """Whether the command has noted that no file of its corpus is of this domain."""
    context = click.get_current_context(silent=True)
    return context is not None and domain in context.meta.get(_DOMAINS, ())


def remember_corpus(corpus: Sequence[str], found: Sources, read: ReadOptions) -> None:
    """Keeps a corpus of the command, by its arguments, for what is said where its records cannot be read."""
    _remember(_CORPUS, (found, read))
    if context := click.get_current_context(silent=True):
        context.meta.setdefault(NAMED, []).append((list(corpus), found, read))


def _matches_output(glob: str) -> bool:
    """Whether a glob leaves out the folder that the command will write, which is not there at the first run."""
    from slmtok.corpus.globs import matches

    context = click.get_current_context(silent=True)
    output = context.params.get("output") if context else None
    return isinstance(output, str) and matches(str(Path(output, "manifest.json").absolute()), glob)


def _notes_on_documents(found: Sources, read: ReadOptions) -> Iterator[str]:
    """Notes on marks between documents that are read as text, and on text that is white space alone.

    Of a separator that does not occur, it remembers what may be meant.
    """
    from slmtok.corpus.contents import is_in_texts, is_white_space
    from slmtok.corpus.document_marks import mark_among
    from slmtok.corpus.formats import format_of
    from slmtok.options import CountOptions

    # Counting says so itself, of records too.
    if not isinstance(read, CountOptions) and (size := is_white_space(found, read)):
        yield white_space_note(size)
    is_one = len(found) == 1 and format_of(found[0], read).is_whole
    if is_one and (said := _on_one_document(read)):
        name = "stdin" if found[0] == "-" else found[0]
        yield f"{name} is one document, {said}; {_again_by_line()}"
    if read.separator and is_in_texts(read.separator, found, read):
        return
    mark = mark_among(found, read)
    if read.separator:
        near = (each for each in _separators_meant(read.separator) if is_in_texts(each, found, read))
        _remember(_SEPARATOR, (read.separator, next(near, mark.spelling if mark else "")))
    elif mark and _takes_separator():
        again = again_with(f"--separator {shlex.quote(mark.spelling)}")
        yield f"{mark.fact}; {again} for the documents between them"


def _again_by_line() -> str:
    """What to do for the lines of a text; a choice of them may not support the ids that a command asks for."""
    context = click.get_current_context(silent=True)
    if context is None or context.params.get("allow_smaller", True):
        return f"{again_with('--document line')} for its lines"
    return f"{again_with('--document line --allow-smaller')} for its lines, which may support fewer ids"


def _on_one_document(read: ReadOptions) -> str:
    """What an option that chooses among documents does with the only one; "" without such an option."""
    if (read.max_docs or 0) > 1:
        return f"of which --max-docs {read.max_docs} leaves nothing out"
    return f"which --sample {read.sample:g} keeps or leaves out whole" if (read.sample or 1) < 1 else ""


def _takes_separator() -> bool:
    """Whether the running command has --separator, and does not look for special tokens in the text."""
    context = click.get_current_context(silent=True)
    is_known = context is not None and "separator" in {param.name for param in context.command.params}
    return is_known and not (context and context.params.get("allow_special"))


def white_space_note(size: int) -> str:
    """The note on a text of `size` bytes that has no other character than white space."""
    return f"the text is white space alone, {counted(size, 'byte')}: is it the right file?"


def _remember(name: str, value: object) -> None:
    """Keeps what is found out before the corpus is read, for what is said after it."""
    if context := click.get_current_context(silent=True):
        context.meta[name] = value


def separator_note(separator: str, name: str | None = None) -> str:
    """The note on a separator that cuts no file. name: of the text, where a command reads several."""
    from slmtok.corpus.notes import uncut_note

    return render(uncut_note(separator, name), flag_naming) + _separator_meant(separator)


def _separator_meant(separator: str) -> str:
    """The end of the note on a separator that cuts no file: one that occurs, almost it or a usual one; or ""."""
    from slmtok.option_values import escape

    context = click.get_current_context(silent=True)
    given, meant = context.meta.get(_SEPARATOR, (None, "")) if context else (None, "")
    if given != separator or not meant:
        return ""
    again = again_with(f"--separator {shlex.quote(escape(meant))}")
    if meant == separator.removeprefix("$"):
        return f"; it occurs without the $: {again}"
    if meant == separator.strip():
        return f"; {escape(meant)!r} occurs without the white space: {again}"
    ends = next((escape(end) for end in ("\r\n", "\r", "\n") if end in meant), None)
    return f"; {escape(meant)!r} occurs: {again}" if ends is None else f"; the lines end with {ends}: {again}"


def _separators_meant(separator: str) -> list[str]:
    """Separators that are almost this one: without white space, with other ends of lines, and not as a regex.

    Form feeds, which `pdftotext` writes between pages, have several spellings.
    """
    # As in `$'\n'` of a shell, with the sign inside the quotes.
    lines = separator.replace("\r\n", "\n").removeprefix("$")
    plain = re.sub(r"\n\{(\d),?\d*\}", lambda found: "\n" * int(found[1]), re.sub(r"\\s[*+]?", "", lines))
    plain = plain.replace("\n+", "\n").replace("/n", "\n").replace("^L", "\f").replace(r"\x0c", "\f")
    texts = dict.fromkeys([lines, plain])
    found = [separator.strip(), *(each.replace("\n", end) for each in texts for end in ("\n", "\r\n", "\r"))]
    return [each for each in dict.fromkeys(found) if each not in ("", separator)]


def remedy_of_carriage_returns() -> str:
    """What to do about carriage returns in the text, by the first file that has some near its beginning."""
    path, head = _file_with(b"\r")
    if _are_records():
        return _IN_RECORDS
    if first := text_first():
        return first
    if path is None:
        return r"sed 's/\r$//' removes those at the ends of lines"
    if b"\n" not in head:
        line = _rewritten(r"tr '\r' '\n'", path, besides=b"\r\n")
        return f"the lines of {path} end with them alone; to make line feeds of them: {line}"
    line = _rewritten(r"sed 's/\r$//'", path)
    return f"to remove those at the ends of lines: {line}"


def remedy_of_zeros() -> str:
    """What to do about zero bytes in the text, by the first file that has some near its beginning."""
    path, _ = _file_with(b"\0")
    check = "binary data have them, text has not: check the files"
    if path is None or _are_records():
        return f"{check}, or leave some out with --exclude"
    line = _rewritten(r"tr -d '\0'", path)
    return f"{check}; to remove them from text: {line}"


def remedy_of_marks(number: int, encoding: str) -> str | None:
    """What to do about more byte order marks in UTF-8 than files may begin with; None for fewer."""
    found, _ = _corpus()
    if _are_records():
        return _IN_RECORDS
    if first := text_first():
        return first
    if encoding not in ("utf-8", "utf-8-sig") or number <= (len(found) if encoding == "utf-8" else 0):
        return None
    path, _ = _file_with(BOM_UTF8)
    program = r"sed 's/\xef\xbb\xbf//g'"
    return f"{program} removes all of them" if path is None else f"to remove all: {_rewritten(program, path)}"


def _corpus() -> tuple[Sequence[str], ReadOptions]:
    """The sources of the command and how they are read; none where it reads no corpus."""
    from slmtok.options import ReadOptions

    context = click.get_current_context(silent=True)
    known: tuple[Sequence[str], ReadOptions] = ((), ReadOptions())
    return context.meta.get(_CORPUS, known) if context else known


def _are_records() -> bool:
    """Whether the text of the corpus is in fields of records, which programs for text do not change."""
    from slmtok.corpus.formats import format_of

    found, read = _corpus()
    return bool(found) and all(format_of(path, read).records for path in found[:_MAX_FILES])


def _file_with(mark: bytes) -> tuple[str | None, bytes]:
    """The first file of the corpus that is read as text and has a mark near its beginning, with that beginning."""
    from slmtok.corpus.contents import head_of
    from slmtok.corpus.formats import format_of
    from slmtok.corpus.streams import is_plain

    found, read = _corpus()
    for path in found[:_MAX_FILES]:
        is_text = is_plain(path) and format_of(path, read).engine == "text"
        if is_text and mark in (head := head_of(path, read, _HEAD_BYTES)):
            return path, head
    return None, b""


def _rewritten(program: str, path: str, besides: bytes | None = None) -> str:
    """The command that writes a file again through a program, with the others of its folder where it has some.

    besides: a mark of text that the program damages.
    """
    from slmtok.corpus.contents import head_of
    from slmtok.corpus.text_commands import Source, rewrite, through, without_encoding

    found, read = _corpus()
    source = Path(path)
    is_spared = besides is None or all(besides not in head_of(each, read, _HEAD_BYTES) for each in found[:_MAX_FILES])
    made = (
        rewrite(found, found, program, f"-clean{source.suffix}", read.encoding)
        if len(found) > 1 and is_spared
        else None
    )
    named = render(without_encoding(read.encoding), flag_naming)
    if made and not made.more:
        return with_force(f"{made.command} # and name {made.named}{named}")
    target = shlex.quote(free_name(f"{source.stem}-clean{source.suffix}"))
    return with_force(f"{through(program, Source(path, read.encoding), target)} # and name it{named}")


def glob_meant(glob: str, found: list[str], option: str, given: Collection[str] = ()) -> str:
    """The end of the note on a glob that is the name of a folder, or the suffix, of files of the corpus; else "".

    given: globs beside it, of which none is proposed.
    """
    from slmtok.corpus.globs import glob_of_folder, glob_of_suffix, matches

    if any(matches(path, glob) for path in found):
        return ""
    folder = glob_of_folder(glob, found)
    meant = folder or glob_of_suffix(glob, found)
    flag, _, name = option.partition(" ")
    again = again_with(f"{flag} {shlex.quote(f'{name}{meant}')}")
    is_proposed = meant is not None and meant not in given
    return f"; {again} for the files {'below it' if folder else 'of that suffix'}" if is_proposed else ""


def explain_list(error: MissingInput) -> None:
    """The fix for `@FILE`, which other programs replace by the lines of a file."""
    from slmtok.corpus.contents import names_of_files

    path = str(error.fields.get("path"))
    if path.startswith("@") and names_of_files(path[1:]):
        error.limit = f"@FILE stands for no list of files here, and {path[1:]} is one"
        error.fix = _line_of_list(path[1:], path, is_first=True)


def explain_too_small(error: CorpusTooSmall) -> None:
    """The cause of a corpus that supports few ids, where its text is a list of files or in another encoding."""
    from slmtok.cli.encoding_notes import encoding_meant

    if found := encoding_meant(*_corpus()):
        path, names = found
        error.limit = f"{path} is not UTF-8, and its bytes were kept: it reads as words in {' and in '.join(names)}"
        has_few = "supported" in error.fields
        smaller, why = (" --allow-smaller", ", as the text may support fewer ids") if has_few else ("", "")
        error.fix = ", or ".join(f"--encoding {name}{smaller}" for name in names) + why
    context, kind = click.get_current_context(silent=True), noted_kind()
    if kind and len(kind.paths) == len(_corpus()[0]):
        from slmtok.corpus.kept_bytes import encoding_of

        files, read = _corpus()
        rest = error.parts["fix"] or ()
        error.limit = kind.fact
        error.fix = (
            *kind.remedy(files, encoding_of(kind.paths, read)),
            "; or ",
            *([rest] if isinstance(rest, str) else rest),
        )
    if context and (cause := context.meta.get(_CAUSE)):
        error.limit = f"the lines of {cause[0]} are names of files, and these names were read as text"
        error.fix = cause[1].removesuffix(" --force")


def line_of_named_list(path: str, others: Sequence[str], context: click.Context) -> str | None:
    """The command that reads the files which `path` lists, with its other arguments; None where it is no list."""
    from slmtok.corpus.contents import names_of_files

    if not names_of_files(path):
        return None
    return _line_of_list(path, path, is_first=True, given=[path, *others], context=context)


def list_as_words(path: str) -> str | None:
    """What the shell replaces by the names that a file lists; None for another file, and for names that it divides."""
    from slmtok.corpus.contents import names_of_files

    names = names_of_files(path) if Path(path).is_file() else []
    return f"$(cat {shlex.quote(path)})" if names and not any(map(_DIVIDED.search, names)) else None


def _line_of_list(
    path: str,
    word: str,
    *,
    is_first: bool = False,
    given: list[str] | None = None,
    context: click.Context | None = None,
) -> str:
    """The command that reads the files which `path` lists, in the place of `word` among its arguments.

    Standard input is listed by a command that the user knows. Names that the shell divides are given to `xargs`.
    """
    from slmtok.corpus.contents import names_of_files

    context = context or click.get_current_context(silent=True)
    given = list(context.meta.get("arguments", ())) if given is None and context else given or []
    names = names_of_files(path)
    is_divided = any(map(_DIVIDED.search, names))
    if context is None or given.count(word) != 1 or (is_divided and sum(map(len, names)) > _MAX_XARGS_CHARS):
        return f"name the files that {'stdin' if path == '-' else path} lists"
    force = again_with("").endswith("--force") and "--force" not in given and not is_first
    words = [*(_LIST if each == word else each for each in given), *["--force"] * force]
    if is_divided:
        words.remove(_LIST)
        source, begin = ("", "COMMAND | ") if path == "-" else (f" < {shlex.quote(path)}", "")
        command = shlex.join([*context.command_path.split(), *words])
        return rf"{begin}tr '\n' '\0'{source} | xargs -0 {command}"
    return shlex.join([*context.command_path.split(), *words]).replace(
        _LIST, "$(COMMAND)" if path == "-" else f"$(cat {shlex.quote(path)})"
    )


def _table_notes(found: Sources, read: ReadOptions) -> Iterator[str]:
    """Notes on a header that was read as text, quotes that .tsv does not have, and tabs between columns of .csv."""
    from slmtok.corpus.csv_dialects import rewritten
    from slmtok.corpus.table_heads import are_quoted, named_columns, table_heads
    from slmtok.corpus.tables import short

    tables = {name: table_heads(found, read, name) for name in ("tsv", "csv")}
    for head in (each for heads in tables.values() for each in heads):
        if names := named_columns(head, read):
            name = f"--text-key {shlex.quote(names[0])}"
            if read.text_template is not None:
                name = f"--text-template {shlex.quote(_by_name(read.text_template, head.first))}"
            shown = ", ".join(map(short, head.first))
            again = f"{again_with(name)} for a table with a header"
            yield f"the first row of {head.path} ({shown}) was read as text; {again}"
            break
    for head in [each for each in tables["csv"] if each.is_by_tabs][:1]:
        fact = f"the columns of {head.path} are separated by tabs, and were read as if by commas"
        yield f"{fact}; {again_with('--format tsv') if len(found) == 1 else 'name it alone, with --format tsv'}"
    for head in [*filter(are_quoted, tables["tsv"])][:1]:
        output = free_name(f"{Path(head.path).stem}.csv")
        line = render(rewritten(head.path, {"delimiter": "\t"}, output, read.encoding), flag_naming)
        fact = f"the texts in the first rows of {head.path} are in quotes, which .tsv keeps as text"
        yield f"{fact}; {with_force(line)}"


def _by_name(template: str, names: list[str]) -> str:
    """A template with the names of its columns for their numbers."""
    return re.sub(r"(?<!\{)\{(\d+)(?=[|}])", lambda number: f"{{{names[int(number[1]) - 1]}", template)

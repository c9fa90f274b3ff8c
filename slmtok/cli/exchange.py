"""`slmtok export` and `slmtok import`: tokenizers of other libraries, with a receipt of the ids that were compared."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import atomic
from slmtok.cli.arguments import OUTPUT_FLAGS, VOCAB_FLAGS, value_after, without_options
from slmtok.cli.errors import EXTRA
from slmtok.cli.files import JSON, check_content, check_is_file, check_is_folder_name, refuse_missing, text_files
from slmtok.cli.options import (
    arguments_of_command,
    command,
    instead,
    option,
    options_of,
    output_options,
    tokenizer_argument,
)
from slmtok.cli.output import Outcome, Row, print_rows
from slmtok.cli.progress import Progress
from slmtok.cli.reports import compared_ids
from slmtok.errors import CorruptFile, Inexpressible, MissingInput, OptionError, SlmtokError
from slmtok.file_kinds import TOKENIZER, is_run, kind_of_file
from slmtok.files import free_name, read_limited
from slmtok.foreign_options import nearest_name, nearest_remark
from slmtok.formats.export import TARGETS
from slmtok.formats.foreign_files import MERGES, READ_PAIR, VOCABULARY, foreign_file, pair_code, pair_command
from slmtok.formats.importing import ORIGINS
from slmtok.opening import load, missing_tokenizer, public_encoding
from slmtok.options import ReadOptions

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

_verify_on = option(
    "--verify-on",
    metavar="TEXT",
    multiple=True,
    help="Compare ids on the documents of these files, not on generated text. Repeat for several.",
)
_no_verify = option(
    "--no-verify",
    is_flag=True,
    help="Compare nothing; the receipt records it. For machines without the other library.",
)
_read_options = options_of(
    ReadOptions, into="read", only=("format", "text_key", "document", "max_bytes"), needs="--verify-on TEXT"
)


def _target(value: str | None, arguments: Sequence[str]) -> str:
    """The option of a format, with the one that is nearest to the name of another library."""
    name = nearest_name(value, TARGETS) if value and value not in TARGETS else value
    remark = nearest_remark(value, name) if value and name else ""
    return f"--output-format {name}{remark}" if name else ", or ".join(f"--output-format {each}" for each in TARGETS)


_HABITS = {
    **dict.fromkeys(("--add-bos", "--add-bos-token"), instead("leave it out: hf puts <s> before each text")),
    **dict.fromkeys(("--to", "--target", "--type"), _target),
}


@command("export", example="slmtok export tok.json --output-format hf -o hf", habits=_HABITS)
@tokenizer_argument()
@option("--output-format", choices=TARGETS, required=True,
        help="; ".join(f"{target.name}: {target.summary}" for target in TARGETS.values()) + ".")  # fmt: skip
@option("--name", metavar="NAME", show_default="that of the folder",
        help="The name in the other library, where it needs one (tiktoken.get_encoding).")  # fmt: skip
@option("--add-eos", is_flag=True, help="hf: also put </s> after each text, not only <s> before it.")
@_verify_on
@_no_verify
@_read_options
@output_options(required=True, metavar="DIR", help="The folder to write; other files in it stay.")
def export(
    tokenizer: str,
    output_format: str,
    name: str | None,
    add_eos: bool,
    verify_on: tuple[str, ...],
    no_verify: bool,
    read: ReadOptions,
    output: str,
    force: bool,
) -> Outcome:
    """Write a tokenizer for another library, and prove that it gives the same ids.

    The other library loads what was written, and its ids are compared on golden vectors, every token, every code point,
    fuzz and text. Nothing is written where an id differs; the receipt beside the files records the comparison.
    """
    from slmtok.formats.export import export as write

    _check_effect(output_format, name, add_eos=add_eos)
    check_is_file(output)
    check_is_folder_name(output)
    _check_verification(tokenizer, verify_on, no_verify=no_verify)
    tok = load(tokenizer)
    with Progress() as progress:
        try:
            receipt = write(
                tok,
                output_format,
                output,
                name=name,
                verify_on=verify_on,
                read=read,
                verify=not no_verify,
                force=force,
                progress=progress,
                settings={"add_eos": True} if add_eos else {},
            )
        except Inexpressible as error:
            raise _respelled(error, tokenizer) from None
    checks = [f"{check['name']:<12} {check['strings']:,}" for check in receipt["checks"]]
    rows: list[Row] = [
        ("ids", compared_ids(receipt)),
        ("compared", "\n".join(checks)),
        ("files", "\n".join(receipt["files"])),
        ("note", "\n".join(receipt["notes"])),
    ]
    model: tuple[str, ...] = ()
    if is_run(tokenizer):
        model = (f"this is the tokenizer alone; the model with it: slm export {shlex.quote(tokenizer)} -o DIR",)
    return _outcome({"path": output, **receipt}, rows, str(Path(output)), *model)


def _check_effect(output_format: str, name: str | None, *, add_eos: bool) -> None:
    """Raises `OptionError` for an option that has no effect on this format."""
    if add_eos and output_format != "hf":
        raise OptionError(
            f"--add-eos has no effect for {output_format}",
            limit="--output-format hf",
            fix="leave it out",
            option="add_eos",
        )
    if name is not None and output_format != "tiktoken":
        raise OptionError(
            f"--name has no effect for {output_format}, whose files have no name",
            limit="--output-format tiktoken",
            fix="leave it out; -o names the folder",
            option="name",
        )


def _respelled(error: Inexpressible, tokenizer: str) -> Inexpressible:
    """The error; for the spelling of a special token, the command that changes it and the export of what it writes."""
    if pair := error.fields.get("spelling"):
        output = free_name(Path(tokenizer).name if Path(tokenizer).is_file() else "tok.json")
        words = (output if word == tokenizer else word for word in arguments_of_command())
        respell = shlex.join(["slmtok", "set-special", tokenizer, str(pair), "-o", output])
        error.fix = f"{respell} && {shlex.join(['slmtok', 'export', *words])}"
    return error


def _second_file(value: str | None, arguments: Sequence[str]) -> str:
    """What reads a vocabulary and its merges, which are two files; nothing for another argument."""
    files = [each for each in arguments if Path(each).is_file()]
    found = {each: foreign_file(each, read_limited(each, "tokenizer.json")) for each in files}
    given = {foreign.name: name for name, foreign in found.items() if foreign is not None}
    if VOCABULARY in given and MERGES in given:
        output = value_after(OUTPUT_FLAGS, arguments) or "tok.json"
        return pair_command(pair_code(given[VOCABULARY], given[MERGES], output))
    foreign = found.get(value or "")
    return pair_command(foreign.fix) if foreign is not None and foreign.fix.startswith(READ_PAIR) else ""


def _with_size(value: str | None, arguments: Sequence[str]) -> str:
    """The command that imports a tokenizer, and the one that changes its number of ids, where these are not kept."""
    from slmtok.formats.importing import import_file

    words, size = without_options(arguments, VOCAB_FLAGS), value or "500"
    if (output := value_after(OUTPUT_FLAGS, words)) is None:
        output = free_name("tok.json")
        words += ["-o", output]
    imported: Tokenizer | None = None
    with suppress(SlmtokError):
        imported, _ = import_file(next(filter(os.path.exists, words), ""), verify=False)
    if imported is None or imported.vocabulary.layout == "foreign":
        trained = shlex.join(["slmtok", "train", "CORPUS", "--vocab", size, "-o", output])
        return f"leave it out: a tokenizer of another library keeps its ids; {trained} makes one of this size"
    whole = free_name(str(Path(output).with_name(f"{Path(output).stem}-whole.json")))
    first = shlex.join(["slmtok", "import", *(whole if word == output else word for word in words)])
    is_larger = size.isdecimal() and int(size) > imported.n_vocab
    change = ["extend", whole, "CORPUS"] if is_larger else ["slice", whole]
    force = [word for word in words if word == "--force"]
    return f"{first} && {shlex.join(['slmtok', *change, '--vocab', size, '-o', output, *force])}"


@command("import", example="slmtok import tokenizer.json -o tok.json",
         habits={EXTRA: _second_file, **dict.fromkeys(VOCAB_FLAGS, _with_size)})  # fmt: skip
@tokenizer_argument("file", metavar="FILE", help="A tokenizer.json, a rank file, or the metadata file of one.")
@option("--input-format", choices=("auto", *ORIGINS), default="auto",
        help="; ".join(f"{origin.name}: {origin.summary}" for origin in ORIGINS.values())
             + ". auto goes by content.")  # fmt: skip
@option("--pattern", metavar="NAME|REGEX", help="How text is split, for a rank file, which does not record it.")
@_verify_on
@_no_verify
@_read_options
@output_options(required=True)
def import_(
    file: str,
    input_format: str,
    pattern: str | None,
    verify_on: tuple[str, ...],
    no_verify: bool,
    read: ReadOptions,
    output: str,
    force: bool,
) -> Outcome:
    """Read a tokenizer of another library into a tokenizer file that keeps its ids.

    The library encodes the same golden vectors, tokens, code points, fuzz and text; nothing is written where an id
    differs. A tokenizer that slmtok exported keeps its fingerprint.
    """
    from slmtok.formats.importing import import_file
    from slmtok.formats.verification import receipt_bytes

    _check_verification(file, verify_on, no_verify=no_verify)
    if not Path(file).exists() and public_encoding(file):
        # Its own error says how to fetch an encoding that is not on this machine.
        load(file)
        raise OptionError(
            f"{file!r} is the name of a public encoding, not a file",
            limit="a tokenizer.json, a rank file, or the metadata file of one",
            fix=f"commands with a tokenizer take the name, without a file of it: slmtok info {file}",
            option="file",
        )
    receipt_path = str(atomic.output_path(output).with_suffix(".receipt.json"))
    check_content(output, JSON)
    atomic.check_outputs(output, receipt_path, inputs=[file], force=force)
    try:
        with Progress() as progress:
            tokenizer, receipt = import_file(
                file,
                origin=input_format,
                pattern=pattern,
                verify_on=verify_on,
                read=read,
                verify=not no_verify,
                progress=progress,
            )
    except CorruptFile as error:
        _explain_kind(error, file)
        raise
    except MissingInput as error:
        raise error if Path(file).exists() else missing_tokenizer(error, file) from None
    atomic.write_all([(output, tokenizer.to_bytes()), (receipt_path, receipt_bytes(receipt))], force=force)
    layout = tokenizer.vocabulary.layout
    rows: list[Row] = [
        ("ids", compared_ids(receipt)),
        ("layout", layout),
        ("n_vocab", f"{receipt['tokenizer']['n_vocab']:,}"),
        ("fingerprint", receipt["tokenizer"]["fingerprint"]),
        ("receipt", receipt_path),
        ("note", "\n".join(receipt["notes"])),
    ]
    return _outcome({"path": output, "receipt": receipt_path, "layout": layout, **receipt}, rows, output)


def _explain_kind(error: CorruptFile, file: str) -> None:
    """Puts a command line into the error for a tokenizer of slmtok, and for a file of another format than it says."""
    if kind_of_file(file) == TOKENIZER:
        error.fix = f"use it as it is: slmtok info {shlex.quote(file)}"
    elif "origin" in error.fields:
        words = without_options(arguments_of_command(), ("--input-format",))
        error.fix = shlex.join(["slmtok", "import", *words])


def _check_verification(file: str, verify_on: tuple[str, ...], *, no_verify: bool) -> None:
    """Raises `OptionError` for text to compare on and no comparison, and for files of slmtok as text."""
    if verify_on and no_verify:
        raise OptionError("--verify-on together with --no-verify", fix="leave one of them out", option="no_verify")
    if verify_on:
        refuse_missing([file])
        text_files(verify_on, ReadOptions())


def _outcome(result: Mapping[str, Any], rows: list[Row], title: str, *warnings: str) -> Outcome:
    if not result["verified"]:
        warnings = (*warnings, "ids were not compared")
    return Outcome(result, summary=lambda: print_rows(rows, title=title), warnings=warnings)

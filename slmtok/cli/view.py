"""`slmtok view`: a page that shows in the browser how tokenizers cut what one types."""

from __future__ import annotations

import shlex
from pathlib import Path

from slmtok.cli.files import PAGE, STDIO, check_content, check_opens, check_output, short_names, write_page
from slmtok.cli.options import (
    OUTPUT,
    TOKENIZER,
    argument,
    arguments_of_command,
    command,
    instead,
    option,
    output_options,
)
from slmtok.cli.output import Outcome
from slmtok.cli.text_argument import data_name, encoding_of, notes_on_text, read_text, split_arguments, text_last
from slmtok.errors import InvalidText, OptionError
from slmtok.file_kinds import NAMES, kind_of_file
from slmtok.opening import load

_HABITS = {
    **text_last("slmtok view"),
    **dict.fromkeys(
        ("--port", "--host", "--serve", "--share"),
        instead("leave it out: the page is one file, which needs no server; --open shows it in the browser"),
    ),
}


@command(
    "view",
    habits=_HABITS,
    example="slmtok view tok.json gpt2 -o tokens.html --open",
)
@argument("items", metavar="TOK... [TEXT|-]", nargs=-1, help=f"Any number of {TOKENIZER}; then the first text.")
@option("--tokenizer", "-t", "more", metavar="TOK", multiple=True, help="A further tokenizer. Repeat for several.")
@option("--open", "opens", is_flag=True, panel=OUTPUT, help="Open the page in the browser.")
@output_options(default="tokens.html")
def view(items: tuple[str, ...], more: tuple[str, ...], opens: bool, output: str, force: bool) -> Outcome:
    """Write a page that tokenizes in the browser, while one types, with several tokenizers side by side.

    The page is one file that asks no network: send it to somebody, or open it years later. It shows the id and the
    bytes of each token, and the merges that made it.
    """
    from slmtok.pages.view_page import MAX_TEXT_BYTES
    from slmtok.pages.view_page import view as make_page

    names, text = split_arguments(items, more)
    if not names:
        file, kind = Path(text or ""), NAMES.get(kind_of_file(text or ""))
        is_too_large = file.is_file() and file.stat().st_size > MAX_TEXT_BYTES
        raise OptionError(
            "no tokenizer is named" if text is None else f"{text!r} is {kind or 'a text'}, and no tokenizer is named",
            limit=f"{TOKENIZER}; {MAX_TEXT_BYTES:,} bytes of text on a page" if is_too_large else TOKENIZER,
            fix=_with_tokenizer(text, is_kept=not (is_too_large or kind)),
            option="tokenizer",
        )
    check_opens(opens, output)
    check_content(output, PAGE)
    check_output(output, inputs=names, force=force)
    data = read_text(text, "", MAX_TEXT_BYTES)
    try:
        given = data.decode()
    except UnicodeDecodeError as error:
        name, held = encoding_of(data), data_name(data)
        fix = "a page shows characters; slmtok show takes bytes"
        raise InvalidText(
            f"the text has a byte that is not UTF-8 at {error.start}" + (f": it is {held}" if held else ""),
            limit=f"a page shows characters, and the text reads as words in {name}" if name else None,
            fix=f"pipe it through iconv -f {name} -t utf-8" if name else fix,
        ) from None
    page = make_page({label: load(name) for label, name in short_names(names).items()}, given or None)
    warnings = () if output == STDIO else notes_on_text(text, is_written=True)
    return write_page(page.html, output, force=force, opens=opens, warnings=warnings, tokenizers=names)


def _with_tokenizer(text: str | None, *, is_kept: bool) -> str:
    """The command line with a tokenizer before a text that is kept, which is piped in where it is a file."""
    is_file = text is not None and Path(text).is_file()
    words = [word for word in arguments_of_command() if is_kept or word != text]
    command = shlex.join(
        ["slmtok", "view", "tok.json", *(STDIO if is_file and word == text else word for word in words)]
    )
    return f"{command} < {shlex.quote(str(text))}" if is_file and is_kept else command

"""`slmtok name`: other spellings for specials, and names for reserved ones; ids and fingerprint stay."""

from __future__ import annotations

from typing import Annotated

import typer

from slmtok.cli import _options, _output, _surgery, _train_inputs

_Names = Annotated[
    list[str], typer.Argument(metavar="ROLE=SPELLING", help="A role and how it is spelled.", show_default=False)
]


def name(
    tokenizer: _options.TokenizerArgument,
    names: _Names,
    output: _surgery.Output = ...,  # type: ignore[assignment]
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Name reserved special ids, or spell others anew. No id changes, and shards and models stay valid.

    slmtok name tok.json 'user=<|user|>' -o chat.json
    """
    from slmtok.cli._tokenizers import open_tokenizer

    _surgery.check(output, tokenizer, mapped=False, force=force)
    before = after = open_tokenizer(tokenizer)
    for role, spelling in _train_inputs.named(names, "ROLE=SPELLING").items():
        after = after.with_special(role, spelling)
    after.save(output, force=force)
    specials = [{"id": slot.id, "role": slot.role, "text": slot.text} for slot in after.specials.tokens if slot.role]
    result = {**_surgery.result(before, after, output), "specials": specials}

    def show() -> None:
        if not quiet:
            told = "  ".join(f"{slot['id']} {slot['role']} {slot['text']}" for slot in specials)
            _surgery.show(before, after, output, [("specials", told)])

    return _output.Outcome(result, show)

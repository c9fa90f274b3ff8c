"""`slm info`: what a model knows of its tokenizer, read from a `vocab.json`."""

from __future__ import annotations

from typing import Annotated

import typer

from slmmodel.cli import _options, _output
from slmmodel.cli._tables import print_rows
from slmmodel.vocab import VocabMeta

_File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A vocab.json, as slmtok vocab TOK --metadata writes it.", show_default=False),
]


def info(
    file: _File,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Say what is in a vocab.json: sizes, special ids, fingerprint."""
    vocab = VocabMeta.load(file)
    lengths = vocab.token_nbytes
    result: dict[str, object] = {
        "path": file,
        "n_vocab": vocab.n_vocab,
        "padded_vocab": vocab.padded_vocab,
        "specials": dict(vocab.specials),
        "longest_token": int(lengths.max()),
        "mean_token": round(float(lengths[lengths > 0].mean()), 3),
        "fingerprint": vocab.fingerprint,
    }
    rows = [
        ("ids", f"{vocab.n_vocab:,}, padded {vocab.padded_vocab:,}"),
        ("specials", "  ".join(f"{id} {role}" for role, id in vocab.specials.items())),
        ("tokens", f"{result['mean_token']} bytes on average, {result['longest_token']} at most"),
        ("fingerprint", vocab.fingerprint),
    ]
    return _output.Outcome(result, lambda: print_rows(rows, title=file))

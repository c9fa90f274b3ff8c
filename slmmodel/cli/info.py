"""`slm info`: what a model knows of its tokenizer, read from a `vocab.json`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from slmmodel.vocab import VocabInfo


def run(arguments: Sequence[str]) -> int:
    """Prints sizes, special ids and fingerprint. Raises `MissingVocab`, `CorruptVocab`, `UnsupportedVocab`."""
    parser = argparse.ArgumentParser(prog="slm info", description="Say what is in a vocab.json.")
    parser.add_argument("file", metavar="FILE", help="a vocab.json, as slmtok vocab TOK --metadata writes it")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    vocab = VocabInfo.load(options.file)
    result = {
        "path": options.file,
        "n_vocab": vocab.n_vocab,
        "padded_vocab": vocab.padded_vocab,
        "specials": dict(vocab.specials),
        "longest_token": int(vocab.byte_lengths.max()),
        "mean_token": round(float(vocab.byte_lengths[vocab.byte_lengths > 0].mean()), 3),
        "fingerprint": vocab.fingerprint,
    }
    if options.json:
        envelope = {"schema": "slm.info/1", "ok": True, "result": result, "warnings": []}
        sys.stdout.write(json.dumps(envelope, ensure_ascii=False) + "\n")
        return 0
    sys.stdout.write(
        f"{options.file}\n"
        f"  ids          {vocab.n_vocab:,}, padded {vocab.padded_vocab:,}\n"
        f"  specials     {'  '.join(f'{id} {role}' for role, id in vocab.specials.items())}\n"
        f"  tokens       {result['mean_token']} bytes on average, {result['longest_token']} at most\n"
        f"  fingerprint  {vocab.fingerprint}\n"
    )
    return 0

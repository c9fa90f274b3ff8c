"""`vocab.json`, all that a model knows of a tokenizer; docs/formats/vocab.md specifies it."""

from __future__ import annotations

import json
from typing import Any

from slmtok import schema
from slmtok.json_files import load, parse
from slmtok.path_arguments import free_name
from slmtok.strict_json import FaultError
from slmtok.vocabulary import MAX_IDS, Vocabulary

FORMAT = "slmtok-vocab"
VERSION = 1
_MAX_TOKEN_BYTES = (1 << 32) - 1
_SCHEMA = schema.table(
    {
        "format": schema.choice(FORMAT),
        "version": schema.choice(VERSION),
        "n_vocab": schema.integer(1, MAX_IDS),
        "padded_vocab": schema.integer(1),
        "specials": schema.mapping(schema.integer(0, MAX_IDS - 1)),
        "byte_lengths": schema.array(schema.integer(0, _MAX_TOKEN_BYTES)),
        "fingerprint": schema.digest,
    }
)


def vocab_metadata(vocabulary: Vocabulary) -> dict[str, object]:
    """The content of `vocab.json`, in the order of its keys."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "n_vocab": vocabulary.n_vocab,
        "padded_vocab": vocabulary.padded_vocab,
        "specials": dict(vocabulary.specials),
        "byte_lengths": vocabulary.byte_lengths.tolist(),
        "fingerprint": vocabulary.fingerprint,
    }


def load_metadata(path: str) -> dict[str, Any]:
    """The content of a vocab.json. Raises `CorruptFile`, `MissingInput`, `Unreadable`."""
    written = f"slmtok vocab TOK --metadata -o {free_name('vocab.json')} writes one"
    fix = f"name the vocab.json of packed data or a run; {written}"
    return load(path, "vocab.json", lambda data: parse(data, _check), fix=fix)


def _check(content: Any, where: str) -> None:
    _SCHEMA(content, where)
    n_vocab, lengths = content["n_vocab"], content["byte_lengths"]
    if len(lengths) != n_vocab:
        raise FaultError(f"byte_lengths has {len(lengths):,} items, n_vocab is {n_vocab:,}")
    if content["padded_vocab"] != -(-n_vocab // 64) * 64:
        raise FaultError(f"padded_vocab is {content['padded_vocab']}, expected n_vocab as a multiple of 64")
    for role, id in content["specials"].items():
        if id >= n_vocab or lengths[id]:
            raise FaultError(f"specials.{role} is {id}, which has byte_lengths or is no id")


def render_metadata(content: dict[str, object]) -> bytes:
    """The bytes of `vocab.json`: one key a line, UTF-8, final newline."""
    lines = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in content.items()]
    return ("{" + ",\n".join(lines) + "}\n").encode()

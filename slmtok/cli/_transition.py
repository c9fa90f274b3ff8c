"""Calls of the library with the option classes of `slmtok.options`, for modules that still take older ones.

Each function goes when the library takes these options itself.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slmtok.errors import SlmtokError
from slmtok.options import PackOptions


def pack_as(
    corpus: Sequence[str],
    tokenizer: Any,
    folder: str,
    options: PackOptions,
    *,
    force: bool,
    progress: Any,
    remote: Any,
) -> Any:
    from slmtok.shards.format import FRAMES
    from slmtok.shards.layouts import LAYOUTS
    from slmtok.shards.target import Target

    frame = None
    if options.bos is not None or options.eos is not None:
        usual = FRAMES[LAYOUTS[options.output_format].frame] if options.output_format != "slm" else (True, True)
        wanted = (
            usual[0] if options.bos is None else options.bos,
            usual[1] if options.eos is None else options.eos,
        )
        frame = next(name for name, both in FRAMES.items() if both == wanted)
    target = Target(
        out=Path(folder),
        layout=options.output_format,
        frame=frame,
        val=options.val,
        shard_tokens=options.shard_tokens,
        max_tokens=options.max_tokens,
        max_chunks=options.max_chunks,
        chunk_size=options.chunk_size,
        subsets=tuple(options.subset),
    )
    return target.pack(
        list(corpus), tokenizer, read=options, threads=options.threads, force=force, on_progress=progress, remote=remote
    )


_NAMES = (
    "vocab", "scheme", "pattern", "ties", "min_count", "max_token_bytes", "max_token_chars", "forbid_regex", "require",
    "special", "allow_smaller", "format", "text_key", "document", "max_bytes", "max_chars", "doc_cap",
    "skip_malformed", "threads", "memory", "errors", "force", "seed", "separator", "text_template", "exclude", "sample",
    "allow_duplicate", "mix", "temperature", "keep", "ids", "unused_on",
    "max_docs", "streaming", "cache_dir", "domains", "verify", "verify_on", "name", "ray",
    "val", "frame", "shard_tokens", "max_tokens", "max_chunks", "chunk_size", "split", "docs", "subset",
)  # fmt: skip
_ODD = {
    "domains": "domain",
    "doc_cap": "max-doc-chars",
    "ties": "tie-break",
    "verify": "no-verify",
}
_QUOTED = r"""(?<!\w)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|…[^…]*…"""
_LITERAL = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,;:)]+"""
_MENTION = re.compile(rf"(?P<own>{_QUOTED})|(?<![\w/.=-])(?P<name>{'|'.join(_NAMES)})=(?P<value>{_LITERAL})?")


def respell(error: SlmtokError) -> None:
    for name, part in error.parts.items():
        if isinstance(part, str):
            error.parts[name] = _respell(part)
    limits = error.fields.get("limits")
    if isinstance(limits, list):
        error.fields["limits"] = list(map(_respell, limits))


def _respell(part: str) -> str:
    if part.startswith("slmtok "):
        return part
    return _MENTION.sub(_option, part).replace("name another output", "name another -o")


def _option(match: re.Match[str]) -> str:
    if match["own"] is not None:
        return match["own"]
    flag, value = "--" + _ODD.get(match["name"], match["name"]).replace("_", "-"), match["value"]
    if value is None or value == "True":
        return flag
    return f"{flag} {shlex.quote(ast.literal_eval(value)) if value[0] in _QUOTES else value}"


_QUOTES = "'\""

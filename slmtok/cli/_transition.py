"""Calls of the library with the option classes of `slmtok.options`, for modules that still take older ones.

Each function goes when the library takes these options itself.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import SlmtokError
from slmtok.options import CountOptions, PackOptions, ReadOptions, TrainOptions, option_specs

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts

_READ = [name for name, _, _ in option_specs(ReadOptions)]


def corpus_options(read: ReadOptions, *, limits: bool = True) -> Any:
    from slmtok.corpus import ReadOptions as Old

    values = {name: getattr(read, name) for name in _READ}
    values["doc_cap"] = values.pop("max_doc_chars")
    if not limits:
        values |= {"doc_cap": None, "max_chars": None, "max_bytes": None}
    return Old(**values)


def find(paths: Any, read: ReadOptions) -> list[str]:
    from slmtok.corpus import find as found

    return list(found(paths, corpus_options(read)))


def read_corpus(sources: Sequence[str], read: ReadOptions) -> Any:
    from slmtok.corpus import read as reading

    return reading(sources, corpus_options(read))


def reader_for(path: str, read: ReadOptions) -> Any:
    from slmtok.corpus import format_of as reader

    return reader(path, corpus_options(read))


def _count_options(options: CountOptions) -> Any:
    from slmtok.training.options import CountOptions as Old

    return Old(
        read=corpus_options(options, limits=False),
        doc_cap=options.max_doc_chars,
        max_chars=options.max_chars,
        max_bytes=options.max_bytes,
        threads=options.threads,
        memory=options.memory,
        spill_folder=None if options.spill_dir is None else str(options.spill_dir),
    )


def count_corpus(files: Sequence[str], options: CountOptions, progress: Any, observed: Any = None) -> PretokenCounts:
    from slmtok.training.run import count_corpus as count

    return count(list(files), options.scheme, options.pattern, _count_options(options), progress, observed)


def count_on(ray: str, files: Sequence[str], options: CountOptions, progress: Any, observed: Any) -> Any:
    from slmtok.cluster import count_on as count

    return count(ray, list(files), options.scheme, options.pattern, _count_options(options), progress, observed)


def check_pattern(options: CountOptions) -> None:
    from slmtok.patterns import parse_pattern
    from slmtok.schemes import scheme
    from slmtok.training.options import pattern_spec

    parse_pattern(pattern_spec(scheme(options.scheme), options.pattern))


def train_options(options: TrainOptions) -> Any:
    from slmtok.training.options import TrainOptions as Old

    names = [name for name, _, _ in option_specs(TrainOptions) if name in Old.__dataclass_fields__]
    more: dict[str, Any] = {"vocab": options.vocab_size, "ties": options.tie_break}
    return Old(**{name: getattr(options, name) for name in names}, **more)


def rehearse(options: TrainOptions) -> None:
    from slmtok.training.run import rehearse as check

    _count_options(options)
    check(train_options(options), options.pattern)


def train_sizes(counts: Any, options: TrainOptions, sizes: Sequence[int], progress: Any) -> Any:
    from slmtok.training.sizes import train_sizes as train

    return train(counts, train_options(options), sizes, progress)


def encoded_lock(one: Any, options: TrainOptions, corpus: Mapping[str, Any], output: str) -> bytes:
    from slmtok.training.lock import encoded

    return encoded(one, train_options(options), corpus, output)


def extend(before: Any, counts: Any, options: TrainOptions, progress: Any) -> Any:
    from slmtok.training import surgery

    names = ("min_count", "max_token_bytes", "max_token_chars", "forbid_regex", "require", "allow_smaller", "mix")
    values = {name: getattr(options, name) for name in (*names, "temperature")}
    return surgery.extend(before, counts, options.vocab_size or 0, progress=progress, **values)


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
    read = corpus_options(options)
    return target.pack(
        list(corpus), tokenizer, read=read, threads=options.threads, force=force, on_progress=progress, remote=remote
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

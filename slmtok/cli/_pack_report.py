"""The summary of `slmtok pack`: for people as a table, for programs as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.cli import _output
from slmtok.cli._numbers import counted, grouped, in_bytes, in_time
from slmtok.cli._tables import Row, print_rows

if TYPE_CHECKING:
    from slmtok.shards.convert import Packed


def outcome(done: list[tuple[Packed, float]], *, quiet: bool) -> _output.Outcome:
    """What the command found out: one folder, or a list of them."""
    results = [result(packed, seconds) for packed, seconds in done]

    def show() -> None:
        for told in () if quiet else results:
            print_rows(_rows(told), title=told["path"])

    notes = [
        f"{grouped(told['skipped'])} malformed records were left out of {told['path']}"
        for told in results
        if told["skipped"]
    ]
    if len(results) == 1:
        return _output.Outcome(results[0], show, warnings=tuple(notes))
    return _output.Outcome({"folders": results}, show, warnings=tuple(notes))


def result(packed: Packed, seconds: float) -> dict[str, Any]:
    """What `--json` prints of one folder."""
    content = packed.manifest
    splits = content["splits"]
    total = {name: sum(split[name] for split in splits.values()) for name in ("docs", "tokens", "bytes")}
    return {
        "path": str(packed.out),
        "layout": packed.layout,
        "files": packed.files,
        "documents": total["docs"],
        "tokens": total["tokens"],
        "bytes": total["bytes"],
        "bytes_per_token": round(total["bytes"] / max(total["tokens"], 1), 4),
        "split": content["plan"]["split"]["rule"],
        "splits": splits,
        "shards": content["shards"],
        "skipped": content["skipped"],
        "digest": content["digest"],
        "fingerprint": content["fingerprint"],
        "n_vocab": content["n_vocab"],
        "frame": content["frame"],
        "subsets": packed.subsets,
        "seconds": round(seconds, 3),
    }


def _rows(told: dict[str, Any]) -> list[Row]:
    seconds = max(told["seconds"], 1e-3)
    return [
        ("documents", grouped(told["documents"])),
        ("text", in_bytes(told["bytes"])),
        ("ids", f"{grouped(told['tokens'])}, {told['bytes_per_token']:.2f} bytes each"),
        *((name, _split(split)) for name, split in told["splits"].items()),
        ("split", told["split"]),
        ("frame", told["frame"]),
        ("files", _files(told)),
        ("subsets", "  ".join(f"{grouped(number)}: {path}" for number, path in told["subsets"].items())),
        ("tokenizer", told["fingerprint"]),
        ("corpus", told["digest"]),
        ("time", f"{in_time(told['seconds'])}, {told['bytes'] / seconds / 1e6:,.1f} MB/s"),
    ]


def _split(split: dict[str, Any]) -> str:
    name = "shard" if split["shards"] == 1 else "shards"
    return (
        f"{counted(split['docs'], 'document')}, {in_bytes(split['bytes'])}, {grouped(split['tokens'])} ids, "
        f"{split['shards']} {name}"
    )


def _files(told: dict[str, Any]) -> str:
    return "" if told["layout"] == "slm" else f"{told['layout']}: {'  '.join(told['files'])}"

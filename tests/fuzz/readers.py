"""The readers of files that are fuzzed: how a sample is made, signed again after an edit, and read by commands.

To add one: a `Reader` in `READERS` (`model_readers.py`: those of slmmodel).
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from slmtok.cli import main as slmtok_main
from slmtok.envelope import content_digest

Main = Callable[[list[str]], int]


class EscapedError(AssertionError):
    """A command ended with neither its result nor an error of ours about the file."""


@dataclass(frozen=True)
class Reader:
    """A format, and all that reads it. Paths are relative to the folder of samples, the working folder."""

    file: str
    """the sample, which `make` wrote"""
    make: Callable[[], None]
    commands: list[list[str]]
    """argv, as one gives it in a shell"""
    main: Main = slmtok_main
    parse: Callable[[bytes], Any] = json.loads
    write: Callable[[Any], bytes] = lambda content: json.dumps(content).encode()
    """a file of this content, its digests right"""
    after: Callable[[], None] = lambda: None
    """called when the file is written, for digests that lie elsewhere"""
    names: frozenset[str] = frozenset()
    """more words that name a field in a message"""
    writes: str = ""
    """the folder that the commands change; it is restored after each"""


def run(main: Main, argv: list[str]) -> dict[str, Any] | None:
    """Runs a command in this process; its error, None for success. Raises `EscapedError`."""
    before = sys.stdout, sys.stderr, sys.stdin
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    sys.stdin = io.TextIOWrapper(io.BytesIO(b""), "utf-8")
    try:
        status = main([*argv, "--json"])
        sys.stdout.seek(0), sys.stderr.seek(0)
        out, err = sys.stdout.read(), sys.stderr.read()
    except BaseException as error:
        raise EscapedError(f"{' '.join(argv)} raised {type(error).__name__}: {error}") from error
    finally:
        sys.stdout, sys.stderr, sys.stdin = before
    said = json.loads(out) if out else {}
    checked = said["result"]["files"] if argv[0] == "verify" and said.get("result") else []
    error = said.get("error") or next((found["error"] for found in checked if not found["ok"]), None)
    if status not in (0, 1, 2, 3) or "Traceback" in err or (status in (1, 2) and error is None):
        raise EscapedError(f"{' '.join(argv)} ended with {status}: {err[-1000:]}")
    if error is not None and (error["class"] == "InternalError" or "not enough memory" in error["message"]):
        raise EscapedError(f"{' '.join(argv)}: {error['message']}")
    return error


def slmtok(*argv: str) -> None:
    """Runs a command that must succeed."""
    error = run(slmtok_main, list(argv))
    assert error is None, error


# --- samples ----------------------------------------------------------------------------------------------------------


def text() -> None:
    Path("c.txt").write_text("the cat sat on the mat\nthe rat ran\n\na hat\n" * 9, encoding="utf-8")


def tokenizer() -> None:
    text()
    if not Path("tok.json").exists():
        slmtok("train", "c.txt", "--vocab", "280", "-o", "tok.json")


def counts() -> None:
    text()
    slmtok("count", "c.txt", "--document", "line", "--domain", "a=c*", "-o", "all.counts")


def metadata() -> None:
    tokenizer()
    slmtok("vocab", "tok.json", "--metadata", "-o", "vocab.json")


def audit() -> None:
    tokenizer()
    slmtok("audit", "tok.json", "--on", "c.txt", "-o", "audit.json")


def exported(form: str) -> Callable[[], None]:
    def make() -> None:
        tokenizer()
        slmtok("export", "tok.json", "--output-format", form, "--no-verify", "-o", form)

    return make


def packed() -> None:
    tokenizer()
    slmtok("pack", "c.txt", "-t", "tok.json", "--document", "line", "--val", "hash:30%", "-o", "data")


class _Killed(BaseException):
    """In place of a signal."""


def unfinished() -> None:
    """A run of `pack` that ended before its manifest: a plan, and a journal of several lines."""
    from slmtok import load
    from slmtok.shards import packing
    from slmtok.shards import run as runs

    def kill(*given: object) -> NoReturn:
        raise _Killed

    tokenizer()
    Path("texts.txt").write_text("the cat sat on the mat\n" * 1500, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "make_manifest", kill)
        with pytest.raises(_Killed):
            packing.pack("texts.txt", load("tok.json"), "half", document="line", shard_tokens=8192)
    assert len(Path("half/journal.jsonl").read_bytes().splitlines()) > 2


def layout() -> None:
    tokenizer()
    slmtok(
        *("pack", "c.txt", "-t", "tok.json", "--document", "line", "--val", "hash:30%"),
        *("--output-format", "nanogpt", "-o", "flat"),
    )


# --- digests made right again -----------------------------------------------------------------------------------------


def envelope(content: Any) -> bytes:
    """An envelope with its digest."""
    with suppress(ValueError, AttributeError, TypeError):
        content = {**content, "sha256": content_digest(content)}
    return json.dumps(content).encode()


def tokenizer_file(content: Any) -> bytes:
    """A tokenizer file in canonical form, with its digest."""
    parts = []
    for key, value in content.items():
        text = compact(value)
        if key in ("specials", "merges", "tokens", "golden") and isinstance(value, list):
            text = b"[\n" + b",\n".join(map(compact, value)) + b"]"
        parts += [compact(key) + b":" + text] if key != "sha256" else []
    head = b"{" + b"".join(part + b",\n" for part in parts)
    return head + b'"sha256":"' + hashlib.sha256(head).hexdigest().encode() + b'"}\n'


def compact(value: Any) -> bytes:
    """JSON without spaces; half of a surrogate pair becomes bytes that are no UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


_COUNTS_START = struct.Struct("<8sII")


def counts_head(data: bytes) -> Any:
    """The head of a counts file."""
    length = _COUNTS_START.unpack_from(data)[2]
    content = json.loads(data[_COUNTS_START.size : _COUNTS_START.size + length])
    return {"head": content, "rest": base64.b64encode(data[_COUNTS_START.size + length : -72]).decode()}


def counts_file(content: Any) -> bytes:
    """A counts file of one run, with its digests."""
    head = compact(content["head"]) + b"\n"
    data = _COUNTS_START.pack(b"SLMCOUNT", 1, len(head)) + head + base64.b64decode(content["rest"])
    data += hashlib.sha256(data).digest() + bytes(8)
    return data + hashlib.sha256(data).digest()


def journal_lines(data: bytes) -> Any:
    """The lines of a journal."""
    return [json.loads(line) for line in data.splitlines()]


def journal_of(lines: Any) -> bytes:
    """A journal whose lines carry their digests."""
    last, rows = "", []
    for line in lines:
        bare = {key: value for key, value in line.items() if key != "sha256"} if isinstance(line, dict) else line
        text = json.dumps(bare, sort_keys=True, separators=(",", ":"))
        last = hashlib.sha256((last + text).encode()).hexdigest()
        signed = {**bare, "sha256": last} if isinstance(line, dict) else line
        rows.append(json.dumps(signed, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    return b"".join(rows)


def plan_file(content: Any) -> bytes:
    """A plan in canonical form, which the journal has the digest of."""
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def same_plan() -> None:
    """The journal of the plan that lies beside it."""
    journal = Path("half/journal.jsonl")
    lines = journal_lines(journal.read_bytes())
    lines[0]["plan"] = hashlib.sha256(Path("half/plan.json").read_bytes()).hexdigest()
    journal.write_bytes(journal_of(lines))


# --- the readers of slmtok --------------------------------------------------------------------------------------------

_PACK = ["pack", "texts.txt", "-t", "tok.json", "--document", "line", "--shard-tokens", "8192", "-o", "half"]

READERS: dict[str, Reader] = {
    "tokenizer": Reader(
        "tok.json",
        tokenizer,
        [["info", "tok.json"], ["verify", "--deep", "tok.json"]],
        write=tokenizer_file,
        names=frozenset({"special token"}),
    ),
    "counts": Reader(
        "all.counts",
        counts,
        [["info", "all.counts"], ["train", "all.counts", "--vocab", "280", "-o", "made.json", "--force"]],
        parse=counts_head,
        write=counts_file,
    ),
    "lock": Reader("tok.lock", tokenizer, [["info", "tok.lock"], ["reproduce", "tok.lock"]], write=envelope),
    "vocab.json": Reader("vocab.json", metadata, [["info", "vocab.json"], ["verify", "vocab.json"]]),
    "audit": Reader("audit.json", audit, [["info", "audit.json"], ["verify", "audit.json"]], write=envelope),
    "receipt": Reader(
        "hf/export.receipt.json",
        exported("hf"),
        [["info", "hf/export.receipt.json"], ["verify", "hf/export.receipt.json"]],
        write=envelope,
    ),
    "tokenizer.json": Reader(
        "hf/tokenizer.json", exported("hf"), [["import", "hf/tokenizer.json", "--no-verify", "-o", "i.json", "--force"]]
    ),
    "side file": Reader(
        "tiktoken/tiktoken.json",
        exported("tiktoken"),
        [["import", "tiktoken/tiktoken.json", "--no-verify", "-o", "j.json", "--force"]],
        names=frozenset({"special id", "unknown pattern", "its sha256"}),
    ),
    "manifest": Reader("data/manifest.json", packed, [["info", "data"], ["verify", "data"]]),
    "meta.json": Reader("flat/meta.json", layout, [["info", "flat"], ["verify", "flat"]]),
    "plan": Reader("half/plan.json", unfinished, [_PACK], write=plan_file, after=same_plan, writes="half"),
    "journal": Reader("half/journal.jsonl", unfinished, [_PACK], parse=journal_lines, write=journal_of, writes="half"),
}

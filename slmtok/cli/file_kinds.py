"""The kind of a file, decided by its content; and what `info` and `verify` report of vocab.json, receipt and audit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from slmtok.cli.output import Outcome, Row, format_bytes, grouped, print_rows
from slmtok.envelope import read_envelope
from slmtok.errors import CorruptFile, MissingInput, Unreadable
from slmtok.files import file_digest

TOKENIZER = "slmtok-tokenizer"
METADATA = "slmtok-vocab"
RANKS = "tiktoken ranks"
COUNTS = "slmtok-counts"
LOCK = "slmtok-lock"
RECEIPT = "slmtok-receipt"
AUDIT = "slmtok-audit"
UNKNOWN = "unknown"

_HEAD_BYTES = 4096
_REQUIRED_KEYS = {
    RECEIPT: {"verified", "direction", "target", "library", "tokenizer", "strings", "bytes", "files"},
    AUDIT: {"verdict", "tokenizer", "text", "ids", "token_bytes", "checks"},
}


def read_head(path: str) -> bytes:
    """The first bytes of a file. Raises `MissingInput`, `Unreadable`."""
    if Path(path).exists() and not Path(path).is_file():
        raise Unreadable(
            f"{path!r} is not a regular file", where=path, fix="name a file, not a folder or a pipe", path=path
        )
    try:
        with Path(path).open("rb") as file:
            return file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise MissingInput(f"no file {path!r}", where="the working folder", fix="check the name", path=path) from None
    except OSError as error:
        raise Unreadable(
            f"cannot read {path!r}: {error.strerror}",
            where=path,
            fix="name a file that may be read",
            path=path,
            os_error=error.errno,
        ) from error


def kind_of(head: bytes) -> str:
    """The kind of a file that begins with `head`."""
    envelope = re.match(rb'\s*\{\s*"kind"\s*:\s*"(lock|receipt|audit)"', head)
    if envelope:
        return f"slmtok-{envelope[1].decode()}"
    match = re.match(rb'\s*\{(?:\s*"(?:verified|verdict)"\s*:\s*\w+,)?\s*"format"\s*:\s*"([^"]*)"', head)
    if match and match[1].decode("ascii", "replace") in (TOKENIZER, METADATA, LOCK, RECEIPT, AUDIT):
        return match[1].decode()
    if head.startswith(b"SLMCOUNT"):
        return COUNTS
    if re.match(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n", head):
        return RANKS
    return UNKNOWN


def read_metadata(path: str) -> dict[str, Any]:
    """The content of a vocab.json, its keys and sizes checked. Raises `CorruptFile`."""
    try:
        content: Any = json.loads(Path(path).read_bytes())
        is_valid = (
            content["version"] == 1
            and len(content["byte_lengths"]) == content["n_vocab"] <= content["padded_vocab"]
            and all(isinstance(length, int) and length >= 0 for length in content["byte_lengths"])
            and all(0 <= id < content["n_vocab"] for id in content["specials"].values())
            and re.fullmatch(r"[0-9a-f]{64}", content["fingerprint"])
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        is_valid = False
    if not is_valid:
        raise CorruptFile(
            f"{path} is not a valid vocab.json",
            where=path,
            fix=f"write it again: slmtok vocab tok.json --metadata -o {path} --force",
            path=path,
        )
    return dict(content)


def describe_metadata(path: str) -> Outcome:
    """`slmtok info` of a vocab.json."""
    content = read_metadata(path)
    rows: list[Row] = [
        ("kind", "vocabulary metadata for a model (vocab.json)"),
        ("ids", f"{grouped(content['n_vocab'])}, padded {grouped(content['padded_vocab'])}"),
        ("specials", "  ".join(f"{id} {role}" for role, id in content["specials"].items())),
        ("longest token", f"{max(content['byte_lengths'], default=0)} bytes"),
        ("fingerprint", content["fingerprint"]),
    ]
    return Outcome({"kind": METADATA, "path": path, **content}, lambda: print_rows(rows, title=path))


def _read_proof(path: str, kind: str) -> dict[str, Any]:
    """The payload of a receipt or an audit. Raises `CorruptFile`, `UnsupportedVersion`."""
    name = kind.removeprefix("slmtok-")
    content = read_envelope(Path(path).read_bytes(), name, path, allow_floats=kind == AUDIT).payload
    if not _REQUIRED_KEYS[kind] <= set(content):
        raise CorruptFile(
            f"{path} is not a valid {kind}",
            where=path,
            fix="run the command that wrote it again, with --force",
            path=path,
        )
    return dict(content)


def describe_proof(path: str, kind: str) -> Outcome:
    """`slmtok info` of a receipt or an audit."""
    content = _read_proof(path, kind)
    rows = _receipt_rows(content) if kind == RECEIPT else _audit_rows(content)
    return Outcome({"kind": kind, "path": path, **content}, lambda: print_rows(rows, title=path))


def compared_ids(receipt: dict[str, Any]) -> str:
    """What a receipt says of the comparison, in one line."""
    library = f"{receipt['library']} {receipt['library_version'] or ''}".rstrip()
    if not receipt["verified"]:
        return f"NOT compared with {library}"
    return f"equal ids in {library}: {grouped(receipt['strings'])} texts, {format_bytes(receipt['bytes'])}"


def _receipt_rows(content: dict[str, Any]) -> list[Row]:
    return [
        ("kind", f"the receipt of an {content['direction']}, format {content['target']}"),
        ("ids", compared_ids(content)),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
        ("files", "\n".join(content["files"])),
        ("note", "\n".join(content.get("notes", ()))),
    ]


def _audit_rows(content: dict[str, Any]) -> list[Row]:
    text = content["text"]
    failed = [f"{name}: {check['fault']}" for name, check in content["checks"].items() if not check["ok"]]
    return [
        ("kind", "the certificate of an audit"),
        ("verdict", "nothing is lost" if content["verdict"] else "NOT PROVEN"),
        ("text", f"{grouped(text['documents'])} documents, {text['bytes']:,} bytes, {text['corpus_digest']}"),
        ("tokens", f"{grouped(content['ids'])}, {content['token_bytes']:,} bytes"),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
        ("failed", "\n".join(failed)),
    ]


def verify_proof(path: str, kind: str) -> str:
    """One line about a valid receipt or audit. Raises `CorruptFile` where it, or a file that it names, is not."""
    content = _read_proof(path, kind)
    if kind == AUDIT:
        return _verify_audit(path, content)
    if content["direction"] == "export":
        for name, digest in content["files"].items():
            _verify_exported(path, name, digest)
    compared = f"{grouped(content['strings'])} texts compared" if content["verified"] else "nothing compared"
    return f"receipt of an {content['direction']}, {compared}, {len(content['files'])} files"


def _verify_exported(receipt: str, name: str, digest: str) -> None:
    """Raises `CorruptFile` unless the file beside the receipt has the digest that the receipt records."""
    file = Path(receipt).parent / name
    found = file_digest(file) if file.is_file() else None
    if found != digest:
        raise CorruptFile(
            f"{name!r} is not the file that was compared" if found else f"{name!r} is missing",
            where=f"{receipt}: sha256 {digest[:16]}…" + (f", the file has {found[:16]}…" if found else ""),
            fix="export it again",
            path=str(file),
        )


def _verify_audit(path: str, content: dict[str, Any]) -> str:
    text = content["text"]
    is_consistent = content["verdict"] == all(check["ok"] for check in content["checks"].values()) and (
        not content["verdict"] or content["token_bytes"] == text["bytes"]
    )
    if not (is_consistent and content["verdict"]):
        raise CorruptFile(
            f"{path} proves nothing" if is_consistent else f"{path} contradicts itself",
            where=path,
            fix="slmtok audit tok.json --on TEXT shows what is lost",
            path=path,
        )
    return f"certificate over {grouped(text['documents'])} documents, {text['bytes']:,} bytes: nothing is lost"

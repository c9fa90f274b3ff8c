"""Receipts and audit certificates as `slmtok info` shows them and `slmtok verify` judges them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from slmtok.cli import _kinds, _output
from slmtok.cli._numbers import grouped, in_bytes
from slmtok.cli._tables import Row, print_rows
from slmtok.errors import CorruptFile
from slmtok.files import file_digest

_NEEDED = {
    _kinds.RECEIPT: {"verified", "direction", "target", "library", "tokenizer", "strings", "bytes", "files"},
    _kinds.AUDIT: {"verdict", "tokenizer", "text", "ids", "token_bytes", "checks"},
}


def read(path: str, kind: str) -> dict[str, Any]:
    """The content of a receipt or certificate. Raises `CorruptFile`."""
    try:
        content = json.loads(Path(path).read_bytes())
        sound = content["version"] == 1 and _NEEDED[kind] <= set(content)
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise CorruptFile(
            f"{path} is no sound {kind}", where=path, fix="run the command that wrote it again, with --force", path=path
        )
    return dict(content)


def info(path: str, kind: str) -> _output.Outcome:
    """What `slmtok info` says of it."""
    content = read(path, kind)
    rows = _receipt_rows(content) if kind == _kinds.RECEIPT else _audit_rows(content)
    return _output.Outcome({"kind": kind, "path": path, **content}, lambda: print_rows(rows, title=path))


def _receipt_rows(content: dict[str, Any]) -> list[Row]:
    library = f"{content['library']} {content['library_version'] or ''}".rstrip()
    compared = f"equal ids for {grouped(content['strings'])} texts, {in_bytes(content['bytes'])}"
    return [
        ("what", f"the receipt of an {content['direction']}, format {content['target']}"),
        ("compared", f"{compared}, in {library}" if content["verified"] else "nothing"),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
        ("files", "\n".join(content["files"])),
        ("note", "\n".join(content.get("notes", ()))),
    ]


def _audit_rows(content: dict[str, Any]) -> list[Row]:
    text = content["text"]
    failed = [f"{name}: {check['fault']}" for name, check in content["checks"].items() if not check["ok"]]
    return [
        ("what", "the certificate of an audit"),
        ("verdict", "nothing is lost" if content["verdict"] else "NOT PROVEN"),
        ("text", f"{grouped(text['documents'])} documents, {text['bytes']:,} bytes, {text['corpus_digest']}"),
        ("tokens", f"{grouped(content['ids'])}, {content['token_bytes']:,} bytes"),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
        ("failed", "\n".join(failed)),
    ]


def verified(path: str, kind: str) -> str:
    """One line about a sound receipt or certificate. Raises `CorruptFile` where it, or a file it names, is not."""
    content = read(path, kind)
    if kind == _kinds.AUDIT:
        return _audited(path, content)
    if content["direction"] == "export":
        for name, digest in content["files"].items():
            _same(path, name, digest)
    compared = f"{grouped(content['strings'])} texts were compared" if content["verified"] else "nothing was compared"
    return f"receipt of an {content['direction']}, {compared}, {len(content['files'])} files"


def _same(receipt: str, name: str, digest: str) -> None:
    """Raises `CorruptFile` unless the file beside the receipt is the one that it names."""
    file = Path(receipt).parent / name
    found = file_digest(file) if file.is_file() else None
    if found != digest:
        raise CorruptFile(
            f"{name!r} is not the file that was compared" if found else f"{name!r} is missing",
            where=f"{receipt}: sha256 {digest[:16]}…" + (f", the file has {found[:16]}…" if found else ""),
            fix="export it again",
            path=str(file),
        )


def _audited(path: str, content: dict[str, Any]) -> str:
    text = content["text"]
    consistent = content["verdict"] == all(check["ok"] for check in content["checks"].values()) and (
        not content["verdict"] or content["token_bytes"] == text["bytes"]
    )
    if not (consistent and content["verdict"]):
        raise CorruptFile(
            f"{path} proves nothing" if consistent else f"{path} contradicts itself",
            where=path,
            fix="slmtok audit tok.json --on TEXT tells what is lost",
            path=path,
        )
    return f"certificate over {grouped(text['documents'])} documents, {text['bytes']:,} bytes: nothing is lost"

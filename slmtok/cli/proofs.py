"""What `info` and `verify` report of the small JSON files of slmtok: vocab.json, lock, receipt, audit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from slmtok.cli.output import Outcome, Row, counted, grouped, print_rows
from slmtok.envelope import read_envelope
from slmtok.errors import CorruptFile
from slmtok.files import file_digest
from slmtok.sizes import format_bytes

_REQUIRED_KEYS = {
    "receipt": {"verified", "direction", "target", "library", "tokenizer", "strings", "bytes", "files"},
    "audit": {"verdict", "tokenizer", "text", "ids", "token_bytes", "checks"},
}


def _described(path: str, kind: str, content: dict[str, Any], rows: list[Row]) -> Outcome:
    return Outcome({"kind": f"slmtok-{kind}", "path": path, **content}, lambda: print_rows(rows, title=path))


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
    rows = [
        ("kind", "vocabulary metadata for a model (vocab.json)"),
        ("ids", f"{grouped(content['n_vocab'])}, padded {grouped(content['padded_vocab'])}"),
        ("specials", "  ".join(f"{id} {role}" for role, id in content["specials"].items())),
        ("longest token", f"{max(content['byte_lengths'], default=0)} bytes"),
        ("fingerprint", content["fingerprint"]),
    ]
    return _described(path, "vocab", content, rows)


def verify_metadata(path: str, deep: bool) -> str:
    """One line about a valid vocab.json. Raises `CorruptFile`."""
    content = read_metadata(path)
    return f"vocab.json of {content['n_vocab']} ids, fingerprint {content['fingerprint'][:12]}"


def describe_lock(path: str) -> Outcome:
    """`slmtok info` of a lock."""
    from slmtok.training.lock import load_lock

    lock = load_lock(path)
    tokenizer, counts, corpus = lock.content["tokenizer"], lock.content["counts"], lock.content["corpus"]
    rows = [
        ("kind", "the lock of a tokenizer: slmtok reproduce trains it again"),
        ("tokenizer", f"{tokenizer['file']}, {grouped(tokenizer['n_vocab'])} ids, sha256 {tokenizer['sha256']}"),
        ("corpus", f"{counted(counts['documents'], 'document')}, {format_bytes(counts['bytes'])}"),
        ("files", grouped(len(corpus["files"]))),
        ("counts", counts["sha256"]),
        ("made by", lock.tool),
    ]
    return _described(path, "lock", {"tool": lock.tool, **lock.content}, rows)


def _read(path: str, kind: str) -> dict[str, Any]:
    """The payload of a receipt or an audit, and its `tool`. Raises `CorruptFile`, `UnsupportedVersion`."""
    envelope = read_envelope(Path(path).read_bytes(), kind, path, allow_floats=kind == "audit")
    if not _REQUIRED_KEYS[kind] <= set(envelope.payload):
        raise CorruptFile(
            f"{path} is not a valid {kind}",
            where=path,
            fix="run the command that wrote it again, with --force",
            path=path,
        )
    return {"tool": envelope.tool, **envelope.payload}


def compared_ids(receipt: dict[str, Any]) -> str:
    """What a receipt says of the comparison, in one line."""
    library = f"{receipt['library']} {receipt['library_version'] or ''}".rstrip()
    if not receipt["verified"]:
        return f"NOT compared with {library}"
    return f"equal ids in {library}: {grouped(receipt['strings'])} texts, {format_bytes(receipt['bytes'])}"


def describe_receipt(path: str) -> Outcome:
    """`slmtok info` of a receipt."""
    content = _read(path, "receipt")
    rows = [
        ("kind", f"the receipt of an {content['direction']}, format {content['target']}"),
        ("ids", compared_ids(content)),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
        ("files", "\n".join(content["files"])),
        ("note", "\n".join(content.get("notes", ()))),
    ]
    return _described(path, "receipt", content, rows)


def verify_receipt(path: str, deep: bool) -> str:
    """One line about a valid receipt. Raises `CorruptFile` unless the files beside it are those that it records."""
    content = _read(path, "receipt")
    files = content["files"] if content["direction"] == "export" else {}
    for name, digest in files.items():
        file = Path(path).parent / name
        found = file_digest(file) if file.is_file() else None
        if found != digest:
            raise CorruptFile(
                f"{name!r} is not the file that was compared" if found else f"{name!r} is missing",
                where=f"{path}: sha256 {digest[:16]}…" + (f", the file has {found[:16]}…" if found else ""),
                fix="export it again",
                path=str(file),
            )
    compared = f"{grouped(content['strings'])} texts compared" if content["verified"] else "nothing compared"
    return f"receipt of an {content['direction']}, {compared}, {len(content['files'])} files"


def audit_rows(content: dict[str, Any]) -> list[Row]:
    """What an audit found."""
    text, leak, baselines = content["text"], content.get("leak"), content.get("baselines")
    checks = [
        f"{'ok ' if check['ok'] else 'NO '} {name.replace('_', ' ')}{'' if check['ok'] else ': ' + check['fault']}"
        for name, check in content["checks"].items()
    ]
    bits = []
    if baselines:
        bits += [f"{order}-gram  {value:.3f} bits per byte" for order, value in baselines["ngram"].items()]
        bits += [f"{name:<6}  {baselines[name]['after_train']:.3f} after the training text" for name in ("bz2", "xz")]
    return [
        ("verdict", "nothing is lost" if content["verdict"] else "NOT PROVEN"),
        ("text", f"{counted(text['documents'], 'document')}, {format_bytes(text['bytes'])}, {text['bytes']:,} bytes"),
        ("tokens", f"{grouped(content['ids'])}, {content['token_bytes']:,} bytes"),
        ("checks", "\n".join(checks)),
        ("leak", f"{grouped(leak['documents'])} of {grouped(leak['of'])} documents were counted" if leak else ""),
        ("baselines", "\n".join(bits)),
    ]


def describe_audit(path: str) -> Outcome:
    """`slmtok info` of an audit."""
    content = _read(path, "audit")
    rows = [
        ("kind", "the certificate of an audit"),
        *audit_rows(content),
        ("corpus", content["text"]["corpus_digest"]),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
    ]
    return _described(path, "audit", content, rows)


def verify_audit(path: str, deep: bool) -> str:
    """One line about a valid audit. Raises `CorruptFile` unless it proves that nothing is lost."""
    content = _read(path, "audit")
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
    return f"certificate over {counted(text['documents'], 'document')}, {text['bytes']:,} bytes: nothing is lost"

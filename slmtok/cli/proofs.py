"""What `info` and `verify` report of the small JSON files of slmtok: vocab.json, lock, receipt, audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmtok.cli.output import Outcome, Row, counted, grouped, print_rows
from slmtok.sizes import format_bytes
from slmtok.vocabulary import load_metadata


def _described(path: str, kind: str, content: dict[str, Any], rows: list[Row]) -> Outcome:
    return Outcome({"kind": f"slmtok-{kind}", "path": path, **content}, lambda: print_rows(rows, title=path))


def describe_metadata(path: str) -> Outcome:
    """`slmtok info` of a vocab.json."""
    content = load_metadata(path)
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
    content = load_metadata(path)
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


def compared_ids(receipt: dict[str, Any]) -> str:
    """What a receipt says of the comparison, in one line."""
    library = f"{receipt['library']} {receipt['library_version'] or ''}".rstrip()
    if not receipt["verified"]:
        return f"NOT compared with {library}"
    return f"equal ids in {library}: {grouped(receipt['strings'])} texts, {format_bytes(receipt['bytes'])}"


def describe_receipt(path: str) -> Outcome:
    """`slmtok info` of a receipt."""
    from slmtok.formats.verification import load_receipt

    content = load_receipt(path)
    rows = [
        ("kind", f"the receipt of an {content['direction']}, format {content['target']}"),
        ("ids", compared_ids(content)),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
        ("files", "\n".join(content["files"])),
        ("note", "\n".join(content.get("notes", ()))),
    ]
    return _described(path, "receipt", content, rows)


def verify_receipt(path: str, deep: bool) -> str:
    """One line about a valid receipt. Raises `CorruptFile` unless it records the files beside it."""
    from slmtok.formats.verification import check_receipt

    content = check_receipt(path)
    compared = f"{grouped(content['strings'])} texts compared" if content["verified"] else "nothing compared"
    return f"receipt of an {content['direction']}, {compared}, {len(content['files'])} files"


def audit_rows(content: Mapping[str, Any]) -> list[Row]:
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
    from slmtok.analysis.audit import load_certificate

    content = load_certificate(path)
    rows = [
        ("kind", "the certificate of an audit"),
        *audit_rows(content),
        ("corpus", content["text"]["corpus_digest"]),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
    ]
    return _described(path, "audit", content, rows)


def verify_audit(path: str, deep: bool) -> str:
    """One line about a valid audit. Raises `CorruptFile` unless it proves that nothing is lost."""
    from slmtok.analysis.audit import check_certificate

    text = check_certificate(path)["text"]
    return f"certificate over {counted(text['documents'], 'document')}, {text['bytes']:,} bytes: nothing is lost"

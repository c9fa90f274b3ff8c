"""`slmtok info`: describe a file. `slmtok verify`: check that files are complete and unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.cli import counts_report, file_kinds, packed, proofs
from slmtok.cli.errors import error_dict
from slmtok.cli.files import TIKTOKEN, open_tokenizer
from slmtok.cli.options import argument, command, option
from slmtok.cli.output import ANSWER_NO, DONE, FAILED, Outcome, grouped, print_rows, settings, write_line
from slmtok.errors import CorruptFile, GoldenMismatch, MissingInput, SlmtokError, Unreadable
from slmtok.files import missing_input
from slmtok.sizes import format_bytes
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

_BY_SEVERITY = (DONE, ANSWER_NO, FAILED)
"""Statuses of files; the command has the last one that occurs. A file that is missing cannot be checked."""


@command("info", example="slmtok info tok.json")
@argument("file", metavar="FILE", help="A tokenizer, lock, counts, vocab.json, packed folder, or tiktoken:NAME.")
def info(file: str) -> Outcome:
    """Describe a file: what it is, sizes, specials, hashes, and how it was made."""
    if Path(file).is_dir():
        return packed.describe_data(file)
    kind = file_kinds.TOKENIZER if file.startswith(TIKTOKEN) else file_kinds.kind_of(file_kinds.read_head(file))
    if kind in _DESCRIBE:
        return _DESCRIBE[kind](file)
    if packed.is_packed(file):
        return packed.describe_data(file)
    raise CorruptFile(
        f"{file} is not a file of slmtok",
        limit="known: tokenizer files, locks, counts, vocab.json, packed folders, token files, tiktoken:NAME",
        fix="slmtok train writes a tokenizer file, slmtok vocab --metadata a vocab.json",
        path=file,
    )


def _describe_tokenizer(file: str) -> Outcome:
    tokenizer = open_tokenizer(file, verify=False)
    vocabulary, pattern = tokenizer.vocabulary, tokenizer.pattern
    size = None if file.startswith(TIKTOKEN) else Path(file).stat().st_size
    result: dict[str, object] = {
        "kind": file_kinds.TOKENIZER,
        "path": file,
        "bytes": size,
        "scheme": tokenizer.scheme,
        "layout": vocabulary.layout,
        "pattern": {"name": pattern.name, "regex": pattern.regex, "unicode": pattern.unicode},
        "n_vocab": tokenizer.n_vocab,
        "padded_vocab": tokenizer.padded_vocab,
        "merges": len(vocabulary.merges),
        "longest_token": max(vocabulary.byte_lengths.tolist(), default=0),
        "specials": [{"id": slot.id, "role": slot.role, "text": slot.text} for slot in tokenizer.specials.tokens],
        "options": tokenizer.options,
        "provenance": tokenizer.provenance,
        "fingerprint": tokenizer.fingerprint,
        "sha256": tokenizer.sha256,
    }

    def show() -> None:
        longest = max((token for _, token in vocabulary.items()), key=len)
        specials = [slot for slot in tokenizer.specials.tokens if slot.role is not None]
        learned = len(vocabulary.merges) or sum(token is not None for token in vocabulary.tokens)
        noun = "merges" if vocabulary.merges else "tokens"
        foreign = ", foreign layout" if vocabulary.layout == "foreign" else ""
        ids = f"{grouped(tokenizer.n_vocab)}, padded {grouped(tokenizer.padded_vocab)}; {grouped(learned)} {noun}"
        rows = [
            ("kind", f"tokenizer, scheme {tokenizer.scheme}{foreign}"),
            ("ids", ids),
            ("pattern", f"{pattern.name or 'custom'} (Unicode {pattern.unicode})\n{pattern.regex}"),
            ("specials", "  ".join(f"{slot.id} {slot.role} {slot.text}" for slot in specials)),
            ("longest token", f"{len(longest)} bytes: {escape_token(longest)}"),
            ("options", _aligned(tokenizer.options)),
            ("provenance", _aligned({key: value for key, value in tokenizer.provenance.items() if value is not None})),
            ("file", "" if size is None else format_bytes(size)),
            ("fingerprint", tokenizer.fingerprint),
            ("sha256", tokenizer.sha256),
        ]
        print_rows(rows, title=file)

    return Outcome(result, show)


def _aligned(values: dict[str, object]) -> str:
    width = max(map(len, values), default=0)
    return "\n".join(
        f"{key:<{width}}  {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
    )


_DESCRIBE = {
    file_kinds.TOKENIZER: _describe_tokenizer,
    file_kinds.RANKS: _describe_tokenizer,
    file_kinds.METADATA: proofs.describe_metadata,
    file_kinds.COUNTS: counts_report.describe_counts,
    file_kinds.LOCK: proofs.describe_lock,
    file_kinds.RECEIPT: proofs.describe_receipt,
    file_kinds.AUDIT: proofs.describe_audit,
}
"""What `info` shows of each kind of file."""


@command("verify", example="slmtok verify tok.json data/")
@argument("files", metavar="FILE...", nargs=-1, required=True, help="Tokenizer files, vocab.json, packed folders.")
@option("--deep", is_flag=True, help="Also encode and decode every token or document, and count unreachable tokens.")
def verify(files: tuple[str, ...], deep: bool) -> Outcome:
    """Check that files are complete and unchanged, and that tokenizers still give the ids that they recorded."""
    findings = [_verify_file(path, deep) for path in files]
    code = max((finding.pop("code") for finding in findings), key=_BY_SEVERITY.index)

    def show() -> None:
        for finding in findings:
            if not finding["ok"]:
                answer = "INVALID" if finding["checked"] else "NOT CHECKED"
                write_line(f"{finding['path']}: {answer}: {finding['error']['message']}")
            elif not settings().quiet:
                write_line(f"{finding['path']}: valid; {finding['what']}")

    return Outcome({"deep": deep, "files": findings}, show, code=code)


def _verify_file(path: str, deep: bool) -> dict[str, Any]:
    try:
        if not Path(path).exists():
            raise missing_input(path)
        what = _check(path, deep)
    except SlmtokError as error:
        checked = not isinstance(error, (MissingInput, Unreadable))
        code = ANSWER_NO if checked else FAILED
        return {"path": path, "ok": False, "checked": checked, "error": error_dict(error), "code": code}
    return {"path": path, "ok": True, "checked": True, "what": what, "code": DONE}


def _check(path: str, deep: bool) -> str:
    """One line about a valid file. Raises what is wrong with it."""
    if Path(path).is_dir():
        return packed.verify_data(path, deep=deep)
    kind = file_kinds.kind_of(file_kinds.read_head(path))
    if kind not in _DESCRIBE and packed.is_packed(path):
        return packed.verify_data(path, deep=deep)
    return _VERIFY.get(kind, _verify_tokenizer)(path, deep)


def _verify_tokenizer(path: str, deep: bool) -> str:
    tokenizer = open_tokenizer(path)
    found = f"scheme {tokenizer.scheme}, {tokenizer.n_vocab:,} ids, fingerprint {tokenizer.fingerprint[:12]}"
    return f"{found}; {_check_every_token(tokenizer, path)}" if deep else found


def _check_every_token(tokenizer: Tokenizer, path: str) -> str:
    """Encodes and decodes the bytes of every token. Raises `GoldenMismatch` where they are not equal."""
    items = list(tokenizer.vocabulary.items())
    rows = tokenizer.encode_batch([token for _, token in items])
    unreachable = 0
    for (id, token), ids in zip(items, rows, strict=True):
        if tokenizer.decode_bytes(ids) != token:
            raise GoldenMismatch(
                f"token {id} {token!r} changes when it is encoded and decoded",
                where=path,
                fix="report it: this is a fault of slmtok",
                path=path,
                id=id,
            )
        unreachable += ids.tolist() != [id]
    found = f"; {unreachable:,} of them encode to other ids" if unreachable else ""
    return f"all {len(items):,} tokens decode to their bytes{found}"


_VERIFY = {
    file_kinds.METADATA: proofs.verify_metadata,
    file_kinds.COUNTS: counts_report.verify_counts,
    file_kinds.RECEIPT: proofs.verify_receipt,
    file_kinds.AUDIT: proofs.verify_audit,
}
"""How `verify` checks each kind of file that is not a tokenizer: from (path, deep) to one line."""

"""`slmtok verify`: are these files sound? One line a file; status 3 when one is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from slmtok.cli import _counts_report, _kinds, _options, _output, _packed, _proofs
from slmtok.errors import GoldenMismatch, MissingInput, SlmtokError, Unreadable

_WORST = (_output.DONE, _output.ANSWER_NO, _output.FAILED)
"""Statuses of files: that of the command is the last among them. A file that is not there cannot be judged."""

_Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help="Tokenizer files, vocab.json, packed folders.", show_default=False)
]
_Deep = Annotated[
    bool, typer.Option("--deep", help="Also encode and decode every token or document, and look for tokens never used.")
]


def verify(
    files: _Files,
    deep: _Deep = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Check that files are whole and unchanged, and that tokenizers still give the ids that they recorded."""
    findings = [_judge(path, deep) for path in files]
    code = max((finding.pop("code") for finding in findings), key=_WORST.index)

    def show() -> None:
        for finding in findings:
            if not finding["ok"]:
                answer = "NOT SOUND" if finding["checked"] else "NOT CHECKED"
                sys.stdout.write(_output.printable(f"{finding['path']}: {answer}: {finding['error']['message']}\n"))
            elif not quiet:
                sys.stdout.write(_output.printable(f"{finding['path']}: sound; {finding['what']}\n"))

    return _output.Outcome({"deep": deep, "files": findings}, show, code=code)


def _judge(path: str, deep: bool) -> dict[str, Any]:
    try:
        if not Path(path).exists():
            raise MissingInput(f"no file {path!r}", where="slmtok verify", fix="check the name", path=path)
        what = _check(path, deep)
    except SlmtokError as error:
        checked = not isinstance(error, (MissingInput, Unreadable))
        code = _output.ANSWER_NO if checked else _output.FAILED
        return {"path": path, "ok": False, "checked": checked, "error": error.to_dict(), "code": code}
    return {"path": path, "ok": True, "checked": True, "what": what, "code": _output.DONE}


def _check(path: str, deep: bool) -> str:
    """One line about a sound file. Raises what is wrong with it."""
    import slmtok

    if Path(path).is_dir():
        return _packed.sound(path, deep=deep)
    data = _kinds.head(path)
    if _kinds.kind(data) == _kinds.UNKNOWN and _packed.is_packed(path):
        return _packed.sound(path, deep=deep)
    if _kinds.kind(data) == _kinds.METADATA:
        content = _kinds.metadata(path)
        return f"vocab.json of {content['n_vocab']} ids, fingerprint {content['fingerprint'][:12]}"
    if _kinds.kind(data) == _kinds.COUNTS:
        return _counts_report.verified(path, deep=deep)
    if _kinds.kind(data) in (_kinds.RECEIPT, _kinds.AUDIT):
        return _proofs.verified(path, _kinds.kind(data))
    tokenizer = slmtok.load(path, verify=True)
    told = f"scheme {tokenizer.scheme}, {tokenizer.n_vocab:,} ids, fingerprint {tokenizer.fingerprint[:12]}"
    return f"{told}; {_deep(tokenizer, path)}" if deep else told


def _deep(tokenizer: Any, path: str) -> str:
    """Every token's bytes encoded and decoded. Raises `GoldenMismatch` where they do not come back."""
    items = list(tokenizer.vocabulary.items())
    rows = tokenizer.encode_batch([token for _, token in items])
    unused = 0
    for (id, token), ids in zip(items, rows, strict=True):
        if tokenizer.decode_bytes(ids) != token:
            raise GoldenMismatch(
                f"token {id} {token!r} does not survive encoding and decoding",
                where=path,
                fix="report it: this is a fault of slmtok",
                path=path,
                id=id,
            )
        unused += ids.tolist() != [id]
    never = f"; {unused:,} of them encode to other ids" if unused else ""
    return f"all {len(items):,} tokens come back{never}"

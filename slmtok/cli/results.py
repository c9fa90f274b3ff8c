"""Results of other commands as inputs of a report: what `--json` printed, and certificates; each value is checked."""

from __future__ import annotations

import re
import shlex
from typing import Any

from slmtok import json_files, schema
from slmtok.analysis.audit import load_certificate
from slmtok.errors import OptionError
from slmtok.file_kinds import (
    AUDIT,
    CERTIFICATE,
    NAMES,
    PASSKEY,
    PROBE,
    PROMPT_SHEET,
    kind_of,
    kind_of_file,
    read_head,
    run_of,
)
from slmtok.files import free_name
from slmtok.pages.report import Findings
from slmtok.schema import Check
from slmtok.strict_json import FaultError

MAX_DEPTH = 16
_SCHEMA = re.compile(rb'\s*\{\s*"schema"\s*:\s*"(slmtok\.[a-z-]+/\d+)"')
_OF_MODELS = (CERTIFICATE, PASSKEY, PROBE, PROMPT_SHEET)
_PAIR = schema.table({"a": schema.number, "b": schema.number})
_COST = schema.table(
    {
        "string": schema.text,
        "count": schema.integer(),
        "a": schema.integer(),
        "b": schema.integer(),
        "extra": schema.integer(-schema.MAX_COUNT),
    },
    is_open=True,
)
_ONLY = schema.table({"n": schema.integer(), "first": schema.array(schema.text)}, is_open=True)
_TOKENIZER = schema.table(
    {
        "name": schema.text,
        "n_vocab": schema.integer(1),
        "tokens": schema.integer(),
        "unused_ids": schema.integer(),
        "variant_ids": schema.integer(),
        "bytes_per_token": schema.number,
        "tokens_per_word": schema.number,
        "single_token_share": schema.number,
        "renyi_efficiency": schema.number,
        "bytes_per_token_by_class": schema.mapping(schema.number),
        "bytes_per_token_by_domain": schema.mapping(schema.number),
    },
    is_open=True,
)
_TEXT = schema.table(
    {"documents": schema.integer(), "bytes": schema.integer(), "words": schema.integer()}, is_open=True
)
_FIRST = schema.table(
    {"place": schema.integer(), "a": schema.nullable(schema.text), "b": schema.nullable(schema.text)}, is_open=True
)
_RESULTS: dict[str, Check] = {
    "slmtok.eval/1": schema.table({"text": _TEXT, "tokenizers": schema.array(_TOKENIZER)}, is_open=True),
    "slmtok.diff/1": schema.table(
        {
            "same": schema.boolean,
            "a": schema.text,
            "b": schema.text,
            "identity": schema.mapping(schema.table({"a": schema.plain, "b": schema.plain, "same": schema.boolean})),
            "vocabulary": schema.table({"shared": schema.integer(), "only_a": _ONLY, "only_b": _ONLY}, is_open=True),
            "order": schema.table({"first": schema.nullable(_FIRST)}, is_open=True),
            "cost": schema.nullable(
                schema.table(
                    {
                        "bytes_per_token": _PAIR,
                        "by_class": schema.mapping(_PAIR),
                        "by_domain": schema.mapping(_PAIR),
                        "a_pays_more": schema.array(_COST),
                        "b_pays_more": schema.array(_COST),
                    },
                    is_open=True,
                )
            ),
        },
        is_open=True,
    ),
}
"""What a report reads of the `result` of a command, by its schema."""


def schema_of(head: bytes) -> str | None:
    """The schema of what a command printed with `--json`, by its beginning; "audit" for a certificate."""
    if kind_of(head) == AUDIT:
        return "audit"
    found = _SCHEMA.match(head)
    return None if found is None else found[1].decode()


def is_result(path: str) -> bool:
    """Whether a file is a certificate or what a command printed with `--json`."""
    return schema_of(read_head(path)) is not None


def read_findings(paths: list[str]) -> Findings:
    """The results in these files. Raises `OptionError` for files of another kind, `CorruptFile`, `MissingInput`."""
    found: dict[str, dict[str, dict[str, Any]]] = {"evals": {}, "diffs": {}, "audits": {}}
    for path in paths:
        name = schema_of(read_head(path))
        if name == "audit":
            found["audits"][path] = load_certificate(path)
        elif name in _RESULTS:
            kind = "evals" if name == "slmtok.eval/1" else "diffs"
            fix = f"run {name.partition('/')[0].replace('.', ' ')} --json again"
            found[kind][path] = read_printed(path, _RESULTS[name], fix)
        else:
            raise _not_shown(path, name)
    return Findings(**found)


def _not_shown(path: str, name: str | None) -> OptionError:
    """The error for a file that is no result of a tokenizer; a result of a model has a page of its own."""
    kind = kind_of_file(path)
    what = f"a result of {name}" if name else NAMES[kind] if kind in _OF_MODELS else "which is no result"
    fix = f"leave {path} out; slmtok eval and slmtok diff print a result with --json"
    if kind in _OF_MODELS:
        run = run_of(path)
        words = ["slm", "report", run or "RUN", *([] if run else ["--with", path]), "-o", free_name("report.html")]
        fix = f"{shlex.join(words)} shows it: it is a result of a model"
    return OptionError(
        f"a report does not show {path}, {what}",
        limit="a certificate of slmtok audit, or what slmtok eval --json or slmtok diff --json printed",
        fix=fix,
        option="with",
        path=path,
    )


def read_printed(path: str, check: Check, fix: str) -> dict[str, Any]:
    """The `result` that a command printed with `--json`. Raises `CorruptFile`, `MissingInput`, `Unreadable`."""

    def parse(data: bytes) -> dict[str, Any]:
        content = json_files.parse(data, _ENVELOPE, max_depth=MAX_DEPTH)
        if content["result"] is None:
            raise FaultError("it holds an error instead of a result")
        check(content["result"], "result")
        result: dict[str, Any] = content["result"]
        return result

    return json_files.load(path, "result", parse, fix=fix)


_ENVELOPE = schema.table({"schema": schema.text, "result": schema.nullable(schema.plain)}, is_open=True)

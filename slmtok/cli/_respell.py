"""Errors of the library as the command line says them: `vocab=300` is `--vocab 300`, `force=True` is `--force`.

The library names an option `name=value`, and `name=` where no value is meant. What stands in quotes is a user's own
text, a line that begins with `slmtok` is a command already, and both are left as they are.
"""

from __future__ import annotations

import ast
import re
import shlex

from slmtok.errors import SlmtokError

_NAMES = (
    "vocab", "scheme", "pattern", "ties", "min_count", "max_token_bytes", "max_token_chars", "forbid_regex", "require",
    "special", "allow_smaller", "format", "text_key", "document", "max_bytes", "max_chars", "doc_cap",
    "skip_malformed", "threads", "memory", "errors", "force", "seed", "separator", "text_template", "exclude", "sample",
    "allow_duplicate", "mix", "temperature", "keep", "ids", "unused_on",
    "max_docs", "streaming", "cache_dir", "domains", "unverified", "verify_on", "name", "ray",
    "val", "frame", "shard_tokens", "max_tokens", "max_chunks", "chunk_size", "split", "docs", "subset",
)  # fmt: skip
_ODD = {"domains": "domain"}
"""Names that are not spelled alike."""
_QUOTED = r"""(?<!\w)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|…[^…]*…"""
_LITERAL = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,;:)]+"""
_MENTION = re.compile(rf"(?P<own>{_QUOTED})|(?<![\w/.=-])(?P<name>{'|'.join(_NAMES)})=(?P<value>{_LITERAL})?")


def respelled(error: SlmtokError) -> SlmtokError:
    """The same error, its parts in the words of the command line."""
    error.fact = _respell(error.fact)
    for name in ("where", "limit", "fix"):
        part = getattr(error, name)
        if part is not None:
            setattr(error, name, _respell(part))
    limits = error.fields.get("limits")
    if isinstance(limits, list):
        error.fields["limits"] = list(map(_respell, limits))
    return error


def _respell(part: str) -> str:
    if part.startswith("slmtok "):
        return part
    return _MENTION.sub(_option, part).replace("name another output", "name another -o")


def _option(match: re.Match[str]) -> str:
    """`--name value` for one mention."""
    if match["own"] is not None:
        return match["own"]
    flag, value = "--" + _ODD.get(match["name"], match["name"]).replace("_", "-"), match["value"]
    if value is None or value == "True":
        return flag
    return f"{flag} {shlex.quote(ast.literal_eval(value)) if value[0] in _QUOTES else value}"


_QUOTES = "'\""

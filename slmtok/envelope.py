"""The envelope: the JSON form of lock, receipt, audit and certificate, which record how something was made.

docs/formats/envelope.md specifies it. No date, host or absolute path is in it: equal work gives equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slmtok import atomic, schema
from slmtok.errors import UnsupportedVersion
from slmtok.file_kinds import UNKNOWN, kind_of
from slmtok.json_files import corrupt, load
from slmtok.schema import Check
from slmtok.strict_json import FaultError, parse_object

VERSION = 2
MAX_DEPTH = 8
_VERSION_1 = {
    "slmtok-lock": "lock",
    "slmtok-receipt": "receipt",
    "slmtok-audit": "audit",
    "slm-certificate": "certificate",
}


def _tool() -> str:
    # Here, because `slm` reads and writes certificates without the engine.
    from slmtok._engine import VERSION as PACKAGE_VERSION

    return f"slmtok {PACKAGE_VERSION}"


@dataclass(frozen=True)
class Envelope:
    """A record of `kind`, made by `tool` from `inputs` (name to digest); `payload` is what the kind defines."""

    kind: str
    inputs: Mapping[str, str | None]
    payload: Mapping[str, Any]
    tool: str = field(default_factory=_tool)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        content = {
            "kind": self.kind,
            "version": VERSION,
            "tool": self.tool,
            "inputs": self.inputs,
            "payload": self.payload,
        }
        return (_dumps({**content, "sha256": content_digest(content)}, indent=1) + "\n").encode()

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the file whole or not at all. Raises `OutputExists`, `DiskFull`, `Unreadable`."""
        atomic.write(path, self.to_bytes(), force=force)


def content_digest(content: Mapping[str, Any]) -> str:
    """sha256 (hex) of an envelope's content without the key `sha256`, as JSON with sorted keys and no spaces."""
    bare = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(_dumps(bare, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _dumps(content: Mapping[str, Any], **style: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, **style)


def read_envelope(
    data: bytes, kind: str, name: str, payload: Check = schema.plain, *, allow_floats: bool = False
) -> Envelope:
    """The envelope in the bytes of the file `name`; `payload` checks what the kind defines.

    Raises `CorruptFile`, `UnsupportedVersion`.
    """
    try:
        content = parse_object(data, MAX_DEPTH, allow_floats=allow_floats)
        _check_version(content, kind, name)
        _ENVELOPE(content, "")
        if content["sha256"] != content_digest(content):
            raise FaultError("its content does not match its sha256; it was changed after it was made")
        payload(content["payload"], "payload")
    except FaultError as fault:
        raise corrupt(name, kind, fault, _FIX if kind_of(data) != UNKNOWN else f"name a {kind}; {_FIX}") from None
    return Envelope(kind, content["inputs"], content["payload"], content["tool"])


_FIX = "restore the file, or make it again"
TOKENIZER_KEYS: dict[str, Check] = {"fingerprint": schema.digest, "sha256": schema.digest, "n_vocab": schema.integer(1)}
"""How the payloads of receipts and audits identify a tokenizer."""
_SIZES = schema.table({"after_train": schema.number, "alone": schema.number})
BASELINES = schema.table(
    {
        "ngram": schema.mapping(schema.number, is_filled=True),
        "train_bytes": schema.integer(),
        "bytes": schema.integer(),
        "bz2": _SIZES,
        "xz": _SIZES,
    },
    {"train_bytes_all": schema.integer()},
)
"""What `slmtok.analysis.baselines` gives, in the payloads of audits and certificates."""
MAX_BASELINE_BYTES = 16_000_000
"""Limit of the training text and of the held-out text of baselines, which have the sizes used."""
MAX_XZ_DICT_BYTES = 16 << 20
"""A dictionary takes 11 times its size of memory; that of a shorter text has its size, and finds as much."""


def baseline_limits(found: Mapping[str, Any], scored_bytes: int) -> str:
    """Which parts of the texts these baselines take in; empty where it is all, `scored_bytes` of held-out text."""
    train, held_out = found["train_bytes"], found["bytes"]
    parts = []
    # An audit does not read the training text behind the limit.
    if train < found.get("train_bytes_all", 0) or train == MAX_BASELINE_BYTES:
        parts.append(f"the first {train:,} bytes of the training text")
    if held_out < scored_bytes:
        parts.append(f"the first {held_out:,} bytes of the text")
    if train + held_out > MAX_XZ_DICT_BYTES:
        parts.append(f"a dictionary of {MAX_XZ_DICT_BYTES >> 20} MiB for xz")
    return f"limited to {', '.join(parts)}" if parts else ""


_ENVELOPE = schema.table(
    {
        "kind": schema.text,
        "version": schema.choice(VERSION),
        "tool": schema.text,
        "inputs": schema.mapping(schema.nullable(schema.text)),
        "payload": schema.mapping(schema.plain),
        "sha256": schema.digest,
    }
)


def _check_version(content: Mapping[str, Any], kind: str, name: str) -> None:
    """Raises `UnsupportedVersion` for a file of this kind in another version, `FaultError` for another kind."""
    is_old = _VERSION_1.get(str(content.get("format"))) == kind
    if not is_old and "format" in content:
        raise FaultError(f"it is a file of the format {schema.shown(content['format'])}")
    if not is_old and content.get("kind") not in (None, kind):
        raise FaultError(f"its kind is {schema.shown(content['kind'])}, wrong kind of file")
    version = content.get("version")
    if is_old or (type(version) is int and version != VERSION):
        raise UnsupportedVersion(
            f"{name} is {'an' if kind[0] in 'aeiou' else 'a'} {kind} of version {schema.shown(version)}; "
            f"this package reads version {VERSION}",
            fix="make it again with this version of slmtok",
            path=name,
        )


def load_envelope(path: str, kind: str, payload: Check, *, allow_floats: bool = False) -> Envelope:
    """The envelope in a file. Raises `CorruptFile`, `UnsupportedVersion`, `MissingInput`, `Unreadable`."""
    return load(path, kind, lambda data: read_envelope(data, kind, path, payload, allow_floats=allow_floats), fix=_FIX)


def load_payload(path: str, kind: str, payload: Check, *, allow_floats: bool = False) -> dict[str, Any]:
    """The payload of a file, and its `tool`. Raises as `load_envelope`."""
    envelope = load_envelope(path, kind, payload, allow_floats=allow_floats)
    return {"tool": envelope.tool, **envelope.payload}

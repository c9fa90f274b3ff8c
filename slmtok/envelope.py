"""The envelope: the JSON form of lock, receipt, audit and certificate, which record how something was made.

docs/formats/envelope.md specifies it. No date, host or absolute path is in it: equal work gives equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from slmtok import atomic
from slmtok.errors import CorruptFile, UnsupportedVersion
from slmtok.files import read_limited
from slmtok.strict_json import FaultError, parse_object

VERSION = 2
KEYS = ("kind", "version", "tool", "inputs", "payload", "sha256")
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


def read_envelope(data: bytes, kind: str, name: str, *, allow_floats: bool = False) -> Envelope:
    """The envelope in the bytes of the file `name`. Raises `CorruptFile`, `UnsupportedVersion`."""
    try:
        content = parse_object(data, MAX_DEPTH, allow_floats=allow_floats)
        is_old = _VERSION_1.get(str(content.get("format"))) == kind
        if not is_old and content.get("kind") not in (None, kind):
            raise FaultError("wrong kind")
        if not is_old and "format" in content:
            raise FaultError(f"it is a file of the format {content['format']!r}")
        if is_old or content.get("version") != VERSION:
            raise UnsupportedVersion(
                f"{name} is {'an' if kind == 'audit' else 'a'} {kind} of version {content.get('version')}; "
                f"this package reads version {VERSION}",
                fix="make it again with this version of slmtok",
                path=name,
            )
        if sorted(content) != sorted(KEYS) or content["kind"] != kind:
            raise FaultError(f"its keys are {', '.join(map(str, content))}" if "kind" not in content else "wrong kind")
        if not isinstance(content["inputs"], dict) or not isinstance(content["payload"], dict):
            raise FaultError("inputs or payload is not an object")
        if content["sha256"] != content_digest(content):
            raise FaultError("its content does not match its sha256; it was changed after it was made")
    except (FaultError, UnicodeEncodeError) as fault:
        if isinstance(fault, UnicodeEncodeError):
            fault = FaultError("it holds half of a surrogate pair, which is no text")
        raise CorruptFile(
            f"{name} is not a valid {kind}: {fault}", where=name, fix="restore the file, or make it again", path=name
        ) from None
    return Envelope(kind, content["inputs"], content["payload"], str(content["tool"]))


def load_payload(path: str, kind: str, keys: Collection[str], *, allow_floats: bool = False) -> dict[str, Any]:
    """The payload of a file, which must have `keys`, and its `tool`. Raises as `read_envelope` and `read_file`."""
    envelope = read_envelope(read_limited(path, kind), kind, path, allow_floats=allow_floats)
    if not set(keys) <= set(envelope.payload):
        raise CorruptFile(
            f"{path} is not a valid {kind}",
            where=path,
            fix="run the command that wrote it again, with --force",
            path=path,
        )
    return {"tool": envelope.tool, **envelope.payload}

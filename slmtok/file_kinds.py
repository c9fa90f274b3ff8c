"""The kind of a file of slmtok or slmmodel, decided by its first bytes, and the error for a file of another kind."""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from itertools import islice
from pathlib import Path

from slmtok.errors import Unreadable, WrongFormat
from slmtok.files import read_file

TOKENIZER = "slmtok-tokenizer"
METADATA = "slmtok-vocab"
RANKS = "tiktoken ranks"
COUNTS = "slmtok-counts"
LOCK = "slmtok-lock"
RECEIPT = "slmtok-receipt"
AUDIT = "slmtok-audit"
DIGESTS = "slmtok-digests"
SHARD = "slmtok-shard"
MANIFEST = "slmtok-shards"
LAYOUT = "slmtok-layout"
CERTIFICATE = "slmtok-certificate"
PASSKEY = "slmtok-passkey"
PROBE = "slmtok-probe"
PROMPT_SHEET = "slmtok-prompts"
ABLATION = "slmtok-ablation"
ABLATION_LOCK = "slmtok-ablation-lock"
LOSSES = "slm-losses"
UNKNOWN = "unknown"

NAMES = {
    TOKENIZER: "a tokenizer file of slmtok",
    METADATA: "a vocab.json of slmtok",
    COUNTS: "a counts file",
    LOCK: "the lock of a tokenizer of slmtok",
    RECEIPT: "a receipt of slmtok",
    AUDIT: "an audit of slmtok",
    DIGESTS: "a file of document digests of slmtok count",
    SHARD: "a shard of packed data of slmtok",
    MANIFEST: "the manifest of packed data of slmtok",
    LAYOUT: "the metadata of packed data of slmtok",
    CERTIFICATE: "a certificate of slm eval",
    PASSKEY: "a result of slm passkey",
    PROBE: "a result of slm probe",
    PROMPT_SHEET: "a prompt sheet of slm prompts",
    ABLATION: "the result of an ablation",
    ABLATION_LOCK: "the lock of an ablation",
    LOSSES: "a file of losses of slm eval",
}
"""What a file of a known kind is."""
_JSON_TOOL = "python -m json.tool {}"
READERS = {
    CERTIFICATE: "slm eval --check {}",
    **dict.fromkeys((PASSKEY, PROBE, PROMPT_SHEET, ABLATION_LOCK), _JSON_TOOL),
    ABLATION: "slm report {}",
    LOSSES: "slm compare {} OTHER.losses",
    DIGESTS: "slmtok audit TOK --on TEXT --leak {}",
}
"""Files that slmtok info does not describe: the command that reads each."""
_MAKERS = {
    "certificate": "name a certificate: slm eval RUN writes RUN/eval/val.json",
    "lock": "name a lock, as slmtok train writes it",
    "tokenizer": "name a tokenizer file, as slmtok train writes it",
    "tokenizer file": "name a tokenizer file, as slmtok train writes it",
}
"""What to name instead of a file of another kind."""
WRITTEN_KINDS = {
    **dict.fromkeys(("count", "merge"), COUNTS),
    **dict.fromkeys(("train", "extend", "slice", "prune", "set-special", "import", "reproduce"), TOKENIZER),
    "audit": AUDIT,
}
"""The kinds of files that commands write."""
_RESULTS = ("passkey", "probe", "prompts", "ablation")
"""Kinds of results, which are called by their names in `NAMES`."""
_HEAD_BYTES = 4096
_JSON = re.compile(
    rb'\s*\{\s*"kind"\s*:\s*"(lock|receipt|audit|certificate|passkey|probe|prompts|ablation|ablation-lock)"\s*,\s*"version"'
    rb'|\s*\{[^\0]*?"format"\s*:\s*"slmtok-([a-z-]+)"'
)
_LOSSES = re.compile(rb'.{8}\{"__metadata__":\{"about":"\{.*?\\"format\\": \\"slm-losses\\"', re.DOTALL)
"""A safetensors file: the length of its header in 8 bytes, and the header."""
_RANKS = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")
_RUN_FILES = ("config.yaml", "SHA256SUMS", "fingerprint.json")


def read_head(path: str) -> bytes:
    """The first bytes of a file. Raises `MissingInput`, `Unreadable`."""
    if Path(path).exists() and not Path(path).is_file():
        raise Unreadable(
            f"{path!r} is not a regular file", where=path, fix="name a file, not a folder or a pipe", path=path
        )
    return read_file(path, _HEAD_BYTES)


def kind_of(head: bytes) -> str:
    """The kind of a file that begins with `head`."""
    if head.startswith(b"SLMCOUNT"):
        return COUNTS
    if head.startswith(b"SLMSHARD"):
        return SHARD
    if head.startswith(b"SLMDOCS1"):
        return DIGESTS
    if _LOSSES.match(head):
        return LOSSES
    if match := _JSON.match(head[:_HEAD_BYTES].removeprefix(BOM_UTF8)):
        return f"slmtok-{(match[1] or match[2]).decode()}"
    return RANKS if _RANKS.match(head) else UNKNOWN


def kind_of_file(path: str) -> str:
    """As `kind_of`, and `UNKNOWN` for what is no regular file, such as a pipe, or cannot be read."""
    try:
        if Path(path).is_file():
            with Path(path).open("rb") as file:
                return kind_of(file.read(_HEAD_BYTES))
    except (OSError, ValueError):
        pass
    return UNKNOWN


def is_run(folder: str | Path) -> bool:
    """Whether a folder is a run of slm."""
    return all((Path(folder) / name).is_file() for name in _RUN_FILES)


def run_of(path: str | Path) -> str | None:
    """The run of slm that a file is in; None for other files."""
    return next((str(folder) for folder in Path(path).parents if is_run(folder)), None)


def has_manifest(folder: str | Path) -> bool:
    """Whether a folder is packed data, sound or damaged."""
    return (Path(folder) / "manifest.json").is_file()


_MAX_SCANNED = 1000
"""Entries of a folder in which packed data are looked for."""


def data_in(folder: str | Path) -> list[str]:
    """The paths of the packed data in a folder, sorted; of a large folder those among its first entries."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MAX_SCANNED)]
    except OSError:
        return []
    return sorted(str(path) for path in map(Path(folder).joinpath, names) if has_manifest(path))


def lacks_of_run(folder: str | Path) -> list[str]:
    """The files that a folder with a part of a run lacks; none of a whole one, and of another folder."""
    names = (*_RUN_FILES, "model.safetensors")
    found = {name for name in names if (Path(folder) / name).is_file()}
    is_other = is_hugging_face_model(folder) or not found
    return [] if is_other else [name for name in names if name not in found]


def is_hugging_face_model(folder: str | Path) -> bool:
    """Whether a folder is a model, as `save_pretrained` of transformers writes it."""
    names = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "tokenizer.json")
    return (Path(folder) / "config.json").is_file() and any((Path(folder) / name).is_file() for name in names)


def wrong_kind(path: str, kind: str, wanted: str, suffix: str, remedy: str | None = None) -> WrongFormat | None:
    """The error for a sound file of another kind where `wanted` (`tokenizer file`) is meant; None for unknown kinds.

    The fix names the file of that suffix beside it, where there is one; `remedy` stands before its name.
    """
    if kind not in NAMES:
        return None
    beside = [Path(path).with_suffix(suffix), Path(path).with_name(f"tok{suffix}")]
    wanted_kind = TOKENIZER if wanted.startswith("tokenizer") else f"slmtok-{wanted}"
    noun = NAMES[wanted_kind] if wanted in _RESULTS else f"a {wanted}"
    near = next((str(each) for each in beside if each != Path(path) and kind_of_file(str(each)) == wanted_kind), None)
    return WrongFormat(
        f"{path} is {NAMES[kind]}, not {noun}",
        where=path,
        fix=f"{remedy or f'name the {wanted} beside it'}: {near}" if near else _MAKERS.get(wanted, f"name {noun}"),
        path=path,
    )

"""The lockfile: all that is needed to make a tokenizer again and to see that it is the same.

docs/formats/lock.md specifies it. No date, host or absolute path is in it: equal work gives equal locks.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import _engine
from slmtok.errors import CorruptFile, MissingInput, Unreadable, UnsupportedVersion
from slmtok.files import file_digest
from slmtok.strict_json import FaultError, parse_object
from slmtok.vocabulary import BEHAVIOUR

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer
    from slmtok.training.api import Trained
    from slmtok.training.counts import PretokenCounts
    from slmtok.training.options import TrainOptions

FORMAT = "slmtok-lock"
VERSION = 1
MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class Lock:
    """One lock as it stands in its file."""

    content: Mapping[str, Any]
    path: str

    def beside(self, name: str) -> Path:
        """A path in the folder of the lock."""
        return Path(self.path).parent / name


def beside(output: str) -> str:
    """The lock of a tokenizer file: `tok.lock` of `tok.json`."""
    place = Path(output)
    return str(place.with_suffix(".lock") if place.suffix != ".lock" else place.with_name(place.name + ".lock"))


def encoded(trained: Trained, options: TrainOptions, corpus: Mapping[str, Any], output: str) -> bytes:
    """The bytes of the lock of a run. `corpus` is what `inputs` gives."""
    counts, tokenizer = trained.counts, trained.tokenizer
    content = {
        "format": FORMAT,
        "version": VERSION,
        "package": f"slmtok {_engine.VERSION}",
        "behaviour": BEHAVIOUR,
        "unicode": _engine.UNICODE_VERSION,
        "tokenizer": {
            "file": Path(output).name,
            "n_vocab": tokenizer.n_vocab,
            "fingerprint": tokenizer.fingerprint,
            "sha256": tokenizer.sha256,
            "golden_sha256": golden_digest(tokenizer),
        },
        "counts": of_counts(counts),
        "corpus": corpus,
        "reading": dict(sorted(counts.options.items())),
        "training": _training(options, tokenizer),
    }
    return (json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def of_counts(counts: PretokenCounts) -> dict[str, Any]:
    """What a lock says of counts."""
    return {
        "sha256": counts.sha256,
        "scheme": counts.scheme,
        "pattern": counts.native.pattern.regex,
        "corpus_digest": counts.stats.corpus_digest,
        "pieces": sum(part.native.pieces for part in counts.domains),
        "min_count": counts.least,
        **asdict(counts.totals),
    }


def golden_digest(tokenizer: Tokenizer) -> str:
    """sha256 of the golden vectors, as their ids."""
    from slmtok.tokenizer_file import GOLDEN_TEXTS

    ids = [tokenizer.encode_list(text) for text in GOLDEN_TEXTS]
    return hashlib.sha256(json.dumps(ids, separators=(",", ":")).encode()).hexdigest()


def _training(options: TrainOptions, tokenizer: Tokenizer) -> dict[str, Any]:
    special = {token.role: token.text for token in tokenizer.specials.tokens if token.role is not None}
    mix = {name: str(value) for name, value in sorted(options.mix.items())}
    vocab = tokenizer.options["vocab"]
    return {**options.recorded(), "vocab": vocab, "scheme": options.scheme, "special": special, "mix": mix}


# --- inputs -----------------------------------------------------------------------------------------------------------


def inputs(files: Sequence[str], output: str) -> dict[str, Any]:
    """The files of a corpus with their digests. The root is told, from the folder of the lock, for relative paths."""
    plain = [path for path in files if Path(path).is_file()]
    if not plain or len(plain) < len(files):
        return {"root": None, "files": [{"path": _told(path), "sha256": None} for path in files]}
    folder = os.path.commonpath([str(Path(path).parent) for path in plain]) if _mixable(plain) else ""
    relative = not any(Path(path).is_absolute() for path in (*plain, output))
    root = Path(os.path.relpath(folder or ".", Path(output).parent)).as_posix() if relative else None
    listed = [
        {"path": Path(os.path.relpath(path, folder or ".")).as_posix(), "sha256": file_digest(path)} for path in plain
    ]
    return {"root": root, "files": listed}


def _mixable(paths: Sequence[str]) -> bool:
    return len({Path(path).is_absolute() for path in paths}) == 1


def _told(path: str) -> str:
    return Path(path).name if Path(path).is_absolute() else path


# --- reading ----------------------------------------------------------------------------------------------------------

_KEYS = ("package", "behaviour", "unicode", "tokenizer", "counts", "corpus", "reading", "training")


def load_lock(path: str | os.PathLike[str]) -> Lock:
    """Reads a lock. Raises `MissingInput`, `Unreadable`, `CorruptFile`, `UnsupportedVersion`."""
    name = os.fspath(path)
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise MissingInput(f"no file {name!r}", where="slmtok reproduce", fix="check the name", path=name) from None
    except OSError as error:
        raise Unreadable(
            f"cannot read {name!r}: {error.strerror}", where=name, fix="name a lock that slmtok train wrote", path=name
        ) from error
    try:
        content = parse_object(data, 5)
        if content.get("format") != FORMAT:
            raise FaultError(f"its format is {content.get('format')!r}, not {FORMAT!r}")
        if content.get("version") == VERSION:
            _check(content)
    except FaultError as fault:
        raise CorruptFile(
            f"{name} is not a sound lock: {fault}", where=name, fix="slmtok train writes one beside tok.json", path=name
        ) from None
    _check_versions(content, name)
    return Lock(content, name)


def _check(content: Mapping[str, Any]) -> None:
    missing = [key for key in _KEYS if key not in content]
    tables = ("tokenizer", "counts", "corpus", "reading", "training")
    if missing or not all(isinstance(content[key], dict) for key in tables):
        raise FaultError(f"it lacks {', '.join(missing) or 'a table'}")
    for table, key in (("tokenizer", "sha256"), ("counts", "sha256"), ("training", "vocab"), ("corpus", "files")):
        if key not in content[table]:
            raise FaultError(f"its {table} has no {key!r}")


def _check_versions(content: Mapping[str, Any], name: str) -> None:
    known = {"version": VERSION, "behaviour": BEHAVIOUR, "unicode": _engine.UNICODE_VERSION}
    for key, value in known.items():
        if content.get(key) != value:
            raise UnsupportedVersion(
                f"{name} has {key} {content.get(key)}",
                limit=f"this package has {key} {value}",
                fix=f"install the version that made it: {content.get('package')}",
                path=name,
            )

"""Making a tokenizer again from its lock, and finding the first thing that differs where it is another one."""

from __future__ import annotations

import os
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.aliases import Progress
from slmtok.errors import MissingInput, SlmtokError
from slmtok.files import file_digest
from slmtok.training.api import count
from slmtok.training.counts import PretokenCounts
from slmtok.training.lock import Lock, of_counts
from slmtok.training.options import TrainOptions
from slmtok.training.run import learn

if TYPE_CHECKING:
    from slmtok.schemes import Learned
    from slmtok.tokenizer import Tokenizer
    from slmtok.vocabulary import Vocabulary


@dataclass(frozen=True)
class Difference:
    """The first thing that is not as the lock says: what, as it is locked, as it is found."""

    what: str
    locked: object
    found: object

    def __str__(self) -> str:
        return f"{self.what}: the lock says {self.locked}, found {self.found}"


def reproduce(
    lock: Lock,
    *,
    corpus: str | os.PathLike[str] | None = None,
    counts: Sequence[str | os.PathLike[str]] = (),
    threads: int = 0,
    memory: int | str | None = None,
    progress: Progress | None = None,
) -> Difference | None:
    """Counts again, or loads `counts`, trains again, and compares; None where all is equal.

    corpus: the folder that the paths of the lock are meant from; None is the place that the lock remembers. Raises
    `MissingInput` where there is neither, and what reading and training raise.
    """
    if counts:
        made = PretokenCounts.load(*counts)
    else:
        files, difference = _inputs(lock, corpus)
        # Files that differ need not: the same documents may lie in another container. The counts decide.
        missing = difference if difference is not None and difference.found == "missing" else None
        if missing is not None:
            return missing
        made = _count(lock, files, threads, memory, progress)
        if made.sha256 != lock.content["counts"]["sha256"] and difference is not None:
            return difference
    return _of_counts(lock, made) or _retrained(lock, made, progress)


def _inputs(lock: Lock, corpus: str | os.PathLike[str] | None) -> tuple[list[str], Difference | None]:
    """The files of the corpus, and the first that is not as it was."""
    listed, root = lock.content["corpus"]["files"], lock.content["corpus"].get("root")
    if not listed:
        raise MissingInput(
            "the lock names no text: the tokenizer was trained from counts",
            where=lock.path,
            fix=f"slmtok reproduce {lock.path} --counts all.counts",
        )
    unnamed = [entry["path"] for entry in listed if entry["sha256"] is None]
    if unnamed:
        raise MissingInput(
            f"the lock cannot name its corpus by files: {unnamed[0]}",
            where=lock.path,
            fix=f"slmtok reproduce {lock.path} --counts all.counts",
        )
    if corpus is None and root is None:
        raise MissingInput(
            "the lock does not say where its corpus lies",
            where=lock.path,
            limit="it remembers relative paths alone",
            fix=f"slmtok reproduce {lock.path} --corpus FOLDER",
        )
    base = Path(corpus) if corpus is not None else lock.beside(str(root))
    files = [str(base / entry["path"]) for entry in listed]
    for entry, path in zip(listed, files, strict=True):
        if not Path(path).is_file():
            return files, Difference(f"input {entry['path']}", entry["sha256"], "missing")
    for entry, path in zip(listed, files, strict=True):
        found = file_digest(path)
        if found != entry["sha256"]:
            return files, Difference(f"sha256 of input {entry['path']}", entry["sha256"], found)
    return files, None


def _count(
    lock: Lock, files: list[str], threads: int, memory: int | str | None, progress: Progress | None
) -> PretokenCounts:
    scheme, pattern = lock.content["counts"]["scheme"], lock.content["counts"]["pattern"]
    from slmtok.schemes import SCHEMES

    own = pattern if SCHEMES[scheme].own_pattern else None
    reading = reading_of(lock.content["reading"])
    return count(list(files), scheme=scheme, pattern=own, threads=threads, memory=memory, progress=progress, **reading)


def reading_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `slmtok.count` from options as files record them."""
    given = {name: value for name, value in options.items() if name != "mix"}
    if given.get("sample") is not None:
        given["sample"] = float(given["sample"])
    if "domains" in given:
        domains: dict[str, list[str]] = {}
        for entry in given["domains"]:
            name, _, glob = entry.partition("=")
            domains.setdefault(name, []).append(glob)
        given["domains"] = domains
    return given


def _of_counts(lock: Lock, counts: PretokenCounts) -> Difference | None:
    found, locked = of_counts(counts), lock.content["counts"]
    if found["sha256"] == locked["sha256"]:
        return None
    for key in ("pattern", "scheme", "documents", "bytes", "corpus_digest", "pieces", "min_count"):
        if found[key] != locked.get(key):
            return Difference(key.replace("_", " "), locked.get(key), found[key])
    return Difference("sha256 of the counts", locked["sha256"], found["sha256"])


def options_of(lock: Lock) -> TrainOptions:
    """The options of training."""
    given = dict(lock.content["training"])
    given["require"] = tuple(a2b_base64(token) for token in given["require"])
    return TrainOptions(**given)


def _retrained(lock: Lock, counts: PretokenCounts, progress: Progress | None) -> Difference | None:
    tokenizer, learned = learn(counts, options_of(lock), progress)
    locked = lock.content["tokenizer"]
    if tokenizer.sha256 == locked["sha256"]:
        return None
    original = _original(lock)
    if original is not None and original.fingerprint != tokenizer.fingerprint:
        return first_difference(original.vocabulary, tokenizer, learned)
    for key in ("n_vocab", "fingerprint"):
        if getattr(tokenizer, key) != locked[key]:
            return Difference(key, locked[key], getattr(tokenizer, key))
    return Difference("sha256 of the tokenizer file", locked["sha256"], tokenizer.sha256)


def _original(lock: Lock) -> Tokenizer | None:
    """The tokenizer of the lock, where it lies beside it unchanged."""
    from slmtok.tokenizer import load

    try:
        tokenizer = load(lock.beside(lock.content["tokenizer"]["file"]), verify=False)
    except SlmtokError:
        return None
    return tokenizer if tokenizer.fingerprint == lock.content["tokenizer"]["fingerprint"] else None


def first_difference(original: Vocabulary, made: Tokenizer, learned: Learned) -> Difference:
    """The first merge, or token, that is another one."""
    ours = made.vocabulary
    old, new = (original.merges, ours.merges) if original.merges or ours.merges else (original.tokens, ours.tokens)
    at = next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new))
    )
    what = f"{'merge' if ours.scheme == 'bpe' else 'token'} {at}"
    return Difference(what, _shown(original, old, at), _shown(ours, new, at, learned))


def _shown(vocabulary: Vocabulary, items: Sequence[Any], at: int, learned: Learned | None = None) -> str:
    if at >= len(items):
        return "none"
    item = items[at]
    if isinstance(item, bytes):
        told = repr(item)
    else:
        told = " + ".join(repr(vocabulary.token_bytes(part)) for part in item[:2])
    return told if learned is None else f"{told}, which occurs {learned.counts[at]:,} times"

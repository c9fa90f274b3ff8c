"""Remedies for a comparison of two files of losses that lacks one of them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path

from slmtok.cli.errors import LACKING
from slmtok.cli.files import names_tokenizer
from slmtok.cli.options import Habit
from slmtok.file_kinds import LOSSES, is_run, kind_of_file
from slmtok.files import free_name, read_file, resolved

_DOCUMENTS = re.compile(rb'\\"documents\\": \\"([0-9a-f]{64})\\"')
_HEAD_BYTES = 1 << 12
"""Bytes of a file of losses in which its metadata name the digest of the documents."""
_MAX_SCANNED = 1000
"""Entries of a folder among which the other file is looked for."""


def run_of(path: str) -> str | None:
    """The run that a path names, or whose file it is; None for others, and for losses in the folder of a run."""
    if is_run(path):
        return path
    folder = os.path.dirname(path)  # noqa: PTH120
    is_part = bool(folder) and os.path.isfile(path) and is_run(folder) and kind_of_file(path) != LOSSES  # noqa: PTH113
    return folder if is_part else None


def lacking_losses(command: str, *, needs_text: bool = False) -> dict[str, Habit]:
    """For a missing A or B: the line with the other file of losses in the folder, else the lines that write one.

    "" where A and B are both missing and the folder has not exactly two, and where no losses are given.
    """

    def remedy(missing: str | None, arguments: Sequence[str]) -> str:
        texts = [text for flag, text in pairwise(arguments) if flag == "--on"]
        arguments = [word if word in texts else run_of(word) or word for word in arguments]
        if tokenizers := [word for word in arguments if word not in texts and names_tokenizer(word)]:
            on = [*chain(*(("--on", text) for text in texts))]
            return f"{shlex.join(['slmtok', 'diff', tokenizers[0], 'TOK', *on])}  # {tokenizers[0]} is a tokenizer"
        places = [word for word in arguments if word not in texts and (is_run(word) or kind_of_file(word) == LOSSES)]
        rest = [word for word in arguments if word not in places]
        if needs_text and not texts:
            texts = ["TEXT"]
            rest += ["--on", *texts]
        runs = [*filter(is_run, places)]
        others = [] if runs else [*_losses_beside(places)]
        if (missing == "B") != bool(places):
            return ""
        if len(places) + len(others) == 2:
            return shlex.join([*command.split(), *places, *others, *rest])
        if missing == "A":
            return ""
        on = [*chain(*(("--on", text) for text in texts))]
        first = free_name(f"{resolved(places[0]).name}.losses") if runs else places[0]
        written = {places[0]: first} if runs else {}
        written["RUN"] = free_name("b.losses")
        scored = [shlex.join(["slm", "eval", run, *on, "--losses", file]) for run, file in written.items()]
        return " && ".join([*scored, shlex.join([*command.split(), first, written["RUN"], *rest])])

    return {LACKING: remedy}


def _losses_beside(files: Sequence[str]) -> Iterator[str]:
    """The other files of losses in the folder of the first file, else in the working folder, of one text."""
    folder = os.path.dirname(files[0]) if files else ""  # noqa: PTH120
    entries = sorted(islice(Path(folder).glob("*.losses"), _MAX_SCANNED))
    others = [path for path in map(str, entries) if path not in files and kind_of_file(path) == LOSSES]
    compared = _documents_of(next(iter([*files, *others]), ""))
    return (path for path in others if compared in (None, _documents_of(path)))


def _documents_of(path: str) -> bytes | None:
    """The digest of the documents of a file of losses; None where it has none."""
    found = _DOCUMENTS.search(read_file(path, _HEAD_BYTES)) if path else None
    return found and found[1]

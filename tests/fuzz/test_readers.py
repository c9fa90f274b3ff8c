"""Files whose structure was edited: every command reads them, or refuses them by an error that names file and field.

Here a share of the edits, drawn evenly, each read by one command, and all findings of earlier runs (`findings.jsonl`).
All of them, then random ones until each reader has used SLMTOK_FUZZ_SECONDS of processor time: `make fuzz-files`.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import readers
from model_readers import MODEL_READERS
from mutations import edited, every_edit, keys_of, some_edits
from readers import READERS, EscapedError, Reader

SECONDS = float(os.environ.get("SLMTOK_FUZZ_SECONDS", "0"))
SAMPLE = 24
"""Edits of each reader in a run of all tests; the commands take turns."""
FINDINGS = Path(__file__).parent / "findings.jsonl"

ALL = {**READERS, **MODEL_READERS}
pytestmark = pytest.mark.timeout(20 * SECONDS + 1200)


class Fuzzed:
    """One reader with its sample, in a folder of its own."""

    def __init__(self, name: str, reader: Reader) -> None:
        reader.make()
        self.name, self.reader, self.path = name, reader, Path(reader.file)
        self.content = reader.parse(self.path.read_bytes())
        folder = Path(reader.writes) if reader.writes else self.path
        files = folder.rglob("*") if folder.is_dir() else [folder]
        self.saved = {path: path.read_bytes() for path in files if path.is_file()}
        self.keys = set(keys_of(self.content))
        self.tried = self.refused = 0

    def restore(self) -> None:
        """The sample as it was made."""
        if self.reader.writes:
            for path in Path(self.reader.writes).rglob("*"):
                if path.is_file() and path not in self.saved:
                    path.unlink()
        for path, data in self.saved.items():
            path.write_bytes(data)

    def attempt(self, edits: list[Any], commands: list[list[str]] | None = None) -> str | None:
        """What is wrong with the answers of commands (all of the reader) to these edits; None if nothing is."""
        content = edited(self.content, edits)
        try:
            data = self.reader.write(content)
        except (TypeError, ValueError, KeyError, AttributeError):
            # The format cannot hold it.
            return None
        for argv in commands or self.reader.commands:
            self.restore()
            self.path.write_bytes(data)
            self.reader.after()
            try:
                error = readers.run(self.reader.main, argv)
            except EscapedError as escaped:
                return str(escaped)
            self.tried += 1
            if error is not None:
                self.refused += 1
                fault = self.fault_of(error, edits, content)
                if fault:
                    return f"{' '.join(argv)}: {fault}: {error['message']}"
        return None

    def fault_of(self, error: dict[str, Any], edits: list[Any], content: Any) -> str | None:
        """What an error does not say."""
        text = error["message"]
        named = any(name in text for name in (self.path.name, self.path.parent.name, *self.reader.names) if name)
        if not named:
            return "the file is not named"
        added = {ascii(edit[2])[1:-1] for edit in edits if edit[0] == "add"}
        words = {*self.keys, *self.reader.names, *added, *filter(None, map(str, keys_of(content)))}
        if not any(word in text for word in words) and "not a file that slmtok info describes" not in text:
            return "no field is named"
        return None


@pytest.fixture
def fuzzed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fuzzed]:
    monkeypatch.chdir(tmp_path)
    yield Fuzzed(request.param, ALL[request.param])


def findings(name: str) -> list[list[Any]]:
    """Edits that this reader once did not bear."""
    found = map(json.loads, FINDINGS.read_text(encoding="utf-8").splitlines())
    return [finding["edits"] for finding in found if finding["reader"] == name]


def fails(fuzzed: Fuzzed, edits: list[Any], fault: str) -> str:
    line = json.dumps({"reader": fuzzed.name, "edits": edits})
    return f"{fault}\nadd this line to {FINDINGS.name}, once it is mended:\n{line}"


@pytest.mark.parametrize("fuzzed", ALL, indirect=True)
def test_edited_files_are_read_or_refused(fuzzed: Fuzzed) -> None:
    assert fuzzed.attempt([]) is None and not fuzzed.refused, "the sample itself is refused"
    every = [[edit] for edit in every_edit(fuzzed.content)]
    chance, commands = random.Random(21), fuzzed.reader.commands
    tried = [(edits, commands) for edits in findings(fuzzed.name)]
    if SECONDS:
        tried += [(edits, commands) for edits in every]
    else:
        sample = chance.sample(every, min(SAMPLE, len(every)))
        tried += [(edits, [commands[number % len(commands)]]) for number, edits in enumerate(sample)]
    began, faults = time.process_time(), []
    for edits, some in tried:
        fault = fuzzed.attempt(edits, some)
        faults += [fails(fuzzed, edits, fault)] if fault else []
    while time.process_time() - began < SECONDS:
        edits = some_edits(fuzzed.content, chance)
        fault = fuzzed.attempt(edits)
        faults += [fails(fuzzed, edits, fault)] if fault else []
    used = time.process_time() - began
    sys.stdout.write(
        f"{fuzzed.name}: {fuzzed.tried:,} reads, {fuzzed.refused:,} refused, {len(faults)} faults, {used:.0f} s\n"
    )
    assert not faults, "\n\n".join(faults[:5])
    assert fuzzed.refused > fuzzed.tried / 10

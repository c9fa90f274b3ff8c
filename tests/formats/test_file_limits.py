"""Small files that would need much memory or time: each is refused before it does."""

from __future__ import annotations

import os
import re
import time
import tracemalloc
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from samples import samples
from test_tokenizer_refusals import seal

import slmmodel.json_files
import slmtok
from slmmodel.vocab import MAX_BYTES
from slmtok import errors, files, json_files
from slmtok.analysis.audit import load_certificate
from slmtok.formats.verification import load_receipt
from slmtok.shards import plan
from slmtok.shards.format import read_manifest
from slmtok.shards.journal import Journal
from slmtok.strict_json import FaultError, parse_object
from slmtok.tokenizer_file import TAIL
from slmtok.training.lock import load_lock
from slmtok.vocab_json import load_metadata
from slmtok.vocabulary import MAX_TOKEN_BYTES, MAX_TOTAL_BYTES

DOUBLINGS = [(113, 113), *((id, id) for id in range(272, 300))]
"""Each token is twice the one before it: the last would have 2^29 bytes, all together 2^30."""
NEARLY_A_MEBIBYTE = DOUBLINGS[:19]
"""The last token, 290, has 2^19 bytes."""


def with_merges(merges: list[tuple[int, int]]) -> bytes:
    """A tokenizer file of these merges, its digest right."""
    rows = ",\n".join(f"[{left},{right}]" for left, right in merges)
    head = re.sub(
        rb'"merges":\[\n.*?\],\n"options"', f'"merges":[\n{rows}],\n"options"'.encode(), sample(), flags=re.DOTALL
    )
    return seal(head)


def sample() -> bytes:
    return samples()["bpe"].to_bytes()[:-TAIL]


def test_a_token_that_doubles_is_refused_at_its_limit() -> None:
    data = with_merges(DOUBLINGS)
    assert len(data) < 6000
    tracemalloc.start()
    try:
        with pytest.raises(errors.InvalidMerges, match=r"merge 20 .* spells a token of 2,097,152 bytes") as caught:
            slmtok.Tokenizer.from_bytes(data, source="bad.json")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert f"{MAX_TOKEN_BYTES:,} bytes in a token" in str(caught.value) and "bad.json" in str(caught.value)


def test_the_sum_of_tokens_is_limited() -> None:
    long = [(290, byte) for byte in range(16, 272)]
    data = with_merges(NEARLY_A_MEBIBYTE + long)
    with pytest.raises(errors.InvalidMerges, match="bytes of tokens") as caught:
        slmtok.Tokenizer.from_bytes(data, source="bad.json")
    assert f"{MAX_TOTAL_BYTES:,} in all of them" in str(caught.value)


def test_an_error_does_not_print_a_long_token() -> None:
    with pytest.raises(errors.InvalidMerges, match=r"524,288 bytes\), as merge 18 does") as caught:
        slmtok.Tokenizer.from_bytes(with_merges([*NEARLY_A_MEBIBYTE, (289, 289)]), source="bad.json")
    assert len(str(caught.value)) < 600


def test_the_check_of_repeated_keys_is_linear() -> None:
    """By comparing lists it took 10 s."""
    data = b"{" + b",".join(b'"%d":0' % key for key in range(60_000)) + b',"59999":0}'
    begin = time.process_time()
    with pytest.raises(FaultError, match="the key '59999' twice"):
        parse_object(data, 4)
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        (b"[" * 9, 9),
        (b'{"[[":[1]}', 2),
        (b"[" + b"[]," * (1 << 12) + b" " * (3 << 19) + b"[[]]]", 3),
        (b"[{}," * 4 + b"[[]]" + b"]" * 4, 6),
    ],
)
def test_the_deepest_level_is_found(text: bytes, depth: int) -> None:
    with pytest.raises(FaultError, match=f"it nests more than {depth - 1} deep"):
        parse_object(text, depth - 1)
    if text.startswith((b"[", b"{")):
        with suppress(FaultError):
            assert parse_object(text, depth) == {"[[": [1]}


def read_journal(path: Path) -> object:
    with closing(Journal(path.parent)) as journal:
        return journal.read(b"")


LIMITED: dict[str, tuple[str, Callable[[Path], object]]] = {
    "lock": ("a.lock", load_lock),
    "tokenizer file": ("a.json", slmtok.load),
    "rank table": ("a.tiktoken", lambda path: slmtok.from_tiktoken(path, pattern="gpt2")),
    "vocab.json": ("vocab.json", lambda path: load_metadata(str(path))),
    "receipt": ("a.receipt.json", lambda path: load_receipt(str(path))),
    "audit": ("audit.json", lambda path: load_certificate(str(path))),
    "manifest": ("manifest.json", lambda path: read_manifest(path.parent)),
    "plan": ("plan.json", lambda path: plan.read(path.parent)),
    "journal": ("journal.jsonl", read_journal),
}


@pytest.mark.parametrize("kind", LIMITED)
def test_a_file_larger_than_any_of_its_kind_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(files.MAX_FILE_BYTES, kind, 1000)
    name, read = LIMITED[kind]
    (tmp_path / name).write_bytes(b" " * 1001)
    with pytest.raises((errors.CorruptFile, errors.CorruptShard), match=f"{name}(.|\\n)*1,000 bytes"):
        read(tmp_path / name)


STREAMED = ("tokenizer file", "rank table")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a named pipe")
@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", [kind for kind in LIMITED if kind not in STREAMED])
def test_a_named_pipe_is_refused_without_waiting(kind: str, tmp_path: Path) -> None:
    name, read = LIMITED[kind]
    os.mkfifo(tmp_path / name)
    with pytest.raises((errors.CorruptFile, errors.CorruptShard), match=f"{name}.*not a regular file"):
        read(tmp_path / name)


def test_both_packages_limit_vocab_json_equally() -> None:
    assert files.MAX_FILE_BYTES["vocab.json"] == MAX_BYTES


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": {"b": [[[[1]]]]}}', "it nests more than 4 deep, in 'b'"),
        ('{"a": 1, "b": [1, NaN]}', "it holds the number NaN, in 'b'; the format has integers only"),
        ('{"c": "NaN", "a": -Infinity}', "it holds the number -Infinity, in 'a'; the format has integers only"),
        ('{"a": ' + "9" * 5000 + "}", "it holds a number of thousands of digits, in 'a'"),
        ('{"a": 1, "a": 2}', "one object has the key 'a' twice"),
    ],
)
def test_faults_of_json_name_the_key(text: str, told: str) -> None:
    with pytest.raises(FaultError) as caught:
        parse_object(text.encode(), 4)
    assert str(caught.value) == told


@pytest.mark.parametrize(
    "read",
    [
        lambda path: json_files.read_bounded(path, "manifest"),
        lambda path: files.read_limited(path, "manifest"),
        slmmodel.json_files.read_bounded,
    ],
)
def test_memory_is_taken_for_the_file_and_not_for_its_limit(tmp_path: Path, read: Callable[[Path], bytes]) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(b"{" + b" " * 3_000_000 + b"}")
    tracemalloc.start()
    data = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data == path.read_bytes() and peak < 20_000_000

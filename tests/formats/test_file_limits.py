"""Small files that would need much memory or time: each is refused before it does."""

from __future__ import annotations

import re
import time
import tracemalloc
from pathlib import Path

import pytest
from samples import samples
from test_tokenizer_refusals import seal

import slmtok
from slmtok import errors, files
from slmtok.strict_json import FaultError, parse_object
from slmtok.tokenizer_file import TAIL
from slmtok.training.lock import load_lock
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
    ("text", "depth"), [(b"[" * 9, 9), (b'{"[[":[1]}', 2), (b"[" + b"[]," * (1 << 19) + b"[[]]]", 3)]
)
def test_the_depth_is_counted_across_blocks(text: bytes, depth: int) -> None:
    with pytest.raises(FaultError, match=f"it nests {depth} deep, the limit is 1"):
        parse_object(text, 1)


@pytest.mark.parametrize(
    ("kind", "read"), [("lock", load_lock), ("tokenizer file", slmtok.load), ("rank table", slmtok.from_tiktoken)]
)
def test_a_file_larger_than_any_of_its_kind_is_refused(
    kind: str, read: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(files.MAX_FILE_BYTES, kind, 1000)
    path = tmp_path / "large"
    path.write_bytes(b" " * 1001)
    with pytest.raises(errors.CorruptFile, match=f"is too large for a {kind}(.|\n)*1,000 bytes"):
        read(path)  # type: ignore[operator]

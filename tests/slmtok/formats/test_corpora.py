"""tiktoken and tokenizers give our ids on prose, documentation, code and forty languages: a slice of each corpus.

All of each corpus is compared by the commands of docs/guide/hugging-face.md; that takes minutes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from shared_data import CORPORA, missing, peer, shared_folder

import slmtok
from slmtok.formats.export import TARGETS, export
from slmtok.formats.importing import import_file
from slmtok.options import ReadOptions

pytestmark = [pytest.mark.peer, pytest.mark.shared]


@pytest.mark.parametrize("name", CORPORA)
def test_a_slice_of_each_corpus(name: str, tmp_path: Path) -> None:
    path = shared_folder() / "data" / "corpora" / f"{name}.jsonl.zst"
    if not path.is_file():
        missing(str(path))
    tok = slmtok.train(path, vocab_size=2048, max_bytes=400_000)
    for to, target in TARGETS.items():
        peer(target.library)
        receipt = export(tok, to, tmp_path / to, verify_on=[path], read=ReadOptions(max_bytes=400_000))
        assert receipt["mismatches"] == 0
        assert 390_000 < receipt["checks"][-1]["bytes"] <= 400_003
    back, _ = import_file(tmp_path / "hf", verify_on=[path], read=ReadOptions(max_bytes=100_000))
    assert back.fingerprint == tok.fingerprint

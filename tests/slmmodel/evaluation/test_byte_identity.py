"""Every byte is scored once: five tokenizers, three packings of the rows, two contexts, one number of bytes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stub_models import Unigram  # noqa: E402

import slmtok  # noqa: E402
from slmmodel.data import make_batch, make_packing, open_source  # noqa: E402
from slmmodel.evaluation.scoring import score  # noqa: E402
from slmtok.shards import pack  # noqa: E402

DOCUMENTS = [
    "Once upon a time, there was a cat.\n",
    "",
    "Ünïcode — 猫が好き 🐈!\n" * 9,
    "\x00 \t\r\n",
    "aaaaaaaaaaaaaaaa" * 40,
]
TOKENIZERS = {
    "byte": {"scheme": "byte", "vocab_size": 272},
    "bpe-300": {"vocab_size": 300},
    "bpe-340-gpt2": {"vocab_size": 340, "pattern": "gpt2"},
    "word": {"scheme": "word", "vocab_size": 290},
    "char": {"scheme": "char", "vocab_size": 290},
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_scored_bytes_are_the_bytes_of_the_file(tmp_path: Path, name: str) -> None:
    lines = "".join(json.dumps({"text": document}) + "\n" for document in DOCUMENTS * 3)
    (tmp_path / "text.jsonl").write_text(lines, encoding="utf-8")
    tokenizer = slmtok.train(slmtok.Texts(DOCUMENTS), allow_smaller=True, **TOKENIZERS[name])  # type: ignore[arg-type]
    pack(tmp_path / "text.jsonl", tokenizer, tmp_path / "data", val="none")
    source = open_source(tmp_path / "data", "train")
    total = sum(len(document.encode()) for document in DOCUMENTS * 3)
    model = Unigram(torch.zeros(source.vocab.n_vocab))
    for seq_len in (16, 100):
        scores = score(model, source, source.vocab, seq_len=seq_len)
        assert int(scores.nbytes.sum()) == scores.n_bytes == total
        assert scores.bpb_total == pytest.approx(np.log2(source.vocab.n_vocab) * scores.n_targets / total, rel=1e-6)
        for pack_name in ("concat", "best_fit", "bucket"):
            packing = make_packing(pack_name, source.lengths(), seq_len)
            assert make_batch(source, packing, source.vocab, np.arange(len(packing))).n_bytes == total

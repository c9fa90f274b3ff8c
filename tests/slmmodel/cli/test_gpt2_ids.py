"""GPT-2's own vocabulary all the way: a text packed under its ids, a small gpt2 trained on them, proven, and asked for
text. The 50,257 ids keep their numbers; what documents need besides comes after them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_data import peer, tiktoken_cache

from slmmodel.data import open_source
from slmtok.cli import main as slmtok
from slmtok.stories import story

NAME = "tiktoken:gpt2"
SMALL = ("model.n_layers=1", "model.d_model=16", "model.n_heads=2", "model.seq_len=32", "run.batch_tokens=128")


@pytest.mark.shared
def test_a_tiny_gpt2_on_gpt2s_ids(slm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    texts = [f"{story(index)[:400]} naïve 🦊 <|endoftext|>" for index in range(30)]
    Path("text.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert slmtok(["pack", "text.jsonl", "-t", NAME, "-o", "data", "--val", "hash:30%", "--quiet"]) == 0

    train, val = open_source("data", "train"), open_source("data", "val")
    assert 0 < val.block(0).n_docs < 30 == train.block(0).n_docs + val.block(0).n_docs
    assert train.vocab.n_vocab == 50_259 and train.vocab.specials["eos"] == 50_256
    theirs = peer("tiktoken").get_encoding("gpt2")
    wanted = {tuple(theirs.encode_ordinary(text)) for text in texts}
    block = train.block(0)
    for index in range(block.n_docs):
        ids = np.asarray(block.ids(index, 0, int(block.lengths()[index]))).tolist()
        assert tuple(ids[1:-1]) in wanted and max(ids[1:-1]) < 50_256

    sets = [word for pair in SMALL for word in ("--set", pair)]
    line = ["train", "data", "--preset", "gpt2-tiny", *sets, "--budget", "steps=12", "--threads", 1]
    line += ["--set", "optim.lr=2e-2", "--set", "optim.schedule.warmup=0"]
    slm(*line, "-o", "run", "--no-eval", "--json", "--quiet", code=0)
    shape = slm("info", "run", "--json").json["result"]
    assert (shape["model"]["n_vocab"], shape["model"]["padded_vocab"]) == (train.vocab.n_vocab, 50_304)

    found = slm("eval", "run", "--no-baselines", "--json").json["result"]
    assert found["sums"]["bytes"] == int(val.block(0).nbytes().sum())
    # Guessing among all ids costs log2(V) bits an id; some steps are enough to do better.
    guessing = math.log2(train.vocab.n_vocab) * found["sums"]["targets"] / found["sums"]["bytes"]
    assert 0 < found["bpb_total"] < 0.99 * guessing

    first, again = (slm("sample", "run", "-p", "Once upon", "--max-new", 8, "--json").json["result"] for _ in range(2))
    assert first["samples"] == again["samples"] and first["samples"][0]["text"]
    assert all(id <= 50_256 for id in first["samples"][0]["ids"])
    words = slm("logprobs", "run", "-p", "Once upon a", "--top", 3, "--json").json["result"]
    assert words["n_vocab"] == train.vocab.n_vocab and len(words["next"]) == 3

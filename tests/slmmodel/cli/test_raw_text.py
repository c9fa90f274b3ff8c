"""Text tokenized on the fly: the same documents, split and ids as packing gives, block by block, and trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import slmtok
from slmmodel.checkpoint import RunFolder
from slmmodel.cli.text import Text, is_text
from slmmodel.cli.text_source import NO_VALIDATION, Corpus, corpus_data, text_source
from slmmodel.data import Cursor, Loader, RunData, open_source
from slmmodel.data.mixture import Mixture
from slmmodel.data.source import DocumentBlock, NoSuchBlockError, TokenSource
from slmmodel.errors import InvalidConfig
from slmtok.options import ReadOptions

LINE = "The cat saw the dog; the dog saw nothing. Né?"
DIGEST = "c653fb252761487283ec59fece6a6a95178aec7193af14e3813402dad87de503"
"""Of `LINE` as the file a.txt, with a tokenizer of 290 ids trained on it."""


@pytest.fixture
def tok(tmp_path: Path) -> Path:
    slmtok.train(slmtok.Texts([LINE * 9]), vocab_size=290).save(tmp_path / "tok.json")
    return tmp_path / "tok.json"


def text_data(paths: list[str], tokenizer: str | Path, val: str = "auto", **options: Any) -> RunData:
    return corpus_data(Corpus(Text(tokenizer), paths, ReadOptions(**options)), val)


def write(path: Path, count: int) -> Path:
    lines = [{"text": f"{number} {LINE * (1 + number % 4)}"} for number in range(count)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("count", [1, 7, 19, 60])
def test_the_same_documents_as_packing(tmp_path: Path, tok: Path, count: int) -> None:
    from slmtok.shards import pack

    file = write(tmp_path / "text.jsonl", count)
    pack(file, slmtok.load(tok), tmp_path / "packed", val="auto")
    data = text_data([str(file)], tok)
    for split, source in (("train", data.train), ("val", data.val)):
        packed = open_source(tmp_path / "packed", split)
        assert isinstance(source, TokenSource)
        block = source.block(0)
        assert isinstance(block, DocumentBlock)
        assert block.lengths().tolist() == packed.lengths().tolist()
        assert block.nbytes().tolist() == packed.nbytes().tolist()
        for doc in range(packed.n_docs):
            assert block.ids(doc, 0, 10**6).tolist() == packed.ids(doc, 0, 10**6).tolist()
        with pytest.raises(NoSuchBlockError):
            source.block(1)
        assert source.documents_digest == packed.documents_digest
    assert data.vocab.fingerprint == packed.vocab.fingerprint
    assert data.vocab_json == (tmp_path / "packed/vocab.json").read_bytes()


def test_blocks_are_pure_and_in_any_order(tmp_path: Path, tok: Path) -> None:
    files = [str(write(tmp_path / f"{name}.jsonl", 15)) for name in "ab"]
    vocab = text_data(files, tok).vocab

    def source() -> Mixture:
        return text_source(Corpus(Text(tok), files), vocab, "train", NO_VALIDATION, block_bytes=500)

    def content(block: DocumentBlock) -> list[list[int]]:
        return [block.ids(doc, 0, 10**6).tolist() for doc in range(block.n_docs)]

    forward = source()
    blocks = []
    while True:
        try:
            blocks.append(content(forward.block(len(blocks))))
        except NoSuchBlockError:
            break
    assert len(blocks) > 5
    assert sum(map(len, blocks)) == 30
    backward = source()
    assert [content(backward.block(index)) for index in reversed(range(len(blocks)))] == blocks[::-1]
    assert forward.digest == backward.digest


def test_steps_go_through_all_blocks_and_resume(tmp_path: Path, tok: Path) -> None:
    file = write(tmp_path / "text.jsonl", 30)
    corpus, vocab = Corpus(Text(tok), [str(file)]), text_data([str(file)], tok).vocab

    def loader() -> Loader:
        return Loader(
            text_source(corpus, vocab, "train", NO_VALIDATION, block_bytes=900), vocab, seq_len=16, batch_size=3
        )

    run, cursor, taken = loader(), Cursor(), []
    while cursor.epoch == 0:
        step = run.global_batch(cursor)
        run.prefetch(step.sequence_keys)
        taken.append((cursor, run.batch(step.sequence_keys).ids.tolist()))
        cursor = step.next
    run.close()
    assert len({int(row) for start, _ in taken for row in [start.block]}) > 3
    for start, ids in taken[:: max(1, len(taken) // 3)]:
        again = loader()
        assert again.batch(again.global_batch(start).sequence_keys).ids.tolist() == ids


def test_other_formats_and_the_edges(tmp_path: Path, tok: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tfirst text\nb\tsecond text\n")
    options = {"format": "tsv", "text_template": "{2}"}
    data = text_data([str(tmp_path / "t.tsv")], tok, val="none", **options)
    assert data.val is None
    assert data.train.block(0).nbytes().tolist() == [10, 11]
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InvalidConfig, match="no document"):
        Corpus(Text(tok), [str(tmp_path / "empty.jsonl")]).split("auto")


SMALL = ("model.arch=llama", "model.d_model=16", "model.n_layers=1", "model.n_heads=2", "model.n_kv_heads=2")
SMALL += ("model.seq_len=16", "run.batch_tokens=64", "run.save_every=2")


def test_commands_take_text(slm, tmp_path: Path, tok: Path) -> None:
    """`slm train TEXT -t TOK`, branched from a checkpoint to the same weights, scored, and shown."""
    from slmmodel.checkpoint import RunFolder

    file = write(tmp_path / "text.jsonl", 60)
    sets = [part for setting in SMALL for part in ("--set", setting)]
    options = ["-t", tok, "--budget", "steps=4", *sets]
    trained = slm("train", file, "-o", "run", *options, "--json", "--quiet", code=0).json["result"]
    assert trained["step"] == 4 and RunFolder.open("run").tokenizer is not None
    slm("train", file, "-o", "dry", *options, "--dry-run", code=0)
    slm("resume", "run", "--step", 2, "-o", "again", "--quiet", code=0)
    assert Path("run/model.safetensors").read_bytes() == Path("again/model.safetensors").read_bytes()
    ran = slm("eval", "run", "--json", code=0)
    data = text_data([str(file)], tok)
    assert data.val is not None
    assert ran.json["result"]["sums"]["bytes"] == int(data.val.block(0).nbytes().sum())
    assert ran.json["result"]["bpb_total"] == trained["evaluation"]["bpb_total"] > 1
    assert ran.json["result"]["baselines"]["train_bytes"] > 0
    shown = slm("batches", "run", "--n", 1, code=0)
    assert "␣cat" in shown.out or "␣c|" in shown.out
    slm("resume", "run", "--step", 4, "-o", "more", "--budget", "steps=6", "--quiet", code=0)
    refused = slm("train", file, "-o", "other")
    assert (refused.code, f"-t {tok} " in refused.err) == (1, True), refused.err


@pytest.mark.parametrize("val", ["auto", "none", "held.jsonl"])
def test_the_data_of_a_run_are_read_as_training_read_them(slm, tmp_path: Path, tok: Path, val: str) -> None:
    """With a note once they have changed."""
    from slmmodel.cli.recorded import training_data

    write(tmp_path / "held.jsonl", 3)
    settings = "model.d_model=16 model.n_layers=1 model.n_heads=2 model.n_kv_heads=1 model.d_ff=16 model.seq_len=64"
    sets = [part for one in (*settings.split(), "run.batch_tokens=256") for part in ("--set", one)]
    command = ["train", write(tmp_path / "text.jsonl", 60), "-t", tok, "-o", "run", "--preset", "cpu-demo", *sets]
    slm(*command, "--val", val, "--budget", "steps=1", code=0)
    run = RunFolder.open("run")
    assert training_data(run).train.digest == run.fingerprint["data"]
    commands = (["batches", "run", "--n", 1], ["prompts", "run", "--max-new", 1, "--threads", 1, "--force"])
    note = "note: the data of the run have changed since training"
    assert not any(note in slm(*each, code=0).err for each in commands)
    write(tmp_path / "text.jsonl", 50)
    assert all(note in slm(*each, code=0).err for each in commands)


@pytest.mark.parametrize(
    ("name", "text"), [("a.txt", True), ("a.bin", False), ("a.npy", False), ("none", False), ("hf:x", True)]
)
def test_what_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: bool) -> None:
    monkeypatch.chdir(tmp_path)
    for made in ("a.txt", "a.bin", "a.npy"):
        Path(made).write_bytes(b"xx")
    assert is_text(name) == text
    assert is_text(".")
    Path("train.bin").write_bytes(b"xx")
    assert not is_text(".")


def test_the_digest_of_a_run_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was begun by an earlier version continues: an option at its default does not change its data."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(LINE)
    slmtok.train(slmtok.Texts([LINE * 9]), vocab_size=290).save("tok.json")

    def digest(**options: str) -> str:
        return text_data(["a.txt"], "tok.json", val="none", **options).train.digest

    assert digest() == digest(encoding="UTF8") == DIGEST
    assert digest(encoding="latin-1") != DIGEST

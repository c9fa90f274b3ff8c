"""Several sources with weights in `data.train`, their shares, domains and stages; resumed to the bit."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import slmtok
from slmmodel import files
from slmmodel.checkpoint import RunFolder
from slmmodel.cli import recorded, sources
from slmmodel.cli.sources import open_mixture
from slmmodel.cli.text import Text
from slmmodel.cli.text_source import NO_VALIDATION, Corpus, TextStream
from slmmodel.data import open_source
from slmmodel.data.block_cache import CachedStream
from slmmodel.data.mixture import Component, Mixture, PackedStream
from slmmodel.data.source import DocumentBlock, NoSuchBlockError
from slmmodel.errors import Mismatch
from slmmodel.folder_lock import locked
from slmmodel.vocab import VocabMeta
from slmtok.shards.format import vocabulary_metadata
from slmtok.vocab_json import render_metadata

SHAPE = "{arch: llama, n_layers: 1, d_model: 16, n_heads: 2, n_kv_heads: 1, d_ff: 16, seq_len: 32}"
RUN = "{batch_tokens: 128, threads: 1, device: cpu, save_every: 1, keep: 20, eval_every: 100}"
WORDS = ("cat", "dog", "Né", "saw", "the", "moon", "nothing", "and")


def write(path: Path, n_docs: int, seed: int = 0) -> Path:
    draw = random.Random(f"{path.name}{seed}")
    lines = [f"{path.stem} {n} " + " ".join(draw.choices(WORDS, k=draw.randint(1, 30))) for n in range(n_docs)]
    path.write_text("".join(json.dumps({"text": line}, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, n_docs in (("a", 100), ("b", 37)):
        write(Path(f"{name}.jsonl"), n_docs)
    slmtok.train(["a.jsonl", "b.jsonl"], vocab_size=320).save("tok.json")
    return tmp_path


def stream(path: str, split: str = "train") -> TextStream:
    text = Text("tok.json")
    vocab = VocabMeta.parse(render_metadata(vocabulary_metadata(text.tokenizer)), source="tok.json")
    return TextStream(Corpus(text, [path]), vocab, split, NO_VALIDATION)


def blocks(mixture: Mixture) -> list[DocumentBlock]:
    found: list[DocumentBlock] = []
    for index in count():
        try:
            found.append(mixture.block(index))
        except NoSuchBlockError:
            return found
    raise AssertionError


@cache
def tokenizer_in(folder: Path) -> slmtok.Tokenizer:
    return slmtok.load(folder / "tok.json")


def texts(block: DocumentBlock) -> list[bytes]:
    tokenizer = tokenizer_in(Path.cwd())
    lengths = block.lengths().tolist()
    return [tokenizer.decode_bytes(block.ids(doc, 1, size - 1)) for doc, size in enumerate(lengths)]


def originals(name: str) -> list[bytes]:
    lines = Path(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"].encode() for line in lines]


@pytest.mark.parametrize("block_bytes", [400, 1500, 1 << 20])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (3.0, 1.0), (1.0, 50.0)])
def test_an_epoch_reads_the_longest_once_and_repeats_the_other(block_bytes: int, weights: tuple[float, float]) -> None:
    components = [Component(stream(f"{name}.jsonl"), name, weight) for name, weight in zip("ab", weights, strict=True)]
    mixture = Mixture(components, block_bytes=block_bytes)
    read = [text for block in blocks(mixture) for text in texts(block)]
    by_name = {name: [text for text in read if text.startswith(name.encode() + b" ")] for name in "ab"}
    sizes = {name: sum(map(len, originals(name))) for name in "ab"}
    longest = max("ab", key=lambda name: sizes[name] / weights["ab".index(name)])
    assert by_name[longest] == originals(longest)
    other = "ab"["ba".index(longest)]
    whole, rest = divmod(len(by_name[other]), len(originals(other)))
    assert by_name[other] == originals(other) * whole + originals(other)[:rest]
    share = sum(map(len, by_name["a"])) / sum(map(len, read))
    largest = max(map(len, read))
    assert abs(share - weights[0] / sum(weights)) <= largest / sum(map(len, read))
    domains = mixture.domains()
    assert domains is not None
    assert [mixture.domain_names[number] for number in domains] == [text[:1].decode() for text in read]


def test_blocks_are_equal_in_any_order_and_from_packed_data() -> None:
    """A block does not depend on those before it; packed data give the blocks of their text."""
    from slmtok.shards import pack

    forward = Mixture([Component(stream("a.jsonl"), "a"), Component(stream("b.jsonl"), "b", 2)], block_bytes=700)
    expected = [texts(block) for block in blocks(forward)]
    assert len(expected) > 5
    again = Mixture([Component(stream("a.jsonl"), "a"), Component(stream("b.jsonl"), "b", 2)], block_bytes=700)
    assert [texts(again.block(index)) for index in reversed(range(len(expected)))] == expected[::-1]
    assert forward.digest == again.digest
    for name in "ab":
        pack(f"{name}.jsonl", slmtok.load("tok.json"), name, val="none")
    packed = Mixture(
        [Component(PackedStream(open_source("a")), "a"), Component(PackedStream(open_source("b")), "b", 2)],
        block_bytes=700,
    )
    assert [texts(block) for block in blocks(packed)] == expected
    for mine, theirs in zip(blocks(packed), blocks(forward), strict=True):
        assert mine.nbytes().tolist() == theirs.nbytes().tolist()
        for doc in range(mine.n_docs):
            assert np.array_equal(mine.ids(doc, 0, 10**6), theirs.ids(doc, 0, 10**6))


def test_sources_of_different_tokenizers_are_refused() -> None:
    slmtok.train("a.jsonl", vocab_size=300).save("other.json")
    text = Text("other.json")
    vocab = VocabMeta.parse(render_metadata(vocabulary_metadata(text.tokenizer)), source="other.json")
    other = TextStream(Corpus(text, ["b.jsonl"]), vocab, "train", NO_VALIDATION)
    with pytest.raises(Mismatch, match="'a' and 'b' have different tokenizers"):
        Mixture([Component(stream("a.jsonl"), "a"), Component(other, "b")])


def config(data: str, budget: int = 6) -> Path:
    path = Path("run.yaml")
    path.write_text(
        f"model: {SHAPE}\ndata:\n{data}run: {RUN}\n".replace("threads", f"budget: {{steps: {budget}}}, threads")
    )
    return path


SOURCES = """\
  tokenizer: tok.json
  train:
    - {path: a.jsonl, weight: 3, domain: prose}
    - path: b.jsonl
"""


def test_two_weighted_sources_train_and_resume_to_the_bit(slm) -> None:
    slm("train", "--config", config(SOURCES), "-o", "run", "-q", code=0)
    slm("resume", "run", "--step", 2, "-o", "again", "-q", code=0)
    assert Path("run/model.safetensors").read_bytes() == Path("again/model.safetensors").read_bytes()
    shown = slm("eval", "run", "--breakdown", "--json", code=0).json["result"]
    assert [row["group"] for row in shown["breakdown"]["by_domain"]] == ["prose", "b"]
    assert shown["baselines"]["train_bytes"] > 0
    assert "prose" in Path("run/config.yaml").read_text()
    slm("batches", "run", "--n", 1, code=0)
    slm("config", "--check", "run.yaml", code=0)
    refused = slm("resume", "run", "--data", "elsewhere", "--step", 2, "-o", "more", "-q", code=2).err
    assert "  fix:   slm resume run --step 2 -o more -q # on the sources of the run" in refused
    tuned = slm("finetune", "run", "a.jsonl", "--budget", "steps=9", code=2).err.rpartition("  fix:   ")[2]
    line, _, remark = tuned.partition(" # ")
    assert line == "slm resume run --budget steps=9 -o run-2"
    assert remark == "on the data of the run: --data stands for one path, and it has several\n"


def test_a_split_of_a_mixture_opens_its_sources_once(slm, monkeypatch: pytest.MonkeyPatch) -> None:
    slm("train", "--config", config(SOURCES, 1), "-o", "run", "-q", "--no-eval", code=0)
    opened = []
    monkeypatch.setattr(sources, "open_mixture", lambda *args: opened.append(open_mixture(*args)) or opened[-1])
    for split in ("train", "val"):
        assert recorded.training_data(RunFolder.open("run"), split).train.split == split
    assert len(opened) == 2


def test_another_weight_is_other_data(slm) -> None:
    slm("train", "--config", config(SOURCES, 4), "-o", "run", "-q", "--no-eval", code=0)
    written = Path("run/config.yaml")
    written.write_text(written.read_text().replace("weight: 3.0", "weight: 4.0"))
    (Path("run") / "result.json").unlink()
    assert "the training data differ" in slm("resume", "run", "-q", "--allow-mismatch", "files").err


STAGES = """\
  stages:
    - {from_step: 1, seq_len: 16}
    - {from_step: 3, weights: {prose: 1, b: 9}}
    - {from_step: 5, seq_len: 32, train: [{path: b.jsonl, domain: b}]}
"""


def test_stages_change_weights_lengths_and_sources(slm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Mixture.__init__.__kwdefaults__, "block_bytes", 1500)
    slm("train", "--config", config(SOURCES + STAGES), "-o", "run", "-q", code=0)
    lines = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    assert [line["tokens"] for line in lines] == [128 * step for step in range(1, 7)]
    for step in (1, 2, 4):
        slm("resume", "run", "--step", step, "-o", f"again{step}", "-q", code=0)
        assert Path("run/model.safetensors").read_bytes() == Path(f"again{step}/model.safetensors").read_bytes()
    shown = slm("batches", "run", "--n", 6, "--json", "--max-rows", 0, code=0).json["result"]["batches"]
    assert [batch["slots"] for batch in shown] == [16, 16, 16, 16, 32, 32]
    read = [
        "".join(word for row in batch["shown"] for span in row["spans"] for word in span["inputs_read"])
        for batch in shown
    ]
    assert "a␣" in read[0] and not any("a␣" in text for text in read[4:])


def test_a_stage_reads_on_where_the_stages_before_stopped() -> None:
    first = Mixture([Component(stream("a.jsonl"), "a", 3), Component(stream("b.jsonl"), "b")], block_bytes=600)
    stream_bytes = first.stream_bytes(2)
    later = Mixture([Component(stream("a.jsonl"), "a"), Component(stream("b.jsonl"), "b")], block_bytes=600)
    later = later.starting_at(stream_bytes)
    before = [text for index in range(2) for text in texts(first.block(index))]
    following = texts(later.block(0))
    for name in "ab":
        seen = [text for text in [*before, *following] if text.startswith(name.encode() + b" ")]
        assert seen == originals(name)[: len(seen)]


def test_cached_blocks_train_to_the_same_bits(slm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that are kept are not encoded again; a damaged one is, and a full cache keeps what it has."""
    monkeypatch.setitem(Mixture.__init__.__kwdefaults__, "block_bytes", 600)
    slm("train", "--config", config(SOURCES), "-o", "plain", "-q", "--no-eval", code=0)
    cached = SOURCES + "  cache: ids\n"
    slm("train", "--config", config(cached), "-o", "first", "-q", "--no-eval", code=0)
    files = sorted(Path("ids").rglob("*.safetensors"))
    assert len(files) > 4
    files[0].write_bytes(files[0].read_bytes()[:-3] + b"xyz")
    before = {file: file.stat().st_mtime_ns for file in files}
    slm("train", "--config", config(cached), "-o", "again", "-q", "--no-eval", code=0)
    weights = [Path(f"{name}/model.safetensors").read_bytes() for name in ("plain", "first", "again")]
    assert weights[0] == weights[1] == weights[2]
    changed = [file for file in files if file.stat().st_mtime_ns != before[file]]
    assert changed == files[:1], "the damaged file alone"
    total = sum(file.stat().st_size for file in Path("ids").rglob("*"))
    slm("train", "--config", config(SOURCES + "  cache: small\n  cache_limit: 4kB\n"), "-o", "limited", "-q", code=0)
    assert 0 < sum(file.stat().st_size for file in Path("small").rglob("*") if file.is_file()) < 6000 < total
    assert Path("limited/model.safetensors").read_bytes() == weights[0]


def fail_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of a cache fills the disk after its first half."""

    def write(path: Path, data: bytes, handle: object = None) -> None:
        path.write_bytes(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    whole = files.write_synced
    monkeypatch.setattr(
        files, "write_synced", lambda path, *rest: (write if "ids" in path.parts else whole)(path, *rest)
    )


def test_a_cache_on_a_full_disk_is_not_written_any_more(slm, monkeypatch: pytest.MonkeyPatch) -> None:
    slm("train", "--config", config(SOURCES), "-o", "plain", "-q", "--no-eval", code=0)
    with monkeypatch.context() as patch:
        fail_writes(patch)
        ran = slm("train", "--config", config(SOURCES + "  cache: ids\n"), "-o", "run", "--no-eval", code=0)
    assert Path("run/model.safetensors").read_bytes() == Path("plain/model.safetensors").read_bytes()
    notes = [line for line in ran.err.splitlines() if "data.cache" in line]
    assert len(notes) == 1 and "no space left while writing" in notes[0] and "'ids'" in notes[0]
    assert not [path for path in Path("ids").rglob("*") if path.is_file()], "nothing partial was left"


def test_a_cache_removes_what_a_killed_process_left_there() -> None:
    CachedStream(stream("a.jsonl"), Path("ids"), 10**6, "key").between(0, 300)
    part = next(Path("ids").rglob("*.safetensors")).with_name(".0-9.safetensors.123.part")
    part.write_bytes(b"half")
    CachedStream(stream("b.jsonl"), Path("ids"), 10**6, "another key").between(0, 300)
    assert not part.exists() and len(list(Path("ids").rglob("*.safetensors"))) == 2


def test_a_cache_keeps_what_another_process_delays() -> None:
    with ThreadPoolExecutor() as pool, locked(Path("ids")):
        kept = pool.submit(CachedStream(stream("a.jsonl"), Path("ids"), 10**6, "key").between, 0, 300)
        time.sleep(0.1)
        assert not kept.done()
    assert kept.result() and list(Path("ids").rglob("0-300.safetensors"))


def test_the_size_of_a_cached_text_is_believed_where_its_digest_is_right() -> None:
    def opened() -> CachedStream:
        return CachedStream(stream("a.jsonl"), Path("ids"), 10**6, "key")

    first = opened()
    first.between(0, 10**6)
    file = next(Path("ids").rglob("n_bytes*"))
    content = file.read_bytes()
    assert first.n_bytes and opened().n_bytes == first.n_bytes
    for damaged in (content.replace(first.n_bytes.to_bytes(8, "little"), bytes(8)), b"0", b""):
        file.write_bytes(damaged)
        again = opened()
        assert again.n_bytes is None
        assert len(again.between(0, 10**6)[0].nbytes) == 100
        assert again.n_bytes == first.n_bytes and file.read_bytes() == content


def test_a_file_in_the_place_of_the_cache_is_named(slm) -> None:
    written = "  cache: a.jsonl\n"
    refused = slm("train", "--config", config(SOURCES + written), "-o", "run", "-q", code=2).err
    assert "data.cache names 'a.jsonl', which is a file" in refused and "--set data.cache=a.jsonl-cache" in refused


def test_text_and_packed_data_give_the_same_losses_to_the_bit(slm) -> None:
    """On the fly, from a folder of parquet and from a data set that `save_to_disk` wrote, against packed data."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    datasets = pytest.importorskip("datasets")
    from slmtok.shards import pack

    rows = [text.decode() for text in originals("a")]
    Path("parquet").mkdir()
    for number in range(2):
        pq.write_table(pa.table({"text": rows[number * 50 : number * 50 + 50]}), f"parquet/{number}.parquet")
    datasets.Dataset.from_dict({"body": rows}).save_to_disk("saved")
    pack("parquet", slmtok.load("tok.json"), "packed", val="auto")
    sources = {
        "packed": "[packed]",
        "parquet": "[parquet]",
        "jsonl": "[a.jsonl]",
        "saved": "[{path: saved, text_key: body}]",
    }
    losses = {}
    for name, source in sources.items():
        file = config(f"  tokenizer: tok.json\n  train: {source}\n")
        slm("train", "--config", file, "-o", f"run-{name}", "-q", "--no-eval", code=0)
        lines = [json.loads(line) for line in Path(f"run-{name}/metrics.jsonl").read_text().splitlines()]
        losses[name] = [(line["loss"], line.get("val_bpb")) for line in lines]
    assert all(found == losses["packed"] for found in losses.values())
    slm("train", "packed", "--config", file, "-o", "plain", "-q", "--no-eval", "--set", "data.tokenizer=", code=0)
    assert Path("plain/model.safetensors").read_bytes() == Path("run-saved/model.safetensors").read_bytes()


def test_parquet_files_that_differ_and_a_name_without_network(slm, monkeypatch: pytest.MonkeyPatch) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("datasets")
    Path("parquet").mkdir()
    rows = [text.decode() for text in originals("a")] * 20
    pq.write_table(pa.table({"text": rows}), "parquet/0.parquet")
    pq.write_table(pa.table({"content": rows}), "parquet/1.parquet")
    refused = slm("train", "--config", config("  train: [parquet]\n"), "-t", "tok.json", "-o", "run", "-q", code=1).err
    assert "there is no column 'text', which parquet/0.parquet has" in " ".join(refused.split())
    assert "'content': ['parquet/1.parquet']" in refused.replace("'\"'\"'", "'")
    assert " > parquet-text.jsonl # and name parquet-text.jsonl alone" in " ".join(refused.split())
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused = slm(
        "train", "--config", config("  train: ['hf:no/such']\n"), "-t", "tok.json", "-o", "run", "-q", code=1
    ).err
    assert "cannot load the data set 'no/such'" in refused and "without network" in " ".join(refused.split())
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("{train: [{path: a.jsonl, weight: 0}]}", "data.train: a weight is '0'"),
        ("{train: [{path: a.jsonl, weight: 70%}]}", "fix:   --set 'data.train=[{path: a.jsonl, weight: 70}]'\n"),
        ("{train: [{path: a.jsonl}, {passkey: 5}]}", "fix:   passkey: 5%\n"),
        ("{train: [{path: a.jsonl, wieght: 2}]}", "unknown setting 'wieght'; did you mean 'weight'?"),
        ("{train: [{path: a.jsonl}, {path: ./a.jsonl}]}", "two sources of data.train are named 'a'"),
        ("{train: [{passkey: 5%}]}", "at most one share of passkeys"),
        ("{train: [a.jsonl, {passkey: 5%}, {passkey: 2%, domain: b}]}", "at most one share of passkeys"),
        ("{train: [a.jsonl, {passkey: 5%, weight: 2}]}", "weight has no effect on passkeys"),
        ("{train: [a.jsonl, {passkey: 5%, digit: 2}]}", "digit has no effect on passkeys"),
        ("{train: [a.jsonl, {passkey: 5%, digits: 1}]}", "data.train: digits is"),
        ("{train: [{path: a.jsonl, loss_on: answer}]}", "loss_on has no effect on 'a.jsonl'"),
        ("{train: [a.jsonl], stages: [{from_step: 2}]}", "data.stages begin at the steps 2"),
        ("{train: [a.jsonl], stages: [{from_step: 1, weights: {c: 1}}]}", "a weight for 'c'"),
        ("{train: [a.jsonl], stages: [{from_step: 1, weights: {a: 0}}]}", "a weight is '0'"),
        ("{train: [a.jsonl], stages: [{from_step: 1, seq_len: 64}]}", "seq_len is 64 from step 1 on"),
        ("{train: [a.jsonl], stages: [{from: 1}]}", "data.stages: from is '1'"),
        ("{train: [nothing.jsonl]}", "no file or folder 'nothing.jsonl'"),
    ],
)
def test_what_is_refused_before_the_first_step(slm, data: str, error: str) -> None:
    Path("run.yaml").write_text(f"model: {SHAPE}\ndata: {data}\nrun: {RUN}\n")
    refused = slm("train", "--config", "run.yaml", "-t", "tok.json", "-o", "run", "-q")
    assert refused.code in (1, 2) and error in refused.err and "fix:" in refused.err
    assert not Path("run").exists()


def test_texts_under_different_keys_are_joined_by_the_fix(slm) -> None:
    """Each of the keys would be proposed in the place of the other."""
    Path("keys").mkdir()
    rows = [text.decode() for text in originals("a")] * 20
    for key in ("text", "content"):
        Path(f"keys/{key}.jsonl").write_text("".join(json.dumps({key: row}) + "\n" for row in rows))
    for key in ("text", "content"):
        refused = slm("train", "keys", "-t", "tok.json", "--text-key", key, "-o", "run", "-q", code=1).err
        assert "limit: --text-key is one for all files of a corpus\n" in refused
        assert f" > keys-{key}.jsonl && slm train keys-{key}.jsonl -t tok.json --text-key {key} -o run -q\n" in refused
    command = refused.partition("fix:   ")[2].partition(" && ")[0]
    path = os.pathsep.join(each for each in sys.path if each)
    subprocess.run(
        command.replace("python", sys.executable, 1), shell=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert len(Path("keys-content.jsonl").read_text().splitlines()) == 2 * len(rows)

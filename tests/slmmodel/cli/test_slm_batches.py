"""`slm batches`: what it prints is what the loader feeds, with and without a tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import made_shards as made
import pytest

pytest.importorskip("torch")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return made.write_data(tmp_path / "data", {"train": [made.documents([5, 0, 40, 3])], "val": [made.documents([6])]})


def test_batches_are_those_of_training(slm, data):
    from slmmodel.data import Cursor, Loader, open_source

    source = open_source(data, "train")
    loader = Loader(source, source.vocab, seq_len=8, batch_size=3, seed=4)
    given = ("--first-step", 1, "--seq-len", 8, "--batch-size", 3, "--seed", 4)
    result = slm("batches", data, "--n", 2, *given, "--json", code=0).json["result"]
    assert result["digest"] == loader.digest
    cursor = loader.global_batch(Cursor()).next
    for number, shown in enumerate(result["batches"], 1):
        step = loader.global_batch(cursor)
        batch = loader.batch(step.sequence_keys)
        assert (shown["step"], shown["targets"], shown["bytes"]) == (number, batch.n_targets, batch.n_bytes)
        assert shown["padding"] == int((batch.document_ids < 0).sum())
        for index, row in enumerate(shown["shown"]):
            assert [row["epoch"], row["block"], row["row"]] == batch.sequence_keys[index].tolist()
            assert [id for span in row["spans"] for id in span["ids"]] == batch.ids[index].tolist()
            targets = [id for span in row["spans"] for id in span["targets"]]
            mask = batch.target_mask[index].tolist()
            assert targets == [id if on else None for id, on in zip(batch.targets[index].tolist(), mask, strict=True)]
            for span in row["spans"]:
                slots = slice(*span["slots"])
                assert {span["document"]} == {d if d >= 0 else None for d in batch.document_ids[index, slots].tolist()}
                if span["document"] is not None:
                    assert list(range(*span["positions"])) == batch.position_ids[index, slots].tolist()
        cursor = step.next


@pytest.mark.parametrize("crop_offset", ["random", "fixed"])
def test_batches_of_a_run_are_those_it_was_trained_on(slm, data, crop_offset):
    from slmmodel.data import Cursor, Loader, open_source

    shape = ("model.d_model=16", "model.n_heads=2", "model.n_kv_heads=2", "model.d_ff=32", "model.n_layers=1")
    sizes = ("model.seq_len=8", "run.batch_tokens=16", f"data.crop_offset={crop_offset}")
    named = [word for setting in (*shape, *sizes) for word in ("--set", setting)]
    slm("train", data, "-o", "run", "--preset", "cpu-demo", "--budget", "steps=1", *named, "--quiet", code=0)
    lock = json.loads(Path("run/fingerprint.json").read_text())
    shown = slm("batches", "run", "--n", 1, "--json").json["result"]
    source = open_source(data, "train")
    loader = Loader(source, source.vocab, seq_len=8, batch_size=2, crop_offset=crop_offset)
    assert shown["digest"] == lock["plan"] == loader.digest
    rows = [[row["epoch"], row["block"], row["row"]] for row in shown["batches"][0]["shown"]]
    assert rows == loader.global_batch(Cursor()).sequence_keys.tolist()
    err = slm("batches", "run", "--n", "all", code=2).err
    assert "not 'all'; run has 1 step\n" in err and "fix:   --n 1\n" in err
    ran = slm("batches", "run", "--seq-len", 9)
    assert ran.code == 2 and "cannot be chosen for a run" in ran.err


@pytest.mark.parametrize("pack", ["concat", "bucket"])
@pytest.mark.parametrize("change", ["run.batch_tokens=32", "run.seed=3"])
def test_batches_of_a_branch_begin_where_its_training_did(slm, tmp_path, pack, change):
    """Counted from step 0, those of another batch would lie elsewhere."""
    from slmmodel.checkpoint import RunFolder, read_train_state
    from slmmodel.config import RunConfig
    from slmmodel.data import Cursor, open_data
    from slmmodel.training.setup import make_loader

    data = made.write_data(tmp_path / "data", {"train": [made.documents([5, 9, 40, 3] * 9)]})
    shape = ("model.d_model=16", "model.n_heads=2", "model.n_kv_heads=2", "model.d_ff=32", "model.n_layers=1")
    sizes = ("model.seq_len=8", "run.batch_tokens=16", f"data.pack={pack}", "run.save_every=1", "run.keep=9")
    named = [word for setting in (*shape, *sizes) for word in ("--set", setting)]
    slm("train", data, "-o", "run", "--preset", "cpu-demo", "--budget", "steps=6", *named, "--quiet", code=0)
    given = ("--no-eval", "--quiet")
    resume = ("resume", "run", "--step", 4, "-o", "new", "--budget", "steps=8", "--set", change)
    slm(*resume, "--allow-mismatch", "plan", *given, code=0)
    slm("resume", "new", "--step", 6, "-o", "later", "--budget", "steps=9", *given, code=0)
    slm("resume", "run", "--step", 4, "-o", "same", "--budget", "steps=8", *given, code=0)
    for path, first, steps in (("new", 4, 8), ("later", 6, 9), ("same", 0, 8)):
        run = RunFolder.open(path)
        loader = make_loader(open_data(str(data)), RunConfig(**run.config))
        shown = slm("batches", path, "--first-step", first, "--n", steps - first, "--max-rows", 0, "--json", code=0)
        for each in shown.json["result"]["batches"]:
            if run.checkpoints.path(each["step"]).is_dir():
                trained = loader.global_batch(Cursor(*read_train_state(run.checkpoint(each["step"]))["cursor"]))
                rows = [[row["epoch"], row["block"], row["row"]] for row in each["shown"]]
                assert rows == trained.sequence_keys.tolist(), (path, each["step"])
        if first:
            err = slm("batches", path, "--first-step", first - 1, code=2).err
            assert f"'{path}' does not record which sequences the steps before step {first} took" in err
            assert f"fix:   --first-step {first}, or name the other run\n" in err


def test_people_see_borders_padding_and_what_is_left_out(slm, data):
    ran = slm("batches", data, "--n", 1, "--seq-len", 64, "--batch-size", 2, "--max-rows", 1, "--split", "val", code=0)
    assert "data, split val, concat: 1 sequences per epoch, 7 targets, 89.06 % padding" in ran.out
    assert "0-6: document 0 of the sequence, positions 0-6, 7 scored" in ran.out
    assert "7-63: padding" in ran.out
    assert "and 1 more sequences" in ran.out
    assert "inputs   1|" in ran.out


def test_words_with_the_tokenizer_beside(slm, tmp_path):
    import slmtok
    from slmtok.shards import pack

    text = "\n".join(["The cat sat.", "On the mat it sat.", "Naïve \x07!"] * 9)
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    tok = slmtok.train(slmtok.Texts([text]), vocab_size=280)
    pack(tmp_path / "text.txt", tok, tmp_path / "packed", val="tail:10%")
    ran = slm("batches", "packed", "--n", 1, "--seq-len", 16, "--max-rows", 0, code=0)
    assert "␣sat" in ran.out or "␣s|at" in ran.out
    assert "\x07" not in ran.out
    other = slmtok.train(slmtok.Texts([text]), vocab_size=275)
    other.save("other.json")
    ran = slm("batches", "packed", "-t", "other.json")
    assert (ran.code, ran.err.splitlines()[0]) == (1, "error: other.json is not the tokenizer of packed")
    assert "fix:   leave out --tokenizer other.json: packed has its own" in ran.err


def test_a_word_of_an_appended_role_is_its_number(tmp_path):
    import slmtok
    from slmmodel.cli.text import Text

    tok = slmtok.train(slmtok.Texts(["abab"]), vocab_size=273)
    tok.save(tmp_path / "tok.json")
    text = Text(tmp_path / "tok.json")
    assert text.words([1, 272, 999]) == ["<s>", "ab", "<999>"]
    assert text.data([1, 272, 999, 16 + 65]) == b"abA"


def test_refusals(slm, data):
    assert slm("batches", "nowhere").code == 1
    assert slm("batches", data, "--pack", "conact").code == 2
    assert slm("batches", data, "--seq-len", 0).code == 2
    assert "no split 'test'" in slm("batches", data, "--split", "test").err

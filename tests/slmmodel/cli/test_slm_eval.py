"""`slm eval` and `slm compare`: proof, refusal, baselines, files."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import made_shards as made
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from made_runs import write_run
from safetensors.numpy import save_file

TEXT = "The cat sat on the mat. A dog saw the cat, and the cat saw the dog.\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    splits = {"train": [made.documents([90, 20, 40])], "val": [made.documents([15] * 22)]}
    write_run(tmp_path / "run", made.write_data(tmp_path / "data", splits))
    return tmp_path / "run"


@pytest.fixture
def text_run(tmp_path: Path) -> Path:
    """A run on packed text, with its tokenizer."""
    import slmtok
    from slmtok.shards import pack

    lines = [TEXT * (1 + number % 3) for number in range(30)]
    (tmp_path / "text.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    tok = slmtok.train(slmtok.Texts(lines), vocab_size=290)
    tok.save(tmp_path / "tok.json")
    pack(tmp_path / "text.jsonl", tok, tmp_path / "packed", val="tail:30%")
    write_run(tmp_path / "run", tmp_path / "packed", tokenizer=(tmp_path / "tok.json").read_bytes())
    return tmp_path / "run"


def test_the_special_that_closes_documents_is_named(slm, text_run, tmp_path):
    from slmtok import load
    from slmtok.shards import pack

    assert "every byte and every </s>" in slm("eval", text_run, "--no-baselines", code=0).out
    pack(tmp_path / "text.jsonl", load(tmp_path / "tok.json"), tmp_path / "opened", eos=False, val="none")
    out = slm("eval", text_run, "--on", tmp_path / "opened", "--no-baselines", code=0).out
    assert "every byte and every <s>:" in out and "without <s>" in out


def test_the_table_names_the_data(slm, text_run, tmp_path):
    out = slm("eval", text_run, "--no-baselines", code=0).out
    assert f"data         {tmp_path / 'packed'}" in out
    (tmp_path / "new.txt").write_text(TEXT * 30)
    out = slm("eval", text_run, "--on", tmp_path / "new.txt", "--no-baselines", code=0).out
    assert f"data         {tmp_path / 'new.txt'}" in out


def test_data_without_a_split_val_are_scored_as_a_whole(slm, tmp_path):
    """By default, as with `--on`; `--split` asks for one split alone."""
    data = made.write_data(tmp_path / "data", {"train": [made.documents([90, 20, 40])]})
    write_run(tmp_path / "run", data)
    ran = slm("eval", "run", "--no-baselines", code=0)
    assert "has no split val: all its documents, the split train, are taken" in ran.err
    assert Path("run/eval/train.json").is_file()
    named = slm("eval", "run", "--on", "data", "--no-baselines", "--json", code=0).json["result"]
    assert named["bpb_total"] == json.loads(Path("run/eval/train.json").read_text())["payload"]["bpb_total"]
    assert "has no split 'val'" in slm("eval", "run", "--split", "val", code=1).err


def test_a_split_that_is_none_changes_nothing_in_the_run(slm, tmp_path):
    data = made.write_data(tmp_path / "data", {"train": [made.documents([90, 20, 40])]})
    write_run(tmp_path / "run", data)
    Path("run/eval").mkdir(exist_ok=True)
    Path("new.txt").write_text("once upon")
    os.utime("run/eval", ns=(0, 0))
    for words in ([], ["--on", "data"], ["--on", "new.txt", "-t", "nothing.json"]):
        slm("eval", "run", *words, "--split", "train,val", code=1)
        assert Path("run/eval").stat().st_mtime_ns == 0


@pytest.mark.skipif(os.name == "nt", reason="pipes have no names")
def test_a_pipe_is_named_as_what_it_is(slm, text_run):
    os.mkfifo("pipe")
    ran = slm("eval", text_run, "--on", "pipe", code=2)
    assert "'pipe' is a pipe or a device, which can be read only once" in ran.err
    assert "name - in the place of pipe" in ran.err and "slmtok pack" not in ran.err
    for line in (("ablate", "--text", "pipe", "--vocabs", "300,400", "-o", "new"), ("demo", "pipe", "-o", "new")):
        assert "'pipe' is a pipe or a device, which can be read only once" in slm(*line, code=2).err
    ran = slm("doctor", "pipe", code=2)
    assert "'pipe' is a pipe or a device, not a run, packed data or a tokenizer" in ran.err


def test_a_certificate_that_is_proven(slm, run):
    from slmmodel.cli.result_files import load_certificate, to_envelope

    ran = slm("eval", run, "--json", "--quiet", code=0)
    result = ran.json["result"]
    nbytes = sum(made.raw_bytes(doc) for doc in made.documents([15] * 22))
    assert result["sums"]["bytes"] == nbytes
    assert result["bpb_total"] > result["bpb_content"] > 0
    written = load_certificate(str(run / "eval/val.json"))
    assert written["bpb_total"] == result["bpb_total"]
    again = slm("eval", "--check", run / "eval/val.json", "--json")
    assert (again.code, again.json["result"]["proven"]) == (0, True)
    del written["tool"]
    written["sums"]["nats_content"] *= 0.9
    (run / "eval/val.json").write_bytes(to_envelope(written).to_bytes())
    refused = slm("eval", run, "--check", run / "eval/val.json")
    assert refused.code == 3
    assert "not proven" in refused.out and "sums.nats_content" in refused.out
    (run / "eval/val.json").write_text(json.dumps({"format": "slm-certificate", "version": 1}))
    old = slm("eval", run, "--check", run / "eval/val.json")
    assert old.code == 1 and "is a certificate of version 1; this package reads version 2" in old.err


def test_people_read_both_numbers(slm, run):
    ran = slm("eval", run, "--no-baselines", "--seq-len", 8, "--stride", 8, "--breakdown", code=0)
    for words in (
        "bpb_total",
        "bpb_content",
        "22 x document",
        "seq_len 8, stride 8",
        "by_frequency",
        "worst_documents",
    ):
        assert words in ran.out, words


def test_no_number_without_the_identity(slm, run, tmp_path):
    vocab = tmp_path / "data/vocab.json"
    table = json.loads(vocab.read_text())
    table["byte_lengths"][280] += 1
    for path in (vocab, run / "vocab.json"):
        path.write_text(json.dumps(table))
    from slmmodel import checkpoint

    names = ["vocab.json", "fingerprint.json", "config.yaml", "model.safetensors"]
    (run / "SHA256SUMS").write_bytes(checkpoint.sums_of(run, names))
    ran = slm("eval", run)
    assert (ran.code, ran.out) == (3, "")
    assert "its scored ids have" in ran.err
    assert not (run / "eval").exists()


def test_losses_and_the_comparison(slm, run, tmp_path):
    assert slm("eval", run, "--losses", "a.loss", "--no-baselines").code == 0
    refused = slm("eval", run, "--losses", "a.loss")
    assert refused.code == 1 and "exists" in refused.err
    write_run(tmp_path / "other", tmp_path / "data", seed=1)
    assert slm("eval", tmp_path / "other", "--losses", "b.loss", "--no-baselines").code == 0
    ran = slm("compare", "a.loss", "b.loss", "--json", "--resamples", 200, code=0)
    result = ran.json["result"]
    assert result["difference"] == pytest.approx(result["bpb_a"] - result["bpb_b"])
    assert result["interval"]["low"] <= result["difference"] <= result["interval"]["high"]
    assert "A minus B  +0.0000" in slm("compare", "a.loss", "a.loss", "--content").out
    assert slm("compare", "a.loss", "none.loss").code == 1


def test_a_difference_to_no_loss_has_no_percentage(slm):
    sizes = {"nbytes": np.ones(30, np.uint32), "offsets": np.arange(31, dtype=np.uint64)}
    about = {"about": json.dumps({"format": "slm-losses", "version": 1})}
    for name, loss in {"a": 2, "b": 0}.items():
        save_file({"nats": np.full(30, loss, np.float32), **sizes}, f"{name}.losses", about)
    ran = slm("compare", "a.losses", "b.losses", "--resamples", 100, code=0)
    assert "\nA minus B  +2.8854\n" in ran.out.replace("\n  ", "\n"), ran.out


def test_losses_of_texts_know_their_documents(slm, text_run, tmp_path, capsys):
    """Texts of equal lengths differ; the same documents are equal, packed or not."""
    from slmtok.cli import main as slmtok

    text = (tmp_path / "text.jsonl").read_text().splitlines(keepends=True)[-9:]
    Path("same.jsonl").write_text("".join(text))
    Path("other.jsonl").write_text("".join(text).replace("cat", "car"))
    for name, on in {"packed": [], "same": ["--on", "same.jsonl"], "other": ["--on", "other.jsonl"]}.items():
        slm("eval", text_run, *on, "--losses", f"{name}.loss", "--no-baselines", "--quiet", code=0)
    slm("compare", "packed.loss", "same.loss", "--resamples", 100, code=0)
    assert slmtok(["align", "packed.loss", "same.loss", "--on", "same.jsonl"]) == 0
    refused = slm("compare", "same.loss", "other.loss", code=1)
    assert "the two files are about different documents of the same sizes" in refused.err
    assert slmtok(["align", "same.loss", "same.loss", "--on", "other.jsonl"]) == 2
    assert "the digest of the text is not the one in same.loss" in capsys.readouterr().err
    for name, on in {"packed": "", "same": "--on TEXT "}.items():
        given = on.replace("TEXT", "same.jsonl").split()
        slm("eval", text_run, *given, "--certificate", f"{name}.json", "--no-baselines", "--quiet", code=0)
        fix = f"slm eval RUN {on}--losses {name}.losses && slm compare same.loss {name}.losses\n"
        assert fix in slm("compare", "same.loss", f"{name}.json", code=2).err


@pytest.mark.parametrize(("better", "verdict"), [("A", "A is better"), ("B", "B is better"), ("", "no decision")])
def test_verdicts(better, verdict):
    from slmmodel.cli.eval import verdict_of
    from slmmodel.evaluation.comparison import Interval

    bounds = {"A": (-2, -1), "B": (1, 2), "": (-1, 1)}[better]
    assert verdict_of(Interval(*bounds, "document", 30)).startswith(verdict)
    assert verdict_of(None).startswith("not available")


def test_baselines_stand_beside(slm, text_run):
    ran = slm("eval", text_run, "--json", code=0)
    lines = ran.json["result"]["baselines"]
    from slmtok.shards import open_shards  # the documents, as slmtok reads them

    assert (
        lines["bytes"]
        == ran.json["result"]["sums"]["bytes"]
        == int(open_shards("packed").manifest["splits"]["val"]["bytes"])
    )
    assert lines["ngram"]["6"] < 1.5 < lines["ngram"]["1"]
    assert lines["train_bytes"] == lines["train_bytes_all"] > 0
    shown = slm("eval", text_run)
    assert "byte n-grams by order" in shown.out and "after the training text" in shown.out
    assert "A byte" in shown.out


def test_baselines_of_long_texts_say_what_they_leave_out(slm, text_run, monkeypatch):
    whole = slm("eval", text_run, "--json", code=0).json["result"]["baselines"]
    monkeypatch.setattr("slmmodel.cli.baselines._IDS_PER_STEP", 4)
    assert slm("eval", text_run, "--json", code=0).json["result"]["baselines"] == whole
    for module in ("slmmodel.cli.baselines", "slmtok.analysis.baselines"):
        monkeypatch.setattr(f"{module}.MAX_BASELINE_BYTES", 100)
    out = slm("eval", text_run, code=0).out
    assert "limited to the first 100 bytes of the training text, the first 100 bytes of the text" in " ".join(
        out.split()
    )
    assert "bits per byte on the first 100 bytes: train longer or larger." in out


def test_baselines_that_were_asked_for_are_not_left_out_in_silence(slm, text_run):
    assert "no baselines" not in slm("eval", text_run, code=0).err
    packed = text_run.parent / "packed"
    packed.rename(text_run.parent / "moved")
    ran = slm("eval", text_run, "--on", text_run.parent / "moved", "--baselines", code=0)
    assert "no baselines: the run " in ran.err and "the data of its training" in ran.err


def test_a_run_that_is_replaced_meanwhile_gets_no_result_of_other_weights(slm, run, monkeypatch):
    from slmmodel.cli import eval as command

    score = command.score

    def score_and_replace(*given, **options):
        found = score(*given, **options)
        run.rename(run.parent / "old")
        shutil.copytree(run.parent / "old", run)
        return found

    monkeypatch.setattr(command, "score", score_and_replace)
    ran = slm("eval", run, code=1)
    assert "was removed or replaced while it was in use" in ran.err
    assert not (run / "eval/val.json").exists()


def test_equal_bytes_of_context(slm, text_run):
    ran = slm("eval", text_run, "--seq-bytes", 20, "--no-baselines", "--json", code=0)
    result = ran.json["result"]
    assert result["scoring"]["seq_len"] == int(20 / result["conversions"]["bytes_per_target"])
    assert slm("eval", text_run, "--seq-bytes", 20, "--seq-len", 4).code == 2
    assert slm("eval", text_run, "--seq-len", 17).code == 2


def test_other_data(slm, run, tmp_path):
    made.write_data(tmp_path / "more", {"train": [made.documents([8, 9])]})
    ran = slm("eval", run, "--on", "more", "--json", code=0)
    assert ran.json["result"]["documents"]["split"] == "train"
    assert (run / "eval/more-train.json").is_file()
    changed = made.write_data(tmp_path / "foreign", {"val": [made.documents([8])]}, fingerprint=bytes(32))
    (changed / "vocab.json").write_bytes(made.vocab_json(fingerprint="00" * 32))
    manifest = json.loads((changed / "manifest.json").read_text())
    (changed / "manifest.json").write_text(json.dumps({**manifest, "fingerprint": "00" * 32}))
    ran = slm("eval", run, "--on", "foreign")
    assert ran.code == 1 and "another tokenizer than the model" in ran.err


def test_training_data_that_another_tokenizer_packed_again(slm, text_run, tmp_path):
    import slmtok
    from slmtok.shards import pack

    shutil.rmtree(tmp_path / "packed")
    other = slmtok.train(slmtok.Texts([TEXT]), vocab_size=280)
    pack(tmp_path / "text.jsonl", other, tmp_path / "packed", val="tail:30%")
    ran = slm("eval", text_run, "--on", "text.jsonl", "--losses", "a.losses", "--breakdown", code=0)
    fact = "the data were made with another tokenizer than the model"
    assert ran.err.count(f"note: left out what compares with the training data: {fact}") == 1
    assert (tmp_path / "a.losses").is_file()
    ran = slm("eval", text_run, "--on", "text.jsonl", "--exposure", "dead.json")
    assert ran.code == 2 and f"the training data, which are others now: {fact}" in ran.err
    assert fact in slm("batches", text_run).err


def test_ids_in_another_layout_are_called_derived(slm, run):
    import numpy as np

    ids = [id for doc in made.documents([15] * 22) for id in doc[1:]]
    np.array(ids, "<u2").tofile("val.bin")
    ran = slm("eval", run, "--on", "val.bin", "--json", code=0)
    result = ran.json["result"]
    assert result["documents"]["bytes_from"] == "derived"
    assert result["sums"]["bytes"] == sum(made.raw_bytes(doc) for doc in made.documents([15] * 22))
    assert (run / "eval/val.json").is_file()
    assert "they agree by construction" in slm("eval", run, "--on", "val.bin").out


def test_a_state_is_carried_by_recurrent_models_alone(slm, run):
    refused = slm("eval", run, "--stateful")
    assert refused.code == 2 and "has no state to carry" in refused.err
    write_run(run.parent / "lstm", run.parent / "data", arch="lstm", n_heads=None, hidden_size=16)
    ran = slm("eval", run.parent / "lstm", "--stateful", "--json", code=0)
    assert ran.json["result"]["scoring"]["seq_len"] == "unlimited"
    assert slm("eval", "--check", run.parent / "lstm/eval/val.json").code == 0


def test_data_that_moved(slm, run):
    (run.parent / "data").rename(run.parent / "moved")
    ran = slm("eval", run)
    assert ran.code == 1 and "--on DATA" in ran.err
    assert slm("eval", run, "--on", run.parent / "moved", "--no-baselines").code == 0


def test_wrong_usage(slm, run):
    assert slm("eval").code == 2
    assert slm("eval", run, "--precision", "fp8").code == 2
    assert slm("eval", "nowhere").code == 1
    assert slm("eval", run, "--split", "test").code == 1


def test_outputs_replace_no_file_of_the_run_or_the_data(slm, run, tmp_path):
    inputs = [run / "model.safetensors", run / "config.yaml", tmp_path / "data/val-00000.bin"]
    assert all(path.is_file() for path in inputs)
    before = [path.read_bytes() for path in inputs]
    for option in ("--certificate", "--losses"):
        for path in inputs:
            refused = slm("eval", run, option, path, "--force", code=2).err
            assert "is also the input" in refused and f"name another {option}" in refused
    assert [path.read_bytes() for path in inputs] == before
    refused = slm("passkey", run, "-o", run / "model.safetensors", "--force", code=2).err
    assert "is also the input" in refused
    for option in ("--certificate", "--losses"):
        assert "is a folder" in slm("eval", run, option, run, "--force", code=1).err
        assert "no folder 'nodir'" in slm("eval", run, option, "nodir/c.json", code=1).err
    assert not (run / "eval").exists(), "nothing was scored"
    assert not Path("nodir").exists()


def test_exposure_lists_what_training_hardly_met(slm, text_run, tmp_path):
    import slmtok

    made = slmtok.load(text_run / "tok.json")
    ran = slm("eval", text_run, "--exposure", tmp_path / "dead.json", "--below", 50, "--json", "--quiet", code=0)
    found, file = ran.json["result"]["exposure"], json.loads((tmp_path / "dead.json").read_text())
    shards = slmtok.shards.open_shards(tmp_path / "packed")
    counts = [0] * made.n_vocab
    for number in range(shards.n_docs("train")):
        for id in shards.document(number, "train").tolist()[1:]:
            counts[id] += 1
    trained = json.loads((text_run / "result.json").read_text())["targets"]
    assert file["by_id"]["updates"] == pytest.approx([trained * count / sum(counts) for count in counts])
    updates = dict(enumerate(file["by_id"]["updates"]))
    rare = sorted((id for id in range(272, made.n_vocab) if updates[id] < 50), key=lambda id: (updates[id], -id))
    assert file["ids"] == rare and found["rare"] == len(rare) > 0
    assert [row["id"] for row in found["rarest"]] == rare[:20]
    weights = text_run_weights(text_run)
    for row in found["rarest"]:
        assert row["token"] == slmtok.token_text.escape_token(made.token_bytes(row["id"]))
        assert row["embedding_norm"] == pytest.approx(weights[row["id"]].norm().item(), rel=1e-5)
    sums, groups = ran.json["result"]["sums"], found["by_frequency"]
    assert (
        sum(row["targets"] for row in groups) == sums["targets"] and sum(row["ids"] for row in groups) == made.n_vocab
    )
    bits = sum(row["targets"] * row["bits_per_target"] for row in groups if row["targets"])
    assert bits == pytest.approx(ran.json["result"]["bpb_total"] * sums["bytes"], rel=1e-9)


def text_run_weights(run):
    from slmmodel.checkpoint import RunFolder

    return RunFolder.open(run).model().embed.weight.detach()


def test_a_planted_token_heads_the_list_and_can_be_pruned(slm, tmp_path):
    import slmtok as library
    from slmtok.cli.surgery import read_id_list

    texts = [TEXT * 3] * 30
    (tmp_path / "text.txt").write_text("".join(texts))
    made = library.train(library.Texts(texts), vocab_size=290, require=[b"zzqjx"])
    library.pack(tmp_path / "text.txt", made, tmp_path / "packed", val="tail:30%", document="line")
    write_run(tmp_path / "run", tmp_path / "packed", tokenizer=(tmp_path / "packed/tok.json").read_bytes())
    shown = slm("eval", "run", "--exposure", "dead.json", "--below", 1, "--no-baselines", code=0).out
    assert "zzqjx" in shown and "not in the training data" in shown and "bits each" in shown
    listed = read_id_list(str(tmp_path / "dead.json"), made.fingerprint)
    assert made.token_id(b"zzqjx") in listed
    assert library.prune(made, ids=listed).tokenizer.token_id(b"zzqjx") is None


@pytest.fixture
def staged(text_run, tmp_path):
    """Training data of `text_run` in two stages, half of the steps each; the second is about dogs."""
    import slmtok as library
    from slmmodel.data.opening import RunData, StageData, open_source

    other = [" ".join(["dog"] * 40)] * 30
    (tmp_path / "dogs.txt").write_text("\n".join(other))
    library.pack(
        tmp_path / "dogs.txt", library.load(text_run / "tok.json"), tmp_path / "dogs", document="line", val="none"
    )
    first, second = open_source(tmp_path / "packed", "train"), open_source(tmp_path / "dogs", "train")
    half = json.loads((text_run / "result.json").read_text())["step"] // 2
    return RunData(first, None, first.vocab, stages=(StageData(1, first, None), StageData(half + 1, second, None)))


def test_exposure_counts_each_stage_by_its_steps(slm, text_run, staged, tmp_path, monkeypatch):
    from slmmodel.cli import eval as command
    from slmtok.shards import open_shards

    result = json.loads((text_run / "result.json").read_text())
    half = staged.stages[1].from_step - 1
    monkeypatch.setattr(command, "training_data", lambda run, **_: staged)
    slm("eval", text_run, "--exposure", tmp_path / "x.json", "--no-baselines", "--quiet", code=0)
    updates = json.loads((tmp_path / "x.json").read_text())["by_id"]["updates"]
    ids = [id for number in range(30) for id in open_shards(tmp_path / "dogs").document(number).tolist()[1:]]
    dog = max(set(ids), key=ids.count)
    alone = ids.count(dog) / len(ids) * result["targets"] * (result["step"] - half) / result["step"]
    assert updates[dog] >= alone * (1 - 1e-9) and sum(updates) == pytest.approx(result["targets"])


def test_overlap_and_words_see_each_stage(text_run, staged, monkeypatch):
    from slmmodel.checkpoint import RunFolder
    from slmmodel.cli import prompts, recorded, text_sections
    from slmmodel.cli.open_by_path import RunContext
    from slmmodel.cli.text import Text

    monkeypatch.setattr(recorded, "training_data", lambda run, **_: staged)
    run = RunFolder(text_run)
    text = Text(str(run.tokenizer), run.vocab)
    assert b"dog dog" in text_sections.training_text(run, text)
    ids = prompts._TrainingIds(RunContext(run, None, run.vocab, text))
    found = b"".join(text.data(part.tolist()) for part in ids)
    assert found.count(b"dog dog") == 30 * 20 and b"The cat" in found and ids.read >= 30 * 40


def test_below_and_stdout_of_exposure_are_refused(slm, run):
    assert "--below 5 has no effect without --exposure FILE" in slm("eval", run, "--below", 5, code=2).err
    assert "fix:   --exposure dead.json" in slm("eval", run, "--exposure", "-", code=2).err


def test_exposure_needs_the_training_data_before_it_scores(slm, run, tmp_path):
    (tmp_path / "data").rename(tmp_path / "moved")
    ran = slm("eval", run, "--on", "moved", "--exposure", "dead.json", code=2)
    assert (
        "--exposure counts the ids of the training data, which are missing" in ran.err
        and not (tmp_path / "dead.json").exists()
    )

"""Wrong inputs of `slm`: each is refused before any work, by a message whose fix works."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from printed_fixes import fix_of

pytest.importorskip("torch")

from slm_folder import make_folder

import slmmodel
from slmmodel.cli import APP
from slmmodel.config import read_budget
from slmmodel.errors import CorruptFile, OfCommand, OptionError
from slmtok.cli.output import flag_naming

ROOT = str(Path(slmmodel.__file__).parents[1])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, a tokenizer, packed data, counts, and a run of two steps."""
    import slmtok

    folder = make_folder(tmp_path_factory.mktemp("made"), "--no-eval")
    slmtok.count(str(folder / "text.txt")).save(folder / "a.counts")
    return folder


def test_what_is_not_text(slm, here):
    for command in (["eval", "run", "--on"], ["batches", "-t", "tok.json"], ["demo"]):
        for path, what in (("tok.json", "is a tokenizer file"), ("a.counts", "is a counts file")):
            if command[0] in ("batches", "demo") and path == "tok.json":
                continue
            assert what in slm(*command, path, code=2).err, (command, path)
        checkpoint = slm(*command, "run/checkpoints/step-2", code=2).err
        assert "is a checkpoint of slm, not text" in checkpoint and "or the run: run" in checkpoint
    assert "is a run of slm, not text" in slm("eval", "run", "--on", "run", code=2).err
    assert not (here / "run/eval").exists() and not (here / "demo").exists()
    assert "no file or folder 'nope'" in slm("batches", "nope", code=1).err
    assert "  fix:   slm batches data\n" in slm("batches", "data/train-00000.bin", code=2).err


def test_batches_of_any_size_are_bounded(slm, here):
    assert "1,280,000,000 ids" in slm("batches", "data", "--batch-size", "10000000", code=2).err
    for given, named in (
        (("--first-step", "9999999"), "--first-step"),
        (("--n", "999999999"), "--n"),
        (("--n", "999999999", "--first-step", "1"), "--n"),
        (("--n", "999999999", "--first-step", "999999999"), "--first-step 0 --n"),
    ):
        error = slm("batches", "data", *given, code=2).err
        assert re.search(rf"fix:   {named} \d+, or less", error), error
    assert "fix:   --pack best_fit" in slm("batches", "data", "--pack", "best", code=2).err


def test_a_finished_run_without_checkpoints_is_not_resumed(slm, here):
    shutil.rmtree("run/checkpoints")
    refused = slm("sample", "run", "--ids", "1", "--step", "2", code=1).err
    assert "no checkpoint of step 2" in refused and "fix:   restore the checkpoints; without a step, " in refused
    refused = slm("resume", "run", "-o", "new", "--step", "2", code=1).err
    assert "no checkpoint to continue from" in refused and "fix:   restore that folder, or train again: " in refused
    assert slm("sample", "run", "--ids", "1", "--max-new", "1").code == 0


def test_a_run_does_not_branch_onto_itself(slm, here):
    refused = slm("resume", "run", "--step", "2", "-o", "./run", "--force", code=2).err
    assert "-o './run' is the run itself" in refused
    assert "fix:   slm resume run --step 2 -o run-2 --budget steps=4" in refused


def test_a_finished_run_has_no_step_left(slm, here):
    finished = slm("resume", "run", "--no-eval", code=1).err
    assert "fix:   slm resume run --no-eval -o run-2 --budget steps=4" in finished
    spent = slm("resume", "run", "-o", "new", "--step", "2", "--budget", "steps=2", code=2).err
    assert "no step is left" in spent and not (here / "new").exists()
    fixed = slm("resume", "run", "--set", "model.dropout=0.1", "--step", "2", "-o", "new", code=2).err
    assert "the model of a run does not change" in fixed
    err = slm("resume", "run", "-o", "new", "--threads", "abc", code=2).err
    assert "fix:   --threads 1, as in run/config.yaml, line " in err
    (here / "run/config.yaml").write_text((here / "run/config.yaml").read_text().replace(str(here), str(here)))
    ran = slm("resume", "run", "--step", "2", "-o", "new", "--budget", "steps=4", "--no-eval", code=0)
    assert "finished, step 4 of 4" in ran.out


@pytest.mark.parametrize(
    "given, fix",
    {
        "run --budget steps=+6": "slm resume run --budget steps=8 -o run-2",
        "run --budget=tokens=+1K -o new": "slm resume run -o new --budget tokens=1032",
        "run --step 2 --budget epochs=+1": "--budget epochs=N, the sum of what the run has and 1",
    }.items(),
    ids=lambda given: "",
)
def test_a_budget_that_adds_to_a_run_is_the_sum(slm, here, given, fix):
    assert fix_of(slm("resume", *given.split(), code=2)) == fix


def test_data_that_moved_are_named_by_an_option(slm, here, made):
    data = made / "data"
    shutil.move(here / "data", here / "kept")
    branch = ("resume", "run", "--step", "2", "-o", "new", "--budget", "steps=3")
    data.rename(made / "moved")
    try:
        err = slm(*branch, code=1).err
        assert (
            "are not there" in err
            and "where: run\n" in err
            and "  fix:   --data kept\n" in err
            and not (here / "new").exists()
        )
        # The new run knows where its data are, and so do the commands that follow.
        slm(*branch, "--data", "kept", "--no-eval", code=0)
        slm("eval", "new", "--no-baselines", code=0)
        assert "the run 'new' is finished" in slm("resume", "new", code=1).err
    finally:
        (made / "moved").rename(data)


def test_a_result_that_is_replaced_is_named(slm, here):
    for _ in range(2):
        assert "replaced" not in slm("eval", "run", "--no-baselines", code=0).err
    note = "run/eval/val.json had another result (of stride 4), which is replaced; --certificate FILE keeps both"
    assert note in slm("eval", "run", "--no-baselines", "--stride", "1", code=0).err
    slm("eval", "run", "--no-baselines", "--on", "text.txt", code=0)
    Path("text.txt").write_text("another text. " * 20)
    note = "run/eval/text-all.json had another result (of other documents), which is replaced"
    assert note in slm("eval", "run", "--no-baselines", "--on", "text.txt", code=0).err
    assert "fix:   use --first-step 2\n" in slm("batches", "run", "--step", "2", code=2).err


@pytest.mark.skipif(sys.platform != "linux", reason="only some systems have such names")
def test_names_that_are_not_utf8_are_refused_before_training(slm, here):
    name = os.fsdecode(b"rn\xff")
    text = "the name b'rn\\xff' is not UTF-8"
    assert text in slm("train", "data", "-o", name, code=1).err and not (here / name).exists()
    (here / "data").rename(here / name)
    assert text in slm("train", name, "-o", "new", code=1).err and not (here / "new").exists()
    (here / name).rename(here / "data")
    (here / "run").rename(here / name)
    for command in ("eval", "plot", "resume", "info", "status"):
        options = ["-o", "curve.svg"] if command == "plot" else []
        assert text in slm(command, name, *options, code=1).err


def test_doctor_compares_tokenizers(slm, here):
    import slmtok

    slmtok.pack("text.txt", slmtok.train("text.txt", vocab_size=280), "other", val="none")
    assert "NO: " not in slm("doctor", "run", "data", code=0).out
    out = slm("doctor", "run", "other", code=3).out
    assert "NO: its tokenizer, " in out and "is another than that of run" in out


def test_data_that_were_moved_are_named_at_once(slm, tmp_path):
    make_folder(tmp_path, "--no-eval")
    shutil.move("data", "moved")
    assert "data not found at" in slm("doctor", "run", code=0).out
    fix = re.search(r"fix: +(slm resume .*?);", slm("resume", "run", "--budget", "steps=4", code=2).err)
    assert fix and fix[1].endswith(" --data moved")
    assert slm(*fix[1].split()[1:]).code == 0


def test_a_working_folder_that_was_removed(tmp_path, made):
    """A library of torch would end the process with a message of its own."""
    (tmp_path / "gone").mkdir()
    code = f"import os, sys; os.rmdir(os.getcwd()); sys.path[0] = {ROOT!r}; from slmmodel.cli import main; "
    code += f"sys.exit(main(['sample', {str(made / 'run')!r}, '--max-new', '1']))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "gone", capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "error: the working folder was removed\n  fix:   cd to a folder that exists\n"


@pytest.mark.parametrize("call", ["slmmodel.app.load(run)", "slmmodel.load(run)", "slmmodel.app.train(run)"])
def test_calls_in_a_working_folder_that_was_removed(tmp_path, made, call):
    (tmp_path / "gone").mkdir()
    code = f"import os, sys; os.rmdir(os.getcwd()); sys.path[0] = {ROOT!r}; import slmmodel, slmmodel.errors; "
    code += f"run = {str(made / 'run')!r}\ntry:\n  {call}\n"
    code += "except slmmodel.errors.MissingInput as error:\n  exec(error.fix.partition(',')[0]); print(error.fact)"
    line = [sys.executable, "-c", code]
    ran = subprocess.run(line, cwd=tmp_path / "gone", capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "the working folder was removed\n", "")


def test_an_unfinished_run_says_which_weights_it_has(slm, here):
    (here / "run/result.json").unlink()
    note = "note: 'run' has not finished: the weights are those of step 2"
    assert note in slm("sample", "run", "once", "--max-new", "1", code=0).err
    assert note in slm("eval", "run", "--no-baselines", code=0).err
    assert note not in slm("sample", "run", "once", "--max-new", "1", "--step", "2", code=0).err
    weights = here / "run/checkpoints/step-2/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert "(run/checkpoints/step-2)" in slm("doctor", "run", code=3).out


def test_lost_weights_lead_to_a_checkpoint(slm, here):
    (here / "run/model.safetensors").unlink()
    err = slm("sample", "run", "once", code=1).err
    assert "or read a checkpoint: --step 2" in err and "--allow-mismatch" not in err
    slm("sample", "run", "once", "--max-new", "1", "--step", "2", code=0)
    with pytest.raises(CorruptFile) as caught:
        slmmodel.load("run")
    assert caught.value.fix == "restore the file, or read a checkpoint: step=2"
    assert slmmodel.load("run", step=2).generate([], max_new_tokens=1)


def test_windows_are_checked_before_the_model(slm, here, monkeypatch):
    monkeypatch.setattr("slmmodel.cli.eval.open_documents", None)
    assert "--stride takes an integer >= 1, not '0'" in slm("eval", "run", "--stride", "0", code=2).err
    assert "fix:   --stride 8" in slm("eval", "run", "--stride", "1000", code=2).err
    assert "exclude each other" in slm("eval", "run", "--seq-len", "4", "--seq-bytes", "9", code=2).err
    assert "fix:   slm eval run --check c.json" in slm("eval", "--check", "c.json", code=2).err


def test_bench_measures_one_model_for_some_time(slm, here):
    assert "takes a time above 0" in slm("bench", "--seconds", "0", code=2).err
    assert "name two models" in slm("bench", "run", "--preset", "cpu-demo", code=2).err
    assert "takes one of adamw, muon, not 'sgd'" in slm("bench", "--optimizer", "sgd", code=2).err


def test_inputs_are_checked_before_the_model(slm, here, monkeypatch):
    monkeypatch.setattr("slmmodel.checkpoint.RunFolder.model", None)
    assert "not 'abc'" in slm("logprobs", "run", "--ids", "abc", code=2).err
    assert "--prompt and --ids together" in slm("logprobs", "run", "-p", "hi", "--ids", "1 2", code=2).err
    assert "nope.jsonl" in slm("pairs", "run", "nope.jsonl", code=1).err
    assert "--output is missing" in slm("export", "run", code=2).err
    for force in ([], ["--force"]):
        error = slm("export", "run", "-o", "data", *force, code=1).err
        assert "exists and is not an export" in error and "  fix:   -o data-2\n" in error
    assert "no folder 'a/b'" in slm("export", "run", "-o", "a/b/c", code=1).err and not Path("a").exists()


def test_a_result_that_no_page_shows_is_refused_before_the_runs_are_read(slm, here, monkeypatch):
    monkeypatch.setattr("slmmodel.cli.report.use_threads", lambda threads: pytest.fail("torch is loaded"))
    slm("eval", "run", "--losses", "a.losses", "--no-baselines", code=0)
    err = slm("report", "run", "--with", "a.losses", "-o", "x.html", code=2).err
    assert "a report does not show a.losses, a file of losses of slm eval\n" in err
    assert "limit: certificates of slm eval, files of slm passkey" in err
    assert "no file 'none.json'" in slm("report", "run", "--with", "none.json", code=1).err


def test_names_are_refused_before_torch_is_loaded(slm, here, monkeypatch):
    for name in ("report.use_threads", "export.load_torch", "train._train"):
        monkeypatch.setattr(f"slmmodel.cli.{name}", lambda *_, **__: pytest.fail("torch is loaded"))
    assert "no file or folder 'To be'" in slm("report", "run", "--on", "To be", "-o", "x.html", code=1).err
    assert "output 'run' exists and is not an export" in slm("export", "run", "-o", "run", code=1).err
    assert "text.txt is not a file of ids" in slm("train", "data", "--val", "text.txt", "-o", "new", code=2).err


def test_a_warm_up_of_the_whole_run_is_refused_before_the_data_are_read(slm, here, monkeypatch):
    monkeypatch.setattr("slmmodel.cli.train.named_data", lambda *_: pytest.fail("data are read"))
    line = ("train", "data", "--set", "optim.schedule.warmup=1000", "--budget", "steps=5", "-o", "new")
    err = slm(*line, code=2).err
    assert "optim.schedule.warmup of 1000 steps takes the whole run of 5\n" in err
    assert "where: --set optim.schedule.warmup\n" in err and "fix:   --set optim.schedule.warmup=0.05" in err


def test_pairs_from_stdin(slm, here, monkeypatch):
    import io

    pair = json.dumps({"sentence_good": "the fox saw", "sentence_bad": "fox the saw"}).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pair)))
    assert slm("pairs", "run", "-", "--json", code=0).json["result"]["groups"]["all"]["pairs"] == 1


PAIRS = {
    "chosen rejected": "--good chosen --bad rejected",
    "prompt chosen rejected": "--good chosen --bad rejected",
    "grammatical ungrammatical": "--good grammatical --bad ungrammatical",
    "sentence1 sentence2": "--good sentence1 --bad sentence2  # if sentence1 should be the likelier one",
    "a b c": "--good FIELD --bad OTHER  # FIELD has the sentence that should be likelier",
    "a": "write two sentences in each line, or name another FILE",
}


@pytest.mark.parametrize("fields", PAIRS)
def test_fields_of_other_pairs(slm, here, fields):
    Path("p.jsonl").write_text(json.dumps({name: f"the fox {at}" for at, name in enumerate(fields.split())}))
    err = slm("pairs", "run", "p.jsonl", code=1).err
    assert f"  limit: fields: {', '.join(fields.split())}\n  fix:   {PAIRS[fields]}\n" in err
    options = PAIRS[fields].partition("  # ")[0].split()
    for name in ("a", "b"):
        Path("blimp").mkdir(exist_ok=True)
        shutil.copy("p.jsonl", f"blimp/{name}.jsonl")
    fix = fix_of(slm("pairs", "run", "blimp", "--good=text", code=2))
    if len(options) != 4:
        assert fix == "cat blimp/*.jsonl | slm pairs run - --good=text"
    else:
        assert fix == f"cat blimp/*.jsonl | slm pairs run - {PAIRS[fields]}"
    if len(options) == 4 and "FIELD" not in options:
        slm("pairs", "run", "p.jsonl", *options, code=0)


def test_a_field_of_groups_that_is_absent(slm, here):
    Path("p.jsonl").write_text(json.dumps({"good": "the fox", "bad": "fox the"}))
    line = ["pairs", "run", "p.jsonl", "--by", "kind"]
    assert "fix:   --good good --bad bad; and for --by kind one of these fields\n" in slm(*line, code=1).err
    err = slm(*line, "--good", "good", "--bad", "bad", code=1).err
    assert "fix:   --by with one of these fields, or leave --by kind out\n" in err


def test_numbers_of_a_demo(slm, here):
    assert "8000" in slm("demo", "text.txt", "-o", "d", "--vocab", "8k", code=2).err
    err = slm("demo", "text.txt", "-o", "d", "--vocab", "9000", "--budget", "steps=2", code=2).err
    assert "fix:   --vocab " in err and "or a longer text" in err and "30 bytes" not in err


@pytest.mark.parametrize(
    "option", [["--budget", "{}"], ["--set", "run.budget.{}"], ["--config", "a.yaml"]], ids=lambda option: option[0]
)
def test_an_amount_of_tokens_in_bytes(slm, here, option):
    """A size is of text, its number may be of ids: both are named."""
    Path("a.yaml").write_text("run:\n  budget:\n    tokens: 2MB\n")
    err = slm("train", "data", "-o", "new", *(word.format("tokens=2MB") for word in option), code=2).err
    fix = "--budget bytes=2MB, which counts bytes of text, or --budget tokens=2M, which counts ids"
    assert "run.budget.tokens is '2MB'" in err and f"  fix:   {fix}\n" in err
    for budget in ("bytes=2MB", "tokens=2M"):
        slm("train", "data", "-o", "new", "--budget", budget, "--dry-run", code=0)
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("given", "meant"), [("500", "steps=500"), ("2min", "time=2min"), ("2M", "tokens=2M"), ("much", "tokens=2M")]
)
def test_an_amount_without_a_kind(given, meant):
    with pytest.raises(OptionError) as caught:
        read_budget(given, "--budget")
    assert f"--budget {meant}" in caught.value.render(flag_naming)


@pytest.mark.parametrize(
    ("options", "fix"),
    {
        "--budget tokens_per_param=20": "--budget tokens=N, where N is 20 times the parameters of the model; slm info ",
        "--budget chinchilla": "--budget tokens=N, where N is 20 times the parameters of the model; slm info ",
        "--preset cpu-demo --budget chinchilla=1": "--budget tokens=20016640, 20 for each of the 1,000,832 parameters",
        "--preset cpu-demo --param-data-ratio 10": "use --budget tokens=10008320, 10 for each of the 1,000,832",
        "--preset cpu-demo --budget samples=1000": "--budget tokens=256000, 1,000 sequences of 256 ids\n",
        "--set model.seq_len=64 --budget samples=10": "--budget tokens=640, 10 sequences of 64 ids\n",
        "--budget samples=1000": "--budget tokens=N, where N is 1,000 times model.seq_len, the ids of a sequence\n",
        "--budget docs=1000": "--budget epochs=1, which trains on the whole text once; slmtok pack --max-docs 1000 ",
        "--budget target_flops=1e15": "--budget flops=1e15\n",
        "--target-flops 1e15": "use --budget flops=1e15\n",
        "--budget pflops=2": "--budget flops=2e15\n",
        "--budget num_train_epochs=2": "--budget epochs=2\n",
        "--budget total_training_steps=40": "--budget steps=40\n",
        "--budget wall_time=2h": "--budget time=2h\n",
        "--budget ms=1500": "--budget time=1.5s\n",
        "--budget gb=2": "--budget bytes=2GB\n",
        "--budget foo=7": "say what 7 counts: --budget steps=7, for instance, counts batches\n",
        "--budget 20x": "--budget epochs=20 for passes over the data, or --budget tokens=N, where N is 20 times ",
    }.items(),
)
def test_a_budget_of_another_trainer_keeps_its_amount(slm, here, options, fix):
    assert f"  fix:   {fix}" in slm("train", "data", "-o", "new", *options.split(), code=2).err


def test_fixes_name_the_flags_of_the_command():
    from slmmodel.errors import Argument

    flags = {flag for param in APP.command("batches").params for flag in param.opts}
    assert flag_naming(Argument("data.pack", "concat"), flags) == "--pack concat"
    assert flag_naming(Argument("data.pack", "concat")) == "--set data.pack=concat"
    error = OptionError("a fact", fix=("restore it", OfCommand(", or --force", ", or slm train --force in a shell")))
    assert pickle.loads(pickle.dumps(error)).fix == "restore it, or slm train --force in a shell"
    assert error.render(flag_naming).endswith("  fix:   restore it, or --force")


def test_a_lone_surrogate_in_a_pair_has_a_place(slm, here):
    pair = json.dumps({"sentence_good": "the fox", "sentence_bad": "fox the"})
    Path("p.jsonl").write_text(f"{pair}\n{pair.replace('fox the', 'fox ' + chr(92) + 'ud83d the')}\n")
    err = slm("pairs", "run", "p.jsonl", code=1).err
    assert "error: the field 'sentence_bad' of a pair has a lone surrogate U+D83D, which has no UTF-8\n" in err
    assert "  where: p.jsonl, line 2\n" in err


def test_ways_to_decode_are_compared_before_torch_is_loaded(slm, here, monkeypatch):
    monkeypatch.setattr("slmmodel.cli.sample.load_torch", lambda: pytest.fail("torch is loaded"))
    refused = slm("sample", "run", "hi", "--greedy", "--n", "3", code=2).err
    assert "n has no effect with greedy, which draws nothing" in refused


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "prompts run -o sheet.md": "-o sheet.json",
        "passkey run -o text.txt": "-o text.json",
        "chat run --transcript talk.pdf": "--transcript talk.txt",
        "probe run -o probe.npy": "-o probe.json",
        "eval run --certificate val.html": "--certificate val.json",
        "eval run --losses a.json": "--losses a.losses",
        "eval run --exposure rare.csv": "--exposure rare.json",
    }.items(),
)
def test_a_result_under_the_name_of_another_kind_of_file(slm, here, line, fix):
    ran = slm(*line.split(), code=2)
    assert " would hold " in ran.err and fix_of(ran) == fix


def test_a_check_without_a_file_names_the_result_of_the_run(slm, here):
    assert fix_of(slm("eval", "run", "--check", code=2)) == "slm eval run writes one"
    (here / "run/eval").mkdir(exist_ok=True)
    for command, result in (("eval", "val"), ("passkey", "passkey"), ("probe", "probe"), ("prompts", "prompts")):
        (here / f"run/eval/{result}.json").touch()
        for run in (["run"], []):
            assert fix_of(slm(command, *run, "--check", code=2)) == f"--check run/eval/{result}.json"


def test_a_fix_names_the_only_data_and_a_run_of_the_folder(slm, here):
    (here / "run.yaml").write_text("run:\n  seed: 1\n")
    assert fix_of(slm("config", "run.yaml", code=2)).startswith(
        "slm config --check run.yaml --data data checks run.yaml"
    )
    assert fix_of(slm("train", "run.yaml", code=2)).startswith("slm train data --config run.yaml")
    assert fix_of(slm("train", "--budget", "steps=1", code=2)) == "slm train data, or data.train in the configuration"
    assert fix_of(slm("eval", code=2)) == "slm eval run"
    shutil.copytree("data", "data2")
    assert fix_of(slm("train", "run.yaml", code=2)).startswith("slm train DATA --config run.yaml")


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        (["config", "optim.lr"], "slm config | grep -w lr"),
        (["config", "model.n_layers", "--data", "data"], "slm config --data data | grep -w n_layers"),
        (
            ["pairs", "run", "It sits.", "It sit.", "--batch-size", "2"],
            """printf '%s\\n' '{"sentence_good": "It sits.", "sentence_bad": "It sit."}' | """
            "slm pairs run - --batch-size 2",
        ),
        (
            ["passkey", "run", "--template", "It is {number}."],
            """printf '%s\\n' 'needle: "It is {key}."' > template.yaml, and --template template.yaml""",
        ),
        (
            ["passkey", "run", "--template", "The grass is green."],
            """printf '%s\\n' 'filler: "The grass is green."' > template.yaml, and --template template.yaml""",
        ),
    ],
)
def test_a_text_or_a_setting_in_the_place_of_a_file(slm, here, line, fix):
    assert fix_of(slm(*line, code=2)) == fix


@pytest.mark.parametrize(
    ("setting", "fix"),
    {
        "optim.name=adam": "--set optim.name=adamw",
        "optim.schedule.kind=cosin": "--set optim.schedule.kind=cosine",
        "run.batch_tokens=100": "--set run.batch_tokens=256, one sequence, or for 100 sequences ",
        "model.n_vocab=5": "remove model.n_vocab",
    }.items(),
)
def test_a_setting_is_refused_before_torch_is_loaded(slm, here, monkeypatch, setting, fix):
    monkeypatch.setattr("slmmodel.cli.train._train", lambda *_, **__: pytest.fail("torch is loaded"))
    assert fix_of(slm("train", "data", "-o", "new", "--set", setting, code=2)).startswith(fix)


def test_the_configuration_of_a_run_on_data_of_another_vocabulary(slm, here, monkeypatch):
    import slmtok

    tok = slmtok.train("text.txt", vocab_size=280)
    slmtok.pack("text.txt", tok, "other", val="none")
    monkeypatch.setattr("slmmodel.cli.train._train", lambda *_, **__: pytest.fail("torch is loaded"))
    line = ["train", "other", "--config", "run/config.yaml", "-o", "new"]
    assert fix_of(slm(*line, code=2)) == "--set model.n_vocab=280 --set model.padded_vocab=320"


@pytest.mark.parametrize("command", [["train", "data", "-o", "new"], ["config"]])
def test_a_run_in_the_place_of_a_preset(slm, here, command):
    config = here / "run/config.yaml"
    whole = "slm train --config run/config.yaml -o NEW trains with its settings"
    recorded = config.read_text().partition("\n")[2]
    for preset, has in (("cpu-demo", True), ("none", False)):
        config.write_text(f"# preset: {preset}\n{recorded}")
        for path, what in (("run", "a run"), ("run/config.yaml", "a file of settings")):
            ran = slm(*command, "--preset", path, code=2)
            assert f"error: {path!r} is {what}, not a preset\n" in ran.err
            own = f"--preset cpu-demo, which the {what.split()[1]} has; or "
            assert fix_of(ran) == own * has + whole


def test_a_second_cpu_is_refused_before_torch_is_loaded(slm, here):
    # A device that torch lacks "is not available".
    for line in ("sample run hi --device cpu:3", "eval run --device cpu:3"):
        ran = slm(*line.split(), code=2)
        assert ran.err.startswith("error: device 'cpu:3' does not exist\n") and fix_of(ran) == "--device cpu"
    ran = slm(*["train", "data", "-o", "new", "--device", "cpu:1"], code=2)
    assert ran.err.startswith("error: run.device is 'cpu:1'\n") and fix_of(ran) == "--device cpu"

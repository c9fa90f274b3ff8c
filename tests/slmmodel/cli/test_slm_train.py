"""`slm train` and `slm resume`: from shards to a bundle, what is refused, signals, and kill -9 of the command
itself."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "tests" / "slmmodel" / "training"), str(ROOT / "tests" / "slmtok" / "cli")]

import small  # noqa: E402
from test_progress import run_on_terminal  # noqa: E402

from slmmodel import trainer  # noqa: E402
from slmmodel.checkpoint import RunFolder  # noqa: E402
from slmmodel.config import OptimConfig  # noqa: E402
from slmmodel.data.opening import open_data  # noqa: E402
from slmmodel.distributed import World  # noqa: E402
from slmmodel.errors import CorruptFile  # noqa: E402
from slmmodel.models import MODELS, config_from_dict  # noqa: E402
from slmmodel.training import bench  # noqa: E402
from slmmodel.training.verify import verify_data  # noqa: E402
from slmtok.formats.tiktoken import ENCODINGS  # noqa: E402

SHAPE = [f"--set=model.{key}={value}" for key, value in small.MODEL.items()]
SETTINGS = [*SHAPE, "--set=run.batch_tokens=64", "--set=optim.name=adamw", "--threads=1", "--device=cpu"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small.data(tmp_path_factory.mktemp("data") / "data")


def test_dry_run_writes_nothing(slm, data, tmp_path):
    ran = slm("train", data, "--dry-run", "--json", code=0)
    result = ran.json["result"]
    assert result["preset"] == "cpu-demo" and result["optimizer"] == "muon" and 0 < result["embedding_share"] < 1
    assert "chosen by" in ran.json["warnings"][0]
    ran = slm("train", data, "--dry-run", "--budget", "time=60s")
    assert ran.code == 0 and "limited by time" in ran.out and "embedding share" in ran.out
    assert list(tmp_path.iterdir()) == []


def test_train_then_again_then_force(slm, data):
    line = ["train", data, *SETTINGS, "--budget", "steps=6"]
    ran = slm(*line, code=0)
    assert "finished, step 6 of 6" in ran.out and "bpb_total" in ran.out
    assert (Path("run") / "eval").is_dir()
    ran = slm(*line)
    assert ran.code == 1 and ran.err.startswith("error: the run 'run' is finished\n  where: 6 steps")
    ran = slm(*line, "--force", "--json", "--quiet", "-o", "run")
    assert ran.code == 0 and ran.json["schema"] == "slm.train/1" and ran.json["result"]["reason"] == "finished"
    assert ran.err == "" and "torch" in ran.json["versions"]


@pytest.mark.parametrize("again", ["train", "resume"])
def test_a_finished_run_without_its_score_is_scored(slm, data, again):
    """As after a signal while the score was computed: the same command, or `slm resume`, scores, and trains nothing."""
    line = ["train", data, *SETTINGS, "--budget", "steps=2"]
    slm(*line, code=0)
    certificate, weights = Path("run/eval/val.json").read_bytes(), Path("run/model.safetensors")
    shutil.rmtree("run/eval")
    written = weights.stat().st_mtime_ns
    ran = slm(*(line if again == "train" else ["resume", "run"]), "--json", code=0)
    assert ran.json["result"]["reason"] == "finished" and ran.json["result"]["evaluation"]["bpb_total"] > 0
    assert Path("run/eval/val.json").read_bytes() == certificate and weights.stat().st_mtime_ns == written
    assert not Path("run/heartbeat.json").exists()
    ran = slm(*(line if again == "train" else ["resume", "run"]), code=1)
    assert ran.err.startswith("error: the run 'run' is finished\n")


def test_a_run_is_not_scored_as_one_of_other_settings(slm, data):
    line = ["train", data, *SETTINGS, "--budget"]
    slm(*line, "steps=2", "--no-eval", code=0)
    ran = slm(*line, "steps=3", code=2)
    assert "run.budget.steps=3 contradicts the run" in ran.err and not Path("run/eval/val.json").exists()


def test_a_run_knows_its_data_in_every_folder(slm, data, monkeypatch):
    for name in ("run", "elsewhere"):
        Path(name).mkdir()
    Path("here").symlink_to(data)
    assert slm("train", "here", *SETTINGS, "--budget", "steps=1", "-o", "run/one", "--no-eval").code == 0
    monkeypatch.chdir("elsewhere")
    ran = slm("eval", "../run/one", "--no-baselines", "--json", code=0)
    assert ran.json["result"]["documents"]["split"] == "val"


def test_a_file_and_set_and_options(slm, data):
    Path("run.yaml").write_text("optim: {lr: 1e-4, name: adamw}\nrun: {budget: {tokens: 1M}, seed: 3}\n")
    ran = slm(
        "train", data, "--config", "run.yaml", *SETTINGS, "--set", "optim.lr=2e-3", "--budget", "steps=2", "--seed", "4"
    )
    assert ran.code == 0, ran.err
    config = RunFolder.open("run").config
    assert (config["optim"]["lr"], config["run"]["seed"], config["run"]["budget"]) == (2e-3, 4, {"steps": 2})


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (
            ["--set", "optim.lr_rate=1"],
            2,
            "unknown setting 'optim.lr_rate'; did you mean 'optim.lr'?",
        ),
        (["--set", "optim"], 2, "--set 'optim' is not NAME=VALUE"),
        (["--budget", "2M"], 2, "--budget '2M' is not KIND=AMOUNT"),
        (["--budget", "weeks=2"], 2, "unknown budget 'weeks'"),
        (["--budget", "words=10M"], 2, "fix:   --budget bytes=60000000, at 6 bytes for each in English"),
        (["--budget", "sentences=10M"], 2, "fix:   --budget epochs=1, which trains on the whole text once"),
        (["--budget", "hours=1"], 2, "fix:   --budget time=1h\n"),
        (["--budget", "minutes=5"], 2, "fix:   --budget time=5min\n"),
        (["--budget", "epoch=3"], 2, "fix:   --budget epochs=3\n"),
        (["--budget", "max_iters=3"], 2, "fix:   --budget steps=3\n"),
        (["--budget", "steps=0"], 2, "limit: greater than or equal to 1\n  fix:   --budget steps=500, for instance\n"),
        (["--set", "optim.lr=nan"], 2, "fix:   leave out optim.lr, then the preset decides\n"),
        (["--set", "run.deterministic=perhaps"], 2, "fix:   --set run.deterministic=false, as without it\n"),
        (["--set", "optim.schedule.warmup=-1"], 2, "fix:   leave out optim.schedule.warmup\n"),
        (["--precision", "fp8"], 2, "run.precision is 'fp8'"),
        (["--preset", "cpu-demi"], 2, "unknown preset 'cpu-demi'"),
        (["--device", "cuda:77"], 2, "device 'cuda:77' is not available"),
        (["--config", "none.yaml"], 1, "no file 'none.yaml'"),
        (["-o", "README"], 1, "output 'README' exists and is not a run folder"),
    ],
)
def test_what_is_refused(slm, data, options, code, text):
    Path("README").write_text("mine")
    budget = [] if "--budget" in options else ["--budget", "steps=2"]
    usual = [each for each in SETTINGS if each.partition("=")[0] not in {*options} - {"--set"}]
    ran = slm("train", data, *usual, *budget, *options)
    assert ran.code == code and ran.err.startswith("error: ") and text in ran.err
    assert Path("README").read_text() == "mine"


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_sequence_that_cannot_fit_into_memory_is_refused(slm, data, monkeypatch, dry):
    monkeypatch.setattr("slmmodel.training.microbatch.free_memory", lambda: 8_000_000_000)
    ran = slm("train", data, "--set", "model.seq_len=100000", *dry, code=2)
    assert "error: a step of one sequence of 100,000 ids takes at least 4" in ran.err
    assert "where: 8.0 GB are free on cpu" in ran.err and "fix:   --set model.seq_len=1024" in ran.err
    assert not Path("run").exists()
    slm("train", data, "--set", "model.seq_len=1024", "--dry-run", code=0)


def test_bf16_without_its_instructions_is_named(slm, data, monkeypatch):
    monkeypatch.setattr("slmmodel.training.setup.has_bf16_matmul", lambda device: False)
    line = ["train", data, "--dry-run", "--device", "cpu", "--precision"]
    assert "this CPU has no instructions for bf16" in slm(*line, "bf16", code=0).err
    assert "bf16" not in slm(*line, "fp32", code=0).err


def test_only_rank_0_prints(slm, data, monkeypatch):
    """torchrun gives each process its rank; here the process group is left out."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr("slmmodel.torchrun.is_rank", lambda: False)
    for options in ([], ["--json"]):
        ran = slm("train", data, *SETTINGS, "--budget", "steps=1", "-o", f"run{len(options)}", *options, code=0)
        assert ran.out == ""


@pytest.mark.parametrize("columns", [80, 120])
def test_a_run_on_a_terminal(data, tmp_path, monkeypatch, commands, columns):
    """On the narrow one in a process that imports torch first."""
    monkeypatch.chdir(tmp_path)
    line = ["train", str(data), *SETTINGS, "--budget", "steps=30", "--set", "run.eval_every=10"]
    if columns == 80:
        status, lines = run_on_terminal(columns, "-m", "slmmodel", *line)
    else:
        status, lines = run_on_terminal(columns, *line, program="slm", env=commands)
    assert status == 0, lines
    assert lines[0].endswith("loading torch  0:00")
    steps = [line for line in lines if line.startswith("training")]
    step = r"loss [\d.]+  [\d,]+ tokens/s  \d+:\d\d left  .*"
    pattern = rf"training [━╌]+  step \d+/30  ({step}|validating  [\d,]+ ids scored  )\d+:\d\d"
    assert steps and all(re.fullmatch(pattern, line.strip()) and len(line) <= columns for line in steps), steps
    kept = [line.split(": ")[0] for line in lines if ": validation " in line]
    assert kept == ["step 10/30", "step 20/30", "step 30/30"]
    assert any(line.startswith("step 30/30: saved run/checkpoints/step-30") for line in lines)


def test_text_without_a_tokenizer(slm):
    """The remedies neither name the text as an output nor leave the tokenizer out."""
    Path("corpus.txt").write_text("The cat sat.")
    ran = slm("train", "corpus.txt", code=1)
    assert "error: 'corpus.txt' is text, and needs a tokenizer\n" in ran.err
    assert "fix:   slm train corpus.txt -t TOK tokenizes it while training; slmtok pack corpus.txt -t TOK" in ran.err


def test_a_folder_of_text_without_a_tokenizer(slm):
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("The cat sat.")
    ran = slm("train", "texts", code=1)
    assert "error: 'texts' is a folder of text, and needs a tokenizer\n  where: it has no manifest.json\n" in ran.err
    Path("texts/plan.json").write_text("{}")
    assert "error: 'texts' is not finished token data\n" in slm("train", "texts", code=1).err


def test_a_setting_without_its_section(slm, data):
    err = slm("train", data, "--set", "lr=0.1", code=2).err
    assert "unknown setting 'lr'; did you mean 'optim.lr'?" in err and "  fix:   --set optim.lr=0.1\n" in err


def test_token_data_with_a_tokenizer(slm, data):
    ran = slm("train", data, "-t", "tok.json", code=2)
    assert "is token data, and --tokenizer is for text" in ran.err and "fix:   leave it out: packed" in ran.err


def test_a_rank_file_that_is_absent_is_fetched_before_it_packs(slm, data, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(Path("cache").absolute()))
    err = slm("train", data, "-t", "gpt2", code=2).err
    fetched = "pack the text with it: python -c \"import tiktoken; tiktoken.get_encoding('gpt2')\" && slmtok pack "
    assert f"to train with gpt2, {fetched}" in err, err
    assert err.endswith(" -o NEW  # the rank file of gpt2 is not on this machine\n"), err
    assert "tiktoken.get_encoding('cl100k_base')" in slm("train", data, "-t", "gpt-4", code=2).err
    Path("cache").mkdir()
    Path("cache", ENCODINGS["gpt2"].cache_key).write_text("")
    assert "to train with gpt2, pack the text with it: slmtok pack " in slm("train", data, "-t", "gpt2", code=2).err


def test_data_that_is_none(slm):
    ran = slm("train", "nowhere")
    assert ran.code == 1 and ran.err.startswith("error: no file or folder 'nowhere'")
    assert "slmtok pack" in ran.err


def test_resume_and_branch(slm, data):
    assert slm("train", data, *SETTINGS, "--budget", "steps=6", "--set", "run.save_every=3", "-o", "a").code == 0
    assert "no folder 'b'" in slm("resume", "b").err
    assert slm("resume", "a").code == 1
    assert "needs a new folder" in slm("resume", "a", "--step", 3).err
    assert slm("resume", "a", "--step", "the-best", "-o", "b").code == 2
    assert slm("resume", "a", "--set", "optim.lr=1").code == 2
    ran = slm("resume", "a", "--step", 3, "-o", "b", "--json", code=0)
    assert ran.json["result"]["resumed_from"] == 3
    files = sorted(path.name for path in Path("b").iterdir())
    assert "the run 'b' is finished" in slm("resume", "a", "--step", 3, "-o", "b", code=1).err
    assert sorted(path.name for path in Path("b").iterdir()) == files
    assert small.weights(Path("a")) == small.weights(Path("b"))
    ran = slm("resume", "a", "--step", 3, "-o", "c", "--budget", "steps=4", "--set", "optim.lr=1e-4")
    assert ran.code == 0 and "step 4 of 4" in ran.out
    told = "from step 3 of the run a (6 steps planned), which had optim.lr "
    assert told in ran.out and told in " ".join(slm("status", "c", code=0).out.split())
    assert slm("info", "c", code=0).out.count(told) == 1
    slm("report", "c", "-o", "c.html", code=0)
    assert told in Path("c.html").read_text()


def test_another_optimizer_of_a_branch_is_refused_with_the_command_of_a_new_run(slm, data):
    """Its state is not in the checkpoint, which is intact."""
    assert slm("train", data, *SETTINGS, "--budget", "steps=2", "-o", "a").code == 0
    other = {"adamw": "muon", "muon": "adamw"}[RunFolder.open("a").config["optim"]["name"]]
    err = slm("resume", "a", "--step", 2, "-o", "b", "--set", f"optim.name={other}", "--budget", "steps=3", code=2).err
    assert "--set optim.name: the optimizer of a run does not change" in err and not Path("b").exists()
    fix = shlex.split(err.partition("fix:   slm ")[2])
    assert slm(*fix, "--no-eval", code=0).code == 0
    assert RunFolder.open("b").config["optim"]["name"] == other


def test_a_run_whose_data_were_moved_is_scored_and_names_their_new_place(slm, data, tmp_path):
    shutil.copytree(data, "data")
    settings = small.settings(tmp_path / "data", run__budget__steps=6)
    trainer.train(settings, output="run", report=small.stop_at(3))
    shutil.copytree("run", "lost")
    Path("data").rename("moved")
    assert "fix:   --data moved\n" in slm("resume", "run", code=1).err
    ran = slm("resume", "run", "--data", "moved", code=0)
    assert f"run/config.yaml names the data at their new place, {tmp_path / 'moved'}" in ran.err
    assert "bpb_total" in ran.out and Path("run/eval/val.json").is_file()
    assert RunFolder.open("run").config["data"]["train"] == str(tmp_path / "moved")
    slm("eval", "run", "--no-baselines", code=0)
    slm("batches", "run", code=0)
    # Scoring that was interrupted is made up for, also after another move.
    shutil.rmtree("run/eval")
    Path("moved").rename("again")
    assert "bpb_total" in slm("resume", "run", "--data", "again", code=0).out
    slm("eval", "run", "--check", "run/eval/val.json", code=0)
    # Training in Python records the place too.
    trainer.train({**settings, "data.train": str(tmp_path / "again")}, output="lost")
    slm("eval", "lost", "--no-baselines", code=0)


@pytest.fixture
def command(commands, tmp_path):
    """Starts `slm` in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return lambda *arguments: subprocess.Popen(["slm", *map(str, arguments)], cwd=tmp_path, env=commands, **pipes)


def wait_for(path: Path, process: subprocess.Popen[str]) -> bool:
    """Waits until a path is there; False where the process ended before."""
    until = time.monotonic() + 120
    while not path.exists():
        if process.poll() is not None or time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def test_sigterm_saves_says_how_to_go_on_and_exits_143(data, tmp_path, command):
    line = ["train", data, *SETTINGS, "--budget", "steps=100000", "--set", "run.save_every=50", "-o", "run"]
    process = command(*line)
    assert wait_for(tmp_path / "run" / "checkpoints" / "latest", process), process.communicate()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert "terminated; the state is saved. To continue:\n  slm resume run\n" in err
    assert "Traceback" not in err and "leaked" not in err and "ended  terminated" in out


@pytest.mark.slow
def test_killed_at_random_moments_and_given_again(data, tmp_path, command):
    """kill -9 of `slm train` at the size of cpu-demo; the same command again ends in the same files, bit for bit."""
    line = ["train", data, "--preset", "cpu-demo", "--budget", "steps=8", "--set", "run.batch_tokens=256"]
    line += ["--set", "run.save_every=2", "--set", "run.eval_every=4", "--threads", "1", "--quiet", "-o"]
    whole = command(*line, "whole")
    _, err = whole.communicate()
    assert whole.returncode == 0, err
    rng, kills = random.Random(5), 0
    for step in (2, 4):
        process = command(*line, "run")
        if wait_for(tmp_path / "run" / "checkpoints" / f"step-{step}", process):
            time.sleep(rng.random() * 0.25)
            process.kill()
            kills += process.wait() == -signal.SIGKILL
        process.communicate()
    process = command(*line, "run")
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert kills >= 1
    for name in ("model.safetensors", "checkpoints/step-8/optim.safetensors", "config.yaml"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_the_knee():
    from slmmodel.training.bench import knee

    speeds = {1: 10.0, 2: 13.3, 4: 19.0, 8: 20.0, 16: None}
    lines = [{"batch_size": size, "tokens_per_s": speed} for size, speed in speeds.items()]
    assert knee(lines)["batch_size"] == 4, "20 ids a second from there on"
    assert knee([{"batch_size": 1, "tokens_per_s": None}]) is None


@pytest.mark.parametrize("kind", list(MODELS))
def test_every_kind_of_model_can_be_measured(kind):
    """Rows of random ids are documents of their own: a recurrent model takes no others."""
    sizes = {"seq_len": 64, "n_vocab": 32, "padded_vocab": 64, "n_layers": 1, "d_model": 8}
    more = {"hidden_size": 8} if MODELS[kind].config.recurrent else {"n_heads": 1}
    config = config_from_dict({"arch": kind, **sizes, **more})
    line = bench.measure(config, OptimConfig(), torch.device("cpu"), 2, precision="fp32", seconds=0.01)
    assert line["tokens"] == 2 * 64 and line["tokens_per_s"] > 0


def test_bench(slm, data):
    assert slm("train", data, *SETTINGS, "--budget", "steps=2", "--no-eval").code == 0
    quick = ("--seconds", "0.01s", "--threads", "1")
    result = slm("bench", "run", "--batch-sizes", "1,2", *quick, "--json", "--quiet", code=0).json["result"]
    assert [line["batch_size"] for line in result["lines"]] == [1, 2] and result["knee"]["cpu"] in (1, 2)
    for line in result["lines"]:
        assert line["seconds_for_100_steps"] == pytest.approx(100 * line["seconds_per_step"])
        assert line["seconds_for_1024_samples"] == pytest.approx(1024 / line["batch_size"] * line["seconds_per_step"])
    assert result["decoding"]["cpu"]["tokens_per_s"] > 0
    assert slm("bench", "--batch-sizes", "1,x").code == 2
    ran = slm("bench", "run", "--batch-sizes", "2", "--optimizer", "muon", *quick, code=0)
    assert "knee on cpu: 2 rows" in ran.out and "of text per second" in ran.out and "recomputing the prefix" in ran.out


def test_a_call_longer_than_the_time_of_a_measurement_is_made_once():
    calls = []

    def work() -> None:
        calls.append(time.sleep(0.02))

    assert bench._median_seconds(work, torch.device("cpu"), 0.01) >= 0.02 and len(calls) == 1
    assert bench._median_seconds(work, torch.device("cpu"), 0.05) >= 0.02 and len(calls) > 3


def test_each_measurement_takes_a_part_of_the_time_that_is_given(slm, monkeypatch):
    times = []
    monkeypatch.setattr(bench, "_median_seconds", lambda work, device, seconds: times.append(seconds) or 0.01)
    slm("bench", "--preset", "cpu-demo", "--batch-sizes", "1", "--seconds", "8s", "--threads", "1", code=0)
    assert times == [8.0, 4.0, 2.0, 2.0]


def test_bench_refuses_a_model_that_does_not_fit(slm, monkeypatch):
    monkeypatch.setattr("slmmodel.training.microbatch.free_memory", lambda: 1 << 20)
    ran = slm("bench", "--preset", "cpu-demo", "--threads", 1, code=1)
    assert "parameters takes at least" in ran.err and "where: 1.0 MB are free on cpu" in ran.err


def test_doctor(slm, data):
    assert slm("doctor").code == 0
    assert slm("train", data, *SETTINGS, "--budget", "steps=2", "--no-eval").code == 0
    ran = slm("doctor", "run", data, "--json")
    assert ran.code == 0 and [check["ok"] for check in ran.json["result"]["checks"]] == [True, True]
    with (Path("run") / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"!")
    ran = slm("doctor", "run")
    assert ran.code == 3 and "NO: model.safetensors differs from SHA256SUMS" in ran.out


@pytest.fixture
def changed_data(tmp_path):
    """Packed data with one id changed to another valid one: only the digests in the manifest know."""
    folder = small.data(tmp_path / "mine")
    with (folder / "train-00000.bin").open("r+b") as file:
        file.seek(4096 + 2 * 1)
        before = file.read(2)
        file.seek(-2, 1)
        file.write(bytes([before[0] ^ 1]) + before[1:])
    return folder


def test_changed_shards_are_refused_before_the_first_step(slm, changed_data):
    ran = slm("doctor", changed_data, code=3)
    assert "NO: " in ran.out and "train-00000.bin" in ran.out and "SHA-256 in manifest.json" in ran.out
    line = ["train", changed_data, *SETTINGS, "--budget", "steps=2", "--set", "run.save_every=1"]
    ran = slm(*line, code=1)
    assert "train-00000.bin is missing or differs from its SHA-256" in ran.err and "--no-verify" in ran.err
    assert not Path("run").exists()
    slm(*line, "--no-verify", code=0)
    line_of_branch = ["resume", "run", "--step", "1", "-o", "branch"]
    assert "differs" in slm(*line_of_branch, code=1).err and not Path("branch").exists()
    slm(*line_of_branch, "--no-verify", code=0)
    with (changed_data / "train-00000.bin").open("ab") as file:
        file.write(b"!!")
    assert "train-00000.bin" in slm(*line, "-o", "other", "--no-verify", code=1).err and not Path("other").exists()


def test_ranks_share_the_files_and_agree(changed_data):
    """Each rank reads a part of the files, and all raise the same error."""
    data = open_data(str(changed_data))
    n_files = len(data.train.files()) + len(data.val.files())
    seen: list[int] = []

    class Rank(World):
        def reduce(self, operation, numbers):
            """The number of the wrong file, which another rank found."""
            seen.extend(map(int, numbers))
            return [0.0]

    for rank in (0, 1):
        with pytest.raises(CorruptFile, match=r"train-00000.bin .*SHA-256"):
            verify_data(data, Rank(rank, 2))
    assert sorted(seen) == [0, n_files]


def test_the_course_as_a_picture(slm, data):
    pytest.importorskip("matplotlib")
    line = ["train", data, *SETTINGS, "--budget", "steps=3", "--no-eval", "--plot"]
    assert slm(*line, "curve.pdf").code == 2
    assert slm(*line, "nowhere/curve.png").code == 1
    slm(*line, "curve.png", code=0)
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")
    assert not list(Path().glob(".*.part"))
    assert "output 'curve.png' exists" in slm(*line, "curve.png").err


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("--lr 0.1", "--set optim.lr=0.1"),
        ("--lr=1e-4", "--set optim.lr=1e-4"),
        ("--lr", "--set optim.lr=0.003"),
        ("--batch-size 8", "--set model.seq_len=256 --set run.batch_tokens=2048: 8 sequences of 256 ids"),
        ("--batch-size 8 --preset base-85m", "--set run.batch_tokens=8192: 8 sequences of 1024 ids"),
        ("--set model.seq_len=64 --batch_size 8", "--set run.batch_tokens=512: 8 sequences of 64 ids"),
        ("--steps 5", "--budget steps=5"),
        ("--max-iters 5", "--budget steps=5"),
        ("--epochs 3", "--budget epochs=3"),
        ("--num-proc 3", "--threads 3"),
        ("--dataset other", "an argument for the data: slm train other -o RUN"),
        ("--output-dir here", "-o here"),
        ("--block-size 512", "--set model.seq_len=512"),
    ],
)
def test_options_of_other_trainers(slm, option, remedy) -> None:
    ran = slm("train", "data", *option.split(), code=2)
    assert f"fix:   use {remedy}\n" in ran.err and "did you mean" not in ran.err

"""`slm report`: pages of runs and ablations; what a browser makes of pages is tested in tests/slmtok/pages."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from page_checks import HOSTILE, INVISIBLE
from shared_data import peer

pytest.importorskip("torch")
peer("jinja2")
peer("matplotlib")

from made_runs import write_run  # noqa: E402

import slmtok  # noqa: E402
from slmmodel.cli import ablation_sections, main, run_sections, text_sections  # noqa: E402
from slmtok.envelope import Envelope  # noqa: E402
from slmtok.errors import MissingInput  # noqa: E402
from slmtok.pages.charts import Line, line_chart  # noqa: E402
from slmtok.shards import pack  # noqa: E402

TEXT = "The cat sat on the mat. A dog saw the cat, and the cat saw the dog.\n"
LINES = [
    {"step": step, "tokens": 64 * step, "bytes": 90 * step, "seconds": 0.1 * step, "loss": 5.0, "gates": [[0.5, 0.25]]}
    | {"bpb_train": 5.0 - step / 9, "val_bpb": 4.0 if step == 4 else None}
    for step in range(1, 5)
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two finished runs on one text with other tokenizers, `infini` and `llama`, and one that has not finished."""
    folder = tmp_path_factory.mktemp("runs")
    lines = [TEXT * (1 + number % 3) for number in range(30)]
    (folder / "text.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    for name, size, shape in (("a", 290, {}), ("b", 280, {"arch": "infini", "segment": 8})):
        tok = slmtok.train(slmtok.Texts(lines), vocab_size=size)
        pack(folder / "text.jsonl", tok, folder / f"data-{name}", val="tail:30%")
        run = write_run(folder / name, folder / f"data-{name}", tokenizer=tok.to_bytes(), seq_len=64, **shape)
        (run.path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["eval", "a", "--breakdown", "-q"]) == 0
        assert (
            main(["passkey", "b", "--lengths", "600", "--depths", "50", "--samples", "1", "--threads", "1", "-q"]) == 0
        )
    shutil.copytree(folder / "a", folder / "running")
    (folder / "running/result.json").unlink()
    return folder


def test_a_page_of_two_runs(slm, runs, drawn_charts):
    (Path("pairs.json")).write_text(
        '{"schema": "slm.pairs/1", "result": {"groups": {"all": {"pairs": 9, "share": 0.5, "low": 0.2, "high": 0.8}}}}'
    )
    arguments = ("report", runs / "a", runs / "b", "--with", "pairs.json", "--threads", 1)
    slm(*arguments, "-o", "one.html", code=0)
    page = Path("one.html").read_text("utf-8")
    for part in (
        "Bits per byte against FLOPs",
        "a: val",
        "a: val: bits by frequency",
        "passkeys found",
        "20.0% to 80.0%",
        "b against a",
        "next tokens after &#39;The cat sat on the mat.",
        "Training text: words after",
        "wanted: 20 ids a parameter",
        "a, sample 2",
        "parameters by layer and part",
        "b: attention of the first row, inside each document, inside segments of 8 ids",
        "b: gates at step 4",
    ):
        assert part in page, part
    assert "<script" not in page
    assert not re.search(r"(src|action)\s*=|href\s*=\s*\"[^#]|@import", page)
    drawn_charts.clear()
    slm(*arguments, "-o", "two.html", code=0)
    assert Path("two.html").read_bytes() == Path("one.html").read_bytes()


def test_words_after_a_prompt():
    text = b"the cat sat. the cat ran, the cat's hat. bathe cat sat. a dog sat\n" * 5
    (table,) = text_sections.next_words(text, "so the cat")
    assert table.caption == "Training text: words after 'the cat', 15 times"
    assert table.rows == [["␣ran", "5", "33.3%"], ["␣sat", "5", "33.3%"], ["'s", "5", "33.3%"]]
    assert list(text_sections.next_words(text, "zebra")) == []
    text = "naïve na da, été, na da\n".encode() * 5
    (table,) = text_sections.next_words(text, "na")
    assert table.rows == [["␣da", "10", "100.0%"]]


def test_the_first_bytes_of_a_text_are_its_own():
    """Bytes that are not UTF-8 are text too; a character is never cut."""
    latin = "mañana ".encode("latin-1") * 2000
    assert text_sections._first([latin]) == [latin[: text_sections.MAX_MAP_BYTES]]
    (cut,) = text_sections._first(["é".encode() * 4000 + b"x", "é".encode()])
    assert cut == "é".encode() * 2500
    (cut,) = text_sections._first([b"x" + "é".encode() * 4000])
    assert cut == b"x" + "é".encode() * 2499


def test_a_report_replaces_nothing_of_its_run(slm, runs):
    shutil.copytree(runs / "a", "kept")
    weights = Path("kept/model.safetensors").read_bytes()
    for target in ("kept/model.safetensors", "kept/config.yaml"):
        assert "input" in slm("report", "kept", "-o", target, "--force", code=2).err
    assert Path("kept/model.safetensors").read_bytes() == weights
    slm("report", "kept", "-o", "kept/report.html", code=0)
    slm("report", "kept", "-o", "kept/report.html", "--force", code=0)


def test_a_source_that_is_gone_is_a_warning(slm, runs, monkeypatch):
    """Text on the fly is read by slmtok, whose errors are its own."""

    def gone(*_):
        raise MissingInput("no file 'gone.txt'")

    for name in ("training_text", "validation_text"):
        monkeypatch.setattr(text_sections, name, gone)
    page = slm("report", runs / "a", "-o", "-", "--threads", 1, code=0).out
    assert "No text is coloured: no file" in page and "No words of the training text" in page


def test_lines_of_more_runs_than_colours_differ(runs, monkeypatch):
    drawn = []
    monkeypatch.setattr(run_sections, "line_chart", lambda lines, **labels: drawn.append(lines) or "<svg></svg>")
    subject = run_sections.Subject.open("a", str(runs / "a"))
    list(run_sections.curves([subject] * 8))
    assert len({line.colour for line in drawn[0]}) == 8


def test_probes_and_prompts_of_a_run(slm, runs):
    shutil.copytree(runs / "a", "run")
    head = {"model": {"weights": "0" * 64, "arch": "llama", "seq_len": 64}, "tokenizer": "0" * 64}
    settings = {"tasks": ["copy"], "batch_size": 8, "samples": 50, "steps": 300, "seed": 0, "digits": 3, "lr": 0.001}
    cut = {"example": "copy a: a", "example_as_ids": ["copy", "␣a"]}
    one = {
        "task": "copy",
        "exact": 40,
        "answer_ids_correct": 45,
        "samples": 50,
        "answer_ids": 60,
        "interval": [0.67, 0.89],
    }
    probes = [{**one, **cut, "commonest": 0.1, "loss": 0.5}]
    probe = {**head, "settings": settings, "digits_as_ids": ["12", "3"], "probes": probes}
    line = {"method": "greedy", "measures": {"distinct_1": {"share": 0.5, "interval": [0.4, 0.6]}}}
    sheet = [{**line, "continuations": ["<b>upon</b>"], "lengths": [2]}]
    prompts = {**head, "settings": {"max_new": 8, "seed": 0}, "prompts": ["Once"], "training_ids": 9, "sheet": sheet}
    for kind, payload in {"probe": probe, "prompts": prompts}.items():
        Envelope(kind, {}, payload, "slmmodel 0").write(f"run/eval/{kind}.json")
    page = slm("report", "run", "-o", "-", code=0).out
    for part in ("80% (67% to 89%)", "copy|␣a", "50% (40% to 60%)", "&lt;b&gt;upon&lt;/b&gt;"):
        assert part in page, part

    del sheet[0]["continuations"][0]
    Envelope("prompts", {}, prompts, "slmmodel 0").write("run/eval/prompts.json", force=True)
    ran = slm("report", "run", "-o", "-", code=0)
    assert "prompts.json" in ran.err and "has 0 continuations of 1 prompts" in ran.err


def test_a_grid_of_passkeys_without_a_cell_is_refused(slm, runs):
    shutil.copytree(runs / "a", "run")
    share = {"exact": 1, "samples": 2, "interval": [0.1, 0.9]}
    counts = dict.fromkeys(("contains", "answer_ids_correct", "answer_ids", "prompt_ids", "prompt_bytes"), 1)
    cells = [{"length": 64, "depth": depth, **share, **counts, "needle_ids": [1, 2]} for depth in (0.0, 50.0)]
    found = {"model": {"weights": "0" * 64, "arch": "llama", "seq_len": 64}, "tokenizer": "0" * 64}
    numbers = {"samples": 2, "digits": 3, "seed": 0, "max_new": 5, "ignore_memory": False}
    found |= {"settings": {"lengths": [64], "depths": [0.0, 50.0], **numbers}}
    found |= {"template": dict.fromkeys(("intro", "filler", "needle", "question", "answer"), "x")}
    found |= {"digits_as_ids": ["1"], "chance": 0.001, "trained_on_passkeys": 0.0}
    found |= {"cells": cells, "by_length": [{"length": 64, **share}]}
    Envelope("passkey", {}, found, "slmmodel 0").write("run/eval/passkey.json")
    assert "passkeys found" in slm("report", "run", "-o", "-", code=0).out
    del cells[1]
    Envelope("passkey", {}, found, "slmmodel 0").write("run/eval/passkey.json", force=True)
    ran = slm("report", "run", "-o", "-", code=0)
    assert "passkey.json" in ran.err and "the cell of length 64 and depth 50 % is missing" in ran.err


def test_a_long_legend_names_each_arm_once_or_says_that_it_is_left_out():
    lines = [Line(f"arm {number % 3}", [1, 2], [1, number], number) for number in range(15)]
    svg = line_chart(lines, x="x", y="y")
    assert svg.count(">arm 1<") == 1 and "too many" not in svg
    lines = [Line(f"arm {number}", [1, 2], [1, number], number) for number in range(15)]
    svg = line_chart(lines, x="x", y="y")
    assert "arm 1" not in svg and "15 lines, too many for a legend" in svg


def test_a_run_that_has_not_finished(slm, runs):
    page = slm("report", runs / "running", "-o", "-", code=0).out
    assert "has not finished: its last step is 4; it has no checkpoint yet" in page
    assert "has no weights yet, so its text is not shown" in page
    shutil.copytree(runs / "running", "begun")
    Path("begun/metrics.jsonl").unlink()
    assert "has not finished: it has no step yet" in slm("report", "begun", "-o", "-", code=0).out


def test_metrics_that_are_not_finite_or_do_not_fit(slm, runs):
    shutil.copytree(runs / "running", "run")
    metrics = Path("run/metrics.jsonl")

    def write(change):
        metrics.write_text("".join(json.dumps(line | change(line["step"])) + "\n" for line in LINES))

    write(lambda step: {"gates": [[None, 0.5], [None, None]], "loss": None, "tokens": 0})
    assert "layer 0: 1 of 2 gates not finite" in slm("status", "run").out
    assert slm("plot", "run", "-o", "curves.svg", code=0)
    assert slm("report", "run", "-o", "-", code=0)
    write(lambda step: {"gates": [[0.5] * step]})
    for arguments in (("status", "run"), ("plot", "run", "-o", "more.svg"), ("report", "run", "-o", "-")):
        assert "metrics.jsonl has gates of 4 shapes" in slm(*arguments, code=1).err
    for change in ({"memory": "x"}, {"seconds": 1e308}, {"gates": [[]]}):
        write(lambda step, change=change: change)
        assert f"metrics.jsonl, line 1 has {next(iter(change))}" in slm("status", "run", code=1).err
    write(lambda step: {"tokens": 1000 - step})
    refused = slm("status", "run", code=1).err
    assert "error: metrics.jsonl has tokens 998 after 999\n  where: run/metrics.jsonl, line 2\n" in refused


def test_a_run_without_a_tokenizer_and_damaged_results(slm, runs):
    shutil.copytree(runs / "a", "ids")
    Path("ids/tok.json").unlink()
    Path("ids/eval/val.json").write_text('{"kind": "certificate", "version": 1}')
    page = slm("report", "ids", "-o", "-", code=0).out
    assert "ids has no tokenizer file, so its text is not shown" in page
    assert "ids: val is not shown" in page


def test_a_recurrent_run(slm, runs):
    shape = {"arch": "lstm", "n_heads": None, "hidden_size": 16, "seq_len": 64}
    write_run(Path("lstm"), runs / "data-a", tokenizer=(runs / "a/tok.json").read_bytes(), **shape)
    page = slm("report", "lstm", "-o", "-", code=0).out
    assert "lstm, sample 1" in page
    assert "attention of the first row" not in page


def test_data_that_are_gone_are_named(slm, runs):
    shutil.copytree(runs / "a", "moved")
    config = Path("moved/config.yaml")
    config.write_text(config.read_text().replace(str(runs), "/nowhere"))
    sums = Path("moved/SHA256SUMS")
    import hashlib

    digest = hashlib.sha256(config.read_bytes()).hexdigest()
    sums.write_text(re.sub(r"[0-9a-f]{64}  config.yaml", f"{digest}  config.yaml", sums.read_text()))
    ran = slm("report", "moved", "-o", "-", code=0)
    page = ran.out
    for missing in ("No text is coloured: ", "No words of the training text ", "moved: no batch is drawn: "):
        assert f"note: {missing}" in ran.err and missing in page
    assert "No text is coloured: the data of the run are not at" in page
    assert "no batch is drawn" in page
    Path("t.txt").write_text(TEXT * 400)
    assert "5,000 bytes of text" in slm("report", "moved", "--on", "t.txt", "-o", "-", code=0).out


def test_hostile_text_stays_text(slm, runs):
    # A text with zero bytes is refused.
    Path("t.txt").write_text("".join(HOSTILE).replace("\0", ""), "utf-8")
    page = slm("report", runs / "a", runs / "b", "--on", "t.txt", "--prompt", HOSTILE[0], "-o", "-", code=0).out
    assert "&lt;script&gt;window.hacked=1&lt;/script&gt;" in page
    body = page[page.index("<body>") :]
    assert not re.search(r"<(img|b|iframe|script|textarea)\b", body)
    assert not set(page) & INVISIBLE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none",), "no folder 'none'"),
        (("a", "--with", "text.jsonl"), "a report does not show text.jsonl, which is no result"),
        (("a", "--with", "odd.json"), "a report does not show odd.json, the lock of a tokenizer of slmtok"),
        (("a", "--with", "b", "--with=x.json"), "fix:   slm report a b --with=x.json -o r.html\n"),
        (("a", "--with", "failed.json"), "it holds an error instead of a result"),
        (("a", "-o", "-", "--open"), "--open together with -o -"),
        (("a", "--on", "empty.txt"), "empty.txt has no byte of text"),
    ],
)
def test_wrong_inputs(slm, runs, monkeypatch, arguments, message):
    monkeypatch.chdir(runs)
    (runs / "empty.txt").write_text("")
    (runs / "odd.json").write_text('{"kind": "lock", "version": 2}')
    (runs / "failed.json").write_text('{"schema": "slm.pairs/1", "ok": false, "result": null}')
    ran = slm("report", *arguments, *(() if "-o" in arguments else ("-o", "r.html")))
    assert ran.code in (1, 2)
    assert message in ran.err
    assert not (runs / "r.html").exists()


# Ablations: the file that slm ablate writes is in docs/formats/ablation.md.


def ablation(**changes):
    arm = {
        **dict.fromkeys(("parameters", "body_parameters", "d_model", "seq_len", "batch_size", "steps"), 32),
        **dict.fromkeys(("embedding_share", "lr", "tokens", "bytes", "flops", "context_bytes"), 0.5),
    }
    measured = {"bpb": 1.5, "interval": [1.4, 1.6], "bpb_by_seed": [1.5, 1.5], "bpb_content": 1.4}
    arms = [{"name": name, **arm, **measured, "runs": [], "no_better_than_guessing": 0} for name in ("a", "b")]
    pair = {
        "arm": "b",
        "baseline": "a",
        "delta": -0.02,
        "interval": [-0.03, -0.01],
        "relative": -0.013,
        "relative_interval": [-0.02, -0.006],
        "equivalent": False,
        "p": 0.004,
        "verdict": "<b> is better.",
    }
    points = {key: [1.0, 2.0] for key in ("bytes", "tokens", "flops", "bpb")}
    view = {
        "match": "bytes",
        "quantity": "bytes",
        "equal": "bytes",
        "differs": "tokens",
        "scored_context_bytes": 64,
        "arms": arms,
        "realised": {"bytes": 0.001},
        "pairs": [pair],
        "curves": [{"arm": name, "seed": seed, **points} for seed in (0, 1) for name in ("a", "b")],
        "breakdowns": {"a": {"by_bytes": [{"group": 0, "targets": 1234, "share_of_bits": 0.5}]}},
    }
    tokenizers = [
        {
            "name": name,
            "n_vocab": 300,
            "bytes_per_token": 2.0,
            "fingerprint": "0" * 64,
            "train_tokens": 1,
            "val_tokens": 1,
        }
        for name in ("a", "b")
    ]
    content = {
        "baseline": "a",
        "margin": 0.0025,
        "alpha": 0.05,
        "seeds": [0, 1],
        "exploratory": [],
        "scope": "tiny bodies",
    }
    compressed = {name: {"alone": 3.5, "after_train": 2.75} for name in ("bz2", "xz")}
    found = {
        "documents": {"train": {"digest": "0" * 64, "documents": 3, "bytes": 90}},
        "arms": tokenizers,
        "views": [view],
        "baselines": {"ngram": {"1": 4.5}, "train_bytes": 60, "train_bytes_all": 90, "bytes": 30, **compressed},
    }
    found |= {"sweep": [], "certificates": {}, "lock": {"request": {"baseline": "a"}, "views": [], "changes": []}}
    return {**content, **found, **changes}


def write(folder, payload):
    Path(folder).mkdir(exist_ok=True)
    Envelope("ablation", {"lock": None}, payload, "slmmodel 0").write(f"{folder}/ablation.json", force=True)


def test_an_ablation(slm):
    write("ab", ablation(exploratory=["seeds: 3, then 5"]))
    page = slm("report", "ab", "-o", "-", code=0).out
    assert "Matched in bytes: &lt;b&gt; is better." in page
    assert "Exploratory: the plan was changed after the first run: seeds: 3, then 5." in page
    assert "-0.0300 to -0.0100" in page
    assert "a margin of 0.25 %, and 95% confidence over all arms together" in page
    assert "bytes, a: bits by bytes" in page
    assert "1,234" in page
    assert "1-gram of bytes" in page and "4.5000" in page and "2.7500" in page
    assert "They are limited to the first 60 bytes of the training text." in page
    assert page.count("<svg") == 4, "a forest plot, and curves against bytes, ids and FLOPs"
    assert page.count(">a</text>") == page.count(">b</text>") == 3, "a legend names arms, not seeds"
    assert slm("report", "ab/ablation.json", "-o", "-", code=0).out.replace("ab/ablation.json", "ab") == page


def test_an_ablation_of_another_shape_is_refused(slm):
    broken = ablation()
    broken["views"][0]["pairs"][0]["delta"] = "much"
    write("ab", broken)
    assert "views[0].pairs[0].delta is 'much', expected a number" in slm("report", "ab", "-o", "-", code=1).err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found["arms"][1].pop("n_vocab"), "the key 'arms[1].n_vocab' is missing"),
        (lambda found: found["arms"][0].pop("fingerprint"), "the key 'arms[0].fingerprint' is missing"),
        (lambda found: found["baselines"].update(ngram={}), "baselines.ngram is {}, expected an object with content"),
        (lambda found: found["lock"].update(request=[]), "lock.request is [], expected an object"),
        (lambda found: found["views"][0]["curves"][0].update(bytes=[1.0]), "has lists of different lengths"),
    ],
)
def test_an_ablation_that_was_changed_and_signed_again_is_refused(change, message, slm):
    broken = ablation()
    change(broken)
    write("ab", broken)
    assert message in slm("report", "ab", "-o", "-", code=1).err


def test_a_number_of_a_pair_that_is_none_is_shown_as_it_is(slm):
    odd = ablation()
    odd["views"][0]["pairs"].append({**odd["views"][0]["pairs"][0], "p": [1, 2]})
    write("ab", odd)
    assert "[1, 2]" in slm("report", "ab", "-o", "-", code=0).out


def test_an_ablation_of_another_version_is_named(slm):
    write("ab", ablation())
    file = Path("ab/ablation.json")
    file.write_text(file.read_text().replace('"version": 2', '"version": 9'))
    ran = slm("report", "ab", "-o", "page.html", code=1)
    assert "ab/ablation.json is an ablation of version 9" in ran.err and not Path("page.html").exists()


def test_an_ablation_that_has_not_finished(slm):
    Path("ab").mkdir()
    lock = {"request": {"baseline": "a"}, "views": [], "changes": []}
    Envelope("ablation-lock", {}, lock, "slmmodel 0").write("ab/ablation.lock")
    page = slm("report", "ab", "-o", "-", code=0).out
    assert "ab has not finished: it has no result yet; slm ablate continues it." in page


def test_what_is_an_ablation(tmp_path):
    assert not ablation_sections.is_ablation(str(tmp_path))
    (tmp_path / "ablation.json").touch()
    assert ablation_sections.is_ablation(str(tmp_path))
    assert ablation_sections.is_ablation(str(tmp_path / "ablation.json"))

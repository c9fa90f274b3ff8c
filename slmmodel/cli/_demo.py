"""The stages of `slm demo`: text, tokenizer and shards, model, proven bits per byte with baselines, samples.

Its budget is a number of ids, so what comes out does not depend on how busy the machine is.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from slmmodel.cli import _evaluation, _output
from slmmodel.cli._progress import Progress
from slmmodel.cli._tables import print_rows
from slmmodel.errors import MissingInput, OutputExists
from slmmodel.sizes import format_time

STORY_BYTES = 7_000_000
PLOTS = ("dark", "garden", "kite_tree", "lost_thing", "rescue", "sharing")
"""Six of about forty: in three minutes a model hears each of them a thousand times, enough to tell it to its end."""
BLANK_LINE = "\n\n"
SAMPLES, TEMPERATURE, TOP_P = 5, 0.7, 0.9
MOST_INDEXED = 32_000_000
"""Characters of a text in which stretches of samples are looked up."""
TEXT, DATA, RUN = "text.txt", "data", "run"
NEVER = 1 << 30


class Kind(NamedTuple):
    """What is trained unless somebody says otherwise, and how much a sample holds at most."""

    preset: str
    vocab: int
    pack: str
    sample_ids: int


ONE_TEXT = Kind("cpu-demo", 1536, "concat", 220)
STORIES = Kind("cpu-stories", 4096, "bucket", 500)
"""Whole stories, one a row: each is seen from its beginning to its end."""


class Asked(NamedTuple):
    """What the command was told."""

    text: str | None
    output: str
    vocab: int | None
    budget: str | None
    preset: str | None
    seed: int
    threads: int
    force: bool
    quiet: bool

    @property
    def kind(self) -> Kind:
        """With what was asked for in the place of what is usual."""
        usual = STORIES if self.text is None else ONE_TEXT
        return usual._replace(preset=self.preset or usual.preset, vocab=self.vocab or usual.vocab)


class Clock:
    """Seconds by stage, and what is running now."""

    def __init__(self, report: Callable[[str, int, int, str], None]) -> None:
        self.seconds: dict[str, float] = {}
        self.report = report

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times what runs inside."""
        self.report(name, 0, 0, "")
        begun = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - begun, 2)


def run(asked: Asked) -> _output.Outcome:
    """All stages in a fresh folder. Raises `OutputExists`, `MissingInput`, and what the stages raise."""
    folder = Path(asked.output)
    _fresh(folder, asked)
    with _nothing_empty(folder), Progress(quiet=asked.quiet) as progress:
        clock = Clock(progress)
        corpus, separator = _corpus(folder, asked, clock)
        with clock.stage("shards"):
            from slmmodel.cli.text import prepare

            prepare(corpus, folder / DATA, vocab=asked.kind.vocab, separator=separator)
        with clock.stage("import"):
            # So that it is not counted as training.
            import torch  # noqa: F401
        with clock.stage("train"):
            trained = _train(folder, asked, progress)
        if not trained.finished:
            return _output.Outcome(trained.to_dict(), code=trained.code)
        with clock.stage("score"):
            result = _score(folder)
        with clock.stage("sample"):
            result["samples"] = _samples(folder, asked)
            _add_overlaps(folder, asked, result["samples"])
    result |= {"tokens": trained.tokens, "steps": trained.steps, "parameters": trained.parameters}
    result["seconds"] = {**clock.seconds, "total": round(sum(clock.seconds.values()), 2)}
    return _output.Outcome(result, lambda: _show(asked, result))


@contextmanager
def _nothing_empty(folder: Path) -> Iterator[None]:
    """A failure before anything was written leaves no folder behind."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            folder.rmdir()
        raise


def _fresh(folder: Path, asked: Asked) -> None:
    """An empty folder. What an earlier demo made is replaced where that was asked for; nothing else ever is."""
    if asked.text is not None and not Path(asked.text).is_file():
        raise MissingInput(f"no text file {asked.text!r}", fix="slm demo TEXT -o DIR", path=asked.text)
    if asked.text is not None and asked.force and folder.resolve() in Path(asked.text).resolve().parents:
        raise OutputExists(
            f"the text {asked.text!r} lies in the output {asked.output!r}, which --force empties",
            fix="another -o, or move the text",
            path=asked.output,
        )
    ours = {TEXT, DATA, RUN}
    there = {item.name for item in folder.iterdir()} if folder.is_dir() else set()
    if folder.exists() and (not folder.is_dir() or there - ours or (there and not asked.force)):
        raise OutputExists(
            f"output {asked.output!r} exists",
            where=f"it holds {', '.join(sorted(there)[:3]) or 'a file'}",
            fix="another -o" if there - ours or not folder.is_dir() else "--force to replace an earlier demo",
            path=asked.output,
        )
    if there:
        _check_settings(asked)
    for name in there:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    folder.mkdir(parents=True, exist_ok=True)


def _check_settings(asked: Asked) -> None:
    """Refuses what training would refuse, while an earlier demo still stands. Raises `UnknownName`, `InvalidConfig`."""
    from slmmodel.cli import _training
    from slmmodel.config import validate
    from slmmodel.models.presets import preset

    preset(asked.kind.preset)
    validate(_training.settings(None, None, asked.budget, {}))


def _corpus(folder: Path, asked: Asked, clock: Clock) -> tuple[Path, str | None]:
    """The text, and what ends a document in it; stories that are made here where none was named."""
    if asked.text is not None:
        return Path(asked.text), None
    with clock.stage("stories"):
        from slmmodel.cli.text import write_stories

        write_stories(folder / TEXT, STORY_BYTES, 0, PLOTS)
    return folder / TEXT, BLANK_LINE


def _train(folder: Path, asked: Asked, report: Any) -> Any:
    from slmmodel.cli import _training
    from slmmodel.hardware import device_for, has_bf16_matmul
    from slmmodel.train import train

    options: dict[str, Any] = {
        "data.train": folder / DATA,
        "model.preset": asked.kind.preset,
        "data.pack": asked.kind.pack,
        "run.precision": "bf16" if has_bf16_matmul("cpu") and device_for("auto").type == "cpu" else "auto",
        "run.seed": asked.seed,
        "run.threads": asked.threads,
        # Scoring follows, and a run of two minutes is begun again rather than continued.
        "run.eval_every": NEVER,
        "run.save_every": NEVER,
    }
    return train(_training.settings(None, None, asked.budget, options), output=folder / RUN, report=report)


def _score(folder: Path) -> dict[str, Any]:
    """Every byte of the validation text once, the certificate in the run, and baselines beside it."""
    from slmmodel.checkpoint import RunFolder

    bundle = RunFolder.open(folder / RUN)
    how = _evaluation.Asked(None, None, None, None, None, None, "fp32", "auto", True)
    source = _evaluation.source_of(bundle, how)
    found = _evaluation.evaluated(bundle, source, how)
    certificate: dict[str, Any] = {**found.certificate, "baselines": _evaluation.beside(bundle, source, how)}
    written = _evaluation.write(bundle, source, how, found, certificate, None, None)
    return {
        "bpb_total": certificate["bpb_total"],
        "bpb_content": certificate["bpb_content"],
        "scored_bytes": certificate["sums"]["bytes"],
        "interval": certificate["interval"],
        "baselines": certificate["baselines"],
        "certificate": written["certificate"],
    }


def _samples(folder: Path, asked: Asked) -> list[dict[str, Any]]:
    """Texts from nothing (a story), or from the end of a line (a text that is one document)."""
    from slmmodel.cli import _opened
    from slmmodel.generation import generate
    from slmmodel.sampling import SamplingOptions

    opened = _opened.open_run(str(folder / RUN), device="cpu")
    prompt = _opened.prompt_ids(opened, None if asked.text is None else "\n", None)
    closing, silent = _opened.closing_ids(opened.vocab), _opened.never_generated(opened.vocab)
    text, told = opened.need_text("slm demo"), []
    for seed in range(SAMPLES):
        options = SamplingOptions(temperature=TEMPERATURE, top_p=TOP_P, stop_ids=closing, banned=silent, seed=seed)
        (sample,) = generate(opened.model, [prompt], options, max_new_tokens=asked.kind.sample_ids, overflow="slide")
        data = text.data(sample.ids)
        told.append({"seed": seed, "text": data.decode("utf-8", "replace").strip(), "ended": sample.reason})
    return told


def _add_overlaps(folder: Path, asked: Asked, samples: list[dict[str, Any]]) -> None:
    """To each sample the length of its longest stretch that stands in the text, too; None where the text is too long
    to look everywhere."""
    from slmmodel.cli._memorized import TextIndex

    path = folder / TEXT if asked.text is None else Path(asked.text)
    small = path.stat().st_size <= MOST_INDEXED
    known = TextIndex(path.read_bytes().decode("utf-8", "replace")) if small else None
    for sample in samples:
        sample["overlap"] = None if known is None else known.longest(sample["text"]).length


def _show(asked: Asked, result: dict[str, Any]) -> None:
    if asked.quiet:
        return
    from slmmodel.cli._baselines import best_ngram

    order, bits = best_ngram(result["baselines"])
    packers = ", ".join(f"{name} {result['baselines'][name]['after_train']:.4f}" for name in ("bz2", "xz"))
    for sample in result["samples"]:
        heard = "" if sample["overlap"] is None else f", longest stretch from the text {sample['overlap']} characters"
        sys.stdout.write(f"--- seed {sample['seed']}{heard} ---\n{_output.printable(sample['text'])}\n\n")
    print_rows(
        [
            ("bpb_total", f"{result['bpb_total']:.4f} bits per byte on {result['scored_bytes']:,} bytes never seen"),
            ("beside it", f"byte {order}-gram {bits:.4f}, {packers}"),
            ("model", f"{result['parameters']:,} parameters, {result['tokens']:,} ids in {result['steps']:,} steps"),
            ("seconds", "  ".join(f"{name} {format_time(spent)}" for name, spent in result["seconds"].items())),
            ("certificate", f"{result['certificate']}   computed again by: slm eval --check FILE"),
            ("next", f"slm sample {asked.output}/{RUN} --prompt '...'"),
        ],
        title=asked.output,
    )

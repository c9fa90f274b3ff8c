"""`slm demo`: text to tokenizer, shards, model, certified bits per byte with baselines, and samples.

The budget is a number of ids, so the result does not depend on the load of the machine.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from slmmodel.cli.options import COUNT, budget_option, seed_option, threads_option
from slmmodel.errors import MissingInput, OutputExists
from slmmodel.sizes import format_time
from slmtok.cli.options import argument, command, option, output_options
from slmtok.cli.output import Outcome, print_rows, printable
from slmtok.cli.progress import Progress

STORY_BYTES = 7_000_000
PLOTS = ("dark", "garden", "kite_tree", "lost_thing", "rescue", "sharing")
"""Six of about forty: in three minutes a model reads each about a thousand times, enough to tell it to its end."""
BLANK_LINE = "\n\n"
SAMPLES, TEMPERATURE, TOP_P = 5, 0.7, 0.9
MAX_INDEXED_CHARS = 32_000_000
"""Longest text that is indexed to find the overlap of samples."""
TEXT, DATA, RUN = "text.txt", "data", "run"
NEVER = 1 << 30


class Kind(NamedTuple):
    """Defaults for a kind of text, and the maximum length of a sample."""

    preset: str
    vocab: int
    pack: str
    sample_ids: int


ONE_TEXT = Kind("cpu-demo", 1536, "concat", 220)
STORIES = Kind("cpu-stories", 4096, "bucket", 500)
"""Complete stories, one a sequence."""


@command("demo", example="slm demo text.txt -o demo")
@argument("text", metavar="[TEXT]", required=False, help="A text file; generated stories without it.")
@option("--vocab", metavar="N", type=COUNT, show_default=f"{ONE_TEXT.vocab}; stories {STORIES.vocab}",
        help="Ids of the tokenizer, specials included.")  # fmt: skip
@budget_option
@option("--preset", metavar="NAME", show_default=f"{ONE_TEXT.preset}; stories {STORIES.preset}",
        help="Shape and settings of the model.")  # fmt: skip
@seed_option
@threads_option
@output_options(default="demo", metavar="DIR", help="A new folder.")
def demo(text: str | None, vocab: int | None, preset: str | None, output: str, **options: Any) -> Outcome:
    """Go from a text to a tokenizer, token shards, a model, its bits per byte, and text that it generates.

    Tokenizer and model see the first 90 % of a text; the rest is scored. Without a text, stories of six of slmtok's
    plots are generated; 0.5 % of them are scored.
    """
    kind = STORIES if text is None else ONE_TEXT
    kind = kind._replace(preset=preset or kind.preset, vocab=vocab or kind.vocab)
    return DemoJob(text, Path(output), kind, **options).run()


class StageClock:
    """Seconds by stage."""

    def __init__(self, report: Callable[[str, int, int, str], None]) -> None:
        self.seconds: dict[str, float] = {}
        self._report = report

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times the block."""
        self._report(name, 0, 0, "")
        begun = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - begun, 2)


@dataclass(frozen=True)
class DemoJob:
    """One run of `slm demo`."""

    text: str | None
    folder: Path
    kind: Kind
    budget: str | None
    seed: int
    threads: int
    force: bool

    def run(self) -> Outcome:
        """All stages in a new folder. Raises `OutputExists`, `MissingInput`, and what the stages raise."""
        self._empty_folder()
        with _removed_if_empty(self.folder), Progress() as progress:
            clock = StageClock(progress)
            corpus, separator = self._corpus(clock)
            with clock.stage("shards"):
                from slmmodel.cli.text import prepare

                prepare(corpus, self.folder / DATA, vocab=self.kind.vocab, separator=separator)
            with clock.stage("import"):
                # Not counted as training.
                import torch  # noqa: F401
            with clock.stage("train"):
                trained = self._train(progress)
            if not trained.finished:
                return Outcome(trained.to_dict(), code=trained.code)
            with clock.stage("score"):
                result = self._score()
            with clock.stage("sample"):
                result["samples"] = self._samples()
                self._add_overlaps(result["samples"])
        result |= {"tokens": trained.tokens, "steps": trained.steps, "parameters": trained.parameters}
        result["seconds"] = {**clock.seconds, "total": round(sum(clock.seconds.values()), 2)}
        return Outcome(result, summary=lambda: self._show(result))

    def _empty_folder(self) -> None:
        """Creates the folder. `--force` replaces files of an earlier demo, never other files."""
        folder, output = self.folder, str(self.folder)
        if self.text is not None and not Path(self.text).is_file():
            raise MissingInput(f"no text file {self.text!r}", fix="slm demo TEXT -o DIR", path=self.text)
        if self.text is not None and self.force and folder.resolve() in Path(self.text).resolve().parents:
            raise OutputExists(
                f"the text {self.text!r} lies in the output {output!r}, which --force empties",
                fix="another -o, or move the text",
                path=output,
            )
        names = {item.name for item in folder.iterdir()} if folder.is_dir() else set()
        has_other_files = bool(names - {TEXT, DATA, RUN}) or not folder.is_dir()
        if folder.exists() and (has_other_files or (names and not self.force)):
            raise OutputExists(
                f"output {output!r} exists",
                where=f"it holds {', '.join(sorted(names)[:3]) or 'a file'}",
                fix="another -o" if has_other_files else "--force to replace an earlier demo",
                path=output,
            )
        if names:
            self._check_settings()
        for name in names:
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        folder.mkdir(parents=True, exist_ok=True)

    def _check_settings(self) -> None:
        """Raises what training would raise for the settings, before an earlier demo is removed."""
        from slmmodel.cli.train import read_settings
        from slmmodel.config import validate
        from slmmodel.models.presets import preset

        preset(self.kind.preset)
        validate(read_settings(None, (), self.budget, {}))

    def _corpus(self, clock: StageClock) -> tuple[Path, str | None]:
        """The text, and the separator of its documents; generated stories where none is named."""
        if self.text is not None:
            return Path(self.text), None
        with clock.stage("stories"):
            from slmtok.stories import write_stories

            with (self.folder / TEXT).open("wb") as out:
                write_stories(out, STORY_BYTES, seed=0, plots=PLOTS)
        return self.folder / TEXT, BLANK_LINE

    def _train(self, report: Any) -> Any:
        from slmmodel.cli.train import read_settings
        from slmmodel.hardware import device_for, has_bf16_matmul
        from slmmodel.train import train

        options: dict[str, Any] = {
            "data.train": self.folder / DATA,
            "model.preset": self.kind.preset,
            "data.pack": self.kind.pack,
            "run.precision": "bf16" if has_bf16_matmul("cpu") and device_for("auto").type == "cpu" else "auto",
            "run.seed": self.seed,
            "run.threads": self.threads,
            # Scoring follows, and a run of two minutes is repeated rather than continued.
            "run.eval_every": NEVER,
            "run.save_every": NEVER,
        }
        given = read_settings(None, (), self.budget, options)
        return train(given, output=self.folder / RUN, report=report)

    def _score(self) -> dict[str, Any]:
        """Scores every byte of the validation text, and writes certificate and baselines into the run."""
        from slmmodel.checkpoint import RunFolder
        from slmmodel.cli.eval import EvalJob

        job = EvalJob(RunFolder.open(self.folder / RUN))
        source = job.open_source()
        found = job.evaluate(source)
        certificate: dict[str, Any] = {**found.certificate, "baselines": job.baselines(source)}
        written = job.write(source, found, certificate)
        return {
            "bpb_total": certificate["bpb_total"],
            "bpb_content": certificate["bpb_content"],
            "scored_bytes": certificate["sums"]["bytes"],
            "interval": certificate["interval"],
            "baselines": certificate["baselines"],
            "certificate": written["certificate"],
        }

    def _samples(self) -> list[dict[str, Any]]:
        """Samples without a prompt (stories), or after a line feed (a text that is one document)."""
        from slmmodel.cli.run_context import banned_ids, closing_ids, open_run, prompt_ids
        from slmmodel.generation import generate
        from slmmodel.sampling import SamplingOptions

        context = open_run(str(self.folder / RUN), device="cpu")
        prompt = prompt_ids(context, None if self.text is None else "\n", None)
        ids: dict[str, Any] = {"stop_ids": closing_ids(context.vocab), "banned": banned_ids(context.vocab)}
        text, samples = context.need_text("slm demo"), []
        for seed in range(SAMPLES):
            options = SamplingOptions(temperature=TEMPERATURE, top_p=TOP_P, seed=seed, **ids)
            (sample,) = generate(
                context.model, [prompt], options, max_new_tokens=self.kind.sample_ids, overflow="slide"
            )
            data = text.data(sample.ids)
            samples.append({"seed": seed, "text": data.decode("utf-8", "replace").strip(), "ended": sample.reason})
        return samples

    def _add_overlaps(self, samples: list[dict[str, Any]]) -> None:
        """Adds the length of the longest substring that each sample shares with the text; None for long texts."""
        from slmmodel.cli.memorized import TextIndex

        path = self.folder / TEXT if self.text is None else Path(self.text)
        is_indexed = path.stat().st_size <= MAX_INDEXED_CHARS
        known = TextIndex(path.read_bytes().decode("utf-8", "replace")) if is_indexed else None
        for sample in samples:
            sample["overlap"] = None if known is None else known.longest(sample["text"]).length

    def _show(self, result: dict[str, Any]) -> None:
        from slmmodel.cli.eval import best_ngram

        order, bits = best_ngram(result["baselines"])
        compressors = ", ".join(f"{name} {result['baselines'][name]['after_train']:.4f}" for name in ("bz2", "xz"))
        for sample in result["samples"]:
            overlap = sample["overlap"]
            shared = "" if overlap is None else f", longest overlap with the text {overlap} characters"
            sys.stdout.write(f"--- seed {sample['seed']}{shared} ---\n{printable(sample['text'])}\n\n")
        model = f"{result['parameters']:,} parameters, {result['tokens']:,} ids in {result['steps']:,} steps"
        print_rows(
            [
                ("bpb_total", f"{result['bpb_total']:.4f} bits per byte on {result['scored_bytes']:,} unseen bytes"),
                ("baselines", f"byte {order}-gram {bits:.4f}, {compressors}"),
                ("model", model),
                ("seconds", "  ".join(f"{name} {format_time(spent)}" for name, spent in result["seconds"].items())),
                ("certificate", f"{result['certificate']}   recompute it: slm eval --check FILE"),
                ("next", f"slm sample {self.folder}/{RUN} --prompt '...'"),
            ],
            title=str(self.folder),
        )


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """After a failure, removes the folder if nothing was written."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            folder.rmdir()
        raise

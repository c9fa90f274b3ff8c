"""`slm demo`: text to tokenizer, shards, model, certified bits per byte with baselines, and samples.

The budget is a number of ids, so the result does not depend on the load of the machine.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from slmmodel.checkpoint import RunFolder, to_json
from slmmodel.cli.open_by_path import is_text_for_tokenizer, refuse_run
from slmmodel.cli.options import BUDGET_HABITS, budget_option, input_words, seed_option, threads_option, with_output
from slmmodel.cli.reading import corpus_options_of, to_flags, to_record
from slmmodel.cli.run_argument import without
from slmmodel.cli.text import is_text
from slmmodel.cli.train_habits import SETTING_HABITS
from slmmodel.cli.train_progress import TrainProgress
from slmmodel.errors import InvalidConfig, OptionError, OutputExists
from slmmodel.files import remove_parts, write_file
from slmmodel.folder_lock import LOCK, locked
from slmmodel.json_files import FaultError, read_object
from slmmodel.run_entries import other_entries
from slmmodel.sizes import format_time
from slmtok import atomic
from slmtok.cli.arguments import OUTPUT_FLAGS, refuse_list, value_after
from slmtok.cli.errors import EXTRA
from slmtok.cli.options import (
    INTEGER,
    TOKENIZER,
    argument,
    arguments_of_command,
    command,
    instead,
    option,
    output_options,
    tokenizer_option,
)
from slmtok.cli.output import Outcome, counted, print_rows, shown
from slmtok.cli.unknown_options import WHOLE
from slmtok.envelope import baseline_limits
from slmtok.files import free_name, resolved
from slmtok.opening import load
from slmtok.options import ReadOptions

STORY_BYTES = 7_000_000
PLOTS = ("dark", "garden", "kite_tree", "lost_thing", "rescue", "sharing")
"""Six of about forty: a model that reads 1.3 million ids sees each about a thousand times, enough to tell it whole."""
BLANK_LINE = "\n\n"
SAMPLES, TEMPERATURE, TOP_P = 5, 0.7, 0.9
MAX_INDEXED_CHARS = 32_000_000
"""Longest text that is indexed to find the overlap of samples."""
_VAL = "data.val="
TEXT, DATA, RUN, RECORD = "text.txt", "data", "run", "demo.json"
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


def _then_trained(value: str | None, words: Sequence[str]) -> str:
    """The demo, which has no settings, and then `slm train` on its data with those among its words.

    Text for validation is scored by the last run: it is not packed, and packed data have another tokenizer.
    """
    line = without(("--set",), words)
    settings = [each for flag, each in pairwise(words) if flag == "--set"]
    sets = [word for each in settings if not each.startswith(_VAL) for word in ("--set", each)]
    held_out = [each.removeprefix(_VAL) for each in settings if each.startswith(_VAL)]
    if not all(os.path.exists(each) and is_text(each) for each in held_out):  # noqa: PTH110
        return "leave the validation data out: slm demo holds out a part of the text, and scores it"
    kind = ONE_TEXT if any(Path(word).exists() for word in line) else STORIES
    preset = value_after(("--preset",), line) or kind.preset
    given = {flag: value_after((flag,), line) for flag in ("--budget", "--seed", "--threads")}
    kept = [word for flag, each in given.items() if each for word in (flag, each)]
    folder = value_after(OUTPUT_FLAGS, line) or "demo"
    run = free_name(f"{folder}-run") if sets else f"{folder}/{RUN}"
    train = ["slm", "train", f"{folder}/{DATA}", "--preset", preset, *sets, *kept, "-o", run]
    scored = [["slm", "eval", run, "--on", each] for each in held_out]
    return " && ".join(map(shlex.join, [["slm", "demo", *line], *([train] if sets else []), *scored]))


def _in_one_folder(value: str | None, arguments: Sequence[str]) -> str:
    """For an argument too many: the demo with it as the output, of the file whose name has spaces, or of a folder with
    copies of all texts.
    """
    texts = input_words(arguments)
    rest = [word for word in arguments if word not in texts]
    if with_output(arguments):
        return shlex.join(["slm", "demo", *with_output(arguments)])
    if Path(" ".join(texts)).exists():
        return shlex.join(["slm", "demo", " ".join(texts), *rest])
    if len({Path(text).name for text in texts}) < len(texts) or not all(Path(text).exists() for text in texts):
        return (
            "leave all but one out: slm demo takes one file, folder, glob or hf:NAME, and generates stories without it"
        )
    folder = free_name("texts")
    copy = shlex.join(["cp", "-r", *texts, folder])
    return f"mkdir {folder} && {copy} && {shlex.join(['slm', 'demo', folder, *rest])}"


_HABITS = {
    **SETTING_HABITS,
    **BUDGET_HABITS,
    "--set": instead("--set {}", "NAME=VALUE"),
    **dict.fromkeys(("--vocab-size", "--n-vocab"), instead("--vocab {}", "1536")),
    EXTRA: _in_one_folder,
    WHOLE: _then_trained,
}


@command("demo", example="slm demo text.txt -o demo", habits=_HABITS)
@argument(
    "text", metavar="[TEXT]", required=False, help="A file, folder, glob or hf:NAME; generated stories without it."
)
@tokenizer_option(required=False, help=f"Use this one instead of training one: {TOKENIZER}.")
@corpus_options_of("TEXT")
@option("--vocab", metavar="N", type=INTEGER, show_default=f"{ONE_TEXT.vocab}; stories {STORIES.vocab}",
        help="Ids of the tokenizer, specials included.")  # fmt: skip
@budget_option
@option("--preset", metavar="NAME", show_default=f"{ONE_TEXT.preset}; stories {STORIES.preset}",
        help="Shape and settings of the model.")  # fmt: skip
@seed_option
@threads_option
@output_options(default="demo", metavar="DIR", help="A new folder.")
def demo(
    text: str | None,
    tokenizer: str | None,
    read: ReadOptions,
    vocab: int | None,
    preset: str | None,
    output: str,
    **options: Any,
) -> Outcome:
    """Go from a text to a tokenizer, token shards, a model, its bits per byte, and text that it generates.

    Tokenizer and model see the first 90 % of a text, or of several documents most; the rest is scored. Without a text,
    stories of six of slmtok's plots are generated; 0.5 % of them are scored.
    """
    kind = STORIES if text is None else ONE_TEXT
    if tokenizer is not None and text is None:
        given = [word for word in without(("-t", "--tokenizer"), arguments_of_command()) if word != tokenizer]
        fact, words = f"TEXT is missing: {tokenizer!r} is a tokenizer", ["TEXT", "-t", tokenizer]
        if is_text_for_tokenizer(tokenizer):
            fact, words = f"TEXT is missing, and --tokenizer {tokenizer!r} is text, not a tokenizer", [tokenizer]
        raise OptionError(fact, fix=shlex.join(["slm", "demo", *words, *given]), option="text")
    refuse_list(arguments_of_command(), lambda sizes: f"--vocab {sizes[0]}, and a demo for each other size")
    if tokenizer is not None and vocab is not None:
        raise OptionError("--tokenizer has its own ids, and --vocab is given", fix="leave one out", option="vocab")
    if text is None:
        read = ReadOptions(format="text", separator=BLANK_LINE)
    kind = kind._replace(preset=preset or kind.preset, vocab=vocab or kind.vocab)
    return DemoJob(text, Path(output), kind, read, tokenizer, **options).run()


@dataclass(frozen=True)
class DemoJob:
    """One run of `slm demo`."""

    text: str | None
    folder: Path
    kind: Kind
    read: ReadOptions
    tokenizer: str | None
    budget: str | None
    seed: int
    threads: int
    force: bool

    @property
    def corpus(self) -> str:
        """The text; stories that are generated where none is named."""
        return str(self.folder / TEXT) if self.text is None else self.text

    @property
    def _record(self) -> dict[str, Any]:
        """What identifies a demo: the same command continues a killed one."""
        from slmtok.corpus import find
        from slmtok.shards.plan import source_names, sources

        files = [] if self.text is None else find(self.text, self.read)
        text = None if self.text is None else {"files": sources(files, source_names(files)), **to_record(self.read)}
        chosen = {"preset": self.kind.preset, "vocab": self.kind.vocab, "budget": self.budget}
        if self.tokenizer is not None:
            chosen |= {"vocab": None, "tokenizer": load(self.tokenizer).fingerprint}
        return {"text": text, **chosen, "seed": self.seed, "threads": self.threads}

    def run(self) -> Outcome:
        """Runs all stages in a new folder, or the stages that a killed demo did not finish.

        Raises `OutputExists`, `MissingInput`, and what the stages raise.
        """
        settings = self._settings(self.budget)
        self._check_text()
        with locked(self.folder):
            self._begin()
            try:
                return self._run_stages(settings)
            except Exception:
                if not (self.folder / DATA).exists():
                    # Refused before anything was made: the next command finds no leftovers.
                    for name in (TEXT, RECORD):
                        (self.folder / name).unlink(missing_ok=True)
                raise

    def _run_stages(self, settings: dict[str, Any]) -> Outcome:
        seconds: dict[str, float] = {}

        @contextmanager
        def stage(name: str, shown: str | None = None) -> Iterator[None]:
            progress(shown or name, 0, 0)
            begun = time.monotonic()
            yield
            seconds[name] = round(time.monotonic() - begun, 2)

        with TrainProgress("starting") as progress:
            if self.text is None:
                with stage("stories"):
                    self._write_stories()
            with stage("shards"):
                self._prepare()
            with stage("import", "loading torch"):
                # Not counted as training.
                import torch  # noqa: F401
            with stage("train"):
                trained = self._train(settings, progress)
            if not trained.finished:
                return Outcome(trained.to_dict(), code=trained.code)
            with stage("score"):
                result = self._score()
            with stage("sample"):
                result["samples"] = self._samples()
        result |= {"tokens": trained.tokens, "steps": trained.steps, "parameters": trained.parameters}
        result["seconds"] = {**seconds, "total": round(sum(seconds.values()), 2)}
        result["whole"] = (
            self._whole(trained.tokens / trained.seconds) if (self.budget or "").startswith("time=") else None
        )
        write_file(self.folder / RECORD, to_json({**self._record, "finished": True}))
        return Outcome(result, summary=lambda: self._show(result))

    def _settings(self, budget: str | None) -> dict[str, Any]:
        """The settings of the run. Raises what training would raise for them."""
        from slmmodel.cli.train import read_settings

        options: dict[str, Any] = {
            "data.train": self.folder / DATA,
            "model.preset": self.kind.preset,
            "data.pack": self.kind.pack,
            "run.seed": self.seed,
            "run.threads": self.threads,
            # Scoring follows, and training of two minutes is repeated rather than continued.
            "run.eval_every": NEVER,
            "run.save_every": NEVER,
        }
        return read_settings(None, (), budget, options)

    def _whole(self, ids_per_second: float) -> dict[str, Any]:
        """The reproducible demo, which a budget of time has cut short: its command, ids, and expected seconds."""
        from slmmodel.trainer import dry_run

        ids = dry_run(self._settings(None))["tokens"]
        text = [] if self.text is None else [self.text, *to_flags(self.read)]
        usual = STORIES if self.text is None else ONE_TEXT
        changed = [name for name in ("vocab", "preset") if getattr(self.kind, name) != getattr(usual, name)]
        text += [] if self.tokenizer is None else ["-t", self.tokenizer]
        shape = [part for name in changed for part in (f"--{name}", str(getattr(self.kind, name)))]
        command = ["slm", "demo", *text, *shape, "-o", f"{self.folder}-whole"]
        return {"command": shlex.join(command), "tokens": ids, "seconds": round(ids / ids_per_second)}

    def _check_text(self) -> None:
        from slmtok.cli.files import identified_files
        from slmtok.corpus import STDIN

        if self.text is not None:
            refuse_run(self.text)
        files = [] if self.text is None else identified_files([self.text], self.read)
        if STDIN in files:
            raise OptionError("slm demo reads its text several times, and stdin only once", fix="slm demo FILE")
        inside = next((file for file in files if resolved(self.folder) in resolved(file).parents), None)
        if inside is not None and self.force:
            raise OutputExists(
                f"the text {inside!r} lies in the output {str(self.folder)!r}, which --force empties",
                fix="another -o, or move the text",
                path=str(self.folder),
            )

    def _begin(self) -> None:
        """Continues an unfinished demo of the same command, or begins one in an empty folder.

        `--force` removes what an earlier demo made, never other files. Raises `OutputExists`.
        """
        folder, output = self.folder, str(self.folder)
        remove_parts(folder)
        names = {path.name for path in folder.iterdir() if path.name != LOCK} if folder.is_dir() else set()
        others = {name for name in names - {TEXT, DATA, RUN, RECORD} if not name.endswith(".part")}
        others |= {name for name in names if (folder / name).is_symlink()}
        if folder.is_dir() and not self.force and not others and self._continues():
            return
        if not folder.is_dir() or others or (names and not self.force):
            raise OutputExists(
                f"output {output!r} exists",
                where=f"it holds {', '.join(sorted(names)[:3]) or 'a file'}",
                fix="another -o" if others or not folder.is_dir() else "--force to replace an earlier demo",
                path=output,
            )
        if kept := other_entries(folder / RUN):
            fact = f"the run of the demo {output!r} holds other files"
            raise OutputExists(fact, where=str(kept[0]), fix="another -o", path=output)
        if names:
            RunFolder(folder / RUN).remove()
        write_file(folder / RECORD, to_json({**self._record, "finished": False}))

    def _continues(self) -> bool:
        """Whether the folder holds an unfinished demo of the same command."""
        try:
            return read_object(self.folder / RECORD) == {**self._record, "finished": False}
        except (OSError, FaultError):
            return False

    def _write_stories(self) -> None:
        from slmtok.stories import write_stories

        text = Path(self.corpus)
        if text.exists() and not self.force:
            return
        with atomic.outputs(text, force=True) as (path,), path.open("wb") as out:
            write_stories(out, STORY_BYTES, seed=0, plots=PLOTS)

    def _prepare(self) -> None:
        """Makes the data. A text that is too short leaves nothing."""
        from slmmodel.cli.text import prepare

        data = self.folder / DATA
        try:
            prepare(
                self.corpus, data, vocab=self.kind.vocab, read=self.read, force=self.force, tokenizer=self.tokenizer
            )
        except (OptionError, InvalidConfig):
            (self.folder / RECORD).unlink()
            raise

    def _train(self, settings: dict[str, Any], report: TrainProgress) -> Any:
        """The result of training, or of the run that is finished already."""
        from slmmodel.hardware import device_for, has_bf16_matmul
        from slmmodel.trainer import train
        from slmmodel.training.heartbeat import remove_traces

        run = RunFolder(self.folder / RUN)
        if run.exists() and run.finished:
            remove_traces(run)
            return SimpleNamespace(**run.result, finished=True)
        precision = "bf16" if has_bf16_matmul("cpu") and device_for("auto").type == "cpu" else "auto"
        return train({**settings, "run.precision": precision}, output=self.folder / RUN, report=report)

    def _score(self) -> dict[str, Any]:
        """Scores every byte of the validation text, and writes certificate and baselines into the run."""
        from slmmodel.cli import eval as scoring

        run = RunFolder.open(self.folder / RUN)
        documents = scoring.open_documents(run)
        found = scoring.score(run, documents).certificate
        found["baselines"] = scoring.score_baselines(run, documents)
        return {
            "bpb_total": found["bpb_total"],
            "bpb_content": found["bpb_content"],
            "scored_bytes": found["sums"]["bytes"],
            "interval": found["interval"],
            "baselines": found["baselines"],
            "certificate": scoring.write_certificate(run, found),
        }

    def _samples(self) -> list[dict[str, Any]]:
        """Samples without a prompt (stories), or after a line feed (a text that is one document).

        `overlap` is the length of the longest substring that a sample shares with the text; None for long texts.
        """
        from slmmodel.cli.memorized import TextIndex
        from slmmodel.cli.open_by_path import open_run, prompt_ids
        from slmmodel.generation import generate
        from slmmodel.run import special_ids
        from slmmodel.sampling import SamplingOptions

        context = open_run(str(self.folder / RUN), device="cpu")
        prompt = prompt_ids(context, None if self.text is None else "\n", None)
        chosen: dict[str, Any] = {"temperature": TEMPERATURE, "top_p": TOP_P, **special_ids(context.vocab)}
        limits: dict[str, Any] = {"max_new_tokens": self.kind.sample_ids, "overflow": "slide"}
        text = self._text(MAX_INDEXED_CHARS)
        known = None if text is None else TextIndex(text)
        decoder, samples = context.need_text("slm demo"), []
        for seed in range(SAMPLES):
            (sample,) = generate(context.model, [prompt], SamplingOptions(seed=seed, **chosen), **limits)
            text = decoder.data(sample.ids).decode("utf-8", "replace").strip()
            overlap = None if known is None else known.longest(text).length
            samples.append({"seed": seed, "text": text, "ended": sample.reason, "overlap": overlap})
        return samples

    def _text(self, max_bytes: int) -> str | None:
        """All documents; None where they are longer."""
        from slmtok.corpus import find, read

        documents: list[bytes] = []
        for document in read(find(self.corpus, self.read), self.read):
            documents.append(document.text)
            max_bytes -= len(document.text)
            if max_bytes < 0:
                return None
        return BLANK_LINE.join(document.decode("utf-8", "replace") for document in documents)

    def _show(self, result: dict[str, Any]) -> None:
        from slmmodel.cli.baselines import best_ngram

        order, bits = best_ngram(result["baselines"])
        compressors = ", ".join(f"{name} {result['baselines'][name]['after_train']:.4f}" for name in ("bz2", "xz"))
        limits = baseline_limits(result["baselines"], result["scored_bytes"])
        for sample in result["samples"]:
            overlap = sample["overlap"]
            shared = "" if overlap is None else f", longest overlap with the text {counted(overlap, 'character')}"
            sys.stdout.write(f"--- seed {sample['seed']}{shared} ---\n{shown(sample['text'])}\n\n")
        model = f"{result['parameters']:,} parameters, {result['tokens']:,} ids in {result['steps']:,} steps"
        more = []
        if whole := result["whole"]:
            spent = f"{whole['tokens']:,} ids, about {format_time(whole['seconds'])} of training here"
            more.append(("whole", f"{whole['command']}   {spent}"))
        print_rows(
            [
                ("bpb_total", f"{result['bpb_total']:.4f} bits per byte on {result['scored_bytes']:,} unseen bytes"),
                ("baselines", "\n".join(filter(None, [f"byte {order}-gram {bits:.4f}, {compressors}", limits]))),
                ("model", model),
                ("seconds", "  ".join(f"{name} {format_time(spent)}" for name, spent in result["seconds"].items())),
                ("certificate", f"{result['certificate']}   recompute it: slm eval --check FILE"),
                ("next", f"slm sample {self.folder}/{RUN} --prompt '...'"),
                *more,
            ],
            title=str(self.folder),
        )

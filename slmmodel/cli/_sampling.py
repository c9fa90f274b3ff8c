"""What `slm sample` does once its options are read: generate, print as it comes, and collect the result."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmmodel.cli import _output
from slmmodel.cli._decoding import TextStream

if TYPE_CHECKING:
    from slmmodel.cli._opened import Opened
    from slmmodel.sampling import SamplingOptions


def read_prompt(prompt: str | None) -> str | None:
    """The prompt, or stdin for `-`."""
    return sys.stdin.read() if prompt == "-" else prompt


@dataclass(frozen=True)
class Task:
    """One request. `stream` prints text, the first sample while it is made; `quiet` keeps notes to itself."""

    opened: Opened
    prompt: list[int]
    options: SamplingOptions
    max_new: int
    stops: tuple[str, ...]
    stream: bool
    quiet: bool = False

    def draw(self, n: int, overflow: str) -> _output.Outcome:
        """`n` samples in one batch, each the same as alone. The first is printed while it grows."""
        from slmmodel.generation import Generation

        if self.stops:
            self.opened.need_text("--stop")
        began = time.perf_counter()
        generation = Generation(
            self.opened.model, [self.prompt] * n, self.options, max_new_tokens=self.max_new, overflow=overflow
        )
        writers = [_Writer(self, live=self.stream and row == 0, title=_title(row, n)) for row in range(n)]
        for produced in generation:
            for row, id in produced:
                if writers[row].push(id):
                    generation.stop(row)
        took = time.perf_counter() - began
        samples = []
        for row, (writer, made) in enumerate(zip(writers, generation.samples, strict=True)):
            writer.finish()
            samples.append({"row": row, "text": writer.text, "ids": made.ids, "reason": made.reason})
        total = sum(len(made.ids) for made in generation.samples)
        return self._outcome("draw", samples, {"tokens": total, "tokens_per_s": round(total / took, 1)})

    def beams(self, beams: int, n: int, length_penalty: float, early_stopping: bool) -> _output.Outcome:
        """The `n` best of a beam search."""
        from slmmodel.sampling.beam import beam_search

        found = beam_search(
            self.opened.model,
            self.prompt,
            self.options,
            beams=max(beams, n) if beams > 1 else beams,
            max_new_tokens=self.max_new,
            length_penalty=length_penalty,
            early_stopping=early_stopping,
        )[:n]
        scores = [{"logp": beam.logp, "score": beam.score} for beam in found]
        reasons = ["stop" if beam.ended else "length" for beam in found]
        return self._whole("beam", [beam.ids for beam in found], reasons, scores)

    def contrastive(self, alpha: float, k: int) -> _output.Outcome:
        """One contrastive search. Hidden vectors that are all alike leave it nothing to tell apart: that is said."""
        from slmmodel.sampling.contrastive import contrastive_search

        found = contrastive_search(
            self.opened.model, self.prompt, self.options, alpha=alpha, k=k, max_new_tokens=self.max_new
        )
        more = {"mean_cosine": found.mean_cosine}
        alike = found.mean_cosine > 0.9 and alpha > 0.4
        note = f"hidden vectors are alike (mean cosine {found.mean_cosine:.3f}): try --contrastive 0.2 to 0.4"
        return self._whole("contrastive", [found.ids], [found.reason], [more], (note,) if alike else ())

    def _whole(
        self,
        mode: str,
        rows: Sequence[list[int]],
        reasons: Sequence[str],
        more: Sequence[dict[str, Any]],
        notes: tuple[str, ...] = (),
    ) -> _output.Outcome:
        samples = []
        for row, (ids, reason, extra) in enumerate(zip(rows, reasons, more, strict=True)):
            writer = _Writer(self, live=False, title=_title(row, len(rows)))
            kept = []
            for id in ids:
                stopped = writer.push(id)
                kept.append(id)
                if stopped:
                    break
            writer.finish()
            said = reason if len(kept) == len(ids) else "stop"
            samples.append({"row": row, "text": writer.text, "ids": kept, "reason": said, **extra})
        return self._outcome(mode, samples, {}, notes)

    def _outcome(
        self, mode: str, samples: list[dict[str, Any]], more: dict[str, Any], notes: tuple[str, ...] = ()
    ) -> _output.Outcome:
        result = {"mode": mode, "seed": self.options.seed, "prompt_ids": self.prompt, "samples": samples, **more}
        warnings = (*self._warnings(), *notes)
        if self.stream and not self.quiet:
            sys.stderr.writelines(f"note: {warning}\n" for warning in warnings)
        return _output.Outcome(result, None, warnings=warnings)

    def _warnings(self) -> tuple[str, ...]:
        text = self.opened.text
        prompt = b"" if text is None else text.data(self.prompt)
        if not prompt[-1:].isspace():
            return ()
        return ("the prompt ends in white space, which most tokens begin with: leave it off for likelier text",)


def _title(row: int, n: int) -> str:
    return "" if n == 1 else f"--- sample {row + 1} of {n}\n"


class _Writer:
    """The text of one sample, printed as it comes (`live`) or at its end."""

    def __init__(self, task: Task, *, live: bool, title: str) -> None:
        self._task, self._live, self._title = task, live, title
        self._stream = TextStream(task.stops)
        self._ids: list[int] = []
        self._parts: list[str] = []
        if live:
            sys.stdout.write(title + self._opening())
            sys.stdout.flush()

    @property
    def text(self) -> str | None:
        """The new text; None where there is no tokenizer."""
        return "".join(self._parts) if self._task.opened.text is not None else None

    def push(self, id: int) -> bool:
        """Takes one id; True where a stop string came."""
        self._ids.append(id)
        text = self._task.opened.text
        self._add(f"{id} " if text is None else self._stream.push(text.data([id])))
        return self._stream.stopped

    def finish(self) -> None:
        """Prints what is left, or all of it."""
        self._add(self._stream.finish())
        if self._live:
            sys.stdout.write("\n")
        elif self._task.stream:
            sys.stdout.write(f"{self._title}{self._opening()}{_output.printable(''.join(self._parts))}\n")
        sys.stdout.flush()

    def _opening(self) -> str:
        text = self._task.opened.text
        if text is None:
            return "".join(f"{id} " for id in self._task.prompt)
        return _output.printable(text.data(self._task.prompt).decode("utf-8", "replace"))

    def _add(self, piece: str) -> None:
        if piece:
            self._parts.append(piece)
            if self._live:
                sys.stdout.write(_output.printable(piece))
                sys.stdout.flush()

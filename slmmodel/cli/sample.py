"""`slm sample`: text or ids from a trained model. `slm logprobs`: the likeliest next tokens after a prompt."""

from __future__ import annotations

import codecs
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from slmmodel.cli.options import (
    COUNT,
    device_option,
    ids_option,
    prompt_option,
    run_argument,
    step_option,
    threads_option,
    tokenizer_option,
)
from slmmodel.cli.run_context import RunContext, banned_ids, closing_ids, open_run, prompt_ids, read_prompt
from slmmodel.config import SampleConfig
from slmmodel.errors import OptionError
from slmtok.cli.options import FLOAT, choice, command, option
from slmtok.cli.output import Outcome, printable, settings, write_text

BAR_COLUMNS = 30
"""Length of the bar of probability 1."""
MAX_TOKEN_COLUMNS = 40
_PANELS = {
    "Search": ("beam", "length_penalty", "early_stopping", "contrastive", "contrastive_k"),
    "End of a sample": ("max_new_tokens", "min_new_tokens", "stop", "overflow"),
    "Options": ("n", "seed"),
}
"""Headings in help of the options that do not belong to the choice of an id."""
_SHORT = {"max_new_tokens": ("--max-new",), "min_new_tokens": ("--min-new",)}
_DRAWING = ("temperature", "top_k", "top_p", "min_p")


def sampling_options(function: Any) -> Any:
    """The options of `SampleConfig`, with the default and help of each field; the field checks the value."""
    for name, field in reversed(SampleConfig.model_fields.items()):
        if name in ("banned", "stop_ids"):
            continue
        attributes: dict[str, Any] = {"help": field.description, "default": field.default}
        if isinstance(field.default, bool):
            attributes["is_flag"] = True
        elif isinstance(field.default, tuple):
            attributes |= {"multiple": True, "metavar": "TEXT"}
        elif isinstance(field.default, str):
            names = get_args(field.annotation)
            attributes |= {"type": choice(*names), "metavar": "|".join(names)}
        else:
            is_count = isinstance(field.default, int)
            attributes |= {"type": COUNT, "metavar": "N"} if is_count else {"type": FLOAT, "metavar": "X"}
        panel = next((panel for panel, names in _PANELS.items() if name in names), "Choice of an id")
        flags = (*_SHORT.get(name, ()), "--" + name.replace("_", "-"))
        function = option(*flags, name, panel=panel, **attributes)(function)
    return function


@command("sample", example="slm sample run --prompt 'Once upon a time'")
@run_argument
@prompt_option
@ids_option
@sampling_options
@step_option
@tokenizer_option
@device_option
@threads_option
def sample(
    run: str,
    prompt: str | None,
    ids: str | None,
    step: int | None,
    tokenizer: str | None,
    device: str,
    threads: int,
    **values: Any,
) -> Outcome:
    """Generate text with a trained model. The samples of one seed differ; the same seed gives the same text."""
    options = SampleConfig(**values)
    _check_methods(options)
    context = open_run(run, tokenizer=tokenizer, device=device, step=step, threads=threads)
    begin = prompt_ids(context, read_prompt(prompt), ids)
    ids_of_vocab = {"banned": banned_ids(context.vocab), "stop_ids": closing_ids(context.vocab)}
    greedy = {"temperature": 0.0} if options.greedy else {}
    job = SampleJob(context, begin, options.model_copy(update={**ids_of_vocab, **greedy}))
    if options.beam:
        return job.beam_search()
    if options.contrastive is not None:
        return job.contrastive_search(options.contrastive)
    return job.draw()


def _check_methods(options: SampleConfig) -> None:
    """Raises `OptionError` for two methods, and for options of drawing that differ from their default without it."""
    methods = {"greedy": options.greedy, "beam": options.beam > 0, "contrastive": options.contrastive is not None}
    chosen = [name for name, is_given in methods.items() if is_given]
    if len(chosen) > 1:
        given = " and ".join(f"--{name}" for name in chosen)
        raise OptionError(f"{given} together", fix="choose one of them", option=f"--{chosen[1]}")
    fields = SampleConfig.model_fields
    for name in (name for name in _DRAWING if chosen and getattr(options, name) != fields[name].default):
        flag = name.replace("_", "-")
        raise OptionError(
            f"--{flag} has no effect with --{chosen[0]}, which draws nothing",
            fix=f"leave out --{flag}, or --{chosen[0]}",
            option=flag,
        )


@dataclass(frozen=True)
class SampleJob:
    """One run of `slm sample`. Without `--json` the first sample is printed while it is generated."""

    context: RunContext
    prompt: list[int]
    options: SampleConfig

    def draw(self) -> Outcome:
        """`n` samples in one batch; sample i equals a `Generation` of it alone with `first_row=i`."""
        from slmmodel.generation import Generation

        options, n = self.options, self.options.n
        if options.stop:
            self.context.need_text("--stop")
        begun = time.perf_counter()
        generation = Generation(
            self.context.model,
            [self.prompt] * n,
            options,
            max_new_tokens=options.max_new_tokens,
            overflow=options.overflow,
        )
        writers = [_SampleWriter(self, row, n, is_live=row == 0) for row in range(n)]
        for produced in generation:
            for row, id in produced:
                if writers[row].push(id):
                    generation.stop(row)
        seconds = time.perf_counter() - begun
        samples = [
            writer.finish(made.ids, made.reason) for writer, made in zip(writers, generation.samples, strict=True)
        ]
        total = sum(len(made.ids) for made in generation.samples)
        return self._outcome("draw", samples, {"tokens": total, "tokens_per_s": round(total / seconds, 1)})

    def beam_search(self) -> Outcome:
        """The `n` best of a beam search."""
        from slmmodel.sampling.beam import beam_search

        options = self.options
        found = beam_search(
            self.context.model,
            self.prompt,
            options,
            beams=max(options.beam, options.n) if options.beam > 1 else options.beam,
            max_new_tokens=options.max_new_tokens,
            length_penalty=options.length_penalty,
            early_stopping=options.early_stopping,
        )[: options.n]
        scores = [{"logp": beam.logp, "score": beam.score} for beam in found]
        reasons = ["stop" if beam.ended else "length" for beam in found]
        return self._print("beam", [beam.ids for beam in found], reasons, scores)

    def contrastive_search(self, alpha: float) -> Outcome:
        """One contrastive search; warns where all hidden vectors are similar, which makes it ineffective."""
        from slmmodel.sampling.contrastive import contrastive_search

        limits = {"k": self.options.contrastive_k, "max_new_tokens": self.options.max_new_tokens}
        found = contrastive_search(self.context.model, self.prompt, self.options, alpha=alpha, **limits)
        warnings: tuple[str, ...] = ()
        if found.mean_cosine > 0.9 and alpha > 0.4:
            cosine = f"mean cosine {found.mean_cosine:.3f}"
            warnings = (f"hidden vectors are similar ({cosine}): try --contrastive 0.2 to 0.4",)
        return self._print("contrastive", [found.ids], [found.reason], [{"mean_cosine": found.mean_cosine}], warnings)

    def _print(
        self,
        mode: str,
        rows: Sequence[list[int]],
        reasons: Sequence[str],
        more: Sequence[dict[str, Any]],
        warnings: tuple[str, ...] = (),
    ) -> Outcome:
        """Prints finished samples."""
        samples = []
        for row, (ids, reason, extra) in enumerate(zip(rows, reasons, more, strict=True)):
            writer = _SampleWriter(self, row, len(rows), is_live=False)
            length = next((number for number, id in enumerate(ids, 1) if writer.push(id)), len(ids))
            samples.append(writer.finish(ids[:length], reason if length == len(ids) else "stop") | extra)
        return self._outcome(mode, samples, {}, warnings)

    def _outcome(
        self, mode: str, samples: list[dict[str, Any]], more: dict[str, Any], warnings: tuple[str, ...] = ()
    ) -> Outcome:
        text = self.context.text
        prompt = b"" if text is None else text.data(self.prompt)
        if prompt[-1:].isspace():
            warnings = (
                "the prompt ends in white space, with which most tokens begin: leave it out for likelier text",
                *warnings,
            )
        result = {"mode": mode, "seed": self.options.seed, "prompt_ids": self.prompt, "samples": samples, **more}
        return Outcome(result, warnings=warnings)


class _SampleWriter:
    """The text of one sample, printed while it grows (`is_live`) or at its end; not printed with `--json`."""

    def __init__(self, job: SampleJob, row: int, n: int, *, is_live: bool) -> None:
        self._job, self._row = job, row
        self._prints = not settings().as_json
        self._is_live = is_live and self._prints
        self._title = "" if n == 1 else f"--- sample {row + 1} of {n}\n"
        self._decoder = TextDecoder(job.options.stop)
        self._parts: list[str] = []
        if self._is_live:
            sys.stdout.write(self._title + self._prompt())
            sys.stdout.flush()

    def push(self, id: int) -> bool:
        """Appends one id; True after a stop string."""
        text = self._job.context.text
        self._add(f"{id} " if text is None else self._decoder.push(text.data([id])))
        return self._decoder.stopped

    def finish(self, ids: list[int], reason: str | None) -> dict[str, Any]:
        """Prints the rest, or the whole sample; gives its entry in the result, with `text` None without a tokenizer."""
        self._add(self._decoder.finish())
        if self._is_live:
            sys.stdout.write("\n")
        elif self._prints:
            sys.stdout.write(f"{self._title}{self._prompt()}{printable(''.join(self._parts))}\n")
        sys.stdout.flush()
        text = "".join(self._parts) if self._job.context.text is not None else None
        return {"row": self._row, "text": text, "ids": ids, "reason": reason}

    def _prompt(self) -> str:
        text = self._job.context.text
        if text is None:
            return "".join(f"{id} " for id in self._job.prompt)
        return printable(text.data(self._job.prompt).decode("utf-8", "replace"))

    def _add(self, piece: str) -> None:
        if piece:
            self._parts.append(piece)
            if self._is_live:
                sys.stdout.write(printable(piece))
                sys.stdout.flush()


class TextDecoder:
    """Bytes of generated ids to text: only complete characters, and nothing after a stop string.

    It holds back bytes that may become a character (at most three) or a stop string. Ill-formed bytes become U+FFFD.
    All parts joined are equal to decoding all bytes at once.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = [stop.encode() for stop in stops if stop]
        self._max_held = max(map(len, self._stops), default=1) - 1
        self._held = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.stopped = False

    def push(self, data: bytes) -> str:
        """The text that is certain after these bytes."""
        if self.stopped:
            return ""
        held = self._held + data
        found = [at for at in (held.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.stopped, self._held = True, b""
            return self._decoder.decode(held[: min(found)], final=True)
        certain = max(0, len(held) - self._max_held)
        self._held = held[certain:]
        return self._decoder.decode(held[:certain])

    def finish(self) -> str:
        """The held text, when no more bytes follow."""
        rest, self._held = self._held, b""
        return "" if self.stopped else self._decoder.decode(rest, final=True)


@command("logprobs", example="slm logprobs run --prompt 'Once upon a'")
@run_argument
@prompt_option
@ids_option
@option("--top", metavar="N", type=COUNT, default=10, help="Number of tokens to list; 0 lists all.")
@step_option
@tokenizer_option
@device_option
def logprobs(
    run: str,
    prompt: str | None,
    ids: str | None,
    top: int,
    step: int | None,
    tokenizer: str | None,
    device: str,
) -> Outcome:
    """List the likeliest next tokens with their probabilities, at temperature 1 and over all ids."""
    import torch

    from slmmodel.sampling.prefill import check_prompts, prefill

    context = open_run(run, tokenizer=tokenizer, device=device, step=step)
    begin = prompt_ids(context, read_prompt(prompt), ids)
    check_prompts(context.model, [begin])
    with torch.inference_mode():
        _, logits, _ = prefill(context.model, [begin], 0)
        logp = torch.log_softmax(logits[0].double(), 0).cpu()
    order = logp.sort(descending=True, stable=True).indices[: top or len(logp)].tolist()
    words = [str(id) for id in order] if context.text is None else context.text.words(order)
    roles = {id: role for role, id in context.vocab.specials.items()}
    rows = [
        {"id": id, "token": word, "role": roles.get(id), "p": float(logp[id].exp()), "logp": float(logp[id])}
        for id, word in zip(order, words, strict=True)
    ]
    entropy = float(-(logp.exp() * logp.clamp(min=-745)).sum())
    mass = sum(float(logp[id].exp()) for id in order)
    result = {"prompt_ids": begin, "next": rows, "mass": mass, "entropy_nats": entropy, "n_vocab": len(logp)}

    def show() -> None:
        width = min(MAX_TOKEN_COLUMNS, max((len(row["token"]) for row in rows), default=5))
        lines = [f"{'id':>7}  {'token':<{width}}  {'p':>8}  {'log p':>8}"]
        for row in rows:
            bar = "█" * round(row["p"] * BAR_COLUMNS)
            token = printable(row["token"])
            lines.append(f"{row['id']:>7}  {token:<{width}}  {row['p']:>8.4f}  {row['logp']:>8.3f}  {bar}")
        share = f"{len(rows)} of {len(logp):,} ids have {100 * mass:.1f} % of the probability"
        write_text("\n".join([*lines, f"{share}; entropy {entropy:.3f} nats\n"]))

    return Outcome(result, show)

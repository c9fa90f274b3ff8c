"""`slm sample`: text or ids from a trained model. `slm logprobs`: the likeliest next tokens after a prompt."""

from __future__ import annotations

import io
import os
import shlex
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TextIO

import click

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.decoding_habits import DECODING_HABITS, combined
from slmmodel.cli.open_by_path import (
    RunContext,
    check_prompt,
    load_torch,
    notes_on_prompt,
    open_run,
    prompt_ids,
    prompt_meant,
    prompt_of,
)
from slmmodel.cli.options import (
    COUNT,
    OPENING,
    QUANTIZATION_HABITS,
    SAMPLING_HABITS,
    device_option,
    field_option,
    ids_option,
    one_text,
    opening_options,
    prompt_option,
    run_argument,
    run_as_argument,
    run_tokenizer_option,
    step_option,
    to_stdout,
)
from slmmodel.cli.run_argument import run_here, without
from slmmodel.cli.text import Text, TextDecoder
from slmmodel.decoding_methods import METHODS, chosen_method
from slmmodel.decoding_options import SampleConfig
from slmmodel.errors import OptionError, SlmmodelError
from slmmodel.foreign_decoding import DRAWING
from slmtok.cli.arguments import lines_for_each, notes_on_escapes, value_after
from slmtok.cli.errors import EXTRA
from slmtok.cli.options import argument, arguments_of_command, command, instead, is_given, option
from slmtok.cli.output import Outcome, counted, printable, settings, shown, write_text
from slmtok.errors import SlmtokError
from slmtok.file_kinds import is_run

if TYPE_CHECKING:
    from slmmodel.models.protocol import Model

BAR_COLUMNS = 30
"""Length of the bar of probability 1."""
MAX_TOKEN_COLUMNS = 40
_PANELS = {
    "Search": (
        "beam",
        "beam_sample",
        "beam_groups",
        "diversity_penalty",
        "length_penalty",
        "early_stopping",
        "contrastive",
        "contrastive_k",
        "dola",
    ),
    "Assistant": ("assistant", "lookahead"),
    "End of a sample": ("max_new_tokens", "min_new_tokens", "stop", "choice", "regex", "overflow"),
    "Options": ("n", "seed"),
}
"""Headings in help of the options that do not belong to the choice of an id."""
_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "assistant": {"metavar": "RUN", "show_default": "none"},
    "dola": {"metavar": "LAYERS", "show_default": "none"},
    "regex": {"metavar": "REGEX", "show_default": "none"},
}


def sampling_options(function: Any) -> Any:
    """The options of `SampleConfig`; its fields check the values."""
    for name, field in reversed(SampleConfig.model_fields.items()):
        if name not in ("banned", "stop_ids", "choices", "constraint"):
            panel = next((panel for panel, names in _PANELS.items() if name in names), "Choice of an id")
            attributes = _ATTRIBUTES.get(name, {})
            function = field_option(name, field, panel=panel, **attributes)(function)
    return function


_LENGTHS = ("--max-new", "--max-new-tokens", "--max-tokens", "--max-length", "--length", "--n-predict")
"""Options for the number of new ids, our own and those of other tools."""


def _number(value: str | None, arguments: Sequence[str]) -> str:
    """The number of new ids, as llama.cpp calls it; of samples, where the other one is given."""
    if any(word.partition("=")[0].replace("_", "-") in _LENGTHS for word in arguments):
        return f"--n {shlex.quote(value or '3')}"
    number = shlex.quote(value or "256")
    return f"--max-new {number}: the number of new ids; --n {number} is that of samples"


def _text_or_number(value: str | None, arguments: Sequence[str]) -> str:
    """For an argument too many: all words as one text; a number at their end may also be that of new ids."""
    whole, words, number = one_text("sample")(value, arguments), arguments[:-1], arguments[-1]
    has_length = any(word.partition("=")[0].replace("_", "-") in _LENGTHS for word in arguments)
    if has_length or not (whole and number.isdecimal() and shlex.split(whole)[-1].endswith(f" {number}")):
        return whole
    text = one_text("sample")(words[-1], words) or shlex.join(["slm", "sample", *words])
    return f"{text} --max-new {number} draws {number} ids; {whole} continues a text that ends with {number}"


_PROMPT_HABITS = dict.fromkeys(
    ("--file", "-f", "--prompt-file", "--input-file"), lambda file, _: prompt_of(file or "FILE")
)
_HABITS = {
    EXTRA: _text_or_number,
    **run_as_argument("sample"),
    **_PROMPT_HABITS,
    "--start": lambda value, _: prompt_meant(value or "TEXT"),
    **DECODING_HABITS,
    **SAMPLING_HABITS,
    **QUANTIZATION_HABITS,
    "-n": _number,
    "--eos-token-id": instead("leave it out: the vocabulary of the run has the special ids"),
    **dict.fromkeys(("--output", "-o"), to_stdout("", "FILE")),
    "--out-dir": instead("an argument for the run: slm sample {}", "RUN"),
}
"""Options of other samplers, each with what stands for it here."""


@command("sample", example="slm sample run 'Once upon a time'", habits=_HABITS, combined=combined)
@run_argument
@argument("text", metavar="[TEXT]", required=False, help="The text to continue, as with --prompt; - is stdin.")
@prompt_option
@ids_option
@sampling_options
@opening_options
def sample(run: str, text: str | None, prompt: str | None, ids: str | None, **values: Any) -> Outcome:
    """Generate text with a trained model. The samples of one seed differ; the same seed gives the same text."""
    prompt = _one_prompt("sample", run, text, prompt)
    opening = {name: values.pop(name) for name in OPENING}
    options = SampleConfig(**values)
    given = check_prompt(prompt, ids)
    _check_early(options, given, RunFolder.open(run))
    method = chosen_method(options, greedy=options.greedy, assistant=bool(options.assistant))
    load_torch()
    context = open_run(run, **opening)
    job = SampleJob(context, prompt_ids(context, prompt, ids), _resolved(options, context))
    if options.assistant:
        assistant = open_run(options.assistant, device=opening["device"])
        assistant.vocab.require_same(context.vocab, "the assistant", options.assistant)
        outcome = job.assisted(assistant.model)
    else:
        outcome = job.draw() if method is None else job.search(method)
    on_stdin = _notes_on_stdin(run) if prompt is None and ids is None else ()
    return outcome._replace(warnings=(*notes_on_prompt(prompt, context), *on_stdin, *outcome.warnings))


def _notes_on_stdin(run: str) -> tuple[str, ...]:
    """A remark on text that waits on stdin, which is read for the prompt `-` alone."""
    try:
        state = os.fstat(sys.stdin.fileno())
        waits = stat.S_ISREG(state.st_mode) and state.st_size > 0
        if stat.S_ISFIFO(state.st_mode):
            waits = _bytes_in_pipe(sys.stdin.fileno()) > 0
    except (AttributeError, OSError, ValueError):
        return ()
    return (f"stdin has text, which is not read: slm sample {shlex.quote(run)} - continues it",) if waits else ()


def _bytes_in_pipe(descriptor: int) -> int:
    """Bytes that wait in a pipe; none where the system does not tell."""
    try:
        import fcntl
        import termios
    except ImportError:
        return 0
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def _one_prompt(command: str, run: str, text: str | None, prompt: str | None) -> str | None:
    """The argument TEXT, or the value of --prompt. Raises `OptionError` for both, and for a second run as TEXT."""
    if text is not None and prompt is not None:
        if is_run(text) and text != run:
            lines = lines_for_each([run, text], [run, text], click.get_current_context())
            raise OptionError(f"two runs: {run!r} and {text!r}", limit="one run a command", fix=lines, option="run")
        fix = one_text(command)(text, arguments_of_command()) or "leave one out"
        raise OptionError("TEXT and --prompt together", where=f"TEXT is {text!r}", fix=fix, option="--prompt")
    return prompt if text is None else text


def _check_early(options: SampleConfig, ids: list[int] | None, run: RunFolder) -> None:
    """Raises `OptionError` for texts and ids that cannot be meant, before torch is imported."""
    patterns = (options.regex,) if is_given("regex") else ()
    for flag, texts in (("--choice", options.choice), ("--stop", options.stop), ("--regex", patterns)):
        if not all(texts):
            raise OptionError(f"{flag} is empty", fix=f"leave {flag} '' out", option=flag)
    if options.choice and options.regex:
        raise OptionError("--choice and --regex together", fix="leave out --choice or --regex", option="--choice")
    if options.regex:
        from slmtok.patterns import compile_automaton

        compile_automaton(options.regex)
    unknown = next((id for id in ids or () if id >= run.vocab.n_vocab), None)
    if ids == [] or unknown is not None:
        raise OptionError(
            "--ids is empty" if unknown is None else f"--ids has the id {unknown}",
            limit=f"ids 0 to {run.vocab.n_vocab - 1}",
            fix="leave it out: a sample then begins a document"
            if unknown is None
            else "encode the prompt with the tokenizer of the run: -p TEXT",
            option="--ids",
        )


def _resolved(options: SampleConfig, context: RunContext) -> SampleConfig:
    """The options with the special ids of the vocabulary, and with texts as ids."""
    from slmmodel.run import special_ids

    changes: dict[str, Any] = special_ids(context.vocab) | ({"temperature": 0.0} if options.greedy else {})
    if options.choice:
        encode = context.need_text("--choice").encode
        changes["choices"] = tuple(tuple(encode(choice)) for choice in options.choice)
    if options.regex:
        changes["constraint"] = context.need_text("--regex").constraint(options.regex, context.vocab.n_vocab)
    return SampleConfig(**{**options.model_dump(), **changes})


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
        seconds = max(time.perf_counter() - begun, 1e-9)
        samples = [
            writer.finish(made.ids, made.reason) for writer, made in zip(writers, generation.samples, strict=True)
        ]
        total = sum(len(made.ids) for made in generation.samples)
        return self._outcome("draw", samples, {"tokens": total, "tokens_per_s": round(total / seconds, 1)})

    def assisted(self, assistant: Model) -> Outcome:
        """`n` samples one after another, with ids that the assistant proposes."""
        from slmmodel.sampling.assisted import assisted

        begun = time.perf_counter()
        found = [
            assisted(self.context.model, assistant, self.prompt, self.options, sample=number)
            for number in range(self.options.n)
        ]
        seconds = max(time.perf_counter() - begun, 1e-9)
        total = sum(len(one.ids) for one in found)
        proposed, accepted = (sum(one.numbers[name] for one in found) for name in ("proposed", "accepted"))
        rate = accepted / max(proposed, 1)
        more = {"tokens": total, "tokens_per_s": round(total / seconds, 1), "acceptance_rate": round(rate, 4)}
        return self._print("assisted", [(one.ids, one.reason, {}) for one in found], more=more)

    def search(self, method: str) -> Outcome:
        """At most `n` continuations by one of `METHODS`."""
        options = self.options
        found = METHODS[method].decode(self.context.model, self.prompt, options, options.n)
        warnings: tuple[str, ...] = ()
        cosine = found[0].numbers.get("mean_cosine", 0.0) if found else 0.0
        if cosine > 0.9 and (options.contrastive or 0) > 0.4:
            # Of similar vectors none is far from the earlier ones.
            warnings = (f"hidden vectors are similar (mean cosine {cosine:.3f}): try --contrastive 0.2 to 0.4",)
        return self._print(method, [(one.ids, one.reason, one.numbers) for one in found], warnings)

    def _print(
        self,
        mode: str,
        found: Sequence[tuple[list[int], str, dict[str, float]]],
        warnings: tuple[str, ...] = (),
        more: dict[str, Any] | None = None,
    ) -> Outcome:
        """Prints finished samples: ids, why they ended, and further entries; `more` are those of the whole result."""
        samples = []
        for row, (ids, reason, entries) in enumerate(found):
            writer = _SampleWriter(self, row, len(found))
            length = next((number for number, id in enumerate(ids, 1) if writer.push(id)), len(ids))
            samples.append(writer.finish(ids[:length], reason if length == len(ids) else "stop") | entries)
        return self._outcome(mode, samples, more or {}, warnings)

    def _is_match(self, ids: Sequence[int]) -> bool:
        """Whether a sample is one of the choices, and the constraint matches all of it, where there are such."""
        if self.options.choices:
            return tuple(ids) in self.options.choices
        constraint = self.options.constraint
        state = None if constraint is None else constraint.run(ids)
        return constraint is None or (state is not None and constraint.is_match(state))

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
        if unmatched := sum(not self._is_match(one["ids"]) for one in samples):
            which = "the sample" if len(samples) == 1 else f"{unmatched} of {len(samples)} samples"
            end = "the end of a --choice" if self.options.choices else "--regex matched the whole text"
            fact = f"{which} ended before {end}"
            warnings = (f"{fact}; a larger --max-new than {self.options.max_new_tokens:,} may let it", *warnings)
        shortest = min((len(one["ids"]) for one in samples if one["reason"] == "context"), default=None)
        if shortest is not None and is_given("max_new_tokens"):
            fact = f"a sample ended after {counted(shortest, 'id')}, at the end of the context, not at --max-new"
            # --overflow is refused beside another way to decode.
            way = {"draw": "", "assisted": " without --assistant"}.get(mode, f" without --{mode.replace('_', '-')}")
            warnings = (f"{fact} {self.options.max_new_tokens:,}; --overflow slide{way} continues", *warnings)
        # Greedy decoding refuses several samples.
        likeliest = {"--temperature 0": not self.options.temperature, "--top-k 1": self.options.top_k == 1}
        if (
            len(samples) > 1
            and mode in ("draw", "assisted")
            and (found := [name for name, on in likeliest.items() if on])
        ):
            fact = f"the {len(samples)} samples are equal: {found[0]} always takes the likeliest id"
            warnings = (f"{fact}; without {' and '.join(found)} they differ", *warnings)
        if len(choices := self.options.choice) == 1:
            parts = [part.strip() for part in choices[0].split(",")]
            several = " ".join(f"--choice {shlex.quote(part)}" for part in (parts if len(parts) > 1 else ["A", "B"]))
            fact = f"--choice {choices[0]!r} is the only text that a sample may have"
            warnings = (f"{fact}; for one of several: {several}", *warnings)
        filters = [f"--{name.replace('_', '-')}" for name in DRAWING if name != "temperature" and is_given(name)]
        if filters and is_given("temperature") and not self.options.temperature:
            have = "has" if len(filters) == 1 else "have"
            warnings = (f"{' and '.join(filters)} {have} no effect with --temperature 0", *warnings)
        if is_given("diversity_penalty") and self.options.beam_groups == 1:
            warnings = ("--diversity-penalty has no effect without --beam-groups of 2 or more", *warnings)
        if is_given("seed") and (not self.options.temperature or (mode in METHODS and not METHODS[mode].draws)):
            warnings = ("--seed has no effect: nothing is drawn", *warnings)
        warnings = (
            *notes_on_escapes("--stop", *self.options.stop),
            *notes_on_escapes("--choice", *self.options.choice),
            *warnings,
        )
        result = {"mode": mode, "seed": self.options.seed, "prompt_ids": self.prompt, "samples": samples, **more}
        return Outcome(result, warnings=warnings)


class _SampleWriter:
    """The text of one sample, printed while it grows (`is_live`) or at its end; not printed with `--json`."""

    def __init__(self, job: SampleJob, row: int, n: int, *, is_live: bool = False) -> None:
        self._text, self._row = job.context.text, row
        self._prints = not settings().as_json
        self._out: TextIO = sys.stdout if is_live and self._prints else io.StringIO()
        self._decoder = TextDecoder(job.options.stop)
        self._parts: list[str] = []
        ids = job.prompt
        prompt = _listed(ids) if self._text is None else self._text.data(ids).decode("utf-8", "replace")
        self._write(("" if n == 1 else f"--- sample {row + 1} of {n}\n") + prompt)

    def push(self, id: int) -> bool:
        """Appends one id; True after a stop string."""
        self._add(_listed([id]) if self._text is None else self._decoder.push(self._text.data([id])))
        return self._decoder.stopped

    def finish(self, ids: list[int], reason: str | None) -> dict[str, Any]:
        """Prints the rest, or the whole sample; gives its entry in the result, with `text` None without a tokenizer."""
        self._add(self._decoder.finish())
        self._write("\n")
        if isinstance(self._out, io.StringIO) and self._prints:
            write_text(self._out.getvalue())
        text = "".join(self._parts) if self._text is not None else None
        return {"row": self._row, "text": text, "ids": ids, "reason": reason}

    def _add(self, piece: str) -> None:
        self._parts.append(piece)
        self._write(piece)

    def _write(self, text: str) -> None:
        self._out.write(shown(text))
        self._out.flush()


def _listed(ids: Sequence[int]) -> str:
    return "".join(f"{id} " for id in ids)


def _scored(_: str | None, arguments: Sequence[str]) -> str:
    """The command that measures perplexity, of the text before the token if one is given."""
    run = next(filter(is_run, arguments), "RUN")
    places = [word for before, word in pairwise(["", *arguments]) if "-" not in (before[:1], word[:1])]
    text = value_after(["--prompt"], arguments) or next((word for word in places if word != run), None)
    scores = ["slm", "eval", run]
    return shlex.join(scores) if text is None else f"printf %s {shlex.quote(text)} | {shlex.join(scores)} --on -"


def _of_token(value: str | None, arguments: Sequence[str]) -> str:
    """The line of the list with the first token of a text; without a text or a tokenizer, the command for the list."""
    words, path = without((*_TOKEN_FLAGS, "--top"), arguments), next(filter(is_run, arguments), None)
    line = shlex.join(["slm", "logprobs", *([] if path else [run_here()]), *words])
    found: Sequence[int] = ()
    with suppress(SlmmodelError, SlmtokError):
        run = RunFolder.open(path or run_here())
        file = value_after(["-t", "--tokenizer"], arguments) or run.tokenizer
        found = Text(file, run.vocab, str(run.path)).encode(value) if value and file else ()
    if not found:
        return f"{line} # lists the likeliest tokens"
    remark = f" # the first of {len(found)} tokens" if len(found) > 1 else ""
    return f"{line} --top 0 | awk '$1 == {found[0]}'{remark}"


_TOKEN_FLAGS = ("--target", "--token", "--next", "--next-token", "--continuation", "--completion", "--answer")
"""Options of other tools for the token or text whose probability is wanted."""
_LOGPROBS_HABITS = {
    **dict.fromkeys(_TOKEN_FLAGS, _of_token),
    EXTRA: one_text("logprobs"),
    **run_as_argument("logprobs"),
    **_PROMPT_HABITS,
    **dict.fromkeys(
        (*("--n", "-n", "--k", "--top-k", "--logprobs"), *("--top-logprobs", "--n-probs", "--top-n-tokens")),
        instead("--top {}", "10"),
    ),
    **dict.fromkeys(("--ppl", "--perplexity"), _scored),
    **dict.fromkeys(
        ("--temperature", "--temp", "-T", "--top-p", "--seed", "--greedy"),
        instead("leave it out: nothing is drawn, and the probabilities are at temperature 1 and over all ids"),
    ),
}


@command("logprobs", example="slm logprobs run 'Once upon a'", habits=_LOGPROBS_HABITS)
@run_argument
@argument("text", metavar="[TEXT]", required=False, help="The text before the token, as with --prompt; - is stdin.")
@prompt_option
@ids_option
@option("--top", metavar="N", type=COUNT, default=10, help="Number of tokens to list; 0 lists all.")
@step_option
@run_tokenizer_option
@device_option
def logprobs(run: str, text: str | None, prompt: str | None, ids: str | None, top: int, **opening: Any) -> Outcome:
    """List the likeliest next tokens with their probabilities, at temperature 1 and over all ids."""
    prompt = _one_prompt("logprobs", run, text, prompt)
    check_prompt(prompt, ids)
    context = open_run(run, **opening)
    from slmmodel.sampling.prefill import next_log_probabilities

    begin = prompt_ids(context, prompt, ids)
    logp = next_log_probabilities(context.model, begin)
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

    return Outcome(result, show, warnings=notes_on_prompt(prompt, context))

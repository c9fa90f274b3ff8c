"""`SamplingOptions`, `DecodingOptions`, `SampleConfig`: every option of decoding with its default, limits and help.

torch is not imported, so wrong options are reported before it is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from slmmodel.calls import STREAMS, is_literal, unknown_option, written_fields, written_keywords
from slmmodel.config_values import Count, Number, Section, one_of_list, option, share_of_percent
from slmmodel.errors import (
    MAX_SHOWN,
    Argument,
    OptionError,
    UnknownName,
    WrongType,
    first_fault,
    left_out,
    unknown_name,
)
from slmmodel.foreign_decoding import DRAWING, HABITS, Decoding, as_own_decoding

if TYPE_CHECKING:
    from torch import Tensor

    from slmmodel.vocab import VocabMeta

MAX_BEAMS = 4096
"""Beams or samples of one call, which are decoded side by side."""
MAX_NEW_TOKENS = 1 << 32
Penalty = Annotated[float, Field(ge=-100, le=100)]
Layers = Annotated[
    str, BeforeValidator(lambda value: ",".join(map(str, value)) if isinstance(value, list | tuple) else value)
]


def _no_overflow(value: float) -> float:
    """Logits divided by a smaller temperature could exceed fp32."""
    if value != 0 and not 1e-6 <= value <= 1e6:
        raise ValueError("0, or 1e-6 to 1e6")
    return value


Temperature = Annotated[float, AfterValidator(_no_overflow), Field(description="Below 1: likelier ids; 0 is greedy.")]


@runtime_checkable
class Constraint(Protocol):
    """What new ids have to match, such as `slmmodel.sampling.automaton.TokenAutomaton`."""

    def run(self, ids: Sequence[int]) -> int | None:
        """The state after these ids; None where no match can follow."""

    def allowed(self, state: int) -> Tensor:
        """bool [V]: the ids that may follow."""

    def is_match(self, state: int) -> bool:
        """Whether the ids so far are a match, so that a stop id may follow."""


class SamplingOptions(Section):
    """How the next id is chosen. The defaults sample from the model's distribution."""

    temperature: Temperature = 1.0
    top_k: Count = option(0, "Draw from the k likeliest ids; 0: from all.")
    top_p: float = option(1.0, "Draw from the smallest set of ids with this probability.", gt=0, le=1)
    min_p: Number = option(0.0, "Draw from ids with this share of the largest probability.", le=1)
    repetition_penalty: float = option(1.0, "Above 1: fewer repetitions.", ge=0.01, le=100)
    frequency_penalty: Penalty = option(0.0, "Subtracted from the logit of an id for each occurrence.")
    presence_penalty: Penalty = option(0.0, "Subtracted from the logit of an id that occurred.")
    no_repeat_ngram: Count = option(0, "Generate no n ids in a row twice; 0 allows it.")
    min_new_tokens: Count = option(0, "Minimum number of new ids.")
    seed: Count = option(0, "Seed of the random choices.")
    banned: tuple[int, ...] = option((), "Ids that are never picked.")
    stop_ids: tuple[int, ...] = option((), "Ids that end a row; banned before min_new_tokens.")
    choices: tuple[tuple[int, ...], ...] = option((), "Rows of ids, one of which is generated, and then a stop id.")
    constraint: Any = option(None, "What the new ids have to match (`TokenAutomaton`), followed by a stop id.")

    @model_validator(mode="after")
    def _can_end(self) -> SamplingOptions:
        if self.constraint is not None and not isinstance(self.constraint, Constraint):
            kind = type(self.constraint).__name__
            raise WrongType(
                f"constraint is a {kind}, not a TokenAutomaton", fix="generate(regex='[0-9]+') of slmmodel.app"
            )
        if self.constraint is not None and self.choices:
            fact, fix = "choices and a constraint together", "leave out choices, or constraint (regex in slmmodel.app)"
            raise OptionError(fact, fix=fix, option="--choice")
        if self.constraint is not None and not self.stop_ids:
            raise OptionError("a constraint needs stop_ids", fix=(Argument("stop_ids", (2,)),), option="--regex")
        if self.choices and not (self.stop_ids and all(self.choices)):
            raise OptionError(
                "choices need stop_ids" if all(self.choices) else "a choice has no ids",
                limit="a choice has an id or more, and ends with one of stop_ids",
                fix=(Argument("stop_ids", (2,)), " or the id that ends a document in this vocabulary"),
                option="--choice",
            )
        return self

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            path, value, limit = first_fault(error)
            name = path.partition(".")[0]
            if name not in type(self).model_fields:
                raise _unknown(name, values, type(self)) from None
            share = share_of_percent(value, limit) if name not in _EXAMPLES else None
            usual = Argument(name, type(self).model_fields[name].default)
            rows = _as_rows(name, values.get(name))
            ids_of_texts = _as_ids(name, values.get(name))
            limit = "ids of the vocabulary" if ids_of_texts else limit
            fact = f"{name} is {value}"
            if rows or ids_of_texts:
                fact = f"{name} has {value!r}, which is no {'row of ids' if rows else 'id'}"
            raise OptionError(
                fact,
                limit=limit if rows is None else "rows of ids; slmmodel.app takes texts",
                fix=rows
                or ids_of_texts
                or _as_tuple(name, value)
                or _first_of(name, value)
                or _as_top_p(name, value)
                or (_OF_ANY_SEED if name == "seed" and value is None else None)
                or ((Argument(name, share),) if share else None)
                or ((Argument(name, _EXAMPLES[name]), ", for instance") if name in _EXAMPLES else (usual, _OR_WITHIN)),
                option=f"--{name.replace('_', '-')}",
            ) from None


def _unknown(name: str, values: Mapping[str, Any], kind: type[SamplingOptions]) -> UnknownName:
    """The error for an option that does not exist; of another library's, its fix has all options of the call."""
    error = unknown_name("option", name, kind.model_fields, "{}")
    if name in HABITS:
        meant = as_own_decoding(values)
        words = ", ".join(written_keywords(**meant.options))
        of_run = not meant.options.keys() <= kind.model_fields.keys()
        call = f"run.generate(ids, {words})" if of_run else f"{kind.__name__}({words})"
        error.fix = call + meant.remark()
    elif name == "max_new_tokens":
        error.fact = f"max_new_tokens is an argument of generate(), and no field of {kind.__name__}"
        error.fix = f"run.generate(ids, {', '.join(written_keywords(**values))})"
    elif error.fix == "OPTION":
        error.fix = "help(slmmodel.sampling.SamplingOptions)"
    return error


_EXAMPLES = {"contrastive": 0.3}
"""Numbers up to 1 that are no shares, so that 3 is not 3 %."""
_OR_WITHIN = ", as without it, or one within the limit"
_OF_ANY_SEED = "seed=0, as without it; import random, then seed=random.randrange(2**32), for another draw in each call"


def _as_rows(name: str, value: object) -> tuple[Argument | str, ...] | None:
    """The rows of ids for choices that are texts or single ids, as a fix; None for others."""
    given = [value] if isinstance(value, str) else [*value] if isinstance(value, list | tuple) else []
    if name != "choices" or not given:
        return None
    if all(isinstance(each, str) for each in given):
        return (f"choices=[tok.encode_list(text) for text in {given}]",)
    is_ids = all(type(each) is int for each in given)
    return (Argument(name, [[each] for each in given]), ", of one id each") if is_ids else None


def _as_ids(name: str, value: object) -> str | None:
    """The ids of texts, where an option takes ids, as a fix; None for others."""
    given = [value] if isinstance(value, str) else [*value] if isinstance(value, list | tuple | set) else []
    if name not in ("banned", "stop_ids") or not any(each is None or isinstance(each, str) for each in given):
        return None
    if None in given:
        return f"{name}=[ID]; tok.encode_list(text) gives the ids of a text, which need not be one token"
    ids = [f"tok.token_to_id({each!r})" if isinstance(each, str) else repr(each) for each in given]
    whole = f"{name}=[{', '.join(ids)}], with the tokenizer of the run as tok"
    return f"{whole}; it gives None for a text that is no token: leave that out"


def _as_tuple(name: str, value: object) -> tuple[Argument, ...] | None:
    """The tuple of one id, where an option takes several, as a fix; None for others."""
    takes_ids = name in ("banned", "stop_ids") and isinstance(value, int) and not isinstance(value, bool)
    return (Argument(name, (value,)),) if takes_ids else None


def _first_of(name: str, value: object) -> tuple[Argument | str, ...] | None:
    """The first of several numbers where an option takes one, as a fix; None for others."""
    first = one_of_list(name, value)
    return (first[0], ", and a call for each other value") if isinstance(first, tuple) else None


def _as_top_p(name: str, value: object) -> tuple[Argument, ...] | None:
    """The probability that a share of the ids in `top_k` stands for, as a fix; None for others."""
    is_share = name == "top_k" and isinstance(value, float) and 0 < value < 1
    return (Argument("top_p", value),) if is_share else None


class DecodingOptions(SamplingOptions):
    """How a continuation is found: by draws, or by a method of `slmmodel.decoding_methods`, and where it ends."""

    beam: Count = option(0, "Width of a beam search; 0 draws.", le=MAX_BEAMS)
    beam_sample: Count = option(0, "Beam sampling: width of a beam search whose extensions are drawn.", le=MAX_BEAMS)
    beam_groups: Count = option(1, "Diverse beam search: divide the beams into groups that avoid each other.", ge=1)
    diversity_penalty: Number = option(0.5, "Taken off an id for each beam of an earlier group that takes it.", le=100)
    length_penalty: float = option(1.0, "Beam score: logp / length^X.", ge=-10, le=10)
    early_stopping: bool = option(False, "End a beam search when enough beams have ended.")
    contrastive: Number | None = option(None, "Contrastive search with this alpha; 0.2-0.4 suits small models.", le=1)
    contrastive_k: Count = option(4, "Candidates at each step of a contrastive search.", ge=1, le=MAX_BEAMS)
    dola: Layers = option("", "Contrast the last layer with earlier ones (DoLa): low, high, or layers such as 1,2.")
    lookahead: Count = option(4, "Ids that the assistant proposes at a time.", ge=1, le=1024)
    max_new_tokens: Count = option(256, "Maximum number of new ids.", le=MAX_NEW_TOKENS)
    overflow: Literal["stop", "slide"] = option(
        "stop", "At the end of the context: stop, or continue from its last half."
    )


_METHOD_EXAMPLES = {"beam": 4, "beam_sample": 4, "contrastive": 0.3, "dola": "low"}


_STREAMED = (*(name for name in SamplingOptions.model_fields if name != "choices"), "max_new_tokens", "overflow")
"""Options of a draw whose steps are printed; those of a text may be of other types."""


def check_method(options: object, method: str) -> None:
    """Raises `WrongType` unless the argument is a `DecodingOptions`, `OptionError` unless it selects the method."""
    example = _METHOD_EXAMPLES[method]
    if isinstance(options, DecodingOptions):
        if (value := getattr(options, method)) == DecodingOptions.model_fields[method].default:
            limit = f"a value that selects this method, unlike the default {value!r}"
            raise OptionError(f"{method} is {value!r}", limit=limit, fix=(Argument(method, example),), option=method)
        return
    given: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
    if isinstance(options, SamplingOptions):
        given = {name: value for name, value in options if name in options.model_fields_set}
    idle = [name for name in DRAWING if name in given and method in ("beam", "contrastive")]
    words = written_keywords(**{**{name: value for name, value in given.items() if name not in idle}, method: example})
    reason = f": {method} draws nothing" * bool(idle)
    fix = f"DecodingOptions({', '.join(words)}){left_out(idle)}{reason}"
    raise WrongType(f"options is a {type(options).__name__}, not DecodingOptions", fix=fix)


@contextmanager
def repeats_options(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The options of a call of `generate`, for a fix that repeats them, each wrong value replaced by that of its fix.

    An error of another argument says within what limits these are.
    """
    found, wrong = dict(options), []
    for _ in options:
        try:
            DecodingOptions(**{name: value for name, value in found.items() if name in _REPEATED})
            break
        except OptionError as error:
            name, fix = str(error.fields["option"]).removeprefix("--").replace("-", "_"), error.parts["fix"]
            found.pop(name, None)
            found |= {part.name: part.value for part in fix or () if isinstance(part, Argument)}
            wrong.append(f"{error.fact} (limit: {error.limit})")
    try:
        yield found
    except WrongType as error:
        error.limit = error.limit or "; ".join(wrong) or None
        raise


_REPEATED = DecodingOptions.model_fields.keys() - {"choices", "constraint", "max_new_tokens", "overflow"}
"""Options that text and ids have in common, and that are given as they are."""


def refuse_stream(
    given: Mapping[str, Any], call: Mapping[str, Any], opened: str, opening: Sequence[int] | None = None
) -> None:
    """Raises `WrongType` for an option that asks for a stream; the fix prints each step while it is generated.

    call: the prompt by its name, and the arguments that are not in `given`. opened: the call that opens the run.
    opening: the ids before a text; None where the prompt is ids.
    """
    name = next((each for each in STREAMS if given.get(each)), None)
    if name is None:
        return
    (prompt_name, prompt), *more = call.items()
    given = {**{option: value for option, value in more if _is_changed(option, value)}, **given}
    meant = as_own_decoding({option: value for option, value in given.items() if option not in STREAMS})
    options = {option: meant.options.pop(option) for option in _STREAMED if is_literal(meant.options.get(option))}
    of_steps = {option: options.pop(option) for option in ("max_new_tokens", "overflow") if option in options}
    reason = "only draws of the model alone come step by step"
    known = (*call, *DecodingOptions.model_fields)
    unlike = [each for each in meant.options if each not in known]
    meant.left_out |= {each: reason for each in meant.options if each in known}
    shown = next(iter(written_keywords(prompt=prompt)), "prompt=").partition("=")[2]
    shown = shown if len(shown) <= MAX_SHOWN and shown != "prompt" else prompt_name
    # No name of a caller: `run` may be another one.
    ids_run, ids, printed = "opened_run", shown, "print([id for _, id in step])"
    if opening is not None:
        begun = "".join(f"{id}, " for id in opening)
        ids_run, ids = "opened_run.run", f"[{begun}*opened_run.tokenizer.encode_list({shown})]"
        printed = "print(*[stream.push(id) for _, id in step], end='', flush=True)"
    drawn = f"**slmmodel.run.special_ids({ids_run}.vocab)" + f" | {options}" * bool(options)
    arguments = [f"{ids_run}.model", f"[{ids}]", f"slmmodel.sampling.SamplingOptions({drawn})"]
    steps = f"slmmodel.generation.Generation({', '.join([*arguments, *written_keywords(**of_steps)])})"
    made = [
        f"import slmmodel; opened_run = {opened}",
        *["stream = opened_run.tokenizer.stream()"] * (opening is not None),
        f"steps = {steps}",
    ]
    fix = "; ".join([*made, f"[{printed} for step in steps]"]) + meant.remark()
    fix = _with_unlike(unlike, fix, is_of_text=opening is not None)
    raise WrongType(f"generate() has no option {name!r}", limit="it returns when all is generated", fix=fix)


def _with_unlike(unlike: Sequence[str], fix: str, *, is_of_text: bool) -> str:
    """The fix of a call of `generate` and, before it, what shows the options, for those of no known meaning."""
    return f"for {', '.join(unlike)} {_HELP_OF_GENERATE[is_of_text]}; for the other options {fix}" if unlike else fix


_HELP_OF_GENERATE = ("help(slmmodel.Run.generate)", "help(slmmodel.app.TextRun.generate)")
"""The call that shows the options of a run of ids, and of one of text."""


def check_options(given: Mapping[str, Any], others: Sequence[str], call: Mapping[str, Any], opened: str) -> None:
    """Raises `WrongType` for the keywords of `generate` that are no option of decoding, nor one of `others`.

    call: the prompt by its name, and the arguments that are not in `given`; the fix of several options repeats them.
    opened: the call that opens the run, for its fix.
    """
    is_of_text = "prompt" in call
    known = dict.fromkeys((*others, *DecodingOptions.model_fields))
    fallback = _HELP_OF_GENERATE[is_of_text]
    wrong = {
        name: unknown_option("generate", name, value, known, fallback=fallback)
        for name, value in given.items()
        if name not in known
    }
    if not wrong:
        return
    error = next(iter(wrong.values()))
    if len(wrong) > 1:
        error.fact = f"generate() has no options {', '.join(map(repr, wrong))}"
    (name, prompt), *more = call.items()
    keywords = {**{name: value for name, value in more if _is_changed(name, value)}, **given}
    prose, unlike = [], []
    for wrong_name, each in wrong.items():
        if wrong_name in HABITS:
            continue
        value, text = keywords.pop(wrong_name), str(each.fix)
        if isinstance(value, SamplingOptions):
            text = ", ".join(written_fields(value)) or text
        near = text.partition("=")[0]
        if near in known and near not in keywords and text == f"{near}={value!r}":
            # A misspelling.
            keywords[near] = value
        elif text == fallback:
            unlike.append(wrong_name)
        else:
            prose.append(f"for {wrong_name} {text}" if len(wrong) > 1 else text)
    meant = as_own_decoding(keywords)
    ours = {option: value for option, value in keywords.items() if option not in HABITS}
    is_alone = len(wrong) == 1 and all(meant.options.get(option, wrong) is value for option, value in ours.items())
    if len(prose) == len(wrong):
        error.fix = "; ".join(prose)
    elif not is_alone or meant.n > 1:
        error.fix = _one_call(name, prompt, meant, opened, prose)
    elif {*wrong} <= {*HABITS}:
        changed = {option: value for option, value in meant.options.items() if option not in ours}
        reason = next(iter(meant.left_out.values()), "")
        counted = ", which does not count the prompt" if meant.had_prompt else ""
        error.fix = ", ".join(written_keywords(**changed)) + counted or f"leave it out: {reason}"
    is_shown_alone = len(unlike) == len(wrong)
    error.fix = fallback if is_shown_alone else _with_unlike(unlike, str(error.fix), is_of_text=is_of_text)
    raise error


def _is_changed(name: str, value: object) -> bool:
    """Whether an argument of `generate` is another than without it."""
    default = DecodingOptions.model_fields[name].default if name in DecodingOptions.model_fields else None
    return value not in (None, "", ()) and (name in _ASSISTANT or value != default)


_ASSISTANT = ("assistant",)
"""A run, which is not compared."""


def _one_call(name: str, prompt: object, meant: Decoding, opened: str, prose: Sequence[str]) -> str:
    """The call of `generate` with options in our words; its comment has those left out, with the reason, and prose."""
    shown = next(iter(written_keywords(prompt=prompt)), "prompt=").partition("=")[2]
    shown = shown if len(shown) <= MAX_SHOWN and shown != "prompt" else name
    options = dict(meant.options)
    first = options.pop("seed", 0) if meant.n > 1 else 0
    words = written_keywords(**options) + ["seed=seed"] * (meant.n > 1)
    call = f".generate({', '.join([shown, *words])})"
    if meant.n > 1:
        seeds = f"{first}, {first + meant.n}" if first else f"{meant.n}"
        call = for_each(opened, call, f"seed in range({seeds})")
    else:
        call = f"{opened}{call}"
    return call + meant.remark(*["max_new_tokens does not count the prompt"] * meant.had_prompt, *prose)


def for_each(opened: str, call: str, loop: str) -> str:
    """Several calls of a run, each of a `.method(...)`; `opened` as of `check_options`."""
    return f"opened_run = {opened}; [opened_run{call} for {loop}]"


class SampleConfig(DecodingOptions):
    """Options of `slm sample`."""

    temperature: Temperature = 0.8
    n: Count = option(1, "Number of samples.", ge=1, le=MAX_BEAMS)
    greedy: bool = option(False, "Take the likeliest id at each step.")
    assistant: str = option("", "A smaller run that proposes ids; the text is distributed as without it.")
    stop: tuple[str, ...] = option((), "End before this text. Repeat for several.")
    choice: tuple[str, ...] = option((), "Generate one of these texts. Repeat for each of them.")
    regex: str = option("", "Generate a text that this regular expression matches as a whole.")


def opening_ids(vocab: VocabMeta) -> list[int]:
    """The special that opens a document, as ids: the role bos, or eos where that is the only delimiter."""
    return [vocab.specials[role] for role in ("bos", "eos") if role in vocab.specials][:1]

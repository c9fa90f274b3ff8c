"""`Run`: a trained model for use in Python; `load` and `train` give one. Ids in, ids out; `slmmodel.app`: text."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from slmmodel import trainer
from slmmodel.calls import (
    OF_FILE,
    NamesConstructors,
    explains_calls,
    explains_settings,
    is_literal,
    tokenizer_argument,
    written_keywords,
)
from slmmodel.checkpoint import RunFolder
from slmmodel.checks import (
    check_bool,
    check_ids,
    check_int,
    check_path,
    check_report,
    int_meant,
    missing_path,
    naming_split,
    warn_caller,
)
from slmmodel.config import (
    OPTIONS,
    Setting,
    Settings,
    check_names,
    merged,
    model_options,
    read_budget,
    refuse_contradiction,
    settings_of,
    validate,
)
from slmmodel.config_values import joined_settings, parse_word
from slmmodel.data import RunData
from slmmodel.data.file_kinds import TOKENIZER, kind_of
from slmmodel.data.opening import VALIDATION, name_packed, open_source, open_val_or_all, refuse_several, refuse_text
from slmmodel.data.source import TokenSource
from slmmodel.data_config import DataConfig
from slmmodel.decoding_methods import METHODS, chosen_method, warn_without_effect
from slmmodel.decoding_options import (
    MAX_NEW_TOKENS,
    DecodingOptions,
    SamplingOptions,
    check_options,
    for_each,
    opening_ids,
    refuse_stream,
    repeats_options,
)
from slmmodel.errors import (
    MAX_SHOWN,
    InvalidConfig,
    InvalidInput,
    Mismatch,
    MissingInput,
    OptionError,
    SlmmodelError,
    WrongType,
    with_import,
)
from slmmodel.evaluation.certificate import check_run, check_seq_len
from slmmodel.evaluation.scoring import Scores, negative_log_likelihood, score
from slmmodel.generation import Sample, generate
from slmmodel.hardware import device_for
from slmmodel.indexing import explains_indexing
from slmmodel.models.presets import PRESETS, preset_lengths
from slmmodel.models.protocol import eval_mode
from slmmodel.notebook import html_table
from slmmodel.run_entries import step_named
from slmmodel.sampling import Continuation
from slmmodel.sampling.assisted import assisted
from slmmodel.sampling.prefill import check_logits
from slmmodel.torch_state import own_torch_state
from slmmodel.training.metrics import Report
from slmmodel.training.setup import notes_on_time, value_of
from slmmodel.training.summary import summary_of
from slmmodel.vocab import OF_SIZES, SIZES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmmodel.models.protocol import Model
    from slmmodel.vocab import VocabMeta


def special_ids(vocab: VocabMeta) -> dict[str, Any]:
    """Options of sampling: `stop_ids`, the id that ends a document, and `banned`, all other ids without text.

    The end is the role eos, or bos where that is the only delimiter.
    """
    closing = tuple(vocab.specials[role] for role in ("eos", "bos") if role in vocab.specials)[:1]
    without_text = (vocab.token_nbytes == 0).nonzero()[0].tolist()
    return {"stop_ids": closing, "banned": tuple(id for id in without_text if id not in closing)}


SPLITS = {"train": "train", "val": "val", **dict.fromkeys(VALIDATION, "val")}
"""Names of splits, here and elsewhere, each with ours."""


def refuse_no_path(path: str, for_text: str) -> None:
    """Raises `MissingInput` for the name of a split, or a text, in place of data; `for_text` is the call for a text."""
    if os.path.exists(path):  # noqa: PTH110
        return
    split, is_text = SPLITS.get(path), any(map(str.isspace, path))
    if split or is_text:
        error = missing_path(path, f"evaluate(split={split!r})" if split else for_text)
        if split:
            error.limit = "a split is an option; packed data have at most the splits train and val"
        raise error


def refuse_long(model: Model, n_ids: int, n_new: int, overflow: str, end_of: Callable[[int], str]) -> None:
    """Raises `InvalidInput` for a prompt longer than the context; `end_of` writes its last ids, by their number.

    The fix leaves room for `n_new` ids, or names how many fit behind half of the context.
    """
    context = model.config.max_context
    if n_ids <= context:
        return
    n_new = 0 if overflow == "slide" else n_new
    n_kept = min(max(context + 1 - n_new, context // 2, 1), context)
    room = context + 1 - n_kept
    fix = end_of(n_kept) + (f", with max_new_tokens={room}" if n_new > room else "")
    raise InvalidInput(f"the prompt has {n_ids:,} ids", limit=f"seq_len {context}", fix=fix)


_SCORE = "{opened}.score({scored}"
_ATTRIBUTES_ELSEWHERE = {
    **dict.fromkeys(
        ("save", "save_pretrained", "push_to_hub"),
        "slm export {shell} -o NEW in a shell, for Hugging Face; the folder {path!r} itself is the saved run",
    ),
    "tokenizer": "{text}.tokenizer",
    **dict.fromkeys(("encode", "decode"), "{text}.tokenizer.{name}"),
    **dict.fromkeys(("tokenize",), "{text}.tokenizer.encode"),
    **dict.fromkeys(("detokenize",), "{text}.tokenizer.decode"),
    **dict.fromkeys(("sample", "predict", "complete", "infer"), "write .generate in place of .{name}"),
    "compare": "slm eval {shell} --losses a.losses && slm eval OTHER --losses b.losses && slm compare a.losses b.losses"
    " in a shell, for the folder OTHER of the other run",
    **dict.fromkeys(
        ("plot", "history", "losses", "metrics", "log_history"), "slm plot {shell} -o curves.svg in a shell"
    ),
    **dict.fromkeys(("summary", "describe", "info"), "slm info {shell} in a shell prints it"),
    **dict.fromkeys(("fit", "resume", "finetune"), "slm resume {shell} in a shell, with another budget also -o NEW"),
    **dict.fromkeys(
        ("loss", "val_loss", "bpb", "val_bpb", "bits_per_byte"),
        "{opened}.result, the totals of training with loss and val_bpb; .evaluate().bpb_total scores documents",
    ),
    **dict.fromkeys(SIZES, OF_SIZES),
    **dict.fromkeys(
        ("block_size", "context_length", "max_length", "max_seq_len", "n_ctx", "n_positions"), "{own}.seq_len"
    ),
    **dict.fromkeys(
        ("n_params", "num_params", "num_parameters", "get_num_params"),
        "{opened}.result['parameters'], of a finished run",
    ),
    **dict.fromkeys(
        ("step", "steps", "checkpoints", "latest", "best"),
        "{own}.folder.checkpoints.list(), .newest() or .best(); slmmodel.load({path!r}, step=N) opens one",
    ),
    "batch_size": "{own}.config['run']['batch_tokens'], the ids of a step",
    "dtype": "next({own}.model.parameters()).dtype",
    **dict.fromkeys(
        ("perplexity", "ppl", "log_prob", "log_probs", "logprob", "logprobs", "log_likelihood", "nll"), _SCORE
    ),
    **dict.fromkeys(("surprisal", "surprisals", "sequence_score", "token_score", "word_score"), _SCORE),
}
"""Attributes of models in other libraries, each with what stands for it.

opened: the call that opens the owner; own: the run of ids in it; text: the call that opens a run of `slmmodel.app`.
"""


def no_attribute(owner: object, name: str, run: Run | None) -> AttributeError:
    """The error for an attribute that `owner` lacks; it names the one of `run`, or of the module of that.

    The run is the owner itself, or its attribute `run`; None while the owner is being made.
    """
    fact, kind = f"{type(owner).__name__!r} object has no attribute {name!r}", f"a {type(owner).__name__}"
    fix = ""
    if run is not None and not name.startswith("_"):
        inner = "" if run is owner else ".run"
        if inner and hasattr(run, name):
            fix = f"write {inner}.{name} in place of .{name}"
            fact += f"\n  limit: {kind} has the run of ids inside: {inner}"
        elif hasattr(vars(run).get("model"), name):
            fix = _of_module(name, f"{inner}.model", run, owner)
            fact += f"\n  limit: {kind} is not a module; its module is {inner}.model"
        elif name in _ATTRIBUTES_ELSEWHERE:
            fix = _ATTRIBUTES_ELSEWHERE[name].format(**_words(name, run, inner))
        fact += f"\n  fix:   {with_import(fix)}" if fix else ""
    return AttributeError(fact, name=name, obj=None if fix else owner)


def _words(name: str, run: Run, inner: str) -> dict[str, str]:
    """What fills the forms of `_ATTRIBUTES_ELSEWHERE`."""
    path = os.fspath(run.path)
    text = f"slmmodel.app.load({path!r})"
    opened = text if inner else f"slmmodel.load({path!r})"
    of_ids = "ids), the negative log-probability of each id in nats"
    of_text = "text), in bits per byte; .run.score(ids) has the nats of each id"
    of_calls = {"text": text, "opened": opened, "own": opened + inner, "scored": of_text if inner else of_ids}
    return {"name": name, "path": path, "shell": shlex.quote(path), **of_calls}


def _of_module(name: str, place: str, run: Run, owner: object) -> str:
    """What stands for an attribute of the module at `place`, such as `run.model`; nothing for the modes of one."""
    if name in ("eval", "train"):
        measure = "; .evaluate() of it measures bits per byte" if name == "eval" and run is not owner else ""
        further = f"; slm resume {shlex.quote(os.fspath(run.path))} in a shell trains it further" * (name == "train")
        return f"leave it out: a loaded run is in evaluation mode{measure}{further}"
    if name in ("to", "cpu", "cuda"):
        load = "slmmodel.load" if run is owner else "slmmodel.app.load"
        device = "cuda" if name == "cuda" or (name == "to" and torch.cuda.is_available()) else "cpu"
        return f"{load}({os.fspath(run.path)!r}, device={device!r})" + ", or another device" * (name == "to")
    return f"write {place}.{name} in place of .{name}"


@explains_indexing
@partial(explains_calls, options=SamplingOptions)
class Run(metaclass=NamesConstructors):
    """A run folder with its model in evaluation mode. `load` opens one."""

    def __init__(self, folder: RunFolder, model: Model) -> None:
        self.folder, self.model = folder, model
        self.config: dict[str, Any] = folder.config
        """The resolved configuration: sections `model`, `data`, `optim`, `run`."""
        self.vocab: VocabMeta = folder.vocab
        """What the ids stand for: bytes of each id, special ids by role."""

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    @property
    def result(self) -> dict[str, Any]:
        """Totals of a finished run: steps, tokens, seconds, loss, bits per byte; empty before."""
        return self.folder.result

    @property
    def seq_len(self) -> float:
        """Ids that the model reads at once; infinite where its state has a fixed size."""
        return math.inf if self.model.config.unbounded else self.model.config.seq_len

    def __repr__(self) -> str:
        model, state = self.config["model"], "finished" if self.folder.finished else "not finished"
        return f"Run({os.fspath(self.path)!r}, {model['arch']}, n_vocab={model['n_vocab']}, {state})"

    def _repr_html_(self) -> str:
        model = self.config["model"]
        sizes = (name for name in ("n_layers", "d_model", "hidden_size", "seq_len", "n_vocab") if name in model)
        shape = ", ".join([model["arch"], *(f"{name} {model[name]:,}" for name in sizes)])
        ended = summary_of(self.result) if self.result else [("ended", "not finished")]
        return html_table(repr(self), [("shape", shape), *ended])

    def __call__(self, *args: object, **keywords: object) -> None:
        """A run is not a module. Raises `WrongType`."""
        given = next(iter([*args, *keywords.values()]), None)
        of_tensor = "run.model(ids).logits, where run is this Run, and ids an int64 tensor [B, T]"
        of_list = "run.model(torch.tensor([ids])).logits, where run is this Run; run.generate(ids) continues them"
        fix = of_list if isinstance(given, list | tuple) else of_tensor
        raise WrongType("a Run is not callable", limit="its module is .model", fix=fix)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Raises `AttributeError`; for an attribute of the module it names `run.model`."""
            raise no_attribute(self, name, self)

    def generate(
        self,
        ids: Sequence[int] = (),
        *,
        max_new_tokens: int | None = None,
        overflow: str = "stop",
        assistant: Run | None = None,
        **options: Any,
    ) -> list[int]:
        """New ids after a prompt; an empty one is the special that opens a document.

        max_new_tokens: by default 256. overflow: at the end of the model's context, `stop` ends the ids there, with a
        warning where they are fewer than `max_new_tokens` asks for; `slide` continues from the last seq_len / 2 ids.
        assistant: a smaller run of the same tokenizer that proposes ids, which takes less time; the distribution of the
        ids stays that of this run (`slmmodel.sampling.assisted`).
        options: fields of `DecodingOptions` (temperature=0.8, top_p=0.9, seed=1, beam=4, dola="high"), by default with
        `special_ids`. Equal arguments give equal ids; a search gives its best continuation.

        Raises `InvalidInput` for ids outside the vocabulary, `OptionError`, `UnknownName`, `WrongType`.
        """
        meant = None if max_new_tokens is None else int_meant(max_new_tokens, 256, most=MAX_NEW_TOKENS)
        max_new_tokens = 256 if max_new_tokens is None else max_new_tokens
        call = {"ids": ids, "max_new_tokens": max_new_tokens, "overflow": overflow, "assistant": assistant}
        refuse_stream(options, call, self._opened)
        check_options(options, ("ids", "assistant", "overflow"), call, self._opened)
        given = {"overflow": overflow} if overflow != "stop" else {}
        with repeats_options(options) as repeated:
            words = written_keywords(max_new_tokens=meant, assistant=assistant, **given, **repeated)
            each = f".generate({', '.join(['each', *words])})"
            prompt = check_ids(ids, self._of_text("generate", ids, words), each, self._opened)
        if not (prompt := prompt or opening_ids(self.vocab)):
            fact, fix = "the prompt has no ids", "run.generate(tok.encode_list('Once upon a time'))"
            raise InvalidInput(fact, limit="the vocabulary has no special that begins a document", fix=fix)
        limit = check_int("max_new_tokens", max_new_tokens, example=256, most=MAX_NEW_TOKENS)
        chosen = DecodingOptions(
            **{**special_ids(self.vocab), **options, "max_new_tokens": limit, "overflow": overflow}
        )
        self._check_known(banned=chosen.banned, stop_ids=chosen.stop_ids, choices=chain.from_iterable(chosen.choices))
        self._refuse_unknown(prompt, "the prompt has the id")
        refuse_long(self.model, len(prompt), limit, overflow, lambda n_kept: f"ids[-{n_kept}:]")
        method = chosen_method(chosen, assistant=assistant is not None)
        warn_without_effect(chosen, options.keys(), method)
        if assistant is not None:
            if not isinstance(assistant, Run):
                named = os.fspath(assistant) if isinstance(assistant, str | os.PathLike) else "RUN"
                fix = f"assistant=slmmodel.load({named!r})"
                raise WrongType(f"assistant is a {type(assistant).__name__}, not a Run", fix=fix)
            assistant.vocab.require_same(self.vocab, "the assistant", str(assistant.path))
            with eval_mode(self.model), eval_mode(assistant.model):
                found: Continuation | Sample = assisted(self.model, assistant.model, prompt, chosen)
        elif method is not None:
            with eval_mode(self.model):
                found = METHODS[method].decode(self.model, prompt, chosen, 1)[0]
        else:
            found = generate(self.model, [prompt], chosen, max_new_tokens=limit, overflow=overflow)[0]
        if meant is not None and found.reason == "context":
            way = method or ("assistant" if assistant is not None else None)
            fact = f"the ids end after {len(found.ids):,}, at the end of the context, not at max_new_tokens={limit}"
            warn_caller(f"{fact}; overflow='slide'{f' without {way}' if way else ''} continues")
        return found.ids

    @property
    def _opened(self) -> str:
        """The call that opens this run, in a fix."""
        return f"slmmodel.load({os.fspath(self.path)!r})"

    def _of_text(self, call: str, text: object, options: Sequence[str] = ()) -> str:
        """The call that takes this text in place of ids; of several texts, one call for each."""
        shown = repr(text) if len(str(text)) <= MAX_SHOWN else "text"
        load = f"slmmodel.app.load({os.fspath(self.path)!r})"
        if isinstance(text, os.PathLike):
            if call == "score":
                return f"{load}.evaluate({os.fspath(text)!r}).bpb_total"
            shown = f"open({os.fspath(text)!r}, encoding='utf-8').read()"
        if isinstance(text, list | tuple):
            texts = "texts" if shown == "text" else shown
            return for_each(load, f".{call}({', '.join(['text', *options])})", f"text in {texts}")
        return f"{load}.{call}({', '.join([shown, *options])})"

    def _refuse_unknown(self, ids: Sequence[int], fact: str) -> None:
        """Raises `InvalidInput` for an id outside the vocabulary, which follows `fact`."""
        unknown = next((id for id in ids if not 0 <= id < self.vocab.n_vocab), None)
        if unknown is not None:
            fix = f"slmmodel.app.load({os.fspath(self.path)!r}).tokenizer.encode_list(text) gives ids of this model"
            raise InvalidInput(f"{fact} {unknown}", limit=f"ids 0 to {self.vocab.n_vocab - 1}", fix=fix)

    def _of_texts(self) -> str:
        """The call that scores texts, with `{}` for a list of them."""
        path = repr(os.fspath(self.path)).replace("{", "{{").replace("}", "}}")
        return f"slmmodel.app.load({path}).evaluate(slmtok.Texts({{}}))"

    def _check_known(self, **options: Iterable[int]) -> None:
        """Raises `OptionError` for an id outside the vocabulary."""
        for name, ids in options.items():
            unknown = next((id for id in ids if not 0 <= id < self.vocab.n_vocab), None)
            if unknown is not None:
                limit = f"ids 0 to {self.vocab.n_vocab - 1}"
                raise OptionError(f"{name} has the id {unknown}", limit=limit, fix="leave it out", option=name)

    def score(self, ids: Sequence[int]) -> NDArray[np.float64]:
        """Nats of each id after the first, shape [len(ids) - 1], float64. Longer sequences than seq_len are refused.

        Raises `InvalidInput`, `WrongType`, `NotFinite`.
        """
        row = check_ids(ids, self._of_text("score", ids), ".score(each)", self._opened)
        if len(row) < 2:
            begin = opening_ids(self.vocab)
            scored = "ids" if row in ([], begin) else row
            fix = f"{self._opened}.score({begin} + {scored})  # begins a document" if begin else "give two ids or more"
            raise InvalidInput(f"a score needs two ids or more, not {len(row)}", fix=fix)
        self._refuse_unknown(row, "the model has no id")
        if len(row) > self.seq_len:
            fix = f"score parts of {self.seq_len} ids, or run.evaluate(data)"
            raise InvalidInput(f"there are {len(row):,} ids to score", limit=f"seq_len {self.seq_len}", fix=fix)
        tensor = torch.tensor([row], device=next(self.model.parameters()).device)
        with eval_mode(self.model), torch.inference_mode():
            logits = self.model(tensor[:, :-1]).logits
            assert logits is not None
            check_logits(logits)
            nats = negative_log_likelihood(logits, tensor[:, 1:])
        found: NDArray[np.float64] = nats[0].cpu().numpy()
        return found

    def evaluate(
        self,
        data: str | os.PathLike[str] | TokenSource | None = None,
        split: str | None = None,
        *,
        seq_len: int | None = None,
        stride: int | None = None,
        stateful: bool = False,
        batch_size: int | None = None,
    ) -> Scores:
        """Scores every byte of a split: `.bpb_total`, `.bpb_content`, bits of each document.

        data: packed data, or a source that is open; by default the validation documents of training, as `slm eval`
        takes them. split: by default `val`, and all documents of data without it. The other options are those of
        `slmmodel.evaluation.score`. Raises what opening and scoring raise.
        """
        if split is not None and not isinstance(split, str):
            parts = [each for each in split if isinstance(each, str)] if isinstance(split, Iterable) else []
            raise WrongType(f"split is a {type(split).__name__}, not a str", fix=f"split={(parts or ['val'])[0]!r}")
        if data is None:
            data = self._documents(split)
        elif not isinstance(data, TokenSource):
            with naming_split(data, split):
                path = check_path("data", data, of_texts := self._of_texts())
            shown = repr([path])
            refuse_no_path(path, of_texts.format(shown if len(shown) <= MAX_SHOWN else "[text]"))
            options = {"seq_len": seq_len, "stride": stride, "stateful": stateful or None, "batch_size": batch_size}
            # A text has no split.
            given = [f"{name}={value!r}" for name, value in options.items() if value is not None]
            shown = ", ".join([repr(path), *given])
            refuse_text(Path(path), f"slmmodel.app.load({os.fspath(self.path)!r}).evaluate({shown})")
            data = self._open(path, split)
        elif split is not None:
            fact = f"split={split!r} with a source that is open"
            raise OptionError(fact, fix=f"leave split out, or open_source(path, {split!r})", option="split")
        try:
            check_run(self.folder, data, stateful)
        except Mismatch as error:
            error.fix = f"{error.fix} in a shell, then evaluate('NEW')"
            raise
        config = self.model.config
        trained = config.seq_len
        length = None if seq_len is None else check_int("seq_len", seq_len, 1, trained, (trained, "ids"))
        window = check_seq_len(config, length)
        return score(
            self.model,
            data,
            self.vocab,
            seq_len=window,
            stride=None if stride is None else check_int("stride", stride, 1, window // 2, (window, "ids")),
            stateful=stateful,
            batch_size=None if batch_size is None else check_int("batch_size", batch_size, 1),
        )

    def _documents(self, split: str | None) -> TokenSource:
        """The documents that the run is scored on where a call names none. Raises what opening raises."""
        path, split = DataConfig.model_validate(self.config["data"]).scored(split)
        if path in (None, "", "-"):
            sources = {None: "a mixture (several sources, stages or a cache)", "": "texts in memory", "-": "stdin"}
            mixed = f"slmmodel.app.load({os.fspath(self.path)!r}).evaluate(), which opens them, or "
            raise MissingInput(
                f"the run was trained on {sources[path]}",
                where=str(self.path),
                limit="without slmtok one source of packed data",
                fix=mixed * (path is None) + f"{self._opened}.evaluate('DATA'), packed data by their path",
            )
        return self._open(path, split)

    def _open(self, path: str, split: str | None) -> TokenSource:
        return open_val_or_all(path, vocab=self.vocab) if split is None else open_source(path, split, vocab=self.vocab)


@explains_calls
def load(path: str | os.PathLike[str], *, step: int | None = None, device: str = "auto") -> Run:
    """Opens a run; `step` takes a checkpoint instead of the final weights.

    Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`, `Mismatch`, `OptionError` for a device that is missing,
    `WrongType`.
    """
    name = check_path("path", path)
    if kind_of(Path(name)) == TOKENIZER:
        fix = f"slmtok.load({name!r}) opens a tokenizer; slmmodel.load takes a run"
        raise RunFolder(Path(name)).not_a_run(name, what="a tokenizer of slmtok", fix=fix)
    folder, target = RunFolder.open(name), device_for(str(device))
    with own_torch_state():
        return Run(folder, folder.model(target, step=None if step is None else _check_step(folder, step)))


def _check_step(folder: RunFolder, step: object) -> int:
    """`step` as an int. Raises `WrongType`, with the checkpoint that `best` or `step-500` names, else the newest."""
    first = step[0] if isinstance(step, list | tuple) and step else step
    named = step_named(str(first), folder.checkpoints.list(), folder.checkpoints.best())
    return check_int("step", step, example=named or 1)


def _as_mapping(settings: object) -> str:
    """The mapping that settings as pairs, or as texts such as `optim.lr=1e-3`, stand for, as a fix; else an example."""
    given = [settings] if isinstance(settings, str) else list(settings) if isinstance(settings, Iterable) else []
    given = [pair for each in given for pair in (each.items() if isinstance(each, Mapping) else [each])]
    if isinstance(settings, str | os.PathLike):
        path = os.fspath(settings)
        if isinstance(path, str) and (path.endswith((".yaml", ".yml", ".json")) or os.path.isfile(path)):  # noqa: PTH113
            # `is_file` of a path raises for long names.
            return f"import yaml, then {OF_FILE % path}; or slm train DATA --config {shlex.quote(path)} in a shell"
    pairs: list[Any] = []
    for each in given:
        name, _, value = each.partition("=") if isinstance(each, str) else ("", "", "")
        pairs += joined_settings(name, value) or ([(name, value)] if isinstance(each, str) else [each])
    # Of a dataclass, a namespace of argparse, or a class.
    kinds = getattr(settings, "__mro__", type(settings).__mro__)
    attributes = {name: each for kind in reversed(kinds) for name, each in vars(kind).items()}
    attributes |= getattr(settings, "__dict__", {})
    attributes = {
        name: each
        for name, each in attributes.items()
        if name[0] != "_" and each is not None and not (callable(each) or hasattr(each, "__get__"))
    }
    if attributes and is_literal(attributes):
        return f"settings={attributes}"
    if not pairs or not all(isinstance(each, Sequence) and len(each) == 2 and all(each) for each in pairs):
        return "settings={NAME: VALUE}; slm config in a shell lists the names"
    found = {str(name).strip(): parse_word(value) for name, value in pairs}
    return f"settings={found}"


def _check_preset(preset: object, settings: Mapping[str, Any] | None) -> None:
    """Raises `WrongType` for the sizes of a model, which are settings."""
    if isinstance(preset, Mapping):
        sizes = {name if "." in str(name) else f"model.{name}": value for name, value in preset.items()}
        fact = f"preset is a {type(preset).__name__}, not the name of one"
        raise WrongType(fact, limit=f"one of {', '.join(PRESETS)}", fix=f"settings={ {**(settings or {}), **sizes} }")


def _refuse_text(name: str, **given: object) -> None:
    """Raises `UnsupportedFormat` or `MissingInput` for text; its fix is the call of `slmmodel.app` with the options."""
    words = ", ".join([repr(name), f"tokenizer={tokenizer_argument(repr(name))}", *written_keywords(**given)])
    refuse_text(Path(name), f"slmmodel.app.train({words}), or {name_packed(Path(name))}")


@contextmanager
def _naming_unknown(settings: Settings) -> Iterator[None]:
    """Adds an unknown name among the settings of a call to the error about another argument: both are wrong."""
    try:
        yield
    except SlmmodelError as error:
        try:
            check_names(settings, ["model.preset", *model_options(settings), *OPTIONS])
        except InvalidConfig as other:
            error.fact, error.fix = f"{error.fact}; {other.fact}", f"{error.fix}; {other.fix}"
        raise


def _valid_budget(budget: str, beside: Settings) -> Settings:
    """The setting of a budget. Raises `OptionError`, and `InvalidConfig` for an amount that is none of its kind."""
    length = read_budget(budget, "budget", beside)
    validate(length)
    return length


@explains_settings(lambda: [*OPTIONS, *model_options()], preset_lengths)
def train(
    data: str | os.PathLike[str] | RunData,
    *,
    preset: str | None = None,
    budget: str | None = None,
    output: str | os.PathLike[str] = "run",
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    device: str | None = None,
    force: bool = False,
    report: Report | None = None,
) -> Run:
    """Trains a model and opens the run: `slmmodel.train("data", preset="cpu-demo", budget="tokens=2M")`.

    data: packed data, or data that are open. preset, budget (`tokens=2M`, `time=60s`, `epochs=3`, `steps=500`): by
    default chosen by the size of the data. output: the run folder; an interrupted run in it continues, to the same
    bits, and `force` replaces a finished one. settings: as `--set` of `slm train`, nested or dotted:
    `{"optim.lr": 0.003}`. report: called with (stage, done, total, text), such as `print`.

    Raises any error of this package before the first step; `KeyboardInterrupt` after Ctrl-C and `SystemExit` after
    SIGTERM, with the state saved.
    """
    if settings is not None and not isinstance(settings, Mapping):
        raise WrongType(f"settings is a {type(settings).__name__}, not a mapping", fix=_as_mapping(settings))
    _check_preset(preset, settings)
    check_report("report", report, "stage, done, total, text")
    refuse_several(data)
    opened = data if isinstance(data, RunData) else None
    of_text = f"slmmodel.app.train(slmtok.Texts({{}}), tokenizer={tokenizer_argument('slmtok.Texts({})')})"
    name = opened.name if opened else check_path("data", data, of_text)
    if opened is None:
        given_options = {"preset": preset, "budget": budget, "settings": settings, "seed": seed, "device": device}
        _refuse_text(name, output=None if output == "run" else output, force=force or None, **given_options)
        # Wrong data are named before an output that exists.
        open_source(name)
    named = {"data.train": name or None, "model.preset": preset, "run.seed": seed, "run.device": device}
    origins = {each: "data" if each == "data.train" else each.rpartition(".")[2] for each in named}
    changes = {each: Setting(value, origins[each]) for each, value in named.items() if value is not None}
    from_settings = settings_of(settings or {})
    with _naming_unknown(from_settings):
        changes |= {} if budget is None else _valid_budget(budget, {**from_settings, **changes})
    check_bool("force", force)
    refuse_contradiction(from_settings, changes)
    given = merged(from_settings, changes)
    for text in notes_on_time(given):
        warn_caller(text)
    try:
        path = Path(check_path("output", output))
        # `report`, or another thread, may change the working folder.
        result = trainer.train(given, data=opened, output=path.absolute(), force=force, report=report)
    except SlmmodelError as error:
        error.settings = {name: each.value for name, each in from_settings.items() if name != "data.read"}
        raise
    if not result.finished:
        at = f"is saved at step {result.step} of {result.steps}; the same call continues it"
        stopped = f"the run {str(result.path)!r} {at}"
        raise KeyboardInterrupt(stopped) if result.reason == "interrupted" else SystemExit(result.code)
    path = path if path.absolute() == result.path else result.path
    return load(path, device=value_of(given, "run.device", "auto"))

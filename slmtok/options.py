"""Every option of reading, counting, training and packing: its name, default, bounds and help stand here alone.

The flags of the command line, the keywords of `slmtok.train`, `count` and `pack`, their documentation and what files
record are all generated from these fields: a new option is one field. `option_specs` lists the fields of a class.
"""

# Annotations are evaluated: `option_specs` gives the types of the fields.

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from slmtok import option_values as values
from slmtok.calls import unknown_options
from slmtok.checks import MAX_THREADS, U32, U64, check_bool, check_choice, check_int, check_threads
from slmtok.errors import Message, OptionError, Setting, WrongType
from slmtok.indexing import explains_indexing
from slmtok.record_texts import scalar
from slmtok.schemes import SCHEMES, TIE_BREAKS, Limits, TieBreak
from slmtok.specials import FIRST_LEARNED
from slmtok.vocabulary import MAX_IDS, vocabulary_too_small

FORMATS = ("text", "lines", "jsonl", "json", "parquet", "tsv", "csv")
"""Corpus formats that `format` takes besides "auto"."""
OUTPUT_FORMATS = ("slm", "nanogpt", "llama2c", "llmc", "npy")
"""What `pack` writes."""
DEFAULT_VOCAB_SIZE = 8192
OTHER_DOMAIN = "other"
"""The domain of documents that no glob claims, where domains are named."""

CORPUS, TRAINING, PACKING, RUN = "Corpus", "Training", "Packing", "Run"
Document: TypeAlias = Literal["file", "line"]


class OptionSpec(NamedTuple):
    """What generators of flags, documentation and records know of one option."""

    default: Any
    help: str
    group: str = RUN
    """Under which heading `--help` lists it."""
    min: int | float | None = None
    max: int | float | None = None
    choices: tuple[str, ...] | None = None
    flag: str | None = None
    """The flag, where it is not `--` and the name with dashes."""
    aliases: tuple[str, ...] = ()
    """Further flags for the same option."""
    metavar: str | None = None
    example: int | None = None
    """A valid number for messages, where that is neither the default nor the least one."""
    default_text: str | None = None
    """What help shows as the default, where the value says too little."""
    parse: Callable[[str], Any] | None = None
    """From the text of one flag to a value; raises `ValueError`. None: by the type of the field."""
    collect: Callable[[list[Any]], Any] | None = None
    """From all occurrences of a repeatable flag to the value; None where the flag stands once."""
    check: Callable[[str, Any], Any] | None = None
    """From (name, value) to the value as it is kept; raises `OptionError` or `WrongType`."""
    record: Literal["set", "always", "never"] = "set"
    """Whether files record it: only when it differs from the default, always, or never (no effect on results)."""
    key: str | None = None
    """Its key in files, where that is not the name."""


def option(default: Any, **spec: Any) -> Any:
    """A dataclass field that is an option; keywords are the fields of `OptionSpec`."""
    metadata = {"option": OptionSpec(default=default, **spec)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def option_specs(cls: type["Options"]) -> Iterator[tuple[str, Any, OptionSpec]]:
    """(name, type, spec) of each option of a class, those of its bases first."""
    for each in fields(cls):
        yield each.name, each.type, each.metadata["option"]


def option_keys(cls: type["Options"]) -> dict[str, str]:
    """Name to key in files of each option of a class."""
    return {name: spec.key or name for name, _, spec in option_specs(cls)}


_OPTION_OF_ARGUMENT = {"n_vocab": "vocab_size"}
"""Arguments of functions that are options under another name."""


def flag_of(name: str) -> str:
    """The flag of an option, or of any other argument of this name: `max_doc_chars` is `--max-doc-chars`."""
    name = _OPTION_OF_ARGUMENT.get(name, name)
    for cls in (TrainOptions, PackOptions):
        for known, _, spec in option_specs(cls):
            if known == name and spec.flag is not None:
                return spec.flag
    return "--" + name.replace("_", "-")


def _check_threads(name: str, value: Any) -> int:
    return check_threads(int(value) if isinstance(value, float) and value.is_integer() else value)


_THREADS: dict[str, Any] = {
    "max": MAX_THREADS,
    "check": _check_threads,
    "aliases": ("--num-threads", "--n-threads"),
    "metavar": "N",
    "record": "never",
}
"""What `threads` of counting and of packing have in common."""


# --- the options ------------------------------------------------------------------------------------------------------


@explains_indexing
@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of all option classes: construction checks each value against its spec."""

    def __new__(cls, *args: object, **keywords: Any) -> Any:
        """Raises `UnknownOption` for a keyword that is no option."""
        _refuse_unknown(cls, keywords)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Raises `OptionError`, `WrongType`, and what the checks of single options raise."""
        for name, kind, spec in option_specs(type(self)):
            value = getattr(self, name)
            if value is None and spec.default is None:
                continue
            value = _checked(name, kind, spec, value)
            values.check_recordable(name, value)
            object.__setattr__(self, name, value)

    def _refuse_idle(self, name: str, without: str | Setting, needed: Setting | None = None) -> None:
        """Raises `OptionError` for an option that is not the default and has no effect without another."""
        if changed_options(self, [name]):
            fact = (Setting(name, getattr(self, name)), " has no effect without ", without)
            raise OptionError(fact, fix=("leave it out, or ", needed) if needed else "leave it out", option=name)

    def _record(self, cls: type["Options"]) -> dict[str, Any]:
        """The options of `cls` alone that files record."""
        known = {name for name, _, _ in option_specs(cls)} - {
            name for base in cls.__bases__ if issubclass(base, Options) for name, _, _ in option_specs(base)
        }
        record: dict[str, Any] = {}
        for name, _, spec in option_specs(cls):
            value = getattr(self, name)
            is_set = value is not None and value != spec.default
            if name in known and (spec.record == "always" or (spec.record == "set" and is_set)):
                record[spec.key or name] = value
        return record


def _checked(name: str, kind: Any, spec: OptionSpec, value: Any) -> Any:
    if spec.check is not None:
        return spec.check(name, value)
    kinds = get_args(kind) or (kind,)
    if spec.choices is not None:
        paragraphs: dict[str, Message] = {"paragraph": (Setting("separator", "\n\n"),)}
        check_choice(name, value, spec.choices, elsewhere=paragraphs if name == "document" else {})
        return value
    if bool in kinds:
        check_bool(name, value)
        return value
    if int in kinds:
        low = 0 if spec.min is None else int(spec.min)
        spelled = _spelled(value, spec)
        example = spelled or (spec.default if isinstance(spec.default, int) else spec.example)
        number = scalar(value)
        if isinstance(number, float) and number.is_integer():
            value = int(number)  # 1e6, as flags take it
        if value is None and low == 0 and name.startswith("max_"):
            raise values.wrong_type(name, value, "must be an integer", 0, " for no limit")
        if type(value) is int and value == 0 < low and not name.startswith("min_"):  # meant as no limit
            fix, zero = ("leave it out, or ", Setting(name, example or low)), (Setting(name, 0), " is out of range")
            raise OptionError(zero, limit=f"{low} or more", fix=fix, option=name, value=0)
        remark = "" if spelled or name == "threads" else ", for instance"
        limits = (low,) if spec.max is None else (low, int(spec.max))
        return check_int(name, value, *limits, example=example, remark=remark)
    if os.PathLike[str] in kinds:
        return values.check_folder(name, value)
    if kinds in ((str,), (str, type(None))):
        return values.check_str(name, value, spec.default or spec.default_text or "text")
    return value


def _spelled(value: object, spec: OptionSpec) -> int | None:
    """The number that a str spells on the command line, such as `1GB`; None for anything else."""
    try:
        number = spec.parse(value) if spec.parse is not None and isinstance(value, str) else None
    except ValueError:
        return None
    return number if isinstance(number, int) else None


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Options):
    """How a corpus is read, and how much of it."""

    format: str = option(
        "auto",
        help="File format; auto goes by the file names.",
        group=CORPUS,
        choices=("auto", *FORMATS),
        record="always",
    )
    encoding: str = option(
        "utf-8",
        help="Encoding of text, lines and records (utf-16, latin-1, ...); utf-8-sig removes a byte order mark.",
        group=CORPUS,
        metavar="NAME",
        check=values.check_encoding,
    )
    document: Document = option(
        "file",
        help="What a document of a text file is; a line is read without its line feed.",
        group=CORPUS,
        choices=("file", "line"),
        record="always",
    )
    separator: str | None = option(
        None,
        help="Cut text files into documents at this string, such as '<|endoftext|>'.",
        group=CORPUS,
        metavar="STRING",
        parse=values.parse_escapes,
        check=values.check_separator,
    )
    text_key: str = option(
        "text",
        help="The field or column of a record that is text.",
        group=CORPUS,
        metavar="KEY",
        record="always",
    )
    text_template: str | None = option(
        None,
        help=r"Several fields in one text: '{title|strip}\n{body}'; {1}, {2} are columns of a table without a header.",
        group=CORPUS,
        metavar="TEMPLATE",
        parse=values.parse_escapes,
        check=values.check_template,
    )
    skip_malformed: bool = option(
        False, help="Leave out malformed records, and count them.", group=CORPUS, record="always"
    )
    exclude: Sequence[str] = option(
        (),
        help="Leave out these files, such as '*.min.js'.",
        group=CORPUS,
        metavar="GLOB",
        collect=tuple,
        check=values.check_globs,
    )
    domains: Mapping[str, str | Sequence[str]] = option(
        {},
        help="Documents of these files belong to this domain; the first glob that matches counts.",
        group=CORPUS,
        flag="--domain",
        metavar="NAME=GLOB",
        parse=values.parse_pair,
        collect=values.collect_lists,
        check=values.check_domains,
    )
    sample: float | None = option(
        None,
        help="Read this share of the documents (0.1, 10%), chosen by a hash of each, in any order.",
        group=CORPUS,
        metavar="SHARE",
        parse=values.parse_share,
        check=values.check_sample,
    )
    seed: int = option(0, help="Which documents the sample has.", group=CORPUS, metavar="N", record="never")
    max_doc_chars: int | None = option(
        None,
        help="Take at most this many characters of any document.",
        group=CORPUS,
        min=1,
        metavar="N",
        parse=values.parse_count,
        key="doc_cap",
    )
    max_docs: int | None = option(
        None,
        help="Read at most this many documents (1000, 2M).",
        group=CORPUS,
        min=1,
        metavar="N",
        parse=values.parse_count,
    )
    max_bytes: int | None = option(
        None,
        help="Read at most this much of the corpus (5000, 20MB, 1GiB); packing and slm end with a whole document.",
        group=CORPUS,
        min=1,
        metavar="SIZE",
        parse=values.parse_bytes,
    )
    max_chars: int | None = option(
        None, help="Read at most this many characters.", group=CORPUS, min=1, metavar="N", parse=values.parse_count
    )
    max_doc_bytes: int = option(
        1 << 30,
        help="Refuse a corpus with a larger document.",
        group=CORPUS,
        min=1,
        metavar="SIZE",
        default_text="1GiB",
        parse=values.parse_bytes,
        record="never",
    )
    streaming: bool = option(False, help="Read hf: data sets while they download.", group=CORPUS, record="never")
    cache_dir: str | os.PathLike[str] | None = option(
        None,
        help="Where hf: data sets are kept after download.",
        group=CORPUS,
        metavar="DIR",
        default_text="that of the package datasets",
        record="never",
    )

    def __post_init__(self) -> None:
        """Raises `OptionError`, `WrongType`."""
        super().__post_init__()
        if self.separator is not None and self.document == "line":
            raise OptionError(
                (Setting("document", "line"), " together with ", Setting("separator", self.separator)),
                limit="one of them says where a document ends",
                fix=("leave ", Setting("document"), " out"),
                option="separator",
            )
        if self.sample is None:
            # A sample of one document is nothing or all of it.
            self._refuse_idle("seed", Setting("sample"))
        if self.text_template is not None and self.text_key != "text":
            raise OptionError(
                (Setting("text_key", self.text_key), " together with ", Setting("text_template", self.text_template)),
                limit="one of them says what the text is",
                fix=("leave ", Setting("text_key"), " out"),
                option="text_key",
            )

    @property
    def domain_names(self) -> tuple[str, ...]:
        """The names of all domains in order, the last one for documents that no glob claims; () without domains."""
        names = tuple(self.domains)
        return names if not names or OTHER_DOMAIN in names else (*names, OTHER_DOMAIN)

    @property
    def is_selective(self) -> bool:
        """Whether some documents are left out or truncated."""
        limits = (self.sample, self.max_doc_chars, self.max_docs, self.max_bytes, self.max_chars)
        return any(value is not None for value in limits)

    def read_record(self) -> dict[str, Any]:
        """The options of reading as manifests and counts record them: all that can change or leave out a document."""
        record = self._record(ReadOptions)
        if self.sample is not None:
            record["seed"] = self.seed
        if "exclude" in record:
            record["exclude"] = list(self.exclude)
        if "domains" in record:
            record["domains"] = {name: list(globs) for name, globs in self.domains.items()}
        return record


@dataclass(frozen=True, kw_only=True)
class CountOptions(ReadOptions):
    """How the pretokens of a corpus are counted."""

    scheme: str = option(
        "bpe",
        help="What is learned: merges of bytes, whole words, characters, or nothing beside the bytes.",
        group=TRAINING,
        choices=tuple(SCHEMES),
        record="never",
    )
    pattern: str | None = option(
        None,
        help="How text is split before merging: a name (slm, gpt2, cl100k, cl100k-hf, o200k, whole) or a regex.",
        group=TRAINING,
        metavar="NAME|REGEX",
        default_text="slm",
        record="never",
    )
    memory: int | str | None = option(
        None,
        help="Memory for counting (500MB, 2GiB, 50% of the free memory); the excess goes to temporary files. "
        "The result, all distinct pretokens, is held besides.",
        group=CORPUS,
        metavar="SIZE",
        parse=values.parse_memory_text,
        default_text="50%",
        check=values.check_memory,
        record="never",
    )
    spill_dir: str | os.PathLike[str] | None = option(
        None,
        help="Folder of those temporary files.",
        group=CORPUS,
        metavar="DIR",
        default_text="the system's",
        record="never",
    )
    threads: int = option(
        0,
        help="Threads to use; 0 means all. The result does not depend on it.",
        **_THREADS,
    )

    def count_record(self) -> dict[str, Any]:
        """The options of reading and counting as counts and tokenizer files record them, without floats and tables."""
        limits = {"doc_cap": self.max_doc_chars, "max_chars": self.max_chars, "max_bytes": self.max_bytes}
        record = {**self.read_record(), **limits, **self._record(CountOptions)}
        if "domains" in record:
            record["domains"] = [f"{name}={glob}" for name, globs in record["domains"].items() for glob in globs]
        return {key: str(value) if isinstance(value, float) else value for key, value in record.items()}


@dataclass(frozen=True, kw_only=True)
class TrainOptions(CountOptions):
    """How a vocabulary is learned, beside the options of reading and counting its corpus."""

    vocab_size: int | None = option(
        None,
        help="Number of ids in all: 16 specials, 256 bytes, and what is learned.",
        group=TRAINING,
        min=-U64,
        max=MAX_IDS,
        flag="--vocab",
        aliases=("--vocab-size",),
        metavar="N",
        example=DEFAULT_VOCAB_SIZE,
        default_text=f"{DEFAULT_VOCAB_SIZE}; {FIRST_LEARNED} for scheme byte",
        key="vocab",
        record="never",
    )
    tie_break: TieBreak = option(
        "rank",
        help="Which of equally frequent pairs comes first: rank is the smaller left id, then the smaller right id.",
        group=TRAINING,
        choices=TIE_BREAKS,
        key="ties",
        record="always",
    )
    min_count: int = option(
        2,
        help="Learn nothing that occurs less often.",
        group=TRAINING,
        min=1,
        aliases=("--min-frequency",),
        metavar="N",
        record="always",
    )
    max_token_bytes: int = option(
        64,
        help="Longest token in bytes; 0 is no limit.",
        group=TRAINING,
        max=U32,
        aliases=("--max-token-length",),
        metavar="N",
        record="always",
    )
    max_token_chars: int = option(
        0,
        help="Longest token in characters; 0 is no limit.",
        group=TRAINING,
        max=U32,
        metavar="N",
        record="always",
    )
    forbid_regex: str | None = option(
        None,
        help="Learn no token that this matches.",
        group=TRAINING,
        metavar="REGEX",
        check=values.check_forbid_regex,
        record="always",
    )
    require: Iterable[str | bytes] = option(
        (),
        help="Tokens that must be learned, in a file: one a line, spelled as slmtok vocab spells them.",
        group=TRAINING,
        metavar="FILE",
        parse=values.parse_token_file,
        check=values.check_required,
        record="always",
    )
    special: Mapping[str, str] | None = option(
        {},
        help="Give a special another spelling, or name a reserved one.",
        group=TRAINING,
        metavar="ROLE=SPELLING",
        parse=values.parse_special,
        collect=values.collect_once,
        check=values.check_special,
        record="never",
    )
    allow_smaller: bool = option(
        False,
        help="Accept fewer ids where the corpus has no more to learn.",
        group=TRAINING,
        record="always",
    )
    mix: Mapping[str, object] = option(
        {},
        help="Weight of a domain: 2, 0.5, 1/3; the others keep 1.",
        group=TRAINING,
        metavar="NAME=WEIGHT",
        parse=values.parse_pair,
        collect=values.collect_once,
        check=values.check_mix,
        record="never",
    )
    temperature: float | str | None = option(
        None,
        help="Even out the sizes of domains: 1 leaves them as they are, 5 gives small ones much more weight.",
        group=TRAINING,
        metavar="T",
        parse=str,
        check=values.check_temperature,
    )

    def __post_init__(self) -> None:
        """Raises `OptionError`, `WrongType`, `VocabularyTooSmall`, `InvalidSpecials`."""
        with values.naming_domains(self.mix, self.domains):
            super().__post_init__()
        if self.vocab_size is None:
            return
        if self.vocab_size < FIRST_LEARNED:
            raise vocabulary_too_small(self.vocab_size, self.scheme)
        if SCHEMES[self.scheme].fixed_size and self.vocab_size != FIRST_LEARNED:
            raise OptionError(
                (Setting("vocab_size", self.vocab_size), f" with scheme {self.scheme}, which learns nothing"),
                limit=f"always {FIRST_LEARNED}",
                fix=("leave ", Setting("vocab_size"), " out"),
                option="vocab_size",
            )

    @property
    def is_weighted(self) -> bool:
        """Whether domains have weights."""
        return bool(self.mix) or self.temperature is not None

    @property
    def n_vocab(self) -> int:
        """The number of ids to reach: `vocab_size`, or the default of the scheme."""
        if self.vocab_size is not None:
            return self.vocab_size
        return FIRST_LEARNED if SCHEMES[self.scheme].fixed_size else DEFAULT_VOCAB_SIZE

    @property
    def limits(self) -> Limits:
        """What the scheme may learn."""
        return Limits(
            tie_break=self.tie_break,
            min_count=self.min_count,
            max_token_bytes=self.max_token_bytes,
            max_token_chars=self.max_token_chars,
            forbid_regex=self.forbid_regex,
            require=tuple(self.require),  # type: ignore[arg-type]  # bytes since they were checked
        )

    def train_record(self) -> dict[str, Any]:
        """The options of learning as tokenizer files record them."""
        from binascii import b2a_base64

        record = {"vocab": self.n_vocab, **self._record(TrainOptions)}
        record["require"] = [b2a_base64(token, newline=False).decode() for token in self.limits.require]
        if self.temperature is not None:
            record["temperature"] = str(self.temperature)
        return record


@dataclass(frozen=True, kw_only=True)
class PackOptions(ReadOptions):
    """How documents become token shards, beside the options of reading their corpus."""

    output_format: str = option(
        "slm",
        help="Token shards of slmtok, or files for the loaders of other projects.",
        group=PACKING,
        choices=OUTPUT_FORMATS,
        record="never",
    )
    bos: bool | None = option(
        None,
        help="Put the special bos before each document.",
        group=PACKING,
        default_text="as the output format needs it; yes for slm",
        record="never",
    )
    eos: bool | None = option(
        None,
        help="Put the special eos after each document.",
        group=PACKING,
        default_text="as the output format needs it; yes for slm",
        record="never",
    )
    inference: str = option(
        "merges",
        help="How the vocabulary cuts text: merges in order; longest, the longest token that fits; or dropout:P, "
        "merges of which each is skipped with probability P, in training documents alone.",
        group=PACKING,
        metavar="RULE",
        check=values.check_inference,
    )
    dropout_seed: int = option(
        0,
        help="Another seed of dropout gives other ids.",
        group=PACKING,
        metavar="N",
    )
    val: str = option(
        "auto",
        help="Which documents are validation: hash:0.5%, tail:10%, files:GLOB, none; auto goes by their number.",
        group=PACKING,
        metavar="RULE",
        check=values.check_val,
        record="always",
    )
    shard_tokens: int = option(
        1 << 27,
        help="Close a shard at the first document end with this many ids (500000, 128M).",
        group=PACKING,
        min=1,
        max=1 << 40,
        metavar="N",
        parse=values.parse_count,
        default_text="2^27",
        record="always",
    )
    max_tokens: int | None = option(
        None,
        help="Stop at the first document end with this many ids.",
        group=PACKING,
        min=1,
        metavar="N",
        parse=values.parse_count,
        record="always",
    )
    max_chunks: int | None = option(
        None,
        help="Stop after this many shards for training; with a chunk size, after this many rows.",
        group=PACKING,
        min=1,
        metavar="N",
        record="always",
    )
    chunk_size: int | None = option(
        None,
        help="With output format npy: one array of rows of this many ids.",
        group=PACKING,
        min=1,
        max=1 << 40,
        example=1024,
        metavar="N",
        record="never",
    )
    subset: Sequence[int] = option(
        (),
        help="Also pack this many documents for training, each number in a folder of its own; nested.",
        group=PACKING,
        metavar="N,N,...",
        parse=values.parse_counts_list,
        check=values.check_subsets,
        record="never",
    )
    threads: int = option(
        0,
        help="Threads to use; 0 means one for each physical core. The result does not depend on it.",
        **_THREADS,
    )

    def __post_init__(self) -> None:
        """Raises `OptionError`, `WrongType`."""
        super().__post_init__()
        for name in ("max_tokens", "max_chunks"):
            if getattr(self, name) is not None and self.val.startswith("tail:"):
                raise OptionError(
                    (Setting("val", self.val), " together with ", Setting(name)),
                    limit="the tail must be known before the ids are",
                    fix=(Setting("val", "hash:10%"), ", or ", Setting("max_bytes"), " instead of ", Setting(name)),
                    option="val",
                )
        if not self.inference.startswith("dropout"):
            self._refuse_idle("dropout_seed", "dropout", Setting("inference", "dropout:0.1"))
        if self.chunk_size is not None and self.output_format != "npy":
            fact = f" with output format {self.output_format}, which has no rows"
            raise OptionError(
                (Setting("chunk_size", self.chunk_size), fact),
                limit="output format npy",
                fix=(Setting("output_format", "npy"), ", or leave ", Setting("chunk_size"), " out: a run cuts the ids"),
                option="chunk_size",
            )
        self._refuse_shards()

    def _refuse_shards(self) -> None:
        """Raises `OptionError` for an option of shards with an output format that does not have them."""
        for name in changed_options(self, ("subset", "domains") if self.output_format != "slm" else ()):
            raise OptionError(
                (Setting(name), f" has no effect with output format {self.output_format}"),
                limit="output format slm",
                fix=(Setting("output_format", "slm"), ", or leave ", Setting(name), " out"),
                option=name,
            )

    def pack_record(self) -> dict[str, Any]:
        """The options of packing as plan and manifest record them, without `frame`."""
        return self._record(PackOptions)


# --- building ---------------------------------------------------------------------------------------------------------

AnyOptions = TypeVar("AnyOptions", bound=Options)
Function = TypeVar("Function", bound=Callable[..., Any])


def build_options(
    cls: type[AnyOptions], options: AnyOptions | None = None, keywords: Mapping[str, Any] | None = None
) -> AnyOptions:
    """`options`, or those of `keywords`, or the first changed by the second.

    Raises `UnknownOption` for a keyword that is no field, and what the options themselves raise.
    """
    if options is not None and not isinstance(options, cls):
        if isinstance(options, Mapping):
            _refuse_unknown(cls, options)
        size = values.size_meant(options) if "vocab_size" in cls.__dataclass_fields__ else None
        fix = (Setting("vocab_size", size),) if size else values.instead_of_options(cls.__name__, options)
        raise WrongType(f"options must be {cls.__name__}, not {type(options).__name__}", fix=fix)
    keywords = _named_as_fields(cls, keywords or {})
    _refuse_unknown(cls, keywords)
    return cls(**keywords) if options is None else replace(options, **keywords)


def _refuse_unknown(cls: type[Options], keywords: Mapping[str, Any]) -> None:
    known = {name: spec.default for name, _, spec in option_specs(cls)}
    if wrong := {name: value for name, value in keywords.items() if name not in known}:
        names = ("force", "on_progress") if cls is PackOptions else ("progress",) if cls is not ReadOptions else ()
        raise unknown_options(wrong, {**known, **dict.fromkeys(names)}, known, cls, {*known} & {*keywords})


def parse_options(cls: type[AnyOptions], given: Mapping[str, Any]) -> AnyOptions:
    """Options whose values may be text, as in a configuration file: `max_docs: 2M`. Raises as `build_options`."""
    parsed = dict(given)
    for name, kind, spec in option_specs(cls):
        value, kinds = parsed.get(name), get_args(kind) or (kind,)
        try:
            if spec.collect is not None and isinstance(value, (str, list)):
                texts = [value] if isinstance(value, str) else value
                parsed[name] = spec.collect([spec.parse(text) if spec.parse else text for text in texts])
            elif isinstance(value, str) and spec.parse is not None:
                parsed[name] = spec.parse(value)
            elif isinstance(value, str) and bool in kinds:
                parsed[name] = {"true": True, "false": False}.get(value, value)
            elif isinstance(value, str) and int in kinds:
                parsed[name] = int(value)
        except ValueError as error:
            raise OptionError((Setting(name), f" {error}"), fix=("correct ", Setting(name)), option=name) from None
    return build_options(cls, None, parsed)


def _named_as_fields(cls: type[Options], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords with the names of fields for those of other tools, which flags take as well (`min_frequency`)."""
    flags = [(alias, name) for name, _, spec in option_specs(cls) for alias in spec.aliases]
    aliases = {alias.removeprefix("--").replace("-", "_"): name for alias, name in flags}
    twice = next((name for name in keywords if aliases.get(name, name) != name and aliases[name] in keywords), None)
    if twice is not None:
        fact = (Setting(twice), " and ", Setting(aliases[twice]), " are one option")
        raise OptionError(fact, fix=("leave ", Setting(twice), " out"), option=twice)
    return {aliases.get(name, name): value for name, value in keywords.items()}


def changed_options(options: Options, names: Iterable[str]) -> list[str]:
    """Those of `names` whose value is not the default."""
    specs = option_specs(type(options))
    return [name for name, _, spec in specs if name in names and getattr(options, name) != spec.default]


def documents_options(cls: type[Options]) -> Callable[[Function], Function]:
    """Appends the options of a class to the docstring of a function that takes them as keywords."""

    def document(function: Function) -> Function:
        listed = describe_options(cls).replace("\n", "\n    ")
        function.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n    Options:\n\n    {listed}\n    "
        return function

    return document


def describe_options(cls: type[Options]) -> str:
    """One line for each option: name, default, help. For docstrings and pages."""
    return "\n".join(
        f"{name}: {spec.help}" + ("" if spec.default in (None, (), {}, False) else f" Default: {spec.default!r}.")
        for name, _, spec in option_specs(cls)
    )

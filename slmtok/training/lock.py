"""The lock of a tokenizer: all that is needed to make it again, and to see that the result is the same.

`make_lock` gives the envelope that `slmtok train` writes beside a tokenizer; `reproduce` counts and trains again, and
finds the first difference. docs/formats/lock.md specifies the payload.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import _engine, schema
from slmtok.atomic import output_path
from slmtok.calls import explains_calls
from slmtok.envelope import Envelope, load_envelope
from slmtok.errors import (
    CorpusTooSmall,
    InvalidPattern,
    MissingInput,
    OptionError,
    RequiredToken,
    RequiredTooMany,
    Setting,
    SlmtokError,
    UnknownName,
    UnsupportedVersion,
    VocabularyTooSmall,
)
from slmtok.file_content import HEAD_BYTES, content_of
from slmtok.file_kinds import UNKNOWN, kind_of_file
from slmtok.files import file_digest, free_name, read_file
from slmtok.indexing import explains_indexing
from slmtok.json_files import corrupt
from slmtok.option_values import escape
from slmtok.options import (
    CountOptions,
    ReadOptions,
    TrainOptions,
    build_options,
    changed_options,
    flag_of,
    option_keys,
)
from slmtok.patterns import pattern_names
from slmtok.schema import Check
from slmtok.schemes import SCHEMES, Learned
from slmtok.strict_json import FaultError
from slmtok.tokenizer import Tokenizer, read_tokenizer
from slmtok.tokenizer_file import GOLDEN_TEXTS
from slmtok.training.counting import count_corpus
from slmtok.training.counts import PretokenCounts, open_counts
from slmtok.training.counts_format import Totals
from slmtok.training.learn import learn
from slmtok.vocabulary import BEHAVIOUR, MAX_IDS

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.training.api import Trained
    from slmtok.vocabulary import Vocabulary

KIND = "lock"
_ABOUT_OPTIONS = (
    *(CorpusTooSmall, InvalidPattern, OptionError, RequiredToken, RequiredTooMany, UnknownName, VocabularyTooSmall),
)
_VERSIONS = schema.table({"behaviour": schema.integer(), "unicode": schema.text}, is_open=True)


@explains_indexing
@dataclass(frozen=True)
class Lock:
    """A lock as it stands in its file."""

    content: Mapping[str, Any]
    path: str
    tool: str
    """The program that wrote it, with its version."""

    def sibling(self, name: str) -> Path:
        """A path in the folder of the lock."""
        return Path(self.path).parent / name

    @property
    def texts(self) -> list[str]:
        """The files of the corpus; none where the lock does not record all of them, or one is not there."""
        corpus = self.content["corpus"]
        if (root := corpus.get("root")) is None:
            return []
        files = [os.path.normpath(self.sibling(root) / each["path"]) for each in corpus["files"]]
        return files if all(map(os.path.isfile, files)) else []


def lock_path(output: str) -> str:
    """The lock of a tokenizer file: `tok.lock` of `tok.json`."""
    path = output_path(output)
    return str(path.with_suffix(".lock") if path.suffix != ".lock" else path.with_name(path.name + ".lock"))


def make_lock(trained: Trained, options: TrainOptions, corpus: Mapping[str, Any], output: str) -> Envelope:
    """The lock of a run. `corpus` is what `describe_inputs` returns."""
    counts, tokenizer = trained.counts, trained.tokenizer
    payload = {
        "behaviour": BEHAVIOUR,
        "unicode": _engine.UNICODE_VERSION,
        "tokenizer": {
            "file": Path(output).name,
            "n_vocab": tokenizer.n_vocab,
            "fingerprint": tokenizer.fingerprint,
            "sha256": tokenizer.sha256,
            "golden_sha256": golden_digest(tokenizer),
        },
        "counts": describe_counts(counts),
        "corpus": corpus,
        "reading": dict(sorted(_with_option_names(counts.options).items())),
        "training": _training(options, tokenizer),
    }
    return Envelope(KIND, {"counts": counts.sha256, "corpus": counts.stats.corpus_digest}, payload)


def describe_counts(counts: PretokenCounts) -> dict[str, Any]:
    """The counts in a lock."""
    return {
        "sha256": counts.sha256,
        "scheme": counts.scheme,
        "pattern": counts.native.pattern.regex,
        "corpus_digest": counts.stats.corpus_digest,
        "pieces": sum(part.native.pieces for part in counts.domains),
        "min_count": counts.min_count,
        **asdict(counts.totals),
    }


def golden_digest(tokenizer: Tokenizer) -> str:
    """sha256 of the ids of the golden texts."""
    ids = [tokenizer.encode_list(text) for text in GOLDEN_TEXTS]
    return hashlib.sha256(json.dumps(ids, separators=(",", ":")).encode()).hexdigest()


def _training(options: TrainOptions, tokenizer: Tokenizer) -> dict[str, Any]:
    record = {**options.train_record(), "vocab": tokenizer.options["vocab"]}
    return {
        **_with_option_names(record),
        "scheme": options.scheme,
        "special": {token.role: token.text for token in tokenizer.specials.tokens if token.role is not None},
        "mix": {name: str(value) for name, value in sorted(options.mix.items())},
    }


def _with_option_names(record: Mapping[str, Any]) -> dict[str, Any]:
    """Options as tokenizer files record them, under the names of the fields."""
    names = {key: name for name, key in option_keys(TrainOptions).items()}
    return {names.get(key, key): value for key, value in record.items()}


def describe_inputs(files: Sequence[str], output: str) -> dict[str, Any]:
    """The files of a corpus with their digests, and for relative paths their root as seen from the lock."""
    absolute = [Path(path).is_absolute() for path in files]
    if not files or not all(Path(path).is_file() for path in files):
        names = (Path(path).name if is_absolute else path for path, is_absolute in zip(files, absolute, strict=True))
        return {"root": None, "files": [{"path": name, "sha256": None} for name in names]}
    mixed = len(set(absolute)) > 1
    folder = "" if mixed else os.path.commonpath([str(Path(path).parent) for path in files])
    relative = not (any(absolute) or Path(output).is_absolute())
    root = _relative(folder, str(Path(output).parent)) if relative else None
    listed = [{"path": _relative(path, folder), "sha256": file_digest(path)} for path in files]
    return {"root": root, "files": listed}


def _relative(path: str, start: str) -> str:
    return Path(os.path.relpath(path or ".", start or ".")).as_posix()


def load_lock(path: str | os.PathLike[str]) -> Lock:
    """Reads a lock. Raises `MissingInput`, `Unreadable`, `CorruptFile`, `UnsupportedVersion`."""
    name = os.fspath(path)

    def check(payload: Any, where: str) -> None:
        _VERSIONS(payload, where)
        for key, value in (("behaviour", BEHAVIOUR), ("unicode", _engine.UNICODE_VERSION)):
            if payload[key] != value:
                raise UnsupportedVersion(
                    f"{name} has {key} {schema.shown(payload[key])}",
                    limit=f"this package has {key} {value}",
                    fix="install the version of slmtok that made it",
                    path=name,
                )
        _PAYLOAD(payload, where)

    envelope = load_envelope(name, KIND, check)
    return Lock(envelope.payload, name, envelope.tool)


# --- reproducing ------------------------------------------------------------------------------------------------------


@explains_indexing
@dataclass(frozen=True)
class Difference:
    """The first difference from a lock: what differs, its locked value, its actual value."""

    what: str
    locked: object
    found: object

    def __str__(self) -> str:
        return f"{self.what}: the lock has {self.locked}, found {self.found}"


@explains_calls
def reproduce(
    lock: Lock,
    *,
    corpus: str | os.PathLike[str] | None = None,
    counts: Sequence[str | os.PathLike[str]] = (),
    threads: int = 0,
    memory: int | str | None = None,
    progress: Progress | None = None,
) -> Difference | None:
    """Counts again, or loads `counts`, trains again, and compares; None where all is equal.

    corpus: the folder of the paths in the lock; None is the place that the lock records. Raises `MissingInput` where
    there is neither, and what reading and training raise.
    """
    if counts and corpus is not None:
        raise OptionError(
            (Setting("corpus", os.fspath(corpus)), " has no effect with ", Setting("counts"), ", which need no text"),
            fix=("leave ", Setting("corpus"), " or ", Setting("counts"), " out"),
            option="corpus",
        )
    if counts:
        _refuse_texts(lock, [os.fspath(path) for path in counts])
        found = PretokenCounts.load(*counts)
    else:
        files, difference = _find_inputs(lock, corpus)
        # Files may differ while their documents are equal, in another container for instance: the counts decide.
        options = _count_options(lock, threads=threads, memory=memory)
        with _faults_of_options(lock, "reading"):
            found = count_corpus(list(files), options, progress)
        if found.sha256 != lock.content["counts"]["sha256"] and difference is not None:
            return difference
    difference = _compare_counts(lock, found)
    if difference is not None:
        return difference
    with _faults_of_options(lock, "training"):
        return _compare_training(lock, found, progress)


@contextmanager
def _faults_of_options(lock: Lock, field: str) -> Iterator[None]:
    """Raises `CorruptFile` for an error about options that the lock records: the caller gave none of them."""
    try:
        yield
    except _ABOUT_OPTIONS as error:
        option = error.fields.get("option")
        if isinstance(error, (InvalidPattern, UnknownName)) or option == "pattern":
            field = "training.forbid_regex" if field == "training" else "counts.pattern"
        fault = f"payload.{field}: {error.fact}"
        raise corrupt(lock.path, KIND, fault, "restore the lock, or train again") from None


def _refuse_texts(lock: Lock, counts: Sequence[str]) -> None:
    """Raises `OptionError` for text in the place of counts: the lock has the options that its text is counted with."""
    files = (path for path in counts if os.path.isfile(path) and kind_of_file(path) == UNKNOWN)  # noqa: PTH113
    text = next((path for path in files if content_of(read_file(path, HEAD_BYTES)) is None), None)
    if text is None or text.endswith(".counts"):
        return
    listed = lock.content["corpus"]["files"]
    fix = "name the counts that the tokenizer was trained on"
    if lock.texts:
        fix = f"slmtok reproduce {shlex.quote(lock.path)}"
    elif listed and all(entry["sha256"] for entry in listed):
        fix = _folder_fix(lock, text)
    limit = "text is counted with the options that the lock records"
    raise OptionError(f"--counts {text} is text, not counts", where=lock.path, limit=limit, fix=fix, option="counts")


def _find_inputs(lock: Lock, corpus: str | os.PathLike[str] | None) -> tuple[list[str], Difference | None]:
    """The files of the corpus, and the first that differs from the lock."""
    listed, root = lock.content["corpus"]["files"], lock.content["corpus"].get("root")
    fault = None
    if not listed:
        fault = "the lock names no text: the tokenizer was trained from counts"
    elif unnamed := [entry["path"] for entry in listed if entry["sha256"] is None]:
        fault = f"the lock cannot name its corpus by files: {unnamed[0]}"
    if fault is not None:
        raise MissingInput(
            fault,
            where=lock.path,
            limit="counts of the same text take its place",
            fix=_counts_fix(lock, [entry["path"] for entry in listed]),
        )
    if corpus is None and root is None:
        raise MissingInput(
            "the lock does not record the place of its corpus",
            where=lock.path,
            limit="only relative paths are recorded",
            fix=f"slmtok reproduce {shlex.quote(lock.path)} --corpus FOLDER",
        )
    if corpus is not None and os.path.isfile(corpus):  # noqa: PTH113
        raise OptionError(
            f"--corpus {os.fspath(corpus)} is a file, and the folder of the corpus is meant",
            where=lock.path,
            fix=_folder_fix(lock, os.fspath(corpus)),
            option="corpus",
        )
    base = Path(corpus) if corpus is not None else lock.sibling(str(root))
    files = [str(base / entry["path"]) for entry in listed]
    for path in files:
        # Unlike `Path.is_file`, it is false for names that no system takes.
        if not os.path.isfile(path):  # noqa: PTH113
            raise MissingInput(
                f"no file {path!r}, which the lock names",
                where=lock.path,
                limit="nothing was compared",
                fix=_folder_fix(lock, str(base)),
                path=path,
            )
    for entry, path in zip(listed, files, strict=True):
        digest = file_digest(path)
        if digest != entry["sha256"]:
            return files, Difference(f"sha256 of input {entry['path']}", entry["sha256"], digest)
    return files, None


def _count_options(lock: Lock, *, threads: int, memory: int | str | None) -> CountOptions:
    scheme, pattern = lock.content["counts"]["scheme"], lock.content["counts"]["pattern"]
    own = pattern if SCHEMES[scheme].own_pattern else None
    reading = reading_options(lock.content["reading"])
    return CountOptions(scheme=scheme, pattern=own, threads=threads, memory=memory, **reading)


def _counts_fix(lock: Lock, sources: Sequence[str]) -> str:
    """The command with counts of the text of a lock: a file beside it that has them, or one that is counted first."""
    line, left = f"slmtok reproduce {shlex.quote(lock.path)} --counts ", _MAX_SEARCHED_BYTES
    locked = [lock.content["counts"].get(key) for key in ("corpus_digest", "scheme", "pattern", "min_count")]
    for path in sorted(Path(lock.path).parent.glob("*.counts")):
        with suppress(OSError, SlmtokError):
            if (left := left - path.stat().st_size) < 0:
                break
            head = open_counts(path).head
            if locked[0] and locked == [head.corpus_digest, head.scheme, head.pattern.regex, head.min_count]:
                return line + shlex.quote(str(path))
    if not sources:
        return f"{line}FILE, with the counts that it was trained from as FILE"
    name = shlex.quote(free_name(f"{Path(lock.path).stem}.counts"))
    options = _count_options(lock, threads=0, memory=None)
    texts = ["TEXT" if each.isdecimal() else each for each in sources]
    words = ["slmtok", "count", *texts, *chain.from_iterable(_flags(options)), "-o"]
    piped = " < TEXT" if "-" in texts else ""
    remark = ", with the text that was piped as TEXT" if piped or "TEXT" in texts else ""
    return f"{shlex.join(words)} {name}{piped} && {line}{name}{remark}"


def _flags(options: CountOptions) -> Iterator[list[str]]:
    """The options that are not the defaults, as words of a command line."""
    names: dict[str, str | None] = {_engine.Pattern(name).regex: name for name in pattern_names()}
    names[_engine.Pattern(SCHEMES[options.scheme].pattern).regex] = None
    options = replace(options, pattern=names.get(options.pattern or "", options.pattern))
    for name in changed_options(options, option_keys(CountOptions)):
        value = getattr(options, name)
        if isinstance(value, Mapping):
            value = tuple(f"{key}={glob}" for key, globs in value.items() for glob in globs)
        for each in value if isinstance(value, tuple) else [value]:
            text = escape(each) if name in ("separator", "text_template") else str(each)
            yield [flag_of(name)] if value is True else [flag_of(name), text]


def reading_options(record: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `ReadOptions` from the options that a lock or a counts file records."""
    given = {name: value for name, value in _with_option_names(record).items() if name != "mix"}
    if given.get("sample") is not None:
        given["sample"] = float(given["sample"])
    if "domains" in given:
        domains: dict[str, list[str]] = {}
        for entry in given["domains"]:
            name, _, glob = entry.partition("=")
            domains.setdefault(name, []).append(glob)
        given["domains"] = domains
    return given


_MAX_SEARCHED_BYTES = 1 << 30
"""Of the files of a folder that are read for one that was renamed, or for counts of the same text."""


_MAX_FOLDERS = 100
"""Below that of a lock, and the given one, which are searched for its corpus."""


def _has_files(folder: Path, listed: Sequence[Mapping[str, str]]) -> bool:
    """Whether a folder has all files of a lock, with their digests where reading them takes no minutes."""
    files = [folder / entry["path"] for entry in listed]
    if not all(map(os.path.isfile, files)):
        return False
    is_small = sum(map(os.path.getsize, files)) <= _MAX_SEARCHED_BYTES
    with suppress(OSError, SlmtokError):
        return not is_small or all(
            file_digest(file) == entry["sha256"] for file, entry in zip(files, listed, strict=True)
        )
    return False


def _folder_fix(lock: Lock, place: str) -> str:
    """The command with the folder that has the files of the lock: of `place`, below it or the lock, or after copies."""
    command, listed = f"slmtok reproduce {shlex.quote(lock.path)} --corpus ", lock.content["corpus"]["files"]
    folders = [*([Path(place)] if os.path.isdir(place) else []), *Path(place).parents]  # noqa: PTH112
    # Unlike `Path.is_dir`, it is false for names that no system takes.
    places = filter(os.path.isdir, dict.fromkeys((Path(place), Path(lock.path).parent)))
    inside = chain.from_iterable(each.glob(pattern) for each in places for pattern in ("*/", "*/*/"))
    for folder in [*folders, *sorted(islice(inside, _MAX_FOLDERS))]:
        if _has_files(folder, listed):
            return command + shlex.quote(str(folder))
    lacking = {entry["path"]: entry["sha256"] for entry in listed if not os.path.isfile(folders[0] / entry["path"])}  # noqa: PTH113
    renamed = _renamed(folders[0], lacking)
    if renamed.keys() != lacking.keys():
        name = next(name for name in lacking if name not in renamed)
        return f"{command}FOLDER, where {name} lies now; or --counts FILE"
    copies = [["cp", renamed[name], str(folders[0] / name)] for name in lacking]
    makes = [["mkdir", "-p", str(Path(copy[2]).parent)] for copy in copies if not os.path.exists(Path(copy[2]).parent)]  # noqa: PTH110
    return " && ".join([*map(shlex.join, [*makes, *copies]), command + shlex.quote(str(folders[0]))])


def _renamed(folder: Path, lacking: Mapping[str, str]) -> dict[str, str]:
    """The file of a folder that has the digest of each of these names, where there is one."""
    names, found, left = {digest: name for name, digest in lacking.items()}, {}, _MAX_SEARCHED_BYTES
    with suppress(OSError, SlmtokError):
        for path in sorted(folder.iterdir()):
            is_near = path.is_file() and path.suffix in {Path(name).suffix for name in lacking}
            if is_near and (left := left - path.stat().st_size) >= 0 and (name := names.get(file_digest(path))):
                found[name] = str(path)
    return found


def _compare_counts(lock: Lock, counts: PretokenCounts) -> Difference | None:
    found, locked = describe_counts(counts), lock.content["counts"]
    if found["sha256"] == locked["sha256"]:
        return None
    for key in ("pattern", "scheme", "documents", "bytes", "corpus_digest", "pieces", "min_count"):
        if found[key] != locked.get(key):
            return Difference(key.replace("_", " "), locked.get(key), found[key])
    return Difference("sha256 of the counts", locked["sha256"], found["sha256"])


def locked_options(lock: Lock) -> TrainOptions:
    """The options of training."""
    return _train_options(lock.content["training"])


def _train_options(record: Mapping[str, Any]) -> TrainOptions:
    return build_options(TrainOptions, None, {**record, "require": tuple(map(a2b_base64, record["require"]))})


def _options(build: Callable[[Mapping[str, Any]], object], keys: Check) -> Check:
    """Options of which `build` makes valid ones; its error names the option. `keys` has the types that it relies on."""

    def check(value: Any, where: str) -> None:
        schema.mapping(schema.plain)(value, where)
        keys(value, where)
        try:
            build(value)
        except SlmtokError as error:
            raise FaultError(f"{where}: {error.fact}") from None

    return check


_TEXTS, _TEXTS64 = schema.array(schema.text), schema.array(schema.base64)
_PAYLOAD = schema.table(
    {
        "behaviour": schema.integer(),
        "unicode": schema.text,
        "tokenizer": schema.table(
            {
                "file": schema.file_name,
                "n_vocab": schema.integer(1, MAX_IDS),
                "fingerprint": schema.digest,
                "sha256": schema.digest,
                "golden_sha256": schema.digest,
            }
        ),
        "counts": schema.table(
            {
                "sha256": schema.digest,
                "scheme": schema.choice(*SCHEMES),
                "pattern": schema.text,
                "corpus_digest": schema.nullable(schema.digest),
                "pieces": schema.integer(),
                "min_count": schema.integer(1),
                **{total.name: schema.integer() for total in fields(Totals)},
            }
        ),
        "corpus": schema.table(
            {
                "root": schema.nullable(schema.text),
                "files": schema.array(schema.table({"path": schema.text, "sha256": schema.nullable(schema.digest)})),
            }
        ),
        "reading": _options(
            lambda record: build_options(ReadOptions, None, reading_options(record)),
            schema.table({}, {"sample": schema.nullable(schema.number_text), "domains": _TEXTS}, is_open=True),
        ),
        "training": _options(
            _train_options, schema.table({"vocab_size": schema.integer(), "require": _TEXTS64}, is_open=True)
        ),
    }
)


def _compare_training(lock: Lock, counts: PretokenCounts, progress: Progress | None) -> Difference | None:
    tokenizer, learned = learn(counts, locked_options(lock), progress)
    locked = lock.content["tokenizer"]
    if tokenizer.sha256 == locked["sha256"]:
        return None
    original = _load_original(lock)
    if original is not None and original.fingerprint != tokenizer.fingerprint:
        return first_difference(original.vocabulary, tokenizer, learned)
    for key in ("n_vocab", "fingerprint"):
        if getattr(tokenizer, key) != locked[key]:
            return Difference(key, locked[key], getattr(tokenizer, key))
    return Difference("sha256 of the tokenizer file", locked["sha256"], tokenizer.sha256)


def _load_original(lock: Lock) -> Tokenizer | None:
    """The locked tokenizer, if its file lies unchanged beside the lock."""
    try:
        tokenizer = read_tokenizer(lock.sibling(lock.content["tokenizer"]["file"]), verify=False)
    except SlmtokError:
        return None
    return tokenizer if tokenizer.fingerprint == lock.content["tokenizer"]["fingerprint"] else None


def first_difference(original: Vocabulary, made: Tokenizer, learned: Learned) -> Difference:
    """The first merge, or token, that differs."""
    ours = made.vocabulary
    old, new = (original.merges, ours.merges) if original.merges or ours.merges else (original.tokens, ours.tokens)
    pairs = enumerate(zip_longest(old, new))
    at, (locked, found) = next((each for each in pairs if each[1][0] != each[1][1]), (len(old), (None, None)))
    what = f"{'merge' if ours.scheme == 'bpe' else 'token'} {at}"
    times = "" if found is None else f", which occurs {learned.counts[at]:,} times"
    return Difference(what, _item_text(original, locked), _item_text(ours, found) + times)


def _item_text(vocabulary: Vocabulary, item: Any) -> str:
    """A merge or a token; "none" for None."""
    if item is None or isinstance(item, bytes):
        return "none" if item is None else repr(item)
    return " + ".join(repr(vocabulary.token_bytes(part)) for part in item[:2])

"""`slmtok bench`: the speed of tokenizers on your own text. `slmtok sample-corpus`: generated stories to train on."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.cli.errors import EXTRA
from slmtok.cli.files import (
    PLAIN_TEXT,
    STDIO,
    check_content,
    names_tokenizer,
    read_texts,
    refuse_missing,
    text_files,
    writing,
)
from slmtok.cli.options import (
    INTEGER,
    Habit,
    Parsed,
    command,
    instead,
    option,
    options_of,
    output_options,
    threads_option,
    tokenizer_option,
)
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, counted, table, write_text
from slmtok.cli.progress import Progress
from slmtok.corpus.formats import FORMATS
from slmtok.corpus.streams import COMPRESSED
from slmtok.errors import DiskFull, InvalidText, OptionError
from slmtok.opening import TIKTOKEN, load
from slmtok.option_values import parse_bytes
from slmtok.options import ReadOptions
from slmtok.path_arguments import BINARY_SUFFIXES
from slmtok.sizes import format_bytes, parse_size

if TYPE_CHECKING:
    from slmtok.bench.comparison import Comparison
    from slmtok.tokenizer import Tokenizer

DEFAULT_STORY_BYTES = 2_000_000
"""Stories to measure on where no text is given."""
DEFAULT_VOCAB_SIZE = 8192
"""Ids of the tokenizer that is trained where none is given; fewer where the text cannot fill them."""
_NOT_PLAIN = (*COMPRESSED, *(suffix for entry in FORMATS.values() if entry.records for suffix in entry.suffixes))
"""Suffixes by which a file would not be read as text."""
_STORIES = PLAIN_TEXT._replace(refused=(*BINARY_SUFFIXES, *_NOT_PLAIN))
_HEAD = ("", "load", "first call", "", "third call", "", "memory", "returns", "first", "third")
_MAX_ROUNDS = 10_000


def _peers(value: str | None, arguments: Sequence[str]) -> str:
    """`--against` with all names that were given, where an argument too many is one; "" for other arguments."""
    from slmtok.bench.comparison import peer_names

    known = peer_names()
    names = [each.strip(",") for each in arguments if all(name in known for name in each.strip(",").split(","))]
    if (value or "").strip(",") in names:
        return f"--against {','.join(names)}"
    return _with_known_peers(value or "", arguments)


def _with_known_peers(text: str, arguments: Sequence[str]) -> str:
    """The command with a text as `--on` and the names of packages that are meant; "" where all names are known."""
    from slmtok.bench.comparison import meant_peers, peer_names

    parts = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--against=") else [word])]
    given = next((names for flag, names in pairwise(parts) if flag == "--against"), None)
    names = [each.strip() for each in (given or "").split(",")]
    meant = meant_peers(names, peer_names())
    if given is None or meant in (None, given) or not Path(text).exists() or "--on" in parts:
        return ""
    rest = [str(meant) if word == given else word for word in parts if word != text]
    return shlex.join(["slmtok", "bench", *rest, "--on", text])


_HABITS: dict[str, Habit] = {
    EXTRA: _peers,
    **dict.fromkeys(
        ("--seconds", "--duration", "--repeat", "--repeats", "--iterations", "--runs"),
        instead("--rounds {}, the number of measurements; --max-bytes limits the text of one", "5"),
    ),
}
"""Options of other tools, each with what stands for it here."""


@command("bench", example="slmtok bench --against tiktoken,tokenizers --on text.txt", habits=_HABITS)
@option("--against", metavar="NAMES", default="tiktoken",
        help="Other tokenizers by their package names, separated by commas.")  # fmt: skip
@option("--on", metavar="TEXT", multiple=True, show_default=f"{DEFAULT_STORY_BYTES // 10**6} MB of stories",
        help="The text: a file, folder or glob, or - for stdin. Repeat for several.")  # fmt: skip
@tokenizer_option(required=False, show_default="one trained on the text, with the pattern gpt2")
@option("--rounds", metavar="N", type=INTEGER, default=5, help="Measurements of each tokenizer.")
@threads_option("Threads of each tokenizer; 1 also pins it to one core, 0 means all.", default=1)
@options_of(ReadOptions, into="read", only=("format", "text_key", "document", "max_bytes"),
            needs=dict.fromkeys(("format", "text_key", "document"), "--on TEXT"))  # fmt: skip
def bench(
    against: str,
    on: tuple[str, ...],
    tokenizer: str | None,
    rounds: int,
    threads: int,
    read: ReadOptions,
) -> Outcome:
    """Encode a text with slmtok and with other tokenizers, and compare their speed.

    Each measurement runs in a process of its own, in turns. All get the same vocabulary and the same documents. Where
    the ids of one differ, no times are printed but the first difference, and the exit status is 3.
    """
    from slmtok.bench.comparison import check_peers, compare, machine, peer_names

    peers = list(dict.fromkeys(name.strip() for name in against.split(",") if name.strip()))
    if not peers:
        raise OptionError("--against is empty", fix="--against tiktoken", option="against")
    if named := next(filter(names_tokenizer, (each for each in peers if Path(each).exists())), None):
        raise OptionError(
            f"{named!r} is a tokenizer, and --against names other libraries, which are given the same vocabulary",
            limit=", ".join(peer_names()),
            fix=f"leave --against out; -t {shlex.quote(named)} measures this tokenizer, in a command of its own",
            option="against",
        )
    check_peers(peers)
    if not 1 <= rounds <= _MAX_ROUNDS:
        fact = f"--rounds {rounds:,} is out of range"
        raise OptionError(fact, limit=f"1 to {_MAX_ROUNDS:,}", fix="--rounds 5", option="rounds")
    refuse_missing([tokenizer] if tokenizer else [])
    with Progress() as progress:
        documents = _read_text(on, read) if on else _stories(read.max_bytes or DEFAULT_STORY_BYTES)
        chosen, name = _open(tokenizer, documents)
        found = compare(chosen, documents, peers, name=name, rounds=rounds, threads=threads, progress=progress)
    result = {
        "text": {
            "on": list(on) or "stories",
            "documents": len(documents),
            "bytes": sum(len(text.encode()) for text in documents),
        },
        "tokenizer": tokenizer or "trained on the text",
        "n_vocab": chosen.n_vocab,
        "tokens": found.tokens,
        "ids_sha256": found.sha256,
        "rounds": rounds,
        "threads": threads,
        "machine": machine(),
        "rows": found.rows,
        "differences": found.differences,
    }
    code = ANSWER_NO if found.differences else DONE
    return Outcome(result, lambda: write_text(_text(result, found)), code=code)


def _read_text(on: Sequence[str], read: ReadOptions) -> list[str]:
    """The documents as `str`, which the other tokenizers take. Raises `InvalidText` for bytes that are not UTF-8."""
    found: list[str] = []
    for number, data in enumerate(read_texts(text_files(on, read), read)):
        try:
            found.append(data.decode())
        except UnicodeDecodeError as error:
            raise InvalidText(
                f"document {number} is not UTF-8: byte 0x{data[error.start]:02x}",
                where=f"byte {error.start} of the document",
                limit="other tokenizers accept only text",
                fix="measure on text that is UTF-8",
                document=number,
                position=error.start,
            ) from error
    if not any(found):
        raise OptionError("--on names no text", where=", ".join(on), fix="name a file with text", option="on")
    return found


def _stories(size: int) -> list[str]:
    from slmtok.stories import stories

    found: list[str] = []
    for text in stories():
        if size <= 0:
            break
        found.append(text[:size])
        size -= len(text.encode())
    return found


def _open(name: str | None, documents: Iterable[str]) -> tuple[Tokenizer, str]:
    """The tokenizer, and its name as a public encoding or "own"."""
    import slmtok
    from slmtok.formats.tiktoken import ENCODINGS

    if name is None:
        texts = slmtok.Texts(documents)
        return slmtok.train(texts, vocab_size=DEFAULT_VOCAB_SIZE, pattern="gpt2", allow_smaller=True), "own"
    public = name.removeprefix(TIKTOKEN)
    return load(name), public if name != public and public in ENCODINGS else "own"


def _text(result: Mapping[str, Any], found: Comparison) -> str:
    """One line a tokenizer: times, and ratios to those of slmtok (2.0x took twice as long); or where ids differ."""
    if found.differences:
        from slmtok.bench.comparison import describe_difference

        lines = [
            f"  {name}, {difference['tokens']:,} ids: {describe_difference(difference)}"
            for name, difference in found.differences.items()
        ]
        return "\n".join(["ids differ, so no times are shown", *lines, f"  slmtok, {found.tokens:,} ids\n"])
    text, machine = result["text"], result["machine"]
    rows = [
        (
            f"{row['engine']} {row['version']}",
            f"{row['load']:.3f} s",
            f"{row['first']:.4f} s",
            f"{row['mb_per_s_first']:.1f} MB/s",
            f"{row['third']:.4f} s",
            f"{row['mb_per_s_third']:.1f} MB/s",
            format_bytes(row["peak"]),
            row["gives"],
            f"{row['ratio_first']:.2f}x",
            f"{row['ratio_third']:.2f}x",
        )
        for row in found.rows
    ]
    return (
        f"{format_bytes(text['bytes'])} in {counted(text['documents'], 'document')}, {found.tokens:,} ids, "
        f"the same from all (sha256 {found.sha256[:12]})\n"
        f"{machine['processor']}, {machine['cores']} cores; threads: {result['threads'] or 'all'}; "
        f"median of {result['rounds']} rounds\n\n" + table(_HEAD, rows, left=(0, 7))
    )


_STORY_BYTES = 1100
"""Mean size of a story."""
_LINE_BYTES = 177
"""Mean size of a line of it."""
_MIN_STORIES = 5
"""In fewer bytes than those of five stories there may be no whole one."""


def _size_of(value: str | None, arguments: Sequence[str]) -> str:
    """The option for the size of a number of stories."""
    number = parse_size(value or "") or 1000
    n_stories = max(_MIN_STORIES, number)
    return f"--bytes {n_stories * _STORY_BYTES}, about {n_stories:,} stories: their size is given, not their number"


def _size_of_lines(value: str | None, arguments: Sequence[str]) -> str:
    """The option for the size of a number of lines."""
    n_lines = parse_size(value or "") or 1000
    size = max(_MIN_STORIES * _STORY_BYTES, n_lines * _LINE_BYTES)
    return f"--bytes {size}, about {size // _LINE_BYTES:,} lines: their size is given, not their number"


_NUMBERS_OF_STORIES = (
    "-n",
    "--docs",
    "--max-docs",
    "--num-docs",
    "--n-docs",
    "--stories",
    "--num-stories",
    "--num",
    "--count",
)
_SAMPLE_HABITS: dict[str, Habit] = {
    EXTRA: lambda value, arguments: f"{'--bytes' if (value or '')[:1].isdigit() else '-o'} {value}",
    **dict.fromkeys(("--size", "--max-bytes", "--n-bytes"), instead("--bytes {}", "1MB")),
    **dict.fromkeys(_NUMBERS_OF_STORIES, _size_of),
    **dict.fromkeys(("--lines", "--num-lines", "--n-lines"), _size_of_lines),
}


@command("sample-corpus", example="slmtok sample-corpus --bytes 20MB -o stories.txt", habits=_SAMPLE_HABITS)
@option("--bytes", "size", metavar="SIZE", type=Parsed(parse_bytes), default=20_000_000, show_default="20MB",
        help="Size of the text: 5000, 20MB, 1GiB.")  # fmt: skip
@option("--seed", metavar="N", type=INTEGER, default=0, help="Another seed gives other stories.")
@output_options(default="stories.txt")
def sample_corpus(size: int, seed: int, output: str, force: bool) -> Outcome:
    """Write generated children's stories, as many as fit into a number of bytes. Equal seeds give equal bytes."""
    from slmtok.checks import check_int
    from slmtok.stories import write_stories

    size = check_int("bytes", size)

    check_content(output, _STORIES)
    _check_room(size, output)
    with Progress() as progress, writing(output, force=force) as stream:
        number = write_stories(stream, size, seed=seed, progress=progress)
        if not number:
            raise OptionError(
                f"--bytes {size} is less than one story",
                limit="a story has about 1 kB",
                fix=f"--bytes {size or 20}MB, or --bytes 5000",
                option="size",
            )
    if output == STDIO:
        return Outcome({})
    written = Path(output).stat().st_size
    line = f"{output}: {number:,} stories, {format_bytes(written)}, seed {seed}"
    return Outcome({"path": output, "documents": number, "bytes": written, "seed": seed}, summary=line)


def _check_room(size: int, output: str) -> None:
    """Raises `DiskFull` where the disk of the output has less free space than the text takes."""
    folder, free = Path(output).absolute().parent, size
    if output != STDIO and not Path(output).is_char_device():
        with suppress(OSError):
            free = shutil.disk_usage(folder).free
    if size > free:
        half = free // 2
        fitting = f"{half // 1_000_000}MB" if half >= 1_000_000 else f"{half // 1000}kB"
        has_room = half >= _MIN_STORIES * _STORY_BYTES
        raise DiskFull(
            f"--bytes asks for {format_bytes(size)}, and the disk has {format_bytes(free)} free",
            where=str(folder),
            fix=(f"--bytes {fitting}, or " if has_room else "") + "-o FILE on another disk",
        )

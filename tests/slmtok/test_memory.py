"""Bounded memory: limits as text, spills that change no result, peaks measured in fresh processes."""

from __future__ import annotations

import gzip
import importlib
import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import slmtok
from slmtok import _engine, errors
from slmtok.training import memory, train_with_report

LETTERS = str.maketrans("0123456789", "ghijklmnop")
LINUX = sys.platform == "linux"


def words(number: int, seed: int = 3) -> bytes:
    """About `number` words, most of them different, some longer than 15 bytes."""
    source = random.Random(seed)
    found = (f"{source.getrandbits(40):x}" + "letters" * (source.random() < 0.1) for _ in range(number))
    return " ".join(found).translate(LETTERS).encode()


def fresh(code: str, *arguments: object, **options: Any) -> dict[str, Any]:
    """What a fresh process prints as JSON."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, check=True, timeout=240, **options)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 500_000_000), ("8GB", 8 * 10**9), ("2GiB", 2 << 30), ("1.5 gib", 3 << 29), ("123_456_789", 123_456_789)],
)
def test_sizes(text: str, size: int) -> None:
    assert memory.memory_limit(text) == memory.memory_limit(size) == size


def test_percentages_of_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 4_000_000_001)
    assert (memory.memory_limit("50%"), memory.memory_limit(" 12.5 %"), memory.memory_limit("100%")) == (
        2 * 10**9,
        5 * 10**8,
        4 * 10**9 + 1,
    )
    assert memory.memory_limit(None) == 2 * 10**9
    monkeypatch.setattr(memory, "free_memory", lambda: 70_000_000)
    assert memory.memory_limit(None) == memory.MIN_MEMORY_BYTES
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    assert memory.memory_limit(None) is None
    with pytest.raises(errors.OptionError, match="does not report its free memory"):
        memory.memory_limit("50%")


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        ("", errors.OptionError, "memory='' is not a size"),
        ("much", errors.OptionError, "is not a size(.|\n)*fix:   memory='1GB'"),
        ("-1GB", errors.OptionError, "is not a size"),
        ("101%", errors.OptionError, "is not a size"),
        ("99MB", errors.OptionError, "memory='99MB' is too small to count in\n  limit: 100MB or more"),
        (0, errors.OptionError, "memory=0 is too small"),
        (True, errors.WrongType, "memory takes a size, not bool"),
        (1.5, errors.WrongType, "memory takes a size, not float"),
    ],
)
def test_invalid_limits(value: Any, error: type[errors.SlmtokError], match: str) -> None:
    with pytest.raises(error, match=match):
        slmtok.count(slmtok.Texts(["text"]), memory=value)


def write_group(group: Path, limit: str, used: int, cached: int = 0, *, version: int = 2) -> None:
    """The files of a control group that say what memory it may use and uses."""
    names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    group.mkdir(parents=True, exist_ok=True)
    (group / names[0]).write_text(f"{limit}\n")
    (group / names[1]).write_text(f"{used}\n")
    (group / "memory.stat").write_text(f"anon 3000\n{'total_' * (version == 1)}inactive_file {cached}\n")


@pytest.fixture(params=["slmtok", "slmmodel"])
def reader(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The reader of free memory of a package; its control groups are folders under `tmp_path`."""
    if not LINUX:
        pytest.skip("reads what Linux tells of memory")
    module = importlib.import_module(f"{request.param}.system_memory")
    monkeypatch.setattr(module, "_CONTROL_GROUPS", str(tmp_path))
    monkeypatch.setattr(module, "_MEMBERSHIP", str(tmp_path / "membership"))
    return module


def test_the_limit_of_a_container_counts(tmp_path: Path, reader: Any) -> None:
    assert reader.free_memory() > 50_000_000
    write_group(tmp_path, "max", 1000)
    assert reader.free_memory() > 50_000_000
    write_group(tmp_path, "7000", 1000)
    assert reader.free_memory() == 6000
    write_group(tmp_path, "7000", 8000)
    assert reader.free_memory() == 0
    # What is held of files is given up when memory is wanted.
    write_group(tmp_path, "7000", 8000, 2500)
    assert reader.free_memory() == 1500


@pytest.mark.parametrize(
    ("version", "line", "mount"),
    [(2, "0::/slurm/job_1/step_0", "."), (1, "4:cpu,memory:/slurm/job_1/step_0", "memory")],
)
def test_the_smallest_limit_of_a_job_and_its_parents_counts(
    tmp_path: Path, reader: Any, version: int, line: str, mount: str
) -> None:
    (tmp_path / "membership").write_text(f"9:name=systemd:/\n3:cpuset:/elsewhere\n{line}\n")
    job = tmp_path / mount / "slurm" / "job_1"
    unlimited = "max" if version == 2 else "9223372036854771712"
    write_group(job / "step_0", unlimited, 2000, version=version)
    write_group(tmp_path / "elsewhere", "10", 0, version=version)
    assert reader.free_memory() > 50_000_000
    write_group(job, "9000", 2000, 500, version=version)
    assert reader.free_memory() == 7500
    write_group(job / "step_0", "5000", 2000, version=version)
    assert reader.free_memory() == 3000
    # Names of the machine, of which a container has no folders.
    (tmp_path / "membership").write_text("0::/../../other\n4:memory:/docker/1\nunknown\n")
    write_group(tmp_path, "4000", 2000)
    assert reader.free_memory() == 2000


# --- spilling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3])
def test_spilled_counts_are_the_counts(tmp_path: Path, threads: int) -> None:
    pattern = _engine.Pattern("slm")
    text = words(150_000)
    texts = [text[start : start + 50_000] for start in range(0, len(text), 50_000)]

    def counted(budget: tuple[int, str] | None) -> _engine.Counts:
        counter = _engine.Counter(pattern, threads=threads, budget=budget)
        for start in range(0, len(texts), 7):
            counter.feed(texts[start : start + 7])
        return counter.finish()

    free, tight = counted(None), counted((1_000_000, str(tmp_path)))
    assert free.spills == (0, 0)
    assert tight.spills[0] > 5 and tight.spills[1] > 500_000
    assert tight.canonical() == free.canonical()
    assert list(tmp_path.iterdir()) == []


def test_a_limit_changes_nothing_but_the_report(tmp_path: Path) -> None:
    corpus = tmp_path / "words.txt"
    corpus.write_bytes(words(400_000))
    tight = train_with_report(corpus, vocab_size=1000, memory="100MB", spill_dir=tmp_path, threads=2)
    roomy = train_with_report(corpus, vocab_size=1000, memory=1 << 40)
    assert tight.tokenizer.to_bytes() == roomy.tokenizer.to_bytes()
    assert tight.report.spills == tight.counts.spills > 0 and tight.report.spilled_bytes > 1_000_000
    assert (roomy.report.spills, roomy.report.spilled_bytes) == (0, 0)
    assert (tight.report.memory_limit, roomy.report.memory_limit) == (100_000_000, 1 << 40)
    assert tight.report.merge_memory == tight.counts.merge_memory > 20_000_000
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]


@pytest.mark.skipif(not LINUX, reason="looks for files that have no name on Linux")
def test_nothing_is_left_by_a_killed_process(tmp_path: Path) -> None:
    code = """
    import os, signal, sys
    from slmtok import _engine
    counter = _engine.Counter(_engine.Pattern("slm"), threads=1, budget=(400_000, sys.argv[1]))
    counter.feed([" ".join(map(chr, range(0x4E00, 0x4E00 + 20_000))).encode()] * 2)
    held = [os.path.realpath(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")]
    assert any(place.startswith(sys.argv[1]) for place in held), held
    os.kill(os.getpid(), signal.SIGKILL)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code), tmp_path], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (-9, b"")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_spill_folder(tmp_path: Path) -> None:
    corpus = tmp_path / "words.txt"
    corpus.write_bytes(words(300_000))
    with pytest.raises(errors.Unreadable, match=r"cannot create a temporary file in .*missing"):
        slmtok.count(corpus, memory="100MB", spill_dir=tmp_path / "missing", threads=1)


@pytest.mark.skipif(not LINUX, reason="the system must refuse to let a file grow")
def test_no_space_for_spills(tmp_path: Path) -> None:
    code = """
    import json, resource, sys
    from slmtok import _engine, errors
    sys.dont_write_bytecode = True  # Python would keep what the limit cuts off
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    counter = _engine.Counter(_engine.Pattern("slm"), budget=(400_000, sys.argv[1]))
    try:
        counter.feed([" ".join(map(chr, range(0x4E00, 0x4E00 + 20_000))).encode()] * 2)
    except errors.DiskFull as error:
        print(json.dumps(error.to_dict()))
    """
    printed = fresh(code, tmp_path)
    assert printed["fact"].startswith("no space left for a temporary file of ")
    assert printed["where"] == f'"{tmp_path}"; the temporary file was removed'
    assert "allow more memory" in printed["fix"]
    assert list(tmp_path.iterdir()) == []


# --- merging --------------------------------------------------------------------------------------------------------


def test_too_little_memory_is_reported_before_merging(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = slmtok.count(slmtok.Texts([words(1000)]))
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    with pytest.raises(errors.NotEnoughMemory) as caught:
        slmtok.train(counts, vocab_size=300)
    assert caught.value.fields == {"need": counts.merge_memory, "free": 10_000}
    assert str(caught.value).startswith(f"learning merges of {counts.distinct:,} distinct pieces takes about ")
    assert "limit: 10.0 kB are free on this machine" in str(caught.value)
    assert isinstance(caught.value, MemoryError)
    assert slmtok.train(slmtok.Texts(["no merges " * 2]), vocab_size=273, scheme="word").n_vocab == 273


PEAK = """
import json, sys
import slmtok
from slmtok.training import memory
options = json.loads(sys.argv[2])
vocab = options.pop("vocab_size", None)
corpus = slmtok.Texts(open(sys.argv[1], "rb")) if options.pop("texts", False) else sys.argv[1]
counts = slmtok.count(corpus, threads=2, **options)
found = {"counting": memory.peak_memory(), "sha256": counts.sha256, "spills": counts.spills}
found |= {"need": counts.merge_memory, "held": memory.resident_memory(), "digest": counts.stats.corpus_digest}
if vocab:
    slmtok.train(counts, vocab_size=vocab, min_count=1)
    found["merging"] = memory.peak_memory()
print(json.dumps(found))
"""


def peak(path: object, stdin: Any = None, **options: Any) -> dict[str, Any]:
    return fresh(PEAK, path, json.dumps(options), stdin=stdin)


@pytest.mark.skipif(not LINUX, reason="measures memory as Linux tells it")
def test_distinct_pieces_beyond_the_limit(tmp_path: Path) -> None:
    corpus = tmp_path / "words.txt"
    corpus.write_bytes(words(1_200_000))
    tight = peak(corpus, memory="100MB", spill_dir=str(tmp_path), vocab_size=2000)
    roomy = peak(corpus, memory="4GB")
    assert tight["sha256"] == roomy["sha256"]
    assert tight["spills"] > 0 == roomy["spills"]
    assert tight["counting"] < 105_000_000 < roomy["counting"]
    assert 0.5 < (tight["merging"] - tight["held"]) / tight["need"] < 1.1


@pytest.mark.skipif(not LINUX, reason="measures memory as Linux tells it")
def test_long_inputs_are_never_held_whole(tmp_path: Path) -> None:
    line = b"All of the text in this file is one sentence, again and again, caf\xc3\xa9 \xff\n"
    corpus, packed = tmp_path / "long.txt", tmp_path / "long.txt.gz"
    text = line * (120_000_000 // len(line))
    corpus.write_bytes(text)
    packed.write_bytes(gzip.compress(text, 1))
    del text
    whole = peak(corpus, memory="4GB")
    with corpus.open("rb") as stdin:
        found = [whole, peak("-", stdin=stdin, memory="100MB"), peak(packed, memory="100MB")]
    assert [one["sha256"] for one in found] == [whole["sha256"]] * 3
    assert [one["digest"] for one in found] == [whole["digest"]] * 3
    assert max(one["counting"] for one in found) < 100_000_000
    lines = [peak(corpus, memory="100MB", document="line", max_bytes=30_000_000)]
    lines.append(peak(corpus, memory="100MB", texts=True, max_bytes=30_000_000))
    assert max(one["counting"] for one in lines) < 105_000_000


def test_a_stream_in_parts_has_the_limits_of_a_file(tmp_path: Path) -> None:
    text = words(1_300_000)
    corpus, packed = tmp_path / "words.txt", tmp_path / "packed.txt.gz"
    corpus.write_bytes(text)
    packed.write_bytes(gzip.compress(text, 1))
    for options in (
        {"max_doc_chars": 9_000_000},
        {"max_bytes": 9_000_001},
        {"max_chars": 100},
        {"max_doc_chars": 3, "max_chars": 9},
    ):
        want, got = (slmtok.count(path, **options) for path in (corpus, packed))  # type: ignore[arg-type]
        assert got.sha256 == want.sha256
        assert (got.documents, got.bytes, got.stats.complete) == (want.documents, want.bytes, want.stats.complete)
        assert got.native.truncated_documents == want.native.truncated_documents


# --- what training leaves alone -------------------------------------------------------------------------------------


def test_training_needs_no_numpy(tmp_path: Path) -> None:
    corpus = tmp_path / "words.txt"
    corpus.write_bytes(words(3000))
    code = """
    import sys
    sys.modules["numpy"] = None
    from slmtok.cli import main
    sys.exit(main(sys.argv[1:]))
    """
    for scheme in ("bpe", "word"):
        output = tmp_path / f"{scheme}.json"
        printed = fresh(
            code, "train", corpus, "--vocab", 300, "--scheme", scheme, "--json", "--min-count", 1, "-o", output
        )
        tok = slmtok.load(output)
        assert printed["result"]["fingerprint"] == tok.fingerprint
        assert tok.to_bytes() == slmtok.train(corpus, vocab_size=300, scheme=scheme, min_count=1).to_bytes()


def test_a_key_without_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.jsonl").write_text('{"body": "text"}\n')
    with pytest.raises(errors.OptionError, match="text_key='body' names a field, and no file of the corpus has"):
        slmtok.count(tmp_path / "a.txt", text_key="body")
    for corpus in (slmtok.Texts(["text"]), iter(["text"])):
        with pytest.raises(errors.OptionError, match="text_key='body' names a field of files, and these are texts"):
            slmtok.count(corpus, text_key="body")
    assert slmtok.count([tmp_path / "a.txt", tmp_path / "b.jsonl"], text_key="body").documents == 2
    with pytest.warns(UserWarning, match="1 malformed record skipped"):
        assert slmtok.count(tmp_path / "a.txt", text_key="body", format="jsonl", skip_malformed=True).documents == 0


@pytest.mark.skipif(not LINUX, reason="measures memory as Linux tells it")
def test_reading_records_counts_and_training_stay_within_the_limit(tmp_path: Path) -> None:
    """JSON lines, whose chunks, documents and tables are held at the same time."""
    zstandard = pytest.importorskip("zstandard")
    source = random.Random(7)
    common = words(20_000).decode().split()
    lines = (json.dumps({"text": " ".join(source.choices(common, k=2000))}) for _ in range(2500))
    corpus, packed = tmp_path / "records.jsonl", tmp_path / "records.jsonl.zst"
    corpus.write_text("\n".join(lines))
    packed.write_bytes(zstandard.ZstdCompressor(level=1).compress(corpus.read_bytes()))
    for path in (corpus, packed):
        found = peak(path, memory="100MB", vocab_size=1000)
        assert max(found["counting"], found["merging"]) < 105_000_000

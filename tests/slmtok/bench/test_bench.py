"""The parts of `slmtok bench`: vocabularies for peers, documents in files, the first difference, processes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from shared_data import peer, tiktoken_cache

import slmtok
from slmtok.bench import measure
from slmtok.bench.comparison import describe_difference, first_difference, summary
from slmtok.bench.engine import SingleTextEngine, UnsupportedError, encoding_name
from slmtok.bench.engines import ENGINES, engine, installed_version
from slmtok.bench.source import Source, load_documents, read_ranks, save_documents, write_source
from slmtok.errors import CorpusTooSmall, OptionError
from slmtok.formats.hf import splitter

TEXTS = ["Once upon a time there was a fox.", "", "naïve 東京 🦊\r\n  12345 don't", "\n\n x  \n", "a" * 300]


@pytest.fixture(scope="module")
def tokenizer():
    from slmtok.stories import story

    return slmtok.train(slmtok.Texts([story(index) for index in range(60)]), vocab_size=900, pattern="gpt2")


@pytest.fixture(scope="module")
def source(tokenizer, tmp_path_factory):
    return write_source(tokenizer, tmp_path_factory.mktemp("source"))


def test_ranks_begin_at_zero(tokenizer, source):
    ranks = read_ranks(source.ranks)
    assert sorted(ranks.values()) == list(range(900 - 16))
    assert all(tokenizer.vocabulary.token_bytes(rank + source.shift) == token for token, rank in ranks.items())


def test_a_source_can_be_sent_to_another_process(source):
    assert Source(**source.to_dict()) == source


def test_a_scheme_without_merges_is_refused(tmp_path):
    words = slmtok.train(slmtok.Texts(["a b a b a b"]), vocab_size=274, scheme="word", allow_smaller=True)
    with pytest.raises(OptionError, match="only the scheme bpe"):
        write_source(words, tmp_path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of peers, when they are imported
@pytest.mark.parametrize("name", [name for name, entry in ENGINES.items() if entry.encodes])
def test_every_engine_gives_the_ids_of_slmtok(name, tokenizer, source, tmp_path):
    """iree-tokenizer and tokie give other ids on some text; records show them as not ranked."""
    if name != "slmtok" and installed_version(name) is None:
        pytest.skip(f"{name} is not installed")
    found = engine(name)
    try:
        found.load(source)
    except UnsupportedError:
        tiktoken_cache()
        tokenizer = slmtok.from_tiktoken("cl100k_base")
        source = write_source(tokenizer, tmp_path, name="cl100k_base")
        found.load(source)
    right = [id - source.shift for text in TEXTS for id in tokenizer.encode_list(text)]
    ids = found.ids(found.encode(TEXTS, 1)).tolist()
    singly = [id for text in TEXTS for id in found.to_array(found.list_call()(text)).tolist()]
    arrays = [id for text in TEXTS for id in found.to_array(found.numpy_call()(text)).tolist()]
    assert ids == singly == arrays
    if name not in ("iree-tokenizer", "tokie"):
        assert ids == right


@pytest.mark.parametrize("pattern", ["slm", r"\p{L}++| ?[^\p{L}\s]++|\s++"])
@pytest.mark.parametrize("name", ["fastokens", "kitoken", "riptoken", "splintr-rs", "tiktoken", "tokenizers"])
def test_engines_that_accept_any_pattern(name, pattern, tmp_path):
    if installed_version(name) is None:
        pytest.skip(f"{name} is not installed")
    trained = slmtok.train(slmtok.Texts(TEXTS * 3), vocab_size=300, pattern=pattern, allow_smaller=True)
    found = engine(name)
    found.load(write_source(trained, tmp_path))
    assert found.ids(found.encode(TEXTS, 1)).tolist() == [id - 16 for text in TEXTS for id in trained.encode_list(text)]


@pytest.mark.parametrize("pattern", ["cl100k", "o200k", "slm", r"\w+|\W+"])
def test_the_json_gives_the_same_ids_with_any_pattern(pattern, tmp_path):
    peer("tokenizers")
    trained = slmtok.train(slmtok.Texts(TEXTS * 3), vocab_size=300, pattern=pattern, allow_smaller=True)
    found = engine("tokenizers")
    found.load(write_source(trained, tmp_path))
    assert found.ids(found.encode(TEXTS, 1)).tolist() == [id - 16 for text in TEXTS for id in trained.encode_list(text)]


def test_the_gpt2_pattern_is_a_byte_level_step():
    assert splitter("gpt2", "")["type"] == "ByteLevel"
    assert splitter(None, r"\d{1,3}+")["pretokenizers"][0]["pattern"] == {"Regex": r"\d{1,3}"}


def test_documents_round_trip_through_a_file(tmp_path):
    save_documents(tmp_path / "a", TEXTS)
    assert load_documents(tmp_path / "a") == TEXTS


def test_first_difference():
    lengths = {1: 2, 2: 3, 3: 1}
    right = np.array([1, 2, 3, 1], np.uint32)
    assert first_difference(right.copy(), right, lengths, ["ab", "cdefgh"]) is None
    found = first_difference(np.array([1, 2, 9, 9, 9], np.uint32), right, lengths, ["ab", "cdefgh"])
    assert found == {"id": 2, "document": 1, "byte": 3, "got": [9, 9, 9], "expected": [3, 1]}
    assert describe_difference(found) == "from byte 3 of document 1 on: 9 9 9 where 3 1 is right"
    shorter = first_difference(right[:2], right, lengths, ["ab", "cdefgh"])
    assert shorter == {"id": 2, "document": 1, "byte": 3, "got": [], "expected": [3, 1]}


def test_rows_of_batches_and_calls_agree(source):
    numbers, ids = measure.measure_batches(engine("slmtok"), source, TEXTS, 1)
    assert numbers["tokens"] == len(ids)
    assert numbers["bytes"] == sum(len(text.encode()) for text in TEXTS)
    assert numbers["sha256"] == measure.digest(ids)
    singly, same = measure.measure_calls(engine("slmtok"), source, TEXTS, "list")
    assert (singly["sha256"], singly["calls"]) == (numbers["sha256"], len(TEXTS))
    assert same.tolist() == ids.tolist()


@pytest.mark.parametrize("key", ["first", "third"])
def test_a_clock_that_stands_still_gives_no_speed(key):
    """The speed was divided by zero, which was called a fault of this package."""
    row = {"load": 0.0, "first": 0.5, "third": 0.5, "bytes": 9, "peak": 1, "form": "list"}
    assert summary("slmtok", [row])["spread"] == 0
    with pytest.raises(CorpusTooSmall, match="less time than a step of the clock"):
        summary("slmtok", [row | {key: 0.0}])


def test_memory_meter_measures_added_memory():
    # In its own process, as in a benchmark: some systems cannot reset the peak, which earlier tests have raised.
    script = (
        "import numpy as np; from slmtok.bench.measure import MemoryMeter; memory = MemoryMeter();"
        "held = np.ones(40_000_000, np.uint8); print(memory.added())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert 30_000_000 < int(done.stdout) < 60_000_000


def test_a_single_text_engine_has_one_thread(source):
    loop = SingleTextEngine(lambda source: lambda text: [len(text)])
    loop.load(source)
    assert loop.encode(["a", "bc"], 1) == [[1], [2]]
    with pytest.raises(UnsupportedError):
        loop.encode(["a"], 2)


def test_encoding_name(source):
    assert encoding_name({"gpt2": "its name"}, source) == "its name"
    with pytest.raises(UnsupportedError, match="gpt2"):
        encoding_name({"cl100k": "another"}, source)


def test_failures_and_timeouts_of_a_process():
    assert measure.run_command([sys.executable, "-c", "raise SystemExit('no luck')"], timeout=60) == "no luck"
    assert (
        measure.run_command([sys.executable, "-c", "raise SystemExit(7)"], timeout=60) == "status 7 without a message"
    )
    long = "import sys; sys.exit('Error: the cause\\n\\nLocation:\\n    somewhere')"
    assert measure.run_command([sys.executable, "-c", long], timeout=60) == "Error: the cause"
    slow = measure.run_command([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.5)
    assert slow == "too slow: more than 0.5 s"
    assert "failed" in measure.run_job("slmtok.bench.measure", {"no": "job"}, threads=1, timeout=60)

"""The parts behind `slmtok bench`: vocabularies as peers take them, texts in files, where ids part, processes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from shared_data import peer, tiktoken_cache

import slmtok
from slmtok.bench import process, texts, work
from slmtok.bench.base import OneByOne, UnsupportedError, only
from slmtok.bench.differ import first_difference, sentence
from slmtok.bench.hf_json import splitter
from slmtok.bench.registry import ENGINES, engine, installed
from slmtok.bench.source import Source, prepare, read_ranks
from slmtok.errors import InvalidOption

TEXTS = ["Once upon a time there was a fox.", "", "naïve 東京 🦊\r\n  12345 don't", "\n\n x  \n", "a" * 300]


@pytest.fixture(scope="module")
def tokenizer():
    from slmtok.stories import story

    return slmtok.train(slmtok.Texts([story(index) for index in range(60)]), vocab=900, pattern="gpt2")


@pytest.fixture(scope="module")
def source(tokenizer, tmp_path_factory):
    return prepare(tokenizer, tmp_path_factory.mktemp("source"))


def test_ranks_begin_at_zero(tokenizer, source):
    ranks = read_ranks(source.ranks)
    assert sorted(ranks.values()) == list(range(900 - 16))
    assert all(tokenizer.vocabulary.token_bytes(rank + source.shift) == token for token, rank in ranks.items())


def test_a_source_survives_the_way_to_another_process(source):
    assert Source(**source.to_dict()) == source


def test_a_vocabulary_without_merges_has_no_ranks(tmp_path):
    words = slmtok.train(slmtok.Texts(["a b a b a b"]), vocab=274, scheme="word", allow_smaller=True)
    with pytest.raises(InvalidOption, match="only the scheme bpe"):
        prepare(words, tmp_path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of peers, when they are imported
@pytest.mark.parametrize("name", [name for name, entry in ENGINES.items() if entry.encodes])
def test_every_engine_gives_the_ids_of_the_reference_or_is_known_not_to(name, tokenizer, source, tmp_path):
    """iree-tokenizer and tokie are wrong on some text: that is for the tables to say."""
    if name != "slmtok" and installed(name) is None:
        pytest.skip(f"{name} is not installed")
    found = engine(name)
    try:
        found.load(source)
    except UnsupportedError:
        tiktoken_cache()
        tokenizer = slmtok.from_tiktoken("cl100k_base")
        source = prepare(tokenizer, tmp_path, name="cl100k_base")
        found.load(source)
    right = [id - source.shift for text in TEXTS for id in tokenizer.encode_list(text)]
    ids = found.ids(found.encode(TEXTS, 1)).tolist()
    singly = [id for text in TEXTS for id in found.one(found.list_call()(text)).tolist()]
    arrays = [id for text in TEXTS for id in found.one(found.numpy_call()(text)).tolist()]
    assert ids == singly == arrays
    if name not in ("iree-tokenizer", "tokie"):
        assert ids == right


@pytest.mark.parametrize("pattern", ["slm", r"\p{L}++| ?[^\p{L}\s]++|\s++"])
@pytest.mark.parametrize("name", ["fastokens", "kitoken", "riptoken", "splintr-rs", "tiktoken", "tokenizers"])
def test_those_that_take_any_pattern_do(name, pattern, tmp_path):
    if installed(name) is None:
        pytest.skip(f"{name} is not installed")
    trained = slmtok.train(slmtok.Texts(TEXTS * 3), vocab=300, pattern=pattern, allow_smaller=True)
    found = engine(name)
    found.load(prepare(trained, tmp_path))
    assert found.ids(found.encode(TEXTS, 1)).tolist() == [id - 16 for text in TEXTS for id in trained.encode_list(text)]


@pytest.mark.parametrize("pattern", ["cl100k", "o200k", "slm", r"\w+|\W+"])
def test_the_json_gives_the_same_ids_with_any_pattern(pattern, tmp_path):
    peer("tokenizers")
    trained = slmtok.train(slmtok.Texts(TEXTS * 3), vocab=300, pattern=pattern, allow_smaller=True)
    found = engine("tokenizers")
    found.load(prepare(trained, tmp_path))
    assert found.ids(found.encode(TEXTS, 1)).tolist() == [id - 16 for text in TEXTS for id in trained.encode_list(text)]


def test_gpt2_is_written_as_everybody_writes_it():
    assert splitter("gpt2", "")["type"] == "ByteLevel"
    assert splitter(None, r"\d{1,3}+")["pretokenizers"][0]["pattern"] == {"Regex": r"\d{1,3}"}


def test_texts_come_back(tmp_path):
    texts.save(tmp_path / "a", TEXTS)
    assert texts.load(tmp_path / "a") == TEXTS


def test_where_ids_part():
    lengths = {1: 2, 2: 3, 3: 1}
    right = np.array([1, 2, 3, 1], np.uint32)
    assert first_difference(right.copy(), right, lengths, ["ab", "cdefgh"]) is None
    found = first_difference(np.array([1, 2, 9, 9, 9], np.uint32), right, lengths, ["ab", "cdefgh"])
    assert found == {"id": 2, "document": 1, "byte": 3, "got": [9, 9, 9], "expected": [3, 1]}
    assert sentence(found) == "from byte 3 of document 1 on: 9 9 9 where 3 1 is right"
    shorter = first_difference(right[:2], right, lengths, ["ab", "cdefgh"])
    assert shorter == {"id": 2, "document": 1, "byte": 3, "got": [], "expected": [3, 1]}


def test_a_measurement_knows_what_it_did(source):
    numbers, ids = work.encode(engine("slmtok"), source, TEXTS, 1)
    assert numbers["tokens"] == len(ids)
    assert numbers["bytes"] == sum(len(text.encode()) for text in TEXTS)
    assert numbers["sha256"] == work.digest(ids)
    singly, same = work.calls(engine("slmtok"), source, TEXTS, "list")
    assert (singly["sha256"], singly["calls"]) == (numbers["sha256"], len(TEXTS))
    assert same.tolist() == ids.tolist()


def test_memory_is_what_was_added():
    # In a process of its own, as the benchmark measures: a system that does not let a process forget its highest point
    # would count what other tests once held.
    script = (
        "import numpy as np; from slmtok.bench import work; memory = work.Memory();"
        "held = np.ones(40_000_000, np.uint8); print(memory.used())"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert 30_000_000 < int(told.stdout) < 60_000_000


def test_a_loop_has_one_thread():
    class Loop(OneByOne):
        """A loop."""

        def list_call(self):
            return lambda text: [len(text)]

    assert Loop().encode(["a", "bc"], 1) == [[1], [2]]
    with pytest.raises(UnsupportedError):
        Loop().encode(["a"], 2)


def test_only_what_a_peer_knows(source):
    assert only({"gpt2": "its name"}, source) == "its name"
    with pytest.raises(UnsupportedError, match="gpt2"):
        only({"cl100k": "another"}, source)


def test_a_process_that_fails_or_hangs_says_so():
    assert process.start([sys.executable, "-c", "raise SystemExit('no luck')"], limit=60) == "no luck"
    assert process.start([sys.executable, "-c", "raise SystemExit(7)"], limit=60) == "status 7 without a message"
    long = "import sys; sys.exit('Error: the cause\\n\\nLocation:\\n    somewhere')"
    assert process.start([sys.executable, "-c", long], limit=60) == "Error: the cause"
    slow = process.start([sys.executable, "-c", "import time; time.sleep(60)"], limit=0.5)
    assert slow == "too slow: more than 0.5 s"
    assert "failed" in process.run("slmtok.bench.worker", {"no": "job"}, threads=1, limit=60)

"""slice, extend, prune, name: ids stay or are mapped, and every token that stays can be reached."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import slmtok
from slmtok.errors import InvalidTokens, OptionError, RequiredTooMany, UnknownOption, VocabularyTooSmall, WrongType
from slmtok.training.surgery import compare_segmentation, extend, usage

KINDS = [("bpe", "rank"), ("bpe", "bytes-greatest"), ("bpe", "hf"), ("word", "rank"), ("char", "rank")]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: "-".join(kind))
def trained(request, texts):
    """(counts, how to train, a tokenizer of 600 ids or what there is)."""
    scheme, ties = request.param
    more = "".join(chr(0x4E00 + number) * (number % 7 + 2) + " " for number in range(500))
    counts = slmtok.count(slmtok.Texts([*texts, more]), scheme=scheme)

    def train(vocab):
        # The special spells a merge, so that tie rule "hf" reuses its id.
        return slmtok.train(
            counts,
            vocab_size=vocab,
            tie_break=ties,
            special={"user": " the"} if ties == "hf" else None,
            allow_smaller=True,
        )

    return counts, train, train(600)


def test_a_slice_is_a_fresh_run(trained):
    _, train, tok = trained
    for size in (272, 273, 300, 450):
        fresh, cut = train(size), slmtok.slice(tok, size)
        assert cut.fingerprint == fresh.fingerprint
        left, right = fresh.to_bytes().split(b'"provenance"'), cut.to_bytes().split(b'"provenance"')
        assert left[0] == right[0], "byte for byte but for provenance, and the digest that covers it"
        assert left[1].split(b'"golden"')[1][:-70] == right[1].split(b'"golden"')[1][:-70]
        assert cut.provenance["sliced_from"] == tok.fingerprint


def test_several_sizes_are_fresh_runs(counts, texts):
    from slmtok.training import train_sizes

    made = train_sizes(counts, [400, 700, 300])
    assert [one.tokenizer for one in made] == [slmtok.train(counts, vocab_size=size) for size in (400, 700, 300)]
    assert [one.tokenizer for one in train_sizes(counts, [400, 300])] == [
        slmtok.train(counts, vocab_size=400),
        slmtok.train(counts, vocab_size=300),
    ]
    assert made[0].report.last_count >= made[1].report.last_count
    made = train_sizes(counts, [300, 400], require=["zzz"])
    assert [one.tokenizer for one in made] == [
        slmtok.train(counts, vocab_size=size, require=["zzz"]) for size in (300, 400)
    ]


def test_extending_with_the_same_counts_is_training_on(trained):
    counts, train, tok = trained
    assert slmtok.extend(train(450), counts, vocab_size=tok.n_vocab).tokenizer.fingerprint == tok.fingerprint


def test_extending_keeps_every_id_and_slices_back(trained):
    _counts, _, tok = trained
    other = slmtok.count(slmtok.Texts(["ünïcödé häßlich ünïcödé " * 40, "zig zag zug " * 30]), scheme=tok.scheme)
    larger = slmtok.extend(tok, other, vocab_size=tok.n_vocab + 5, min_count=1).tokenizer
    assert larger.n_vocab == tok.n_vocab + 5
    assert [larger.token_bytes(id) for id in range(16, tok.n_vocab)] == [
        tok.token_bytes(id) for id in range(16, tok.n_vocab)
    ]
    assert slmtok.slice(larger, tok.n_vocab).fingerprint == tok.fingerprint
    assert larger.provenance["source_sha256"] == tok.sha256
    assert slmtok.Tokenizer.from_bytes(larger.to_bytes()) == larger


def test_how_much_is_cut_anew_is_what_encoding_says(counts, texts):
    tok = slmtok.train(counts, vocab_size=400)
    larger, _, told = extend(tok, counts, vocab_size=500)
    changed = total = 0
    for piece, number in counts.items():
        total += number
        changed += number * (tok.encode_list(piece) != larger.encode_list(piece))
    assert (told.pieces, told.changed) == (total, changed)
    assert told.ids_before == sum(int(tok.count_tokens([text])[0]) for text in texts)
    assert told.ids_after == sum(int(larger.count_tokens([text])[0]) for text in texts)
    assert compare_segmentation(tok, tok, counts).changed == 0


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"pattern": "gpt2"}, "leave it out"),
        ({"scheme": "word"}, "leave it out"),
        ({"tie_break": "hf"}, "leave it out"),
        ({"special": {"user": "<u>"}}, "tok = tok.with_special('user', '<u>') first, and leave it out"),
        (
            {"max_docs": 1, "separator": "x"},
            "slmtok.count(CORPUS, separator='x', max_docs=1) reads the text again; "
            "or leave it out, for the counts as they are",
        ),
    ],
)
def test_extending_refuses_what_has_no_effect(counts, options, fix):
    tok = slmtok.train(counts, vocab_size=400)
    with pytest.raises(OptionError, match="has no effect") as caught:
        slmtok.extend(tok, counts, vocab_size=410, **options)
    assert caught.value.fix == fix


def test_what_cannot_be_extended(counts, texts):
    tok = slmtok.train(counts, vocab_size=400)
    with pytest.raises(OptionError, match="is not larger than the tokenizer"):
        slmtok.extend(tok, counts, vocab_size=400)
    with pytest.raises(OptionError, match="another"):
        slmtok.extend(tok, slmtok.count(slmtok.Texts(texts), pattern="gpt2"), vocab_size=500)
    byte = slmtok.train(slmtok.Texts(texts), scheme="byte")
    with pytest.raises(OptionError):
        slmtok.extend(byte, slmtok.count(slmtok.Texts(texts), scheme="byte"), vocab_size=500)
    word = slmtok.train(slmtok.Texts(texts), vocab_size=300, scheme="word")
    with pytest.raises(RequiredTooMany, match=r"fix:   vocab_size=302 or more, or require fewer tokens$"):
        slmtok.extend(word, slmtok.count(slmtok.Texts(texts), scheme="word"), vocab_size=301, require=["abc", "def"])


def test_usage_is_what_encoding_counts(counts, texts):
    tok = slmtok.train(counts, vocab_size=500)
    plain = np.zeros(500, dtype=np.uint64)
    for text in texts:
        for id in tok.encode_list(text):
            plain[id] += 1
    assert usage(tok, counts).tolist() == plain.tolist()


def test_items_are_visited_in_blocks_and_not_held_together(counts):
    blocks = []
    counts.native.visit_items(blocks.append, 100)
    assert [item for block in blocks for item in block] == counts.items()
    assert {len(block) for block in blocks[:-1]} == {100} and 0 < len(blocks[-1]) <= 100
    with pytest.raises(ZeroDivisionError):
        counts.native.visit_items(lambda block: 1 // 0, 100)

    words = " ".join(f"{number:x}" for number in range(0x80000, 0x80000 + 200_000))
    many = slmtok.count(slmtok.Texts([words.translate(str.maketrans("0123456789", "ghijklmnop"))]))
    tok = slmtok.train(counts, vocab_size=500)
    tracemalloc.start()
    try:
        used = usage(tok, many)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # All items together take more than 30 MB.
    assert many.distinct > 190_000 and used.sum() > many.pieces and peak < 20_000_000


def test_pruned_what_a_text_does_not_use(trained, texts):
    _counts, _, tok = trained
    some = slmtok.count(slmtok.Texts(texts[:3]), scheme=tok.scheme)
    smaller, id_map, stay = slmtok.prune(tok, unused_on=some)
    assert smaller.n_vocab < tok.n_vocab
    _check_map(tok, smaller, id_map)
    for text in texts[:3]:
        assert smaller.encode_list(text) == [int(id_map[id]) for id in tok.encode_list(text)], "nothing used is gone"
    used = usage(tok, some)
    unused = {id for id in range(272, tok.n_vocab) if not used[id]}
    assert unused == {id for id in range(tok.n_vocab) if id_map[id] < 0} | set(stay)


def test_pruned_to_a_size_by_use(trained, texts):
    counts, _, tok = trained
    smaller, id_map, _ = slmtok.prune(tok, unused_on=counts, keep=320)
    assert smaller.n_vocab == 320
    _check_map(tok, smaller, id_map)
    assert slmtok.prune(tok, unused_on=counts, keep=272)[0].n_vocab == 272
    ids = sum(len(smaller.encode_list(text)) for text in texts)
    if tok.scheme != "bpe":
        assert ids <= sum(len(slmtok.slice(tok, 320).encode_list(text)) for text in texts)


def _check_map(tok, smaller, id_map):
    assert id_map.dtype == np.int64 and id_map.shape == (tok.n_vocab,)
    kept = np.flatnonzero(id_map >= 0)
    assert id_map[kept].tolist() == list(range(smaller.n_vocab)), "the order stays"
    assert id_map[:272].tolist() == list(range(272))
    for old in kept[16:].tolist():
        assert smaller.token_bytes(int(id_map[old])) == tok.token_bytes(old)
    assert set(smaller._encoder.unreachable()) <= {int(id_map[id]) for id in tok._encoder.unreachable()}
    if all(len(merge) == 2 for merge in tok.vocabulary.merges):
        assert smaller._encoder.unreachable() == []
    assert slmtok.Tokenizer.from_bytes(smaller.to_bytes()) == smaller


def test_pruned_ids_and_what_they_are_parts_of(counts):
    tok = slmtok.train(counts, vocab_size=400)
    whole = 399
    part = max(max(merge) for merge in tok.vocabulary.merges if max(merge) >= 272)
    smaller, id_map, stay = slmtok.prune(tok, ids=[whole])
    assert (smaller.n_vocab, id_map[whole], stay) == (399, -1, ())
    _, id_map, stay = slmtok.prune(tok, ids=[part])
    assert (stay, id_map[part]) == ((part,), part)
    everything = slmtok.prune(tok, ids=range(272, 400))
    assert (everything.tokenizer.n_vocab, everything.kept_as_parts) == (272, ())


def test_what_cannot_be_pruned(counts, texts):
    tok = slmtok.train(counts, vocab_size=400)
    other = slmtok.count(slmtok.Texts(texts), pattern="gpt2")
    refused = [
        *(
            (wrong, OptionError, "must say what to remove")
            for wrong in ({}, {"ids": [300], "unused_on": counts}, {"ids": [300], "keep": 300}, {"keep": 300})
        ),
        *(({"ids": [id]}, OptionError, "cannot be pruned") for id in (3, 271, 400, -1)),
        ({"ids": ["300"]}, WrongType, "takes integers"),
        ({"unused_on": counts, "keep": 100}, VocabularyTooSmall, "below"),
        ({"unused_on": counts, "keep": 500}, OptionError, "more than the 400 ids of the tokenizer"),
        ({"unused_on": other}, OptionError, "the counts have pattern 'gpt2', and the tokenizer has 'slm'"),
    ]
    for options, error, match in refused:
        with pytest.raises(error, match=match):
            slmtok.prune(tok, **options)


@pytest.mark.peer
def test_foreign_vocabularies_are_left_alone():
    pytest.importorskip("tiktoken")
    from shared_data import tiktoken_cache

    if tiktoken_cache() is None:
        pytest.skip("no rank files")
    foreign = slmtok.from_tiktoken("gpt2")
    with pytest.raises(InvalidTokens, match="foreign"):
        slmtok.prune(foreign, ids=[300])
    with pytest.raises(InvalidTokens, match="foreign"):
        slmtok.extend(foreign, slmtok.count(slmtok.Texts(["a"]), pattern="gpt2"), vocab_size=60000)


def test_a_number_of_new_tokens_is_added_to_the_present_ones(counts):
    tok = slmtok.train(counts, vocab_size=400)
    with pytest.raises(UnknownOption, match=r"fix:   vocab_size=410  # 400 ids and 10 more$"):
        slmtok.extend(tok, counts, new_tokens=10)


def test_tokens_to_prune_become_their_ids(counts):
    tok = slmtok.train(counts, vocab_size=400)
    word, other = tok.token_bytes(300).decode(), tok.token_bytes(301).decode()
    for ids in ([word, other, "no such"], iter([word, other, "no such"]), [300, 301, None]):
        with pytest.raises(WrongType, match=r"no token|no learned token of this vocabulary") as caught:
            slmtok.prune(tok, ids=ids)
        fix = caught.value.fix
        assert eval(f"dict({fix}\n)") == {"ids": [300, 301]}
        assert slmtok.prune(tok, ids=[300, 301])
    for ids in ([None], ["no such"]):
        with pytest.raises(WrongType, match="fix:   name ids from 272 to 399, without"):
            slmtok.prune(tok, ids=ids)

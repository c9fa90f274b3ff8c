"""The walk-through of the first merges, replayed from the engine's result."""

from __future__ import annotations

from slmtok import reference
from slmtok.training import Texts, train_with_report
from slmtok.training.report import TRACKED_PIECES, MergeStep, explain, explain_merges, render_steps

TEXT = "low lower lowest newer newest widest low low new new new"


def test_first_step_names_pair_count_and_example():
    counts = {b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3}
    merges = reference.train(counts, 3, tie_break="bytes-greatest", min_count=1)
    steps = explain_merges(counts.items(), merges, [9, 9, 7], steps=3)
    assert steps[0] == MergeStep(
        1, b"s", b"t", b"st", 256, 9, (b"n", b"e", b"w", b"e", b"s", b"t"), (b"n", b"e", b"w", b"e", b"st")
    )
    assert steps[1].after == (b"n", b"e", b"w", b"est")
    assert steps[2].before == (b"l", b"o", b"w")


def test_examples_are_what_the_reference_makes():
    """After the last step every example is what encoding with the merges so far gives."""
    counts = reference.count([TEXT.encode()], "gpt2")
    merges = reference.train(counts, 12, min_count=1)
    token = reference.token_table(merges)
    for k, step in enumerate(explain_merges(counts.items(), merges, [1] * 12, steps=12)):
        word = b"".join(step.before)
        assert [token[id] for id in reference.encode_piece(word, merges[:k])] == list(step.before)
        assert [token[id] for id in reference.encode_piece(word, merges[: k + 1])] == list(step.after)
        assert step.joined in step.after


def test_the_example_is_the_most_frequent_piece_with_the_pair():
    counts = {b"ab": 1, b"xab": 7, b"yab": 7, b"zz": 9}
    steps = explain_merges(counts.items(), [(97, 98)], [15], steps=1)
    assert steps[0].before == (b"x", b"a", b"b")


def test_the_given_example_is_used_where_the_merge_applies():
    counts = {b"ab": 9, b"cd": 5}
    steps = explain_merges(counts.items(), [(97, 98), (99, 100)], [9, 5], steps=2, example=b"xcdx")
    assert steps[0].before == (b"a", b"b")
    assert steps[1].after == (b"x", b"cd", b"x")


def test_a_run_of_equal_letters_merges_from_the_left():
    (step,) = explain_merges([(b"aaaaa", 2)], [(97, 97)], [8], steps=1)
    assert step.after == (b"aa", b"aa", b"a")


def test_rare_words_are_not_tracked():
    pieces = [(b"%06d" % n, 2) for n in range(TRACKED_PIECES)] + [(b"zq", 1)]
    (step,) = explain_merges(pieces, [(122, 113)], [1], steps=1)
    assert (step.before, step.after) == ((), ())
    assert "(in rare words only)" in render_steps([step])


def test_of_a_run_with_public_ids():
    trained = train_with_report(Texts([TEXT] * 3), vocab_size=280, min_count=1)
    steps = explain(trained, 20)
    assert [step.number for step in steps] == [1, 2, 3, 4, 5, 6, 7, 8]
    for step in steps:
        assert trained.tokenizer.token_bytes(step.id) == step.joined == step.left + step.right
    assert [step.count for step in steps] == list(trained.learned.counts)


def test_a_scheme_without_merges_has_no_steps():
    assert (
        explain(train_with_report(Texts([TEXT]), vocab_size=280, scheme="word", min_count=1, allow_smaller=True), 5)
        == []
    )


def test_render_is_one_line_a_step_and_printable():
    steps = explain_merges([(b" a\n", 3), ("é".encode(), 2)], [(32, 97), (0xC3, 0xA9)], [3, 2], steps=2)
    lines = render_steps(steps).splitlines()
    assert len(lines) == 3
    assert lines[1].endswith(r"␣|a|\n  →  ␣a|\n")
    assert r"\xc3 + \xa9 = é" in lines[2]

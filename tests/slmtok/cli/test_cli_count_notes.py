"""What `slmtok count` says of a corpus besides its numbers."""

from __future__ import annotations


def test_what_is_wrong_with_a_corpus_is_placed(slmtok, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"all good here")
    (tmp_path / "b.txt").write_bytes(b"text and \xff more")
    ran = slmtok("count", "a.txt", "b.txt", "-o", "x.counts")
    assert "note: 1 invalid byte in 1 of 2 documents were kept as bytes (first: b.txt, byte 9)\n" in ran.err


def test_lengths_say_that_they_are_of_whole_documents(slmtok, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"twelve bytes")
    ran = slmtok("count", "a.txt", "--doc-cap", "5", "-o", "x.counts")
    assert "12 to 12 bytes before --doc-cap" in ran.out and "left out 7 bytes of 1 document" in ran.err
    assert "before" not in slmtok("count", "a.txt", "-o", "y.counts").out

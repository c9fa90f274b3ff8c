"""What `slmtok count` says of a corpus besides its numbers."""

from __future__ import annotations


def test_what_is_wrong_with_a_corpus_is_placed(slmtok, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"all good here")
    (tmp_path / "b.txt").write_bytes(b"text and \xff more")
    ran = slmtok("count", "a.txt", "b.txt", "-o", "x.counts")
    assert "note: 1 invalid byte in 1 of 2 documents were kept as bytes (first: b.txt, byte 9)\n" in ran.err


def test_lengths_say_that_they_are_of_whole_documents(slmtok, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"twelve bytes")
    ran = slmtok("count", "a.txt", "--max-doc-chars", "5", "-o", "x.counts")
    assert "12 to 12 bytes before --max-doc-chars" in ran.out and "left out 7 bytes of 1 document" in ran.err
    assert "before" not in slmtok("count", "a.txt", "-o", "y.counts").out


def test_parts_that_overlap_are_seen_by_their_digests(slmtok, tmp_path):
    texts = [f"document {number} of many" for number in range(9)]
    for name, part in (("a", texts[:5]), ("b", texts[3:8]), ("c", texts[4:6]), ("d", texts[8:])):
        (tmp_path / f"{name}.lines").write_text("\n".join(part) + "\n")
        slmtok("count", f"{name}.lines", "--doc-digests", "-o", f"{name}.counts")
    ran = slmtok("merge", "a.counts", "b.counts", "d.counts", "-o", "x.counts")
    assert ran.code == 0 and "2 different documents in more than one of the 3 parts" in ran.err
    ran = slmtok("merge", "a.counts", "b.counts", "c.counts", "-o", "y.counts")
    assert ran.code == 2 and "all documents of c.counts are in b.counts too" in ran.err and "fix:" in ran.err
    assert slmtok("merge", "b.counts", "c.counts", "--allow-duplicate", "-o", "y.counts").code == 0
    slmtok("count", "d.lines", "-o", "c.counts", "--force")
    ran = slmtok("merge", "b.counts", "c.counts", "-o", "w.counts")
    assert ran.code == 0 and "c.counts.digests is of other counts than c.counts, and was not used" in ran.err
    (tmp_path / "c.counts.digests").unlink()
    assert "different" not in slmtok("merge", "b.counts", "c.counts", "-o", "z.counts").err


def test_a_domain_without_documents_is_named(slmtok, corpus):
    told = "note: domain 'code' has no document: --domain code=GLOB matches no file of the corpus\n"
    assert told in slmtok("count", corpus, "--domain", "code=*.py", "-o", "x.counts").err
    assert told in slmtok("train", corpus, "--domain", "code=*.py", "--vocab", "300", "-o", "tok.json").err
    assert told not in slmtok("count", corpus, "--domain", "code=*.txt", "-o", "y.counts").err

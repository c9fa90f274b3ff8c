"""Text in another encoding than is read: the note of `slm train` comes before the run."""

from __future__ import annotations

from pathlib import Path

from slm_folder import TRAIN

from slmtok.cli import main


def test_text_that_is_not_utf_8_is_noted_before_training(slm):
    Path("latin.txt").write_bytes("Größe über allem; ein schöner Maßstab.\n".encode("latin-1") * 400)
    Path("utf8.txt").write_text("Größe über allem; ein schöner Maßstab.\n" * 400)
    assert main(["train", "utf8.txt", "--vocab", "290", "-o", "tok.json", "--quiet"]) == 0
    options = ("-t", "tok.json", "-o", "run", "--set", "run.budget.steps=1", *TRAIN, "--force")
    note = "note: latin.txt is not UTF-8 (first: byte 2), and such bytes are kept; for text in Latin-1, for instance, "
    ran = slm("train", "latin.txt", *options)
    assert ran.err.count(note) == 1
    assert ran.err.index(note) < ran.err.index("step 1/1")
    again = ran.err.split(note)[1].splitlines()[0]
    assert again == "run it again with --encoding latin-1 --force"
    assert "UTF-8" not in slm("train", "latin.txt", *options, "--encoding", "latin-1").err
    note = "note: utf8.txt is UTF-8, and its characters beyond ASCII are misread as iso8859-1; "
    assert note in slm("train", "utf8.txt", *options, "--encoding", "latin-1").err

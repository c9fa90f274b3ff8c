"""Options in errors: the library's spelling becomes the command line's, and a user's own words stay what they are."""

from __future__ import annotations

import pytest

from slmtok.cli._respell import respelled
from slmtok.errors import SlmtokError

MENTIONS = [
    ("vocab=300", "--vocab 300"),
    ("vocab must be an integer", "--vocab must be an integer"),
    ("a larger max_token_bytes=", "a larger --max-token-bytes"),
    ("force=True to replace it", "--force to replace it"),
    ("pattern='slm', or pattern='(?:x y)' for the regex", "--pattern slm, or --pattern '(?:x y)' for the regex"),
    ("min_count=2, doc_cap=40 (cut 1 document)", "--min-count 2, --doc-cap 40 (cut 1 document)"),
    ("(see threads=4)", "(see --threads 4)"),
    ("forbid_regex='it\\'s'", "--forbid-regex 'it'\"'\"'s'"),
    ("no file 'format=x/vocab=3.txt'", "no file 'format=x/vocab=3.txt'"),
    ("in corpus/format=json/a.txt", "in corpus/format=json/a.txt"),
    ("numpy's own vocab=3, and 'force=True'", "numpy's own --vocab 3, and 'force=True'"),
    ("near …vocab=3 is…, or vocab=4", "near …vocab=3 is…, or --vocab 4"),
    ("slmtok train format=x --vocab 4096", "slmtok train format=x --vocab 4096"),
    ("n_vocab=5, explicit_vocab=6", "n_vocab=5, explicit_vocab=6"),
]


@pytest.mark.parametrize(("said", "respelt"), MENTIONS)
def test_each_part_is_respelt(said, respelt):
    error = respelled(SlmtokError(said, where=said, limit=said, fix=said, path=said))
    assert (error.fact, error.where, error.limit, error.fix) == (respelt,) * 4
    assert error.fields == {"path": said}


def test_parts_that_are_not_there_stay_so():
    error = respelled(SlmtokError("a"))
    assert (error.fact, error.where, error.limit, error.fix) == ("a", None, None, None)

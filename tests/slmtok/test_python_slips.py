"""Slips in calls of Python: the fix names what was meant, and works as printed."""

# Calls of wrong types are the subject.
# mypy: disable-error-code="arg-type,list-item"

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import slmtok
from slmtok import errors
from slmtok.formats.export import export
from slmtok.formats.importing import import_file

STORIES = ["the cat sat on the mat\n\tand then the dog ran"] * 20


def gen() -> Iterator[str]:
    yield from STORIES


def of_file(path: str) -> Iterator[str]:
    yield path


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(gen(), vocab_size=290, allow_smaller=True)


def test_a_function_that_was_not_called_is_called_by_the_fix() -> None:
    for call in (slmtok.count, slmtok.Texts):
        with pytest.raises(errors.WrongType, match=r"this is the function 'gen'[\s\S]*fix:   gen\(\)$"):
            call(gen)
    with pytest.raises(errors.WrongType, match=r"fix:   of_file\(\.\.\.\)$"):
        slmtok.count(of_file)
    with pytest.raises(errors.WrongType, match=r"fix:   function\(\)$"):
        slmtok.count(lambda: iter(STORIES))
    with pytest.raises(errors.WrongType, match=r"text 0 is function[\s\S]*fix:   slmtok\.Texts\(gen\(\)\)$"):
        slmtok.count(slmtok.Texts([gen]))
    assert slmtok.count(gen()).documents == slmtok.count(slmtok.Texts(gen())).documents == 20


def test_format_and_tokenizer_in_another_order(tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(
        errors.WrongType, match=r"limit: export\(tokenizer, to, folder\)\n  fix:   export\(tok, 'hf', 'x'"
    ):
        export("hf", tok, "x")


def test_a_tokenizer_of_slmtok_is_loaded_not_imported(tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    file = tmp_path / "tok.json"
    tok.save(file)
    with pytest.raises(errors.CorruptFile) as caught:
        import_file(str(file))
    assert caught.value.fix == f"slmtok.load({str(file)!r}), which is the tokenizer as it is"


def test_a_word_of_gpt2_files_is_named_as_this_tokenizer_writes_it(tok: slmtok.Tokenizer) -> None:
    number = tok.token_to_id("␣the")
    assert number is not None
    with pytest.warns(UserWarning, match=rf"'Ġthe' is no token; .*tok\.token_to_id\('␣the'\) is {number}$"):
        assert tok.token_to_id("Ġthe") is None
    assert tok.token_to_id("Ġqqq") is None and tok.token_to_id("qqq") is None


def test_weights_without_names_are_fixed_with_their_domains() -> None:
    with pytest.raises(errors.WrongType) as caught:
        slmtok.train(gen(), vocab_size=290, mix=[0.5, 0.5])
    assert caught.value.fix == "mix={'code': 0.5}, domains={'code': '*.py'}, for instance"


def test_an_iterator_that_was_read_is_made_anew(tmp_path: Path) -> None:
    rows = ([text, text] for text in STORIES)
    with pytest.raises(errors.WrongType, match=r"read up to text 0 by now: make it anew for the fix\n"):
        slmtok.count(rows)
    lists = [[text] for text in STORIES]
    with pytest.raises(errors.WrongType, match=r"not str or bytes\n  fix:   [^\n]*in row\)$"):
        slmtok.count(slmtok.Texts(lists))
    records = iter([{"text": text} for text in STORIES])
    with pytest.raises(errors.WrongType, match=r"text 0 by now: make it anew for the fix\n"):
        slmtok.count(records)

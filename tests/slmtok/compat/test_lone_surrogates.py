"""Half of a surrogate pair in any argument of an adapter: its ids, or an error of ours that names the character."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isgenerator
from pathlib import Path
from typing import Any

import pytest

import slmtok
from slmtok.compat import as_hf, as_tiktoken, cs336, minbpe, nanochat, rustbpe, sentencepiece, tokenizers
from slmtok.errors import ERRORS, InvalidText, OptionError, SlmtokError

BAD = "ab\ud800cd"
VALUES = (BAD, [BAD], ["x", BAD], ("x", BAD), [("x", BAD)], {BAD: 300}, {"bos": BAD}, {BAD: "x"})
TEXT = "hello world " * 30


def adapters(folder: Path) -> dict[str, Any]:
    tok = slmtok.train(slmtok.Texts([TEXT]), vocab_size=280, allow_smaller=True)
    tok.save(folder / "tok.json")
    corpus = folder / "corpus.txt"
    corpus.write_text(TEXT)
    rust, regex, byte_level = rustbpe.Tokenizer(), minbpe.RegexTokenizer(), tokenizers.ByteLevelBPETokenizer()
    rust.train_from_iterator([TEXT], 270)
    regex.train(TEXT, 270)
    byte_level.train([str(corpus)], vocab_size=280)
    vocab, merges = cs336.train_bpe(corpus, 270, ["<|endoftext|>"])
    return {
        "own": tok,
        "hf": as_hf(tok),
        "tiktoken": as_tiktoken(tok),
        "rustbpe": rust,
        "minbpe": regex,
        "tokenizers": byte_level,
        "cs336": cs336.Tokenizer(vocab, merges),
        "nanochat": nanochat.RustBPETokenizer.train_from_iterator([TEXT], 300),
        "sentencepiece": sentencepiece.SentencePieceProcessor(folder / "tok.json"),
    }


@pytest.mark.filterwarnings("ignore")
def test_no_argument_with_a_lone_surrogate_gives_a_bare_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bare = []
    for name, adapter in adapters(tmp_path).items():
        names = [each for each in dir(adapter) if not each.startswith(("_", "save_pretrained"))]
        for method in [each for each in names if callable(getattr(adapter, each))]:
            for value in VALUES:
                for args in ((value,), ("x", value), (value, "x"), ([5], value)):
                    try:
                        found = getattr(adapter, method)(*args)
                        list(found) if isgenerator(found) else None
                    except SlmtokError as error:
                        if isinstance(error, InvalidText) and not error.fix:
                            bare.append((name, method, args, "no fix"))
                    except UnicodeError as error:
                        bare.append((name, method, args, str(error)))
                    except Exception:
                        # Errors for other types are the matter of other tests.
                        continue
    assert not bare


def test_the_error_names_the_character_and_its_fix_gives_a_text(tmp_path: Path) -> None:
    made = adapters(tmp_path)
    regex = made["minbpe"]
    calls: list[Callable[[str], Any]] = [
        lambda text: made["sentencepiece"].piece_to_id(text),
        lambda text: made["sentencepiece"].decode([text]),
        lambda text: made["hf"].convert_tokens_to_string(["x", text]),
        lambda text: made["tiktoken"].encode_single_token(text),
        lambda text: tokenizers.ByteLevelBPETokenizer.from_str(text),
        lambda text: cs336.train_bpe(tmp_path / "corpus.txt", 300, [text]),
        lambda text: regex.register_special_tokens({text: 300}),
    ]
    for call in calls:
        with pytest.raises(InvalidText, match=r"has a lone surrogate U\+D800") as caught:
            call(BAD)
        assert caught.value.where == f"character 2 of {BAD!r}" and caught.value.fields["index"] == 2
        fixed = eval(str(caught.value.fix).partition(" joins")[0], {"text": BAD})
        assert fixed == "ab\ufffdcd"
        try:
            call(fixed)
        except tuple(ERRORS) as error:
            assert not isinstance(error, InvalidText)


def test_names_of_outputs_and_handlers_with_a_lone_surrogate(tmp_path: Path) -> None:
    made = adapters(tmp_path)
    for save in (made["hf"].save_pretrained, made["nanochat"].save):
        with pytest.raises(OptionError, match="lone surrogate"):
            save(str(tmp_path / BAD))
    with pytest.raises(OptionError, match="errors='ab"):
        made["own"].decode([20], errors=BAD)

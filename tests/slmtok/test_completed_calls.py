"""Wrong calls of a tokenizer and of the functions of slmtok: the fix is a whole call, and works."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pasting import pasted

import slmtok
from slmtok.cli import COMMANDS
from slmtok.compat import as_hf, as_tiktoken, cs336
from slmtok.compat.nanochat import RustBPETokenizer
from slmtok.compat.sentencepiece import SentencePieceProcessor
from slmtok.compat.tokenizers import ByteLevelBPETokenizer
from slmtok.errors import (
    InvalidSpecials,
    MissingInput,
    OptionError,
    OutputExists,
    SlmtokError,
    UnknownOption,
    UnknownSpecial,
    WrongFormat,
    WrongType,
)
from slmtok.foreign_options import CALLS_ELSEWHERE, OF_HF, OF_TIKTOKEN
from slmtok.formats.export import export
from slmtok.formats.importing import import_file
from slmtok.formats.verification import Effort
from slmtok.shards import open_shards

TEXT = "the cat sat on the mat, and the dog sat by the door.\n" * 20


@pytest.fixture
def tok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> slmtok.Tokenizer:
    """A tokenizer of a.txt in the working folder, saved as tok.json."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    made = slmtok.train("a.txt", vocab_size=280, pattern="gpt2")
    made.save("tok.json")
    return made


def test_a_number_spells_no_special(tok: slmtok.Tokenizer) -> None:
    fix, made = pasted(lambda: tok.with_special("pad", "0"), InvalidSpecials, tok=tok)
    assert (fix, made.specials.text("pad")) == ("tok.with_special('pad', '<|pad|>')", "<|pad|>")
    with pytest.raises(WrongType, match="the role 'pad' is spelled 3") as caught:
        slmtok.train("a.txt", vocab_size=280, special={"pad": 3, "eos": "<e>"})  # type: ignore[dict-item]
    assert caught.value.fix == "special={'pad': '<|pad|>', 'eos': '<e>'}"


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("slmtok.load()", "slmtok.load('tok.json')"),
        ("slmtok.train()", "slmtok.train('a.txt')"),
        ("tok.with_special({'user': '<|u|>'})", "tok.with_special('user', '<|u|>')"),
        ("tok.with_special('user', ['<|u|>'])", "tok.with_special('user', '<|u|>')"),
        ("tok.with_special('user', 5)", "tok.with_special('user', '<|user|>')"),
        ("tok.with_special('<|user|>')", "tok.with_special('user', '<|user|>')"),
        ("tok.with_special('bos')", "tok.with_special('bos', '<|bos|>')"),
        ("tok.with_special(text='[PAD]')", "tok.with_special('pad', '[PAD]')"),
        ("tok.encode('a', 'b')", "tok.encode_batch(['a', 'b'])"),
        ("tok.encode_batch('a', 'b')", "tok.encode_batch(['a', 'b'])"),
        ("tok.id_to_token('the')", "tok.token_to_id('the')"),
    ],
)
def test_calls_are_completed(tok: slmtok.Tokenizer, call: str, fix: str) -> None:
    with pytest.raises(WrongType) as caught:
        eval(call)
    assert caught.value.fix is not None
    proposed = caught.value.fix.partition(" for ")[0].partition(" gives ")[0].replace("CORPUS", "a.txt")
    assert proposed == fix
    eval(proposed.replace("'a.txt'", "'a.txt', vocab_size=280"))


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("slmtok.count('a.txt', 'new.counts')", "slmtok.count('a.txt').save('new.counts')"),
        ("slmtok.count('a.txt', output='new.counts', threads=1)",
         "slmtok.count('a.txt', threads=1).save('new.counts')"),
        ("slmtok.count('a.txt', out='new.counts')", "slmtok.count('a.txt').save('new.counts')"),
        ("slmtok.train('a.txt', 'new.json', vocab_size=280)",
         "slmtok.train('a.txt', vocab_size=280).save('new.json')"),
        ("import_file('hf', 'new.json')", "tok, receipt = import_file('hf'); tok.save('new.json')"),
        ("import_file('hf', output='new.json', verify=False)",
         "tok, receipt = import_file('hf', verify=False); tok.save('new.json')"),
        ("export(tok, 'tiktoken', out='new', verify=False)", "export(tok, 'tiktoken', 'new', verify=False)"),
        ("export(tok, 'tiktoken', output='new', verify=False)", "export(tok, 'tiktoken', 'new', verify=False)"),
        ("slmtok.merge_counts('a.counts', 'b.counts', 'new.counts')",
         "slmtok.merge_counts(['a.counts', 'b.counts'], 'new.counts')"),
        ("slmtok.merge_counts(['a.counts', 'b.counts'], output='new.counts')",
         "slmtok.merge_counts(['a.counts', 'b.counts'], 'new.counts')"),
        ("tok.encode_with_offsets(texts)", "[tok.encode_with_offsets(text) for text in texts]"),
        ("tok.encode_with_offsets(texts, unit='chars')",
         "[tok.encode_with_offsets(text, unit='chars') for text in texts]"),
        ("tok.pieces(texts)", "[tok.pieces(text) for text in texts]"),
    ],
)  # fmt: skip
def test_what_is_saved_is_saved_in_its_own_call(tok: slmtok.Tokenizer, call: str, fix: str) -> None:
    slmtok.count("a.txt").save("a.counts")
    slmtok.count(slmtok.Texts(["another text"])).save("b.counts")
    export(tok, "hf", "hf", verify=False)
    names = {"slmtok": slmtok, "tok": tok, "texts": ["a", "b"], "import_file": import_file, "export": export}
    with pytest.raises((WrongType, UnknownOption)) as caught:
        eval(call, names)
    assert caught.value.fix == fix
    exec(fix, names)
    assert "'new" not in fix or any(Path().glob("new*"))


def test_the_remedy_of_a_tokenizer_that_is_not_read_has_a_free_name(tok: slmtok.Tokenizer) -> None:
    Path("spm.model").write_bytes(b"\n\x0e\n\x05<unk>\x15")
    Path("spm.json").write_text("{}")
    with pytest.raises(WrongFormat) as caught:
        SentencePieceProcessor(model_file="spm.model")
    assert caught.value.fix is not None and caught.value.fix.endswith(".save('spm-2.json'), and name 'spm-2.json'")
    with pytest.raises(SlmtokError) as refused:
        import_file("spm.model")
    assert str(refused.value.fix).endswith(".save('tok-2.json')")


def test_a_fix_names_inputs_that_exist_or_placeholders_and_outputs_that_are_free(tok: slmtok.Tokenizer) -> None:
    Path("spm.model").write_bytes(b"\n\x0e\n\x05<unk>\x15")
    for name in ("data", "exported"):
        Path(name).mkdir()
    Path("all.counts").touch()
    Path("a.jsonl").write_text('{"text": "the cat"}\n')
    with pytest.raises(WrongFormat, match=r"slmtok.train\('CORPUS', .*\).save\('tok-2.json'\)  # CORPUS: "):
        slmtok.load("spm.model")
    with pytest.warns(UserWarning, match=r"slmtok.pack\('a.jsonl', tok, 'data-2'\) encodes the text of its records"):
        tok.encode_files("a.jsonl", "a.bin")
    with pytest.raises(SlmtokError, match=r"slmtok.merge_counts\(\['COUNTS'\], 'all-2.counts'\)  # COUNTS: "):
        slmtok.merge_counts()  # type: ignore[call-arg]
    with pytest.raises(SlmtokError, match=r"fix:   'a-2.bin'$"):
        tok.encode_files("a.txt", "a.npy")
    for name, call in (
        ("export", "export(tok, 'hf', 'exported-2')"),
        ("prepare", "slmtok.pack('CORPUS', tok, 'data-2')"),
        ("from_pretrained", "slmtok.load('tok.json'), or slmtok.load('gpt2') for a public encoding"),
        ("SentencePieceTrainer", "slmtok.train('CORPUS', vocab_size=8192, allow_smaller=True).save('tok-2.json')"),
    ):
        with pytest.raises(AttributeError, match=re.escape(call)):
            getattr(slmtok, name)
    Path("tok.json").unlink()
    with pytest.raises(AttributeError, match=r"slmtok.load\('TOK'\), or slmtok.load\('gpt2'\)"):
        getattr(slmtok, "from_pretrained")  # noqa: B009


def test_texts_in_place_of_the_files_of_a_trainer(tok: slmtok.Tokenizer) -> None:
    texts, trainer = ["low low low lower", "newest newest widest"], ByteLevelBPETokenizer()
    with pytest.raises(MissingInput) as caught:
        trainer.train(texts, vocab_size=275, min_frequency=1)
    call, _, more = str(caught.value.fix).partition(", if ")
    assert call == f"train_from_iterator({texts}, vocab_size=275, min_frequency=1)" and more
    eval(f"trainer.{call}", {"trainer": trainer})
    assert trainer.tokenizer.n_vocab == 275


def test_a_name_that_is_explained_gets_no_similar_one_from_python() -> None:
    """Python proposed `count_tokens` for `eot_token`, below the message that names the token."""
    code = "import slmtok; slmtok.train(slmtok.Texts(['a']), vocab_size=272).eot_token"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "as_tiktoken(tok).eot_token is that of the library\n" in ran.stderr and "Did you mean" not in ran.stderr


def test_hints_of_absent_names(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(AttributeError, match="has the role 'cls'") as caught:
        tok.cls_token_id  # noqa: B018
    assert tok.with_special("cls", "<|cls|>").specials["cls"] and "tok.with_special('cls', '<|cls|>')" in str(
        caught.value
    )
    with pytest.raises(AttributeError, match=r"tok.specials\['pad'\] has it"):
        tok.pad_id  # noqa: B018
    with pytest.raises(AttributeError, match=r"ragged\[0\] is a row, ragged.ids all ids"):
        tok.encode_batch(["a"]).rows  # noqa: B018


OF_PACKAGE = """
    encode decode count_tokens get_vocab save tokenize encode_ordinary piece_to_id from_pretrained get_encoding
    encoding_for_model AutoTokenizer GPT2TokenizerFast SentencePieceProcessor SentencePieceTrainer BasicTokenizer
    RegexTokenizer GPT4Tokenizer BpeTrainer ByteLevelBPETokenizer hf tiktoken train_bpe get_tokenizer
""".split()  # noqa: SIM905  (a list of words)


def test_names_of_commands_and_other_libraries_name_the_call(tok: slmtok.Tokenizer) -> None:
    """Of the package and of a tokenizer: the fix runs, or is a command that exists."""
    slmtok.pack("a.txt", tok, "packed", val="none")
    for name in ("a", "b"):
        slmtok.count(slmtok.Texts([name])).save(f"{name}.counts")
    Path("CORPUS").write_text(TEXT)
    known = {"slmtok": slmtok, "text": "low", "texts": ["low"], "other_tok": tok, "data": tok.to_bytes()}
    known |= {"tok": tok, "ids": [272], "path": "new.json", "paths": ["a.txt"], "out": "new.bin"}
    for name in (*OF_PACKAGE, *CALLS_ELSEWHERE):
        with pytest.raises(AttributeError, match=r"\n  fix:   ") as caught:
            getattr(slmtok, name)
        code = str(caught.value).partition("\n  fix:   ")[2].replace("'DATA'", "'packed'")
        if " in a shell" in code:
            assert code.split()[1] in COMMANDS or code.startswith("slm ")
        else:
            with suppress(OutputExists, MissingInput):
                exec(re.split(", or |, which | has | trains | is that ", code)[0].replace("8192", "280"), known)
        assert known["tok"] is tok
    for name in CALLS_ELSEWHERE.keys() - {"from_bytes"}:
        with pytest.raises(AttributeError) as caught:
            getattr(tok, name)
        assert "dir(tok)" not in str(caught.value)


def test_the_usual_spelling_of_a_role(tok: slmtok.Tokenizer) -> None:
    fix = "tok = tok.with_special('eos', '<|endoftext|>'); here eos is spelled '</s>'"
    with pytest.raises(UnknownSpecial) as caught:
        tok.encode("a<|endoftext|>", allow_special={"<|endoftext|>"})
    assert caught.value.fix == fix
    spelled = eval(fix.partition(";")[0].removeprefix("tok = "))
    assert spelled.encode_list("a<|endoftext|>", allow_special={"<|endoftext|>"})[-1] == tok.specials.eos


@pytest.mark.parametrize("spelling", ["[PAD]", "<|endoftext|>"])
def test_a_spelling_for_the_padding_of_a_view(tok: slmtok.Tokenizer, spelling: str) -> None:
    role = {"[PAD]": "pad"}.get(spelling, "eos")
    with pytest.raises(UnknownSpecial) as caught:
        as_hf(tok, pad=spelling)
    fix, _, remark = str(caught.value.fix).partition("; ")
    assert remark == f"here {role} is spelled {tok.specials.text(role)!r}"
    named = eval(fix.removeprefix("tok = "), {"tok": tok})
    assert as_hf(named, pad=spelling).pad_token_id == tok.specials[role]


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("as_hf(tok, pad=tok.specials.pad)", "pad='pad'"),
        ("as_hf(tok, pad=None)", "pad='pad'"),
        ("as_tiktoken(tok, spell={'<s>': '<|bos|>'})", "spell={'bos': '<|bos|>'}"),
        ("as_tiktoken(tok, spell={'<|endoftext|>': '<|e|>', 'pad': '[P]'})", "spell={'eos': '<|e|>', 'pad': '[P]'}"),
        ("as_tiktoken(tok, spell={'eos_token': '<|e|>'})", "spell={'eos': '<|e|>'}"),
    ],
)
def test_what_stands_for_a_role_in_a_view(tok: slmtok.Tokenizer, call: str, fix: str) -> None:
    names = {"tok": tok, "as_hf": as_hf, "as_tiktoken": as_tiktoken}
    with pytest.raises(UnknownSpecial) as caught:
        eval(call, names)
    assert caught.value.fix == fix
    eval(f"{call.partition(',')[0]}, {fix})", names)


@pytest.mark.parametrize(
    ("messages", "specials"),
    [
        ([{"role": "user", "content": "the cat"}], [6]),
        ([("user", "the cat")], [6]),
        ([["bos", "the cat"]], [1]),
        ([("user", "a cat"), {"role": "assistant", "content": "the cat"}], [6, 7]),
    ],
)
def test_messages_of_a_chat_in_segments(tok: slmtok.Tokenizer, messages: Any, specials: list[int]) -> None:
    with pytest.raises(WrongType) as caught:
        tok.encode_segments(messages)
    added, _, call = str(caught.value.fix).rpartition("; ")
    names = {"slmtok": slmtok, "tok": tok}
    exec(added, names)
    ids = eval(call, names).ids
    assert ids[ids < 16].tolist() == specials and ids[-1] == tok.encode("the cat")[-1]


def test_segments_that_are_no_messages(tok: slmtok.Tokenizer) -> None:
    wrong: Any = [("a cat", "a dog")]
    with pytest.raises(WrongType, match="segment 0 is tuple") as caught:
        tok.encode_segments(wrong)
    # A call with a special token would leave the text out.
    assert str(caught.value.fix).startswith("the text of the segment; ")


def test_the_smallest_type_of_ids(tok: slmtok.Tokenizer) -> None:
    for given, wanted in (("uint8", "uint16"), ("int8", "int16")):
        with pytest.raises(OptionError) as caught:
            tok.encode("the cat", dtype=given)
        assert caught.value.fix == f"dtype={wanted!r}, the smallest that does"
        assert tok.encode("the cat", dtype=wanted).dtype == wanted


def test_names_of_adapters(tok: slmtok.Tokenizer) -> None:
    for adapter, names in (("as_hf", OF_HF), ("as_tiktoken", OF_TIKTOKEN)):
        for name in names:
            with pytest.raises(AttributeError, match=rf"slmtok.compat.{adapter}\(tok\).{name} is that"):
                getattr(tok, name)
            assert hasattr(getattr(slmtok.compat, adapter)(tok), name)


def test_a_special_that_is_missing_is_assigned() -> None:
    tok = slmtok.train(slmtok.Texts(["a b c"]), vocab_size=272)
    with pytest.raises(UnknownSpecial) as caught:
        tok.encode("<|im_start|>hi", allow_special={"<|im_start|>"})
    names = {"tok": tok}
    exec(str(caught.value.fix), names)
    assert names["tok"].encode("<|im_start|>hi", allow_special={"<|im_start|>"})[0] < 16
    with pytest.raises(UnknownSpecial) as caught:
        tok.specials["user"]
    exec(str(caught.value.fix).removesuffix(" has it"), names := {"tok": tok})
    assert names["tok"].specials["user"] < 16


def test_counts_name_their_pattern() -> None:
    counts = slmtok.count(slmtok.Texts(["a b c"]), pattern="gpt2")
    with pytest.raises(OptionError, match="with pattern 'gpt2'"):
        slmtok.train(counts, vocab_size=272, pattern="cl100k")


@pytest.mark.parametrize("text", ["one line " * 500, TEXT])
def test_a_text_in_place_of_a_path_of_an_adapter(tok: slmtok.Tokenizer, text: str) -> None:
    Path("text.txt").write_text("kept")
    for call in (
        lambda: cs336.train_bpe(text, 260, []),
        lambda: RustBPETokenizer.from_directory(text),
        lambda: slmtok.load(text),
        lambda: import_file(text),
        lambda: open_shards(text),
    ):
        with pytest.raises(MissingInput, match="it looks like text") as caught:
            call()
        assert len(str(caught.value)) < 300
    exec(str(caught.value.fix), {"text": text})
    assert Path("text.txt").read_text() == "kept"
    assert len(cs336.train_bpe("text-2.txt", 260, [])[1]) == 4


def test_words_of_a_text_of_which_one_names_a_file(tok: slmtok.Tokenizer) -> None:
    Path("cat").touch()
    words = TEXT.split()
    for call in (lambda: slmtok.train(words, vocab_size=280), lambda: tok.encode_files(words, "ids.bin")):
        with pytest.raises(MissingInput, match="if they are texts") as caught:
            call()
        names = {"slmtok": slmtok, "tok": tok, "texts": words}
        assert eval(str(caught.value.fix).partition(",")[0], names)
    with pytest.raises(MissingInput, match="check the name; "):
        slmtok.train(["a.txt", "cat", "dogs"], vocab_size=280)


@pytest.mark.parametrize("path", ["a.txt", Path("a.txt")])
def test_one_path_is_the_text_of_a_comparison(tok: slmtok.Tokenizer, path: str | Path) -> None:
    pytest.importorskip("tokenizers")
    made = export(tok, "hf", "exported", verify_on=path, effort=Effort(100, 10, 9999))
    assert made["checks"][-1]["bytes"] == len(TEXT)
    read, _ = import_file("exported/tokenizer.json", verify_on=path, effort=Effort(100, 10, 9999))
    assert read.fingerprint == tok.fingerprint

"""Arguments of the wrong shape or in the wrong place: the fix is the call that is meant, and works as printed."""

from __future__ import annotations

import copy
import glob
import pickle
import re
from pathlib import Path
from typing import Any, cast

import pytest
from pasting import pasted

import slmtok
from slmtok.compat import as_hf, as_tiktoken
from slmtok.compat.cs336 import train_bpe
from slmtok.errors import MissingInput, OptionError, SlmtokError, WrongType

TEXT = "the cat sat on the mat, and the dog sat by the door.\n" * 20


@pytest.fixture
def tok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> slmtok.Tokenizer:
    """A tokenizer, and in the working folder the texts a.txt and b.txt, tok.json and all.counts."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    Path("b.txt").write_text(TEXT.replace("cat", "bird"))
    slmtok.count("a.txt").save("all.counts")
    made = slmtok.train("a.txt", vocab_size=280)
    made.save("tok.json")
    return made


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("slmtok.pack('a.txt', 'b.txt', tok, 'o')", "slmtok.pack(['a.txt', 'b.txt'], tok, 'o')"),
        ("slmtok.pack('a.txt', tok, 'b.txt', 'o')", "slmtok.pack(['a.txt', 'b.txt'], tok, 'o')"),
        ("slmtok.pack(tok, 'a.txt', 'b.txt', 'o')", "slmtok.pack(['a.txt', 'b.txt'], tok, 'o')"),
        ("slmtok.pack('a.txt', 'b.txt', 'o', tok)", "slmtok.pack(['a.txt', 'b.txt'], tok, 'o')"),
        ("slmtok.pack('a.txt', 'b.txt', tok, output='o')", "slmtok.pack(['a.txt', 'b.txt'], tok, 'o')"),
        ("slmtok.pack('a.txt', 'b.txt', out='o', tokenizer=tok)", "slmtok.pack(['a.txt', 'b.txt'], tok, 'o')"),
        ("slmtok.pack('a.txt', 'b.txt', tok, val='none')", "slmtok.pack(['a.txt', 'b.txt'], tok, 'data', val='none')"),
        ("slmtok.pack('a.txt', 'b.txt', 'tok.json', 'o')",
         "slmtok.pack(['a.txt', 'b.txt'], slmtok.load('tok.json'), 'o')"),
        ("slmtok.pack('a.txt', 'o', tokenizer=tok)", "slmtok.pack('a.txt', tok, 'o')"),
        ("slmtok.pack('a.txt', 'tok.json', 'packed', force=True)",
         "slmtok.pack('a.txt', slmtok.load('tok.json'), 'packed', force=True)"),
        ("slmtok.Texts(['a'], ['b'])", "slmtok.Texts(['a', 'b'])"),
        ("slmtok.Texts(('a',), b'b')", "slmtok.Texts(['a', b'b'])"),
        ("slmtok.Texts(a, b)", "slmtok.Texts([*a, *b])"),
        ("tok.id_to_token(1, 2)", "[tok.id_to_token(each) for each in (1, 2)]"),
        ("slmtok.extend(tok, 'a.txt', 'b.txt', vocab_size=282)",
         "slmtok.extend(tok, slmtok.count(['a.txt', 'b.txt']), vocab_size=282)"),
        ("slmtok.extend('a.txt', 'b.txt', tok, vocab_size=282)",
         "slmtok.extend(tok, slmtok.count(['a.txt', 'b.txt']), vocab_size=282)"),
        ("slmtok.extend(tok, 'a.txt', 'new.json', vocab_size=282)",
         "slmtok.extend(tok, slmtok.count('a.txt'), vocab_size=282).tokenizer.save('new.json')"),
        ("slmtok.prune(tok, 'a.txt', 'b.txt')", "slmtok.prune(tok, unused_on=['a.txt', 'b.txt'])"),
        ("slmtok.prune(tok, ['a.txt', 'b.txt'])", "slmtok.prune(tok, unused_on=['a.txt', 'b.txt'])"),
        ("slmtok.train('a.txt', 'b.txt', 280)", "slmtok.train(['a.txt', 'b.txt'], vocab_size=280)"),
        ("slmtok.train('a.txt', 'b.txt', 'new.json', vocab_size=280)",
         "slmtok.train(['a.txt', 'b.txt'], vocab_size=280).save('new.json')"),
        ("slmtok.train('a.txt', 280, 'new.json')", "slmtok.train('a.txt', vocab_size=280).save('new.json')"),
        ("slmtok.count('a.txt', 'b.txt', 'new.counts')", "slmtok.count(['a.txt', 'b.txt']).save('new.counts')"),
        ("slmtok.merge_counts('all.counts')", "slmtok.merge_counts(['all.counts'], 'all-2.counts')"),
        ("slmtok.merge_counts(['all.counts'])", "slmtok.merge_counts(['all.counts'], 'all-2.counts')"),
        ("slmtok.merge_counts('all.counts', 'all.counts', 'all.counts', allow_duplicate=True)",
         "slmtok.merge_counts(['all.counts', 'all.counts', 'all.counts'], 'all-2.counts', allow_duplicate=True)"),
        ("slmtok.merge_counts(slmtok.count('a.txt'))", "counts.save('all-2.counts')"),
        ("counts.save()", "counts.save('all-2.counts')"),
        ("tok.encode_files('a.txt', 'b.txt', 'o.bin')", "tok.encode_files(['a.txt', 'b.txt'], 'o.bin')"),
        ("tok.encode_files('a.txt', 'b.txt')", "tok.encode_files(['a.txt', 'b.txt'], 'ids.bin')"),
        ("counts + counts",
         "a.save('a.counts'), b.save('b.counts'), slmtok.PretokenCounts.load('a.counts', 'b.counts')"),
        ("slmtok.view([tok, tok])", "slmtok.view({str(number): tok for number, tok in enumerate(tokenizers)})"),
    ],
)  # fmt: skip
def test_paths_take_their_places(tok: slmtok.Tokenizer, call: str, fix: str) -> None:
    counts = slmtok.count("a.txt")
    slmtok.pack("a.txt", tok, "packed")
    names = {"tok": tok, "counts": counts, "a": counts, "b": slmtok.count("b.txt"), "tokenizers": [tok, tok]}
    if "Texts(a" in call:
        names |= {"a": {"x"}, "b": {"y"}}
    assert pasted(lambda: eval(call, {"slmtok": slmtok, **names}), WrongType, **names)[0] == fix


@pytest.mark.parametrize(
    ("compiled", "fix"),
    [
        (re.compile(r"[a-c]+|\W+"), r"[a-c]+|\W+"),
        (re.compile(r"[a-c]+|\W+", re.IGNORECASE), r"(?i)[a-c]+|\W+"),
        (re.compile(r"(?i)[a-c]+|\W+"), r"(?i)[a-c]+|\W+"),
        (re.compile(r"[a-c]+ | \W+", re.VERBOSE | re.DOTALL), r"(?sx)[a-c]+ | \W+"),
    ],
)
def test_a_compiled_pattern_keeps_its_flags(compiled: re.Pattern[str], fix: str) -> None:
    with pytest.raises(WrongType) as caught:
        slmtok.train(slmtok.Texts([TEXT]), vocab_size=280, pattern=compiled)
    assert caught.value.fix == f"pattern={fix!r}"
    assert slmtok.train(slmtok.Texts([TEXT]), vocab_size=280, pattern=fix).pattern.regex == fix


def test_a_flag_without_an_inline_form_is_named() -> None:
    for compiled in (re.compile(r"\w+", re.ASCII), re.compile(rb"\w+")):
        with pytest.raises(WrongType) as caught:
            slmtok.train(slmtok.Texts([TEXT]), vocab_size=280, pattern=compiled)
        assert caught.value.fix == (
            r"pattern='\\w+', with [A-Za-z0-9_] for \w and [0-9] for \d, which match more than ASCII"
        )


def test_a_glob_is_named_as_one(tok: slmtok.Tokenizer) -> None:
    found = pasted(lambda: tok.encode_files("*.txt", "ids.bin"), MissingInput, tok=tok, glob=glob)
    assert found[0] == "import glob; tok.encode_files(sorted(glob.glob('*.txt')), 'ids.bin')"
    assert len(found[1]) == 2
    Path("link.txt").symlink_to("/nowhere.txt")
    with pytest.raises(MissingInput, match=r"'link\.txt' is a link to '/nowhere\.txt', which does not exist"):
        tok.encode_files("*.txt", "ids.bin")
    with pytest.raises(MissingInput, match="no file") as caught:
        slmtok.load("*.json")
    where = "it is a glob that matches 1 file, and a file is named here"
    assert (caught.value.where, caught.value.fix) == (where, "name 'tok.json'")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_texts_that_are_names_of_files_warn(tok: slmtok.Tokenizer) -> None:
    with pytest.warns(UserWarning, match=r"'a.txt' is taken as a text.* slmtok.view\(tok, open\('a.txt'"):
        slmtok.view(tok, "a.txt")
    hf: Any = as_hf(tok)
    for call in (tok.encode_batch, tok.count_tokens, hf, lambda texts: hf.chunk(texts, 4)):
        with pytest.warns(UserWarning, match="'a.txt' is taken as a text") as caught:
            call(["a.txt", "b.txt"])
        assert caught[0].filename == __file__
        texts = eval(str(caught[0].message).partition("in it: ")[2])
        assert texts == [Path(name).read_text(encoding="utf-8") for name in ("a.txt", "b.txt")]
    n_ids, adapted = [len(tok.encode(TEXT))], as_tiktoken(tok).encode_batch
    for call in (tok.count_tokens, tok.encode_batch, adapted):
        fix, found = pasted(lambda call=call: call("a.txt"), WrongType, tok=tok, encode_batch=adapted)
        assert "[open('a.txt', encoding='utf-8').read()]" in fix
        assert (found.tolist() if call == tok.count_tokens else [len(row) for row in found]) == n_ids
    assert pasted(lambda: tok.count_tokens(cast(Any, Path("a.txt"))), WrongType, tok=tok)[1].tolist() == n_ids


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_path_in_place_of_the_text_of_a_page_is_opened(tok: slmtok.Tokenizer) -> None:
    fix, page = pasted(lambda: slmtok.view(tok, Path("a.txt")), WrongType, tok=tok)  # type: ignore[arg-type]
    assert fix == "slmtok.view(tok, open('a.txt', encoding='utf-8').read())"
    assert page == slmtok.view(tok, TEXT)


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("{'user': '<|user|>', 'tool': '[T]'}", ".with_special('user', '<|user|>').with_special('tool', '[T]')"),
        ("{'bos_token': '<b>', 'pad_token': '<p>'}", ".with_special('bos', '<b>').with_special('pad', '<p>')"),
        ("[('user', '<|user|>'), ('tool', '[T]')]", ".with_special('user', '<|user|>').with_special('tool', '[T]')"),
        ("['<|user|>', '<|tool|>']", ".with_special('user', '<|user|>').with_special('tool', '<|tool|>')"),
        ("{'user': {'text': '<u>', 'id': 4}, 'tool': 3}",
         ".with_special('user', '<u>').with_special('tool', '<|tool|>')"),
        ("{'additional_special_tokens': ['<u>', '<v>']}", ".with_special('u', '<u>').with_special('v', '<v>')"),
        ("'user', '<|user|>', 'tool', '[T]'", ".with_special('user', '<|user|>').with_special('tool', '[T]')"),
        ("user='<|user|>', tool='[T]'", ".with_special('user', '<|user|>').with_special('tool', '[T]')"),
        ("special={'user': '<u>', 'tool': '[T]'}", ".with_special('user', '<u>').with_special('tool', '[T]')"),
        ("{'user': '<u>'}, force=True", ".with_special('user', '<u>')"),
    ],
)  # fmt: skip
def test_each_special_has_a_call_of_its_own(tok: slmtok.Tokenizer, call: str, fix: str) -> None:
    assert pasted(lambda: eval(f"tok.with_special({call})", {"tok": tok}), WrongType, tok=tok)[0] == f"tok{fix}"


def test_pairs_of_specials_are_a_dict() -> None:
    with pytest.raises(WrongType) as caught:
        slmtok.train(slmtok.Texts([TEXT]), vocab_size=280, special=[("user", "<u>")])
    assert caught.value.fix == "special={'user': '<u>'}"


def test_a_stream_and_counts_say_why_they_are_not_pickled(tok: slmtok.Tokenizer) -> None:
    for take in (copy.copy, copy.deepcopy, pickle.dumps):
        assert pasted(lambda take=take: take(tok.stream()), WrongType, tok=tok)[0] == "tok.stream()"
    counts = slmtok.count("a.txt")
    assert copy.deepcopy(counts) is copy.copy(counts) is counts
    with pytest.raises(WrongType) as caught:
        pickle.dumps(counts)
    assert caught.value.fix is not None
    saving, _, loading = caught.value.fix.removesuffix(" where they are read").partition(", and ")
    eval(saving, {"counts": counts})
    assert eval(loading, {"slmtok": slmtok}).sha256 == counts.sha256


def test_words_are_joined_and_ids_of_words_found(tok: slmtok.Tokenizer) -> None:
    rows = [["the", "cat"], ["a", "dog"]]
    fix, made = pasted(lambda: tok.encode_batch(rows), WrongType, tok=tok, rows=rows)  # type: ignore[arg-type]
    assert fix == "tok.encode_batch([' '.join(words) for words in rows])"
    assert tok.decode_batch(made) == ["the cat", "a dog"]
    with pytest.raises(WrongType) as caught:
        tok.decode(["the", "cat"])
    assert caught.value.fix == (
        "tok.encode(text) gives ids of a text; [tok.token_to_id(word) for word in ids] those of words of tokens"
    )


@pytest.mark.parametrize("size", ["0:275", "[:275]", range(275), slice(0, 275), slice(275)])
def test_a_slice_from_zero_is_a_size(tok: slmtok.Tokenizer, size: object) -> None:
    with pytest.raises(WrongType) as caught:
        slmtok.slice(tok, size)  # type: ignore[arg-type]
    assert caught.value.fix == "n_vocab=275"


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda tok: slmtok.load(tok), "leave out slmtok.load"),
        (lambda tok: slmtok.load(cast("str", b"other.json")), "'other.json'"),
        (lambda tok: slmtok.load(Path("tok.json").read_text()), "slmtok.Tokenizer.from_bytes(text.encode())"),
        (lambda tok: tok.encode(12), "tok.encode('12') for its digits, or tok.decode([12]) for an id"),
        (lambda tok: tok.encode(1.5), "tok.encode('1.5')"),
        (lambda tok: as_hf(tok)(cast("str", Path("a.txt"))), "open('a.txt', encoding='utf-8').read()"),
        (lambda tok: tok.id_to_token([280, 281]), "[tok.id_to_token(id) for id in [280, 281]]"),
        (
            lambda tok: tok.encode_batch(["a"], return_tensors="pt"),
            "slmtok.compat.as_hf(tok)(['a'], return_tensors='pt', padding=True), "
            "which adds bos unless add_special_tokens=False",
        ),
    ],
)
def test_what_another_argument_means(tok: slmtok.Tokenizer, call: Any, fix: str) -> None:
    with pytest.raises(SlmtokError) as caught:
        call(tok)
    assert caught.value.fix == fix


def test_an_open_file_is_named(tok: slmtok.Tokenizer) -> None:
    with Path("tok.json").open() as file, pytest.raises(WrongType) as caught:
        slmtok.PretokenCounts.load(file)  # type: ignore[arg-type]
    assert caught.value.fix == "'tok.json'"


def test_attributes_of_other_tokenizers(tok: slmtok.Tokenizer) -> None:
    for name, hint in (("get_vocab_size", "tok.n_vocab has it"), ("add_tokens", "tok.with_special('user'")):
        with pytest.raises(AttributeError, match=re.escape(hint)):
            getattr(tok, name)
        assert not hasattr(tok, name) and name not in dir(tok) and name not in dir(slmtok.Tokenizer)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        tok.nonsense  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=re.escape("tok = tok.with_special('pad', '[PAD]')")):
        tok.pad_token = "[PAD]"


def test_counted_texts_are_repeated(tok: slmtok.Tokenizer) -> None:
    d: Any = {"the cat": 2, "a dog": 1}
    for given, fix in (
        (d, "slmtok.Texts(text for text, n in d.items() for _ in range(n))"),
        (iter(d.items()), "slmtok.Texts(text for text, n in rows for _ in range(n))"),
    ):
        with pytest.raises(WrongType) as caught:
            slmtok.count(given)
        assert caught.value.fix == fix
        assert slmtok.count(eval(fix, {"slmtok": slmtok, "d": d, "rows": list(d.items())})).documents == 3


def test_a_folder_is_not_named_as_a_file(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(OptionError, match=r"out 'train.bin' is the name of a file, and a folder is written") as caught:
        slmtok.pack("a.txt", tok, "train.bin")
    assert caught.value.fix == "out='train'"
    assert not Path("train.bin").exists()


def test_force_replaces_another_text(tok: slmtok.Tokenizer) -> None:
    assert len(tok.encode_files("a.txt", "b.txt", force=True)) == 1


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("slmtok.train(280, 'a.txt')", "slmtok.train('a.txt', vocab_size=280)"),
        ("slmtok.train('280', 'a.txt')", "slmtok.train('a.txt', vocab_size=280)"),
        ("slmtok.extend(tok, 282, counts)", "slmtok.extend(tok, counts, vocab_size=282)"),
        ("tok.encode_batch('the cat')", "tok.encode_batch(['the cat'])"),
        ("tok.encode_batch(b'the cat')", "tok.encode_batch([b'the cat'])"),
        ("tok.encode_batch(None)", "tok.encode_batch(['some text'])"),
        ("tok.count_tokens('the cat')", "tok.count_tokens(['the cat'])"),
        ("tok.encode_segments('the cat')", "tok.encode_segments(['the cat'])"),
        ("encode_batch('the cat')", "encode_batch(['the cat'])"),
    ],
)
def test_exchanged_arguments_and_one_text_for_many(tok: slmtok.Tokenizer, call: str, fix: str) -> None:
    names = {"counts": slmtok.count("a.txt"), "tok": tok, "encode_batch": as_tiktoken(tok).encode_batch}
    assert pasted(lambda: eval(call, {"slmtok": slmtok, **names}), WrongType, **names)[0] == fix


OPENED = "tok = slmtok.load('tok.json'); "


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("slmtok.extend(tok, 'all.counts', vocab_size=282)",
         "slmtok.extend(tok, slmtok.PretokenCounts.load('all.counts'), vocab_size=282)"),
        ("slmtok.extend(tok, 'a.txt', 282)", "slmtok.extend(tok, slmtok.count('a.txt'), vocab_size=282)"),
        ("slmtok.extend(tok, 'a.txt', vocab=282)", "slmtok.extend(tok, slmtok.count('a.txt'), vocab_size=282)"),
        ("slmtok.extend(tok, 'a.txt', n_merges=2)",
         "slmtok.extend(tok, slmtok.count('a.txt'), vocab_size=282)  # 280 ids and 2 more"),
        ("slmtok.extend(tok, 'a.txt', vocab_size=2)",
         "slmtok.extend(tok, slmtok.count('a.txt'), vocab_size=282)  # for 2 more"),
        ("slmtok.extend('tok.json', 'a.txt', vocab_size=282)",
         f"{OPENED}slmtok.extend(tok, slmtok.count('a.txt'), vocab_size=282)"),
        ("slmtok.extend('a.txt', 'tok.json', vocab_size=282)",
         f"{OPENED}slmtok.extend(tok, slmtok.count('a.txt'), vocab_size=282)"),
        ("slmtok.extend('tok.json', 'all.counts', 2)",
         f"{OPENED}slmtok.extend(tok, slmtok.PretokenCounts.load('all.counts'), vocab_size=282)  # for 2 more"),
    ],
)  # fmt: skip
def test_a_corpus_in_the_place_of_counts_is_mended_with_the_rest(tok: slmtok.Tokenizer, call: str, fix: str) -> None:
    names = {"slmtok": slmtok, "tok": tok}
    with pytest.raises(SlmtokError) as caught:
        eval(call, names)
    assert caught.value.fix == fix
    opening, _, extending = fix.rpartition("; ")
    exec(opening, names)
    assert eval(extending, names).tokenizer.n_vocab == 282


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "gpt-4", "tok.json", "exported"])
@pytest.mark.parametrize(
    "call", ["as_hf(NAME)", "as_tiktoken(NAME)", "slmtok.slice(NAME, 300)", "slmtok.extend(NAME, None)"]
)
def test_the_name_of_a_tokenizer_is_the_one_that_is_opened(tok: slmtok.Tokenizer, call: str, name: str) -> None:
    with pytest.raises(WrongType, match="tokenizer is str, not a Tokenizer") as caught:
        eval(call, {"slmtok": slmtok, "as_hf": as_hf, "as_tiktoken": as_tiktoken, "NAME": name})
    assert caught.value.fix == f"slmtok.load({name!r})"


def test_packing_opens_the_tokenizer_that_is_named(tok: slmtok.Tokenizer) -> None:
    given: Any = "gpt2"
    with pytest.raises(WrongType) as caught:
        slmtok.pack("a.txt", given, "o")
    assert caught.value.fix == "slmtok.load('gpt2')"


@pytest.mark.parametrize(
    "given", ["tok.encode('the cat')", "tok.encode_list('the cat')", "tok.encode_batch(['the cat'])", "[[1, 2], [3]]"]
)
def test_ids_in_the_place_of_a_corpus_are_not_packed(tok: slmtok.Tokenizer, given: str) -> None:
    with pytest.raises(WrongType, match=r"corpus holds ids \(\w+\), and pack encodes the text of files") as caught:
        slmtok.pack(eval(given), tok, "o", val="none")
    assert caught.value.fix == "slmtok.pack('CORPUS', tok, 'o', val='none')" and not Path("o").exists()


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("slmtok.count('a.txt', tok)", "tok.count_tokens([open('a.txt', encoding='utf-8').read()])"),
        ("slmtok.count('a.txt', tokenizer=tok)", "tok.count_tokens([open('a.txt', encoding='utf-8').read()])"),
        ("slmtok.count(['a.txt'], tok)",
         "tok.count_tokens([open(path, encoding='utf-8').read() for path in ['a.txt']])"),
        ("slmtok.count(slmtok.Texts(texts), tok)", "tok.count_tokens(texts)"),
        ("slmtok.count('a.txt', tokenizer='tok.json')",
         f"{OPENED}tok.count_tokens([open('a.txt', encoding='utf-8').read()])"),
    ],
)  # fmt: skip
def test_counting_with_a_tokenizer_is_counting_its_tokens(tok: slmtok.Tokenizer, call: str, fix: str) -> None:
    names = {"slmtok": slmtok, "tok": tok, "texts": [TEXT]}
    with pytest.raises(SlmtokError, match="takes no tokenizer: it counts pretokens") as caught:
        eval(call, names)
    assert caught.value.fix == fix
    assert eval(fix.removeprefix(OPENED), names).tolist() == [len(tok.encode_list(TEXT))]


def test_texts_in_the_place_of_paths_are_in_the_fix(tok: slmtok.Tokenizer) -> None:
    for call in (lambda: slmtok.prune(tok, unused_on=["the cat sat"]), lambda: slmtok.count(["the cat", "a dog"])):
        with pytest.raises(MissingInput) as caught:
            call()
        texts, _, otherwise = str(caught.value.fix).partition(", if they are texts; else ")
        assert otherwise == "check the names"
        assert slmtok.count(eval(texts, {"slmtok": slmtok})).documents > 0
    paths: list[Any] = [Path("the cat"), "a dog"]
    with pytest.raises(MissingInput) as caught:
        slmtok.count(paths)
    assert str(caught.value.fix).startswith("slmtok.Texts(texts), if")


def test_a_text_in_the_place_of_a_path_becomes_a_file(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(MissingInput, match="it looks like text, not like a path") as caught:
        train_bpe(TEXT, 270, ["<|endoftext|>"])
    exec(str(caught.value.fix).partition(", then")[0], {"text": TEXT})
    assert Path("text.txt").read_text() == TEXT


@pytest.mark.parametrize("scheme", ["bpe", "word"])
def test_a_slice_of_more_ids_is_learned(tok: slmtok.Tokenizer, scheme: str) -> None:
    small = slmtok.train("a.txt", vocab_size=275, scheme=scheme)
    with pytest.raises(SlmtokError) as caught:
        slmtok.slice(small, 277)
    call, _, remark = str(caught.value.fix).partition(" makes ")
    assert remark == "a larger one, of the text at the path CORPUS"
    assert eval(call.replace("CORPUS", "a.txt"), {"slmtok": slmtok, "tok": small}).n_vocab == 277
    with pytest.raises(SlmtokError) as caught:
        slmtok.slice(slmtok.train("a.txt", scheme="byte"), 277)
    assert caught.value.fix == "n_vocab=272, or less"


def test_a_corpus_and_an_output_that_are_exchanged(tok: slmtok.Tokenizer, tmp_path, monkeypatch) -> None:
    """The missing corpus was told to be checked, and the text stood in the place of the output."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text('{"text": "the cat sat on the mat"}\n' * 20)
    fix, packed = pasted(lambda: slmtok.pack("p43", tok, "docs.jsonl", val="none"), WrongType, tok=tok)
    assert fix == "slmtok.pack('docs.jsonl', tok, 'p43', val='none')" and packed.out == Path("p43")
    with pytest.raises(WrongType, match="exchanged"):
        slmtok.pack("p44", tok, "*.jsonl")
    for corpus in ("hf:a/b", "no*.txt", "notes.txt", "a text of words"):
        with pytest.raises(SlmtokError) as caught:
            slmtok.pack(corpus, tok, "docs.jsonl")
        assert "exchanged" not in str(caught.value)


def test_texts_in_the_place_of_paths_that_are_too_few_to_learn_from(tmp_path, monkeypatch) -> None:
    """The fix for a list of texts met CorpusTooSmall."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingInput) as caught:
        slmtok.train(["hi there", "b"], vocab_size=8000)
    texts, _, more = str(caught.value.fix).partition(" with allow_smaller=True, ")
    assert more == "as 9 bytes of text are too few for vocab_size=8000, if they are texts; else check the names"
    assert slmtok.train(eval(texts), vocab_size=8000, allow_smaller=True).n_vocab == 272
    for call in (
        lambda: slmtok.train(["hi there", "b"], vocab_size=8000, allow_smaller=True),
        lambda: slmtok.train(["hi there", "b"], vocab_size=272),
        lambda: slmtok.count(["hi there", "b"]),
    ):
        with pytest.raises(MissingInput) as caught:
            call()
        assert str(caught.value.fix).startswith("slmtok.Texts(['hi there', 'b']), if they are texts")

"""Spellings of special tokens on the command line: spaces around them, and words that text has for itself."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from printed_fixes import fix_of
from shared_data import tiktoken_cache

import slmtok as package

TEXT = "the cat is walking and singing in the morning. " * 20


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with a text and a tokenizer, with a token `ing`; it is the working folder."""
    (tmp_path / "a.txt").write_text(TEXT)
    tok = package.train("a.txt", vocab_size=295)
    assert tok.token_id(b"ing") is not None
    tok.save("tok.json")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["user = <|user|>"], ["user=<|user|>"]),
        (["user =<|user|>", "tool = <|tool|>"], ["user=<|user|>", "tool=<|tool|>"]),
        (["user = "], ["user=<|user|>"]),
        (["user", "=", "<|user|>"], ["user=<|user|>"]),
        (["user=", "<|user|>", "tool", "=<|tool|>"], ["user=<|user|>", "tool=<|tool|>"]),
        (["user="], ["user=<|user|>"]),
        (['{"user": "<|user|>", "tool": "<|a=b|>"}'], ["user=<|user|>", "tool=<|a=b|>"]),
        (['{"user": ""}'], ["user=<|user|>"]),
        (['["<|user|>", "<|tool|>"]'], ["user=<|user|>", "tool=<|tool|>"]),
        (
            ['{"eos_token": "<|eot|>", "additional_special_tokens": ["<|user|>", "<|tool|>"]}'],
            ["eos=<|eot|>", "user=<|user|>", "tool=<|tool|>"],
        ),
    ],
)
def test_pairs_in_another_form_lead_to_role_and_spelling(slmtok, here, given, meant) -> None:
    ran = slmtok("set-special", "tok.json", *given, "-o", "chat.json")
    line = shlex.join(["slmtok", "set-special", "tok.json", *meant, "-o", "chat.json"])
    assert (ran.code, ran.err.splitlines()[-1]) == (2, f"  fix:   {line}")
    assert not Path("chat.json").exists()
    ran = slmtok(*shlex.split(line)[1:])
    assert (ran.code, ran.err) == (0, "")
    assert package.load("chat.json").specials.text("user") == "<|user|>"


@pytest.mark.parametrize("line", ["extend tok.json a.txt --vocab 296", "slice tok.json --vocab 280"])
@pytest.mark.parametrize("special", ["--special user=<|user|>", "--special-tokens=<|user|>"])
def test_special_tokens_of_a_new_tokenizer_are_named_in_a_second_command(slmtok, here, line, special) -> None:
    Path("new.json").write_text("")
    ran = slmtok(*line.split(), *special.split(), "-o", "new.json", "--force")
    first, _, second = ran.err.rpartition("  fix:   ")[2].strip().partition(" && ")
    assert ran.code == 2 and first == f"slmtok {line} -o new.json --force"
    assert slmtok(*shlex.split(first)[1:]).code == slmtok(*shlex.split(second)[1:]).code == 0
    named = package.load("with-special.json")
    assert named.specials.text("user") == "<|user|>" and named.n_vocab == int(line[-3:])


def test_a_word_in_the_place_of_the_text_is_required_in_a_file(slmtok, here) -> None:
    ran = slmtok("extend", "tok.json", "dog", "--vocab", "296", "-o", "new.json")
    printed, _, line = ran.err.rpartition("  fix:   ")[2].strip().partition(" && ")
    assert printed == "check the name; for a token: printf '%s\\n' dog > tokens.txt"
    Path("tokens.txt").write_text("dog\n")
    assert line == "slmtok extend tok.json CORPUS --vocab 296 -o new.json --require tokens.txt"
    line = line.replace("CORPUS", "a.txt")
    ran = slmtok(*shlex.split(line)[1:])
    assert "fix:   --vocab 297 or more, or require fewer tokens" in ran.err
    assert slmtok(*shlex.split(line.replace("296", "297"))[1:]).code == 0
    assert package.load("new.json").token_id(b"dog") is not None
    (here / "text").mkdir()
    assert slmtok("extend", "tok.json", "txt", "--vocab", "296", "-o", "n.json").err.endswith(": there is 'text'\n")


def test_all_specials_of_a_text_that_has_those_of_another_tokenizer(slmtok, here) -> None:
    Path("b.txt").write_text("the <|endoftext|>")
    ran = slmtok("encode", "b.txt", "-t", "tok.json", "--allow-special", "all")
    fix = ran.err.partition("stays text; ")[2].removesuffix(" makes one that has it\n")
    assert slmtok(*shlex.split(fix)[1:]).code == 0
    ran = slmtok("encode", "b.txt", "-t", "with-special.json", "--allow-special", "all")
    assert ran.out.endswith(" 2\n") and ran.err == ""


@pytest.mark.parametrize("given", ["endoftext", "bos,endoftext", "<|endoftext|>"])
def test_the_name_of_a_spelling_of_another_tokenizer_leads_to_the_spelling(slmtok, here, given) -> None:
    Path("b.txt").write_text("the <|endoftext|>")
    ran = slmtok("encode", "b.txt", "-t", "tok.json", "--allow-special", given)
    line, _, options = ran.err.rpartition("  fix:   ")[2].strip().partition(" # and name ")
    assert ran.code == 2 and slmtok(*shlex.split(line)[1:]).code == 0
    allowed = [] if "--allow-special" in options else ["--allow-special", given]
    ran = slmtok("encode", "b.txt", *shlex.split(options), *allowed)
    assert ran.out.endswith(" 2\n") and ran.err == ""


def test_an_allowed_role_that_the_text_spells_as_another_tokenizer_does_is_noted(slmtok, here) -> None:
    Path("b.txt").write_text("the <|endoftext|>")
    ran = slmtok("encode", "b.txt", "-t", "tok.json", "--allow-special", "eos")
    assert ran.code == 0 and "'<|endoftext|>' of the text is no special token" in ran.err
    assert slmtok("encode", "b.txt", "-t", "tok.json", "--allow-special", "bos,</s>").err == ""
    Path("b.txt").write_text("the <|endoftext|></s>")
    assert slmtok("encode", "b.txt", "-t", "tok.json", "--allow-special", "eos").err == ""


def test_spaces_in_training(slmtok, here) -> None:
    ran = slmtok("train", "a.txt", "--vocab", "280", "--special", "user = <|user|>", "-o", "new.json")
    assert ran.err.endswith("  fix:   --special 'user=<|user|>'\n")


@pytest.mark.parametrize(
    ("pair", "note"),
    [
        ("user=ing", "user is spelled 'ing', which is an ordinary token: with --allow-special user it is "),
        ("user=person", "user is spelled 'person', which is an ordinary word: with --allow-special user it is "),
        ("user= <|user|>", "the spelling ' <|user|>' of user begins or ends with a space; '<|user|>' in a text is "),
        ("user=<|user|>", ""),
        ("user=[USER]", ""),
        ("user=USER:", ""),
    ],
)
def test_a_spelling_that_text_has_for_itself_is_noted(slmtok, here, pair, note) -> None:
    ran = slmtok("set-special", "tok.json", pair, "-o", "chat.json")
    assert (ran.code, ran.err.startswith(f"note: {note}")) == (0, bool(note))
    assert bool(ran.err) == bool(note)


def test_the_export_of_such_a_spelling_leads_to_one_with_another(slmtok, here) -> None:
    assert slmtok("set-special", "tok.json", "user=ing", "-o", "chat.json").code == 0
    ran = slmtok("export", "chat.json", "--output-format", "hf", "-o", "out", "--no-verify")
    assert (ran.code, Path("out").exists()) == (1, False)
    fix = ran.err.splitlines()[-1].removeprefix("  fix:   ")
    assert fix == (
        "slmtok set-special chat.json 'user=<|user|>' -o chat-2.json && "
        "slmtok export chat-2.json --output-format hf -o out --no-verify"
    )
    for line in fix.split(" && "):
        assert slmtok(*shlex.split(line)[1:]).code == 0
    assert Path("out/tokenizer.json").exists()


@pytest.mark.parametrize(
    ("given", "fact", "meant"),
    [
        ("</s>=<|endoftext|>", "'</s>' is the spelling of 'eos', not a role", "eos=<|endoftext|>"),
        ("<s>=<|bos|>", "'<s>' is the spelling of 'bos', not a role", "bos=<|bos|>"),
        ("<|endoftext|>=<|end|>", "'<|endoftext|>' is another spelling of 'eos', not a role", "eos=<|end|>"),
        ("EOS=<|endoftext|>", "'EOS' is 'eos' in capital letters, not a role", "eos=<|endoftext|>"),
        ("EOS_TOKEN=<|end|>", "'EOS_TOKEN' is 'eos' in Hugging Face libraries, not a role", "eos=<|end|>"),
        ("2=<|end|>", "'2' is the id of 'eos', not a role", "eos=<|end|>"),
    ],
)
def test_another_name_of_a_role_is_no_new_role(slmtok, here, given, fact, meant) -> None:
    for words in (["set-special", "tok.json", given], ["train", "a.txt", "--vocab", "280", "--special", given]):
        ran = slmtok(*words, "-o", "new.json")
        assert (ran.code, ran.err.splitlines()[0]) == (2, f"error: {fact}")
        assert not Path("new.json").exists()
        fix = ran.err.splitlines()[-1].removeprefix("  fix:   ")
        assert shlex.quote(meant) in fix
        line = shlex.split(fix)[1:] if fix.startswith("slmtok") else [*words[:-2], *shlex.split(fix), "-o", "new.json"]
        assert slmtok(*line).code == 0
        specials = package.load("new.json").specials
        assert (specials.text(meant.partition("=")[0]), len(specials)) == (meant.partition("=")[2], 6)
        Path("new.json").unlink()


def test_a_new_role_may_have_capital_letters(slmtok, here) -> None:
    assert slmtok("set-special", "tok.json", "USER=<|user|>", "-o", "new.json").code == 0
    assert package.load("new.json").specials.text("USER") == "<|user|>"


def test_another_name_of_a_role_in_python(here) -> None:
    tok = package.load("tok.json")
    for name in ("</s>", "EOS", "eos_token"):
        with pytest.raises(package.errors.InvalidSpecials, match="not a role") as caught:
            tok.with_special(name, "<|end|>")
        assert caught.value.fix == "tok.with_special('eos', '<|end|>')"


def test_a_spelling_has_the_escapes_of_a_separator(slmtok, here) -> None:
    assert slmtok("train", "a.txt", "--vocab", "290", "--special", r"user=\n", "-o", "new.json").code == 0
    assert package.load("new.json").specials.text("user") == "\n"
    ran = slmtok("set-special", "tok.json", r"user=\n", r"tool=a\\n", "-o", "chat.json")
    assert ran.code == 0 and package.load("chat.json").specials.text("tool") == r"a\n"
    for shown in (ran.out, slmtok("info", "chat.json").out):
        assert r"user \n  " in shown and r"tool a\\n" in shown


def test_the_remedy_for_a_spelling_keeps_its_escapes(slmtok, here) -> None:
    ran = slmtok("train", "a.txt", "--vocab", "290", "--special", r"user=\n", "--special", r"tool=\n", "-o", "new.json")
    _, *options = shlex.split("slmtok " + ran.err.rpartition("  fix:   ")[2].strip())
    assert ran.code == 2 and r"user=\n" in options
    assert slmtok("train", "a.txt", "--vocab", "290", *options, "-o", "new.json").code == 0
    assert package.load("new.json").specials.text("user") == "\n"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["</s>", "<|endoftext|>"], ["eos=<|endoftext|>"]),
        (["<s>", "<|begin|>", "</s>", "<|im_end|>"], ["bos=<|begin|>", "eos=<|im_end|>"]),
        (["<>", "<pad>"], ["pad=<pad>"]),
    ],
)
@pytest.mark.parametrize("tokenizer", [["tok.json"], ["-t", "tok.json"]])
def test_a_present_spelling_stands_for_its_role(slmtok, here, given, meant, tokenizer) -> None:
    ran = slmtok("set-special", *tokenizer, *given, "-o", "chat.json")
    line = shlex.join(["slmtok", "set-special", *tokenizer, *meant, "-o", "chat.json"])
    assert (ran.code, ran.err.splitlines()[-1]) == (2, f"  fix:   {line}")
    assert slmtok(*shlex.split(line)[1:]).code == 0
    specials = package.load("chat.json").specials
    assert [f"{role}={specials.text(role)}" for role in (pair.partition("=")[0] for pair in meant)] == meant
    assert [token.id for token in specials.tokens if token.role] == [*range(6)]


def test_specials_that_another_trainer_finds_in_text(slmtok, here: Path) -> None:
    """Text that spells a special of ours stays text: the fix says so, and how its id is made."""
    line = ["train", "a.txt", "--vocab", "275", "-o", "x.json", "--allow-smaller"]
    fix, remark = fix_of(slmtok(*line, "--user_defined_symbols", "<sep>,<cls>")).split("; ", 1)
    assert remark.startswith("text that spells them stays text, also in pack; encode gives the special ids with ")
    assert slmtok(*line, *shlex.split(fix.removeprefix("use "))).code == 0
    encode = ["encode", "-", "-t", "x.json", "--output-format", "tokens"]
    assert "<sep>" not in slmtok(*encode, stdin=b"a<sep>b<cls>").out.split()
    ran = slmtok(*encode, *shlex.split(remark.partition(" with ")[2]), stdin=b"a<sep>b<cls>")
    assert {"<sep>", "<cls>"} <= {*ran.out.split()}, ran
    # No text spells a control symbol of SentencePiece either.
    assert fix_of(slmtok(*line, "--control_symbols", "<sep>")) == "use --special 'sep=<sep>'"
    several = fix_of(slmtok(*line, "--model_type", "bpe", "--user_defined_symbols", "<sep>"))
    assert several.endswith(" # text that spells it stays text, also in pack; encode gives the special ids with "
                            "--allow-special sep")  # fmt: skip
    assert shlex.split(several, comments=True)[-2:] == ["--special", "sep=<sep>"]


def test_a_special_that_no_id_is_left_for_is_left_out(slmtok, here, monkeypatch) -> None:
    """The name of a public encoding was answered by a call in Python that raised."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    for name, fix in (
        ("<|im_start|>", "leave --allow-special '<|im_start|>' out"),
        ("<|endoftex|>", "--allow-special '<|endoftext|>'"),
    ):
        ran = slmtok("encode", "-", "-t", "tiktoken:cl100k_base", "--allow-special", name, stdin=b"hi")
        assert ran.code == 2 and fix_of(ran, 2) == fix
        assert "  limit: roles: eos, fim_prefix, fim_middle, fim_suffix, endofprompt" in ran.err

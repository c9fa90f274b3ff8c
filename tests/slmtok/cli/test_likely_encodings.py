"""The encodings that messages propose for text that is not UTF-8: those in which it forms words, and no others."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path

import pytest

import slmtok as library
from slmtok.corpus.likely_encodings import likely_encodings

TEXTS = {
    "Russian": "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.\n",
    "Ukrainian": "Реве та стогне Дніпр широкий, сердитий вітер завива, додолу верби гне високі.\n",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.\n",
    "Arabic": "كان يا ما كان في قديم الزمان ملك عادل يحكم مدينة كبيرة. وكان الناس يحبونه كثيرا.\n",
    "Japanese": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。中国的 Python 程序员说：这是一个很好的例子。\n",
    "Taiwanese": "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，這是一個很好的例子。\n",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n",
    "French": "L'été dernier, nous avons visité le château. Les élèves étaient ravis. Ça va, dit-elle à sa mère.\n",
    "German": "Übermäßig große Bäume fällen die Männer früh. Öl und Fuß.\n",
    "Spanish": "¿Qué pasó, señor? ¡Año nuevo! Canción\n",
    "Swedish": "Åke åt små älgar på ön. På ön är det kallt, sa Örjan.\n",
    "English": "“Don’t,” she said – it’s a café\n",
    "quotes": "“Don’t,” she said – “it’s 5 £.”\n",
    "Polish": "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi.\n",
    "Czech": "Příliš žluťoučký kůň. Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv.\n",
    "Hungarian": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Őrült, bűvös fű.\n",
    "Romanian": "Fiinţele umane se nasc libere şi egale în drepturi, şi în raţiune, conştiinţă, viaţă, ţară, aşa.\n",
    "Croatian": "Ljudska bića rađaju se. Još šest žena čeka. Čovječanstvo će živjeti, također životinje, što će ići.\n",
    "Turkish": "Bütün insanlar hür, haklar bakımından eşit doğarlar. Karşı kardeşlik, İstanbul, ağaç, kış.\n",
    "Lithuanian": "Visi žmonės gimsta laisvi ir lygūs savo orumu ir teisėmis. Ąžuolas, ėjo, šviesūs, jų sąžinė.\n",
    "Latvian": "Visi cilvēki piedzimst brīvi un vienlīdzīgi savā pašcieņā un tiesībās. Viņi ir apveltīti ar saprātu.\n",
    "Italian": "Perché è così? Più o meno, però lunedì la città ha caffè: e poi dignità e verità. Giù!\n",
    "Icelandic": "Hver maður er borinn frjáls og jafn öðrum að virðingu og réttindum. Þú, ýmis, ísland.\n",
    "Portuguese": "Dotados de razão e de consciência, devem agir em espírito de fraternidade. Ações, você, à, põe.\n",
}


@pytest.mark.parametrize(
    ("language", "encoding", "proposed"),
    [
        *(("Russian", name, (name,)) for name in ("cp1251", "koi8-r", "cp866", "iso8859-5")),
        ("Ukrainian", "cp1251", ("cp1251",)),
        ("Greek", "cp1253", ("cp1253",)),
        ("Arabic", "cp1256", ("cp1256",)),
        *(("Japanese", name, (name,)) for name in ("shift_jis", "euc_jp")),
        ("Chinese", "gb18030", ("gb18030",)),
        ("Taiwanese", "big5", ("big5",)),
        ("Korean", "euc_kr", ("euc_kr",)),
        *((language, "latin-1", ("latin-1",)) for language in ("French", "German", "Spanish", "Swedish")),
        *((language, "cp1252", ("cp1252",)) for language in ("English", "quotes")),
        *((language, "latin-1", ("latin-1",)) for language in ("Italian", "Icelandic", "Portuguese")),
        *((language, "cp1250", ("cp1250",)) for language in ("Polish", "Czech", "Hungarian", "Romanian", "Croatian")),
        *((language, "iso8859-2", ("iso8859-2",)) for language in ("Polish", "Czech", "Croatian")),
        ("Turkish", "cp1254", ("cp1254",)),
        *((language, "cp1257", ("cp1257",)) for language in ("Lithuanian", "Latvian")),
    ],
)
def test_text_is_likely_in_the_encodings_in_which_it_forms_words(language, encoding, proposed):
    for copies in (1, 100):
        text = ("Once upon a time. " * copies).encode() + (TEXTS[language] * copies).encode(encoding)
        assert likely_encodings(text) == proposed


def test_few_letters_leave_the_encodings_of_two_languages():
    """Dvořák or Dvoøák, of which neither is proposed alone; names of several languages of the West are no such case."""
    assert likely_encodings("The symphonies of Antonín Dvořák\n".encode("cp1250")) == ("cp1250", "latin-1")
    assert likely_encodings("naïve café, Ørsted, Århus, señor\n".encode("latin-1")) == ("latin-1",)
    western = "".join(TEXTS[each] for each in ("French", "German", "Spanish", "Swedish", "Italian", "Icelandic"))
    assert likely_encodings(western.encode("latin-1")) == ("latin-1",)


@pytest.mark.parametrize("letter", ["é", "à", "ç", "ñ", "ß"])
def test_one_letter_that_stands_alone_is_no_alphabet(letter):
    """By itself, a byte is a usual letter of Russian, Greek or Hebrew."""
    rows = "".join(f'{number};"The cat sat. {letter}"\r\n' for number in range(50))
    assert likely_encodings(rows.encode("cp1252")) == ("latin-1",)


def test_no_encoding_is_likely_for_binary_data():
    for data in (b"", b"\xff" * 100, bytes(range(1, 256)) * 4, bytes(n * n % 251 for n in range(1, 5000))):
        assert likely_encodings(data) == ()


@pytest.mark.parametrize(("language", "encoding"), [("Russian", "cp1251"), ("Japanese", "shift_jis")])
def test_a_note_proposes_an_encoding_in_which_the_text_forms_words(slmtok, language, encoding):
    """Latin-1 would make each letter an accented one, without another note."""
    Path("a.txt").write_bytes((TEXTS[language] * 30).encode(encoding))
    ran = slmtok("count", "a.txt", "-o", "a.counts")
    assert ran.err.endswith(f"; it reads as words in {encoding}: run it again with --encoding {encoding} --force\n")
    again = slmtok("count", "a.txt", "-o", "a.counts", *ran.err.splitlines()[-1].split("again with ")[1].split())
    assert again.code == 0
    assert "encoding" not in again.err
    ran = slmtok("train", "a.txt", "--encoding", "ascii", "--vocab", 300, "-o", "tok.json")
    assert f"fix:   the text is not UTF-8; it reads as words in {encoding}: --encoding {encoding}\n" in ran.err
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        library.count("a.txt")
    assert str(caught[0].message).endswith(f"; it reads as words in {encoding}: encoding={encoding!r}")


def test_records_in_another_encoding_are_read_in_the_one_that_is_proposed(slmtok):
    line = '{"text": "' + TEXTS["Russian"].strip() + '"}\n'
    Path("a.jsonl").write_bytes((line * 30).encode("cp1251"))
    ran = slmtok("count", "a.jsonl", "-o", "a.counts")
    assert "fix:   name the encoding; it reads as words in cp1251: --encoding cp1251; or --skip-malformed" in ran.err
    assert slmtok("count", "a.jsonl", "-o", "a.counts", "--encoding", "cp1251").code == 0


def test_latin_that_makes_accented_letters_of_another_script_is_noted(slmtok):
    Path("a.txt").write_bytes((TEXTS["Russian"] * 30).encode("cp1251"))
    ran = slmtok("count", "a.txt", "-o", "a.counts", "--encoding", "latin-1")
    note = "note: a.txt reads as words in cp1251, and as accented letters in iso8859-1; "
    assert f"{note}run it again with --encoding cp1251 --force\n" in ran.err


def test_a_file_that_ends_in_the_middle_of_a_character_is_not_in_another_encoding(slmtok):
    Path("cut.txt").write_bytes((TEXTS["French"] * 30).encode() + "é".encode()[:1])
    ran = slmtok("count", "cut.txt", "-o", "a.counts")
    assert ran.err.endswith("; cut.txt ends in the middle of a character: fetch it again\n")


def test_quotes_of_windows_are_control_characters_in_latin_1(slmtok):
    """Each of them would be learned as a character that no text has."""
    Path("a.txt").write_bytes((TEXTS["English"] * 40).encode("cp1252"))
    ran = slmtok("count", "a.txt", "--encoding", "latin-1", "-o", "x.counts")
    fact = "note: a.txt reads as words in cp1252, and near its beginning 200 bytes of it are control characters in "
    assert f"{fact}iso8859-1; run it again with --encoding cp1252 --force\n" in ran.err
    assert "control characters" not in slmtok("count", "a.txt", "--encoding", "cp1252", "-o", "x.counts", "--force").err
    Path("b.txt").write_bytes((TEXTS["French"] * 40).encode("latin-1"))
    assert "control characters" not in slmtok("count", "b.txt", "--encoding", "latin-1", "-o", "y.counts").err


@pytest.mark.parametrize(("language", "encoding"), [("Russian", "cp1251"), ("Arabic", "cp1256")])
def test_the_encoding_is_the_cause_of_a_small_corpus(slmtok, language, encoding):
    """The number of ids that its bytes support is no size of a tokenizer of the text."""
    Path("a.txt").write_bytes((TEXTS[language] * 40).encode(encoding))
    ran = slmtok("train", "a.txt", "--vocab", "900", "-o", "tok.json")
    cause = f"  limit: a.txt is not UTF-8, and its bytes were kept: it reads as words in {encoding}\n"
    fix = f"--encoding {encoding} --allow-smaller"
    assert f"{cause}  fix:   {fix}, as the text may support fewer ids\n" in ran.err
    assert slmtok("train", "a.txt", "--vocab", "900", "-o", "x.json", *fix.split()).code == 0
    Path("b.txt").write_text(TEXTS[language])
    ran = slmtok("train", "a.txt", "b.txt", "--vocab", "900", "-o", "tok.json")
    assert "--allow-smaller" in ran.err and "--encoding" not in ran.err


@pytest.mark.parametrize(("language", "encoding"), [("Russian", "cp1251"), ("French", "latin-1")])
@pytest.mark.parametrize("options", [(), ("--format", "text")])
def test_the_encoding_of_stdin_is_proposed_after_its_end(slmtok, language, encoding, options):
    """Its beginning is known when it was read."""
    text = (TEXTS[language] * 30).encode(encoding)
    ran = slmtok("count", "-", "-o", "a.counts", *options, stdin=text)
    assert "(first: stdin, byte " in ran.err
    assert ran.err.endswith(f" run it again with --encoding {encoding} --force\n")
    ran = slmtok("train", "-", "--vocab", "900", "-o", "tok.json", *options, stdin=text)
    assert "  limit: stdin is not UTF-8, and its bytes were kept: it reads as words in " in ran.err
    assert f"  fix:   --encoding {encoding} --allow-smaller, as the text may support fewer ids\n" in ran.err
    assert "--allow-smaller" in slmtok("train", "-", "--vocab", "900", "-o", "t", stdin=b"one two three").err


def test_the_encoding_of_records_of_stdin_is_proposed(slmtok):
    lines = ('{"text": "' + TEXTS["Russian"].strip() + '"}\n') * 30
    ran = slmtok("count", "-", "--format", "jsonl", "-o", "a.counts", stdin=lines.encode("cp1251"))
    assert "fix:   name the encoding; it reads as words in cp1251: --encoding cp1251; or --skip-malformed" in ran.err


@pytest.mark.parametrize("names", ["part.aa part.ab part.ac", "xaa xab xac", "a.txt.00 a.txt.01 a.txt.02"])
def test_pieces_that_cut_a_character_are_joined(slmtok, names: str):
    """`split -b` cuts at bytes: fetching a piece again changes nothing."""
    whole = ("Kissa istui matolla, ja tyttö äänsi: hyvää yötä.\n" * 30).encode()
    cut, last = whole.index("ö".encode()) + 1, len(whole) - 20
    for name, data in zip(names.split(), (whole[:cut], whole[cut:last], whole[last:]), strict=True):
        Path(name).write_bytes(data)
    note = next(each for each in slmtok("count", *names.split(), "-o", "a.counts").err.splitlines() if "cat " in each)
    first, second, _ = names.split()
    said, _, fix = note.rpartition(": cat ")
    assert said.endswith(f"; {second} continues the last character of {first}")
    command, _, named = f"cat {fix}".removesuffix(", with --force").partition(" # and name ")
    assert command.startswith(f"cat {names} > ")
    subprocess.run(command, shell=True, check=True)
    assert Path(named).read_bytes() == whole
    with pytest.warns(UserWarning, match=f"{second} continues the last character of {first}"):
        library.count(names.split())


def test_characters_that_were_lost_are_noted(slmtok):
    Path("a.txt").write_text("Kissa istui matolla, ja tytt\ufffd \ufffd\ufffdnsi.\n" * 9)
    note = "note: a.txt has U+FFFD 27 times near its beginning, for characters that were lost before; "
    assert note in slmtok("count", "a.txt", "-o", "a.counts").err
    Path("b.txt").write_text("The character \ufffd stands for others, and is rare. " * 2 + "It rained. " * 40)
    assert "U+FFFD" not in slmtok("count", "b.txt", "-o", "b.counts").err

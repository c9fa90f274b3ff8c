"""Wrong calls of slmmodel in Python: the error names what is meant, and its fix works as printed."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import slmmodel
import slmtok
from slmmodel import app
from slmmodel.data import Loader, ShardDataset, ShardLoader, make_packing, open_source
from slmmodel.errors import (
    InvalidConfig,
    InvalidInput,
    Mismatch,
    MissingInput,
    OptionError,
    SlmmodelError,
    UnknownName,
    UnsupportedFormat,
    WrongType,
)
from slmmodel.generation import generate as generate_rows
from slmmodel.sampling import SamplingOptions
from slmtok.compat import as_hf
from slmtok.shards import open_shards
from slmtok.shards.packing import Packed

torch = pytest.importorskip("torch")
SETTINGS = {"model": {"arch": "llama", "d_model": 16, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "seq_len": 32}}
TEXT = "\n".join(f"once upon a time fox {number} saw tree {number % 7}, and it was tall." for number in range(60))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text, packed data and a run."""
    made = tmp_path_factory.mktemp("calls")
    (made / "text.txt").write_text(TEXT)
    tok = slmtok.train(made / "text.txt", vocab_size=300)
    slmtok.pack(made / "text.txt", tok, made / "data", document="line", val="none")
    settings = {**SETTINGS, "run.batch_tokens": 128, "run.threads": 1}
    slmmodel.train(made / "data", output=made / "run", budget="steps=2", settings=settings, seed=1)
    return made


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def fix_of(call: Callable[[], Any], kind: type[Exception] = WrongType) -> str:
    with pytest.raises(kind) as caught:
        call()
    fix: str = caught.value.fix  # type: ignore[attr-defined]
    return fix


def test_a_loader_refuses_another_vocabulary_at_once(inside: Path) -> None:
    source: Any = open_source("data")
    tok: Any = slmtok.load("data")
    assert fix_of(lambda: Loader(source, tok, seq_len=8, batch_size=2)) == "Loader(source, source.vocab, ...)"
    assert "Loader(source, source.vocab, ...)" in fix_of(lambda: Loader(tok, tok, seq_len=8, batch_size=2))
    assert fix_of(lambda: Loader(source, source.vocab, seq_len="8", batch_size=2)) == "seq_len=8"  # type: ignore[arg-type]
    fix = fix_of(lambda: Loader(source, tok))  # type: ignore[call-arg]
    assert fix == "Loader(source, source.vocab, seq_len=256, batch_size=8)"
    assert eval(fix, {"Loader": Loader, "source": source}).batch_size == 8


def test_a_call_is_completed_with_what_was_given(inside: Path) -> None:
    fix = fix_of(lambda: ShardLoader("data", pack="bucket"))  # type: ignore[call-arg]
    assert fix == "ShardLoader('data', seq_len=256, batch_size=8, pack='bucket')"
    assert eval(fix, {"ShardLoader": ShardLoader}).batch_size == 8


@pytest.mark.parametrize("options", [{"batch_size": 4}, {"batch_size": 4, "seq_len": 16}])
def test_a_loader_takes_the_folder_of_data_that_are_open(options: dict[str, Any], inside: Path) -> None:
    wrong: Any = ShardDataset("data", seq_len=16)
    with pytest.raises(WrongType, match=r"^path is a ShardDataset, not the folder of packed data") as caught:
        ShardLoader(wrong, **options)
    assert caught.value.fix == f"ShardLoader({str(inside / 'data')!r}, seq_len=16, batch_size=4)"
    assert eval(caught.value.fix, {"ShardLoader": ShardLoader}).batch_size == 4


def test_a_loader_counts_no_epochs(inside: Path) -> None:
    fix = fix_of(lambda: ShardLoader("data", seq_len=16, batch_size=4, num_epochs=3), InvalidConfig)
    assert fix.startswith("leave it out: a ShardLoader has no end, and itertools.islice(loader, N) ")


def test_a_loader_without_an_end_has_no_length(inside: Path) -> None:
    loader = ShardLoader("data", seq_len=16, batch_size=4)
    fix = fix_of(lambda: len(loader))
    steps = list(eval(fix, {"loader": loader}))
    assert bool(loader) is True
    assert sum(int((batch["labels"] >= 0).sum()) for _, batch in steps) == pytest.approx(
        int(open_source("data").block(0).lengths().sum()), rel=0.1
    )


def test_a_slice_of_a_data_set_keeps_its_ends(inside: Path) -> None:
    dataset = ShardDataset("data", seq_len=16)
    taken = eval(fix_of(lambda: dataset[cast(int, slice(2, 4))]), {"torch": torch, "dataset": dataset})
    assert [taken[at]["input_ids"].tolist() for at in range(len(taken))] == [
        dataset[2]["input_ids"].tolist(),
        dataset[3]["input_ids"].tolist(),
    ]


def test_the_tokenizer_of_a_fix_exists(inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT)
    trained = "tokenizer=slmtok.train('text.txt', vocab_size=8192)"
    assert f"slmmodel.app.train('text.txt', {trained})" in fix_of(lambda: slmmodel.train("text.txt"), UnsupportedFormat)
    assert fix_of(lambda: app.train("text.txt"), MissingInput) == trained
    slmtok.load(inside / "data").save("tok.json")
    assert fix_of(lambda: app.train("text.txt"), MissingInput) == "tokenizer='tok.json'"


def test_ids_in_memory_are_saved(inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = slmtok.load("data")
    monkeypatch.chdir(tmp_path)
    for ids in (tok.encode(TEXT), tok.encode_list(TEXT), torch.tensor(tok.encode_list(TEXT))):
        saving, _, data = fix_of(lambda ids=ids: slmmodel.train(ids)).partition(", then ")  # type: ignore[misc]
        exec(saving, {"ids": ids, "tok": tok})
        assert data == "data='ids.npy'"
        assert np.array_equal(open_source("ids.npy").shards[0].ids, tok.encode(TEXT))


BATCH_OF_32 = "settings={'model': {'seq_len': 32}, 'run.batch_tokens': 256}"


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"callbacks": [print]}, "report=print, which is called as print(stage, done, total, text)"),
        ({"callback": lambda: 0}, "report=print, or another function of (stage, done, total, text)"),
        ({"epochs": "1,5"}, "budget='epochs=N', with one number for N"),
        ({"epochs": "1.5"}, "budget='epochs=1.5'"),
        ({"max_steps": None}, "budget='steps=N', with one number for N"),
        ({"batch_size": 8, "preset": "cpu-demo"}, "settings={'run.batch_tokens': 2048}"),
        ({"batch_size": "8"}, "settings={'model.seq_len': 256, 'run.batch_tokens': 2048}"),
        ({"batch_size": 8, "settings": {"model": {"seq_len": 32}}}, BATCH_OF_32),
        (
            {"batch_size": 8, "block_size": 64, "learning_rate": 0.1},
            "settings={'run.batch_tokens': 512, 'model.seq_len': 64, 'optim.lr': 0.1}",
        ),
        ({"gradient_clip_val": 0.5}, "settings={'optim.grad_clip': 0.5}"),
        ({"colour": 1}, "help(slmmodel.train)"),
        (
            {"validation_split": 0.1},
            "leave it out: packed data have a split val; slmtok.pack(corpus, tok, folder, val='tail:10%') makes it",
        ),
        ({"batch_size": "auto"}, "settings={'run.batch_tokens': N}, sequences times ids of a sequence"),
    ],
)
def test_options_of_other_trainers(options: dict[str, Any], fix: str) -> None:
    assert fix_of(lambda: slmmodel.train("data", **options)) == fix


def test_a_path_is_scored_as_a_file(inside: Path) -> None:
    run, story = slmmodel.load("run"), app.load("run")
    fix = fix_of(lambda: run.score(Path("text.txt")))  # type: ignore[arg-type]
    assert fix == "slmmodel.app.load('run').evaluate('text.txt').bpb_total"
    assert eval(fix, {"slmmodel": slmmodel}) > 0
    assert fix_of(lambda: story.score(Path("text.txt"))) == fix  # type: ignore[arg-type]
    assert fix_of(lambda: story.generate(Path("text.txt"), max_new_tokens=3)) == (  # type: ignore[arg-type]
        "slmmodel.app.load('run').generate(open('text.txt', encoding='utf-8').read(), max_new_tokens=3)"
    )
    with pytest.warns(UserWarning, match="'text.txt' is taken as a text") as caught:
        story.score("text.txt")
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ('slmmodel.train(train="data")', "data='data'"),
        ('slmmodel.train("data", "data")', "give options by name: settings={'data.val': 'data'}"),
        ('slmmodel.train("data", "new")', "give options by name: output='new'"),
        ('slmmodel.train(ShardLoader("data", seq_len=8, batch_size=2))', "data='data'"),
        ('slmmodel.train(slmtok.load("data"))', "data=PATH, the name of a file or folder"),
        ('app.train("data", slmtok.load("data"), output="new")', "give options by name: tokenizer=tok"),
        ('slmmodel.load("run", "cpu")', "give options by name: device='cpu'"),
        ('slmmodel.load("run").generate([1, 2], 5)', "give options by name: max_new_tokens=5"),
        ('slmmodel.load(slmmodel.load("run"))', "path='run'"),
        ('ShardLoader("data", seq_len=8, batch_size=2, shuffle="no")', "shuffle=False"),
        ('ShardLoader("data", seq_len=8, batch_size=2)[0]', "next(iter(loader)), or a ShardDataset, which has"),
    ],
)
def test_what_an_argument_means(inside: Path, call: str, fix: str) -> None:
    before = sorted(inside.iterdir())
    names = {"slmmodel": slmmodel, "slmtok": slmtok, "app": app, "ShardLoader": ShardLoader}
    assert fix_of(lambda: eval(call, names)) == fix
    assert sorted(inside.iterdir()) == before


def test_a_tokenizer_is_no_text(inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    slmtok.load(inside / "data").save("tok.json")
    fix = fix_of(lambda: slmmodel.train("tok.json"), UnsupportedFormat)
    assert fix == "name packed data: slmtok pack TEXT -t tok.json -o DIR"


def test_data_that_are_open_are_scored_by_their_split(inside: Path) -> None:
    for data in (opened := ShardDataset("data", seq_len=8), torch.utils.data.DataLoader(opened)):
        for run in (slmmodel.load("run"), app.load("run")):
            call = partial(run.evaluate, data)
            assert fix_of(call) == "data='data', split='train'"
            assert fix_of(partial(call, split="val")) == "data='data'"


def test_attributes_of_other_libraries(inside: Path) -> None:
    scores: Any = slmmodel.load("run").evaluate("data")
    for name in ("bpb", "loss", "perplexity"):
        with pytest.raises(AttributeError, match=r"scores\.(bpb_total|nats)"):
            getattr(scores, name)
    with pytest.raises(AttributeError, match=r"slmmodel.load\('run'\), or slmmodel.app.load"):
        slmmodel.from_pretrained  # noqa: B018
    for kind in (slmmodel.Run, app.TextRun):
        with pytest.raises(
            AttributeError,
            match=r"has no attribute 'from_pretrained'\n  fix:   import slmmodel; slmmodel.load\('run'\)",
        ):
            cast("Any", kind).from_pretrained("run")
        assert not hasattr(kind, "_repr_svg_")
    with pytest.raises(ImportError, match=r"has no 'AutoModel'\n  fix:   import slmmodel; slmmodel.load\('run'"):
        exec("from slmmodel.app import AutoModel")
    with pytest.raises(AttributeError, match=r"fix:   map\(function, dataset\), of Python"):
        cast("Any", ShardDataset("data", seq_len=8)).map(len)


def test_ids_are_no_text(inside: Path) -> None:
    tok = slmtok.load("data")
    ids: Any = tok.encode(TEXT)
    run = app.load("run")
    for call in (lambda: app.train(ids, output="of-ids"), lambda: run.evaluate(ids), lambda: app.train(ids.tolist())):
        fix = fix_of(cast("Callable[[], Any]", call))
        assert fix.startswith("import json, numpy") and fix.endswith("data='ids.npy'")
    assert not Path("of-ids").exists()


def test_an_open_file_is_named(inside: Path) -> None:
    import io

    run: Any = app.load("run")
    with Path("text.txt").open() as file:
        assert fix_of(lambda: run.evaluate(file)) == "'text.txt', its name"
        opened = "slmmodel.app.load('run')"
        assert fix_of(lambda: run.score(file)) == f"{opened}.evaluate('text.txt').bpb_total"
        assert fix_of(lambda: run.generate(file)) == f"{opened}.generate(open('text.txt', encoding='utf-8').read())"
    assert fix_of(lambda: run.evaluate(io.StringIO("a"))) == "slmtok.Texts([file.read()])"


def test_attributes_and_names_of_other_libraries(inside: Path) -> None:
    for run, argument in ((slmmodel.load("run"), [1, 30, 31]), (app.load("run"), "the fox")):
        with pytest.raises(AttributeError) as caught:
            run.perplexity  # type: ignore[union-attr]  # noqa: B018
        name = "ids" if isinstance(argument, list) else "text"
        call = str(caught.value).partition("fix:   import slmmodel; ")[2].partition("), ")[0] + ")"
        assert np.all(np.isfinite(eval(call, {"slmmodel": slmmodel, name: argument})))
    with pytest.raises(
        ImportError, match=r"slmmodel has no 'AutoModel.*\n  fix:   import slmmodel; slmmodel\.load\('run'"
    ):
        exec("from slmmodel import AutoModelForCausalLM")
    assert not hasattr(slmmodel, "AutoModelForCausalLM")


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("DataLoader", "slmmodel.data.ShardLoader('DATA', seq_len=256, batch_size=8)"),
        ("TokenDataset", "slmmodel.data.ShardDataset('DATA', seq_len=256)"),
        ("load_dataset", "slmmodel.data.open_data('DATA')"),
    ],
)
def test_names_of_other_libraries_for_data(inside: Path, name: str, call: str) -> None:
    for use in (f"slmmodel.data.{name}", f"from slmmodel.data import {name}"):
        with pytest.raises((AttributeError, ImportError), match=f"slmmodel.data has no '{name}'") as caught:
            exec(use, {"slmmodel": slmmodel})
        assert str(caught.value).partition("fix:   ")[2].partition("), ")[0] + ")" == f"import slmmodel; {call}"
    assert not hasattr(slmmodel.data, name)
    eval(call.replace("256", "8").replace("DATA", "data"), {"slmmodel": slmmodel})


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ('app.load("run").generate([1, 30], max_new_tokens="3")', "generate([1, 30], max_new_tokens=3)"),
        ('app.load("run").generate([1, 30], max_new_tokens="all")', "generate([1, 30], max_new_tokens=256)"),
        ('app.load("run").generate(["a"], max_new_tokens=3.0)', "generate(text, max_new_tokens=3) for"),
        ('slmmodel.load("run").generate("a", max_new_tokens="3")', "generate('a', max_new_tokens=3)"),
    ],
)
def test_a_fix_repeats_the_number_that_a_value_spells(inside: Path, call: str, fix: str) -> None:
    assert fix in fix_of(lambda: eval(call, {"app": app, "slmmodel": slmmodel}))


def test_the_name_of_a_column_is_no_tensor(inside: Path) -> None:
    """Unpacking a dict gives its keys: `x, y = dataset[0]`."""
    run: Any = slmmodel.load("run")
    item = {"input_ids": torch.tensor([20, 21]), "labels": torch.tensor([21, 22])}
    batch = {name: tensor[None] for name, tensor in item.items()}
    named = r"^'input_ids' is the name of a column of a batch, not its ids\n"
    x, _ = item
    with pytest.raises(WrongType, match=named) as caught:
        run.model(x)
    assert str(caught.value.limit).endswith("; for batch in loader: x, y = batch.values()")
    many, _, one = str(caught.value.fix).partition(", or ")
    expected = run.model(batch["input_ids"]).logits
    assert torch.equal(run.model(eval(many, {"batch": batch})).logits, expected)
    assert torch.equal(run.model(eval(one.removesuffix(" of one sequence"), {"batch": item})).logits, expected)
    for given in (x, item):
        for call in (run.score, lambda ids: run.generate(ids, max_new_tokens=1)):
            assert (
                len(eval(fix_of(lambda call=call, given=given: call(given)), {"slmmodel": slmmodel, "batch": item}))
                == 1
            )  # type: ignore[misc]
    lists: dict[str, Any] = {"input_ids": [[20, 21]]}
    for whole in (item, batch, lists, {"input_ids": [20, 21]}):
        with pytest.raises(WrongType, match=r"^ids are a dict of columns\n") as caught:
            run.model(whole)
        assert torch.equal(run.model(eval(str(caught.value.fix), {"batch": whole, "torch": torch})).logits, expected)


@pytest.mark.parametrize(
    ("given", "stride"), [(0.5, 16), ("25%", 8), (1.5, 16), ("half", 16), (0.001, 1), ("0.01k", 10), ("8", 8)]
)
def test_a_share_of_a_window_is_its_number_of_ids(inside: Path, given: Any, stride: int) -> None:
    """A stride of one id, the least, would score a window for each id."""
    run = slmmodel.load("run")
    with pytest.raises(WrongType, match=r"limit: a number of ids, not a share of 32\n") as caught:
        run.evaluate("data", stride=given)
    assert caught.value.fix == f"stride={stride}"
    assert fix_of(lambda: run.evaluate("data", seq_len=16, stride=0.5)) == "stride=8"  # type: ignore[arg-type]
    assert fix_of(lambda: run.evaluate("data", seq_len=0.5)) == "seq_len=16"  # type: ignore[arg-type]


def test_a_number_with_a_unit_is_what_it_spells(inside: Path) -> None:
    run = slmmodel.load("run")
    assert fix_of(lambda: run.generate([1], max_new_tokens="0.02k")) == "max_new_tokens=20"  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [1e308, "1e308", 2.0**32 + 1])
def test_a_number_beyond_the_limit_is_not_proposed(inside: Path, given: Any) -> None:
    run = slmmodel.load("run")
    assert fix_of(lambda: run.generate([1], max_new_tokens=given)) == "max_new_tokens=256"
    assert fix_of(lambda: app.load("run").generate("a", max_new_tokens=given)) == "max_new_tokens=256"
    assert fix_of(lambda: run.evaluate("data", seq_len=1e308)) == "seq_len=32"  # type: ignore[arg-type]
    assert fix_of(lambda: run.evaluate("data", batch_size=1e308)) == "batch_size=1"  # type: ignore[arg-type]


def _last(code: str, **names: Any) -> Any:
    """The value of the last of several statements, as they are printed."""
    before, _, last = code.rpartition("; ")
    values = {"slmmodel": slmmodel, "slmtok": slmtok, **names}
    exec(before, values)
    return eval(last, values)


@pytest.mark.parametrize("call", ["score", "generate"])
def test_several_texts_are_one_call_each(inside: Path, call: str) -> None:
    for run in (app.load("run"), slmmodel.load("run")):
        fix = fix_of(lambda run=run: getattr(run, call)(["the fox", "a tree"]))  # type: ignore[misc]
        loop = f"[opened_run.{call}(text) for text in ['the fox', 'a tree']]"
        assert fix == f"opened_run = slmmodel.app.load('run'); {loop}"
        assert len(_last(fix)) == 2
        # The caller may have imported `app` alone.
        with pytest.raises(WrongType) as caught:
            getattr(run, call)(["the fox", "a tree"])
        exec(str(caught.value).partition("fix:   ")[2], {})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("wanted", ["max_new_tokens=5", "max_new_tokens=5, beam=2", "max_new_tokens=30", ""])
def test_the_end_of_a_long_prompt_leaves_room(inside: Path, wanted: str) -> None:
    options = eval(f"dict({wanted})")
    run, story = slmmodel.load("run"), app.load("run")
    ids = slmtok.load("data").encode_list(TEXT)
    for generate, prompt, name in ((run.generate, ids, "ids"), (story.generate, TEXT, "prompt")):
        fix = fix_of(lambda: generate(prompt, **options), InvalidInput)  # type: ignore[operator]  # noqa: B023
        end, _, room = fix.partition(", with ")
        given = {**options, **eval(f"dict({room})")}
        assert bool(room) == (options.get("max_new_tokens") != 5)
        generate(_last(end, **{name: prompt}), **given)  # type: ignore[operator]
    sliding = fix_of(lambda: run.generate(ids, max_new_tokens=40, overflow="slide"), InvalidInput)
    assert len(run.generate(eval(sliding, {"ids": ids}), max_new_tokens=40, overflow="slide", stop_ids=())) == 40


def test_unknown_ids_name_the_tokenizer_of_the_run(inside: Path) -> None:
    run = slmmodel.load("run")
    for call in (run.score, run.generate):
        fix = fix_of(lambda call=call: call([1, 600]), InvalidInput)  # type: ignore[misc]
        encoded = eval(fix.partition(" gives ")[0], {"slmmodel": slmmodel, "text": "the fox"})
        assert len(call(encoded)) > 0


def test_a_command_of_a_shell_is_called_one(inside: Path) -> None:
    slmtok.pack("text.txt", slmtok.train("text.txt", vocab_size=290), "data290")
    for run in (slmmodel.load("run"), app.load("run")):
        fix = fix_of(lambda run=run: run.evaluate("data290"), Mismatch)  # type: ignore[misc]
        assert re.search(r": slmtok pack text\.txt -t \S*tok\.json -o NEW in a shell, then evaluate\('NEW'\)$", fix)


def test_the_size_of_the_vocabulary_of_a_data_set(inside: Path) -> None:
    dataset, loader = ShardDataset("data", seq_len=16), ShardLoader("data", seq_len=16, batch_size=2)
    for name, owner in (("dataset", dataset), ("loader", loader)):
        for attribute in ("vocab_size", "n_vocab"):
            with pytest.raises(AttributeError, match=f"has no attribute '{attribute}'") as caught:
                getattr(owner, attribute)
            sizes = str(caught.value).partition("fix:   ")[2].split("; ")
            assert [eval(each.partition(", ")[0], {name: owner}) for each in sizes] == [320, 300]
    again = pickle.loads(pickle.dumps(dataset))
    assert not hasattr(again, "anything") and len(again) == len(dataset)


def test_scores_have_no_order(inside: Path) -> None:
    scores: Any = slmmodel.load("run").evaluate("data")
    for call in (
        lambda: scores < scores,
        lambda: scores >= scores,
        lambda: max([scores, scores]),
        lambda: round(scores, 3),
    ):
        assert fix_of(call).startswith("compare scores.bpb_total; ")
    for call in (lambda: round(scores, 3), lambda: f"{scores:.3f}"):
        assert fix_of(call).startswith("compare scores.bpb_total; ")
    assert f"{scores}" == str(scores)


@pytest.mark.filterwarnings("error")
def test_read_only_ids_are_refused_without_a_warning_of_torch(inside: Path) -> None:
    ids = np.frombuffer(np.array([1, 2], "uint16").tobytes(), "uint16")
    assert fix_of(lambda: slmmodel.load("run").model(ids)) == "torch.tensor(ids).long()[None]"


def test_a_long_value_is_shortened(inside: Path) -> None:
    with pytest.raises(InvalidConfig) as caught:
        slmmodel.train("data", settings={"run.seed": TEXT})
    assert re.search(r"\[… [\d,]+ characters …\]", str(caught.value).partition("\n")[0])
    assert len(str(caught.value).partition("\n")[0]) < 600


def test_an_argument_given_by_position_is_mended_by_position(inside: Path) -> None:
    names: dict[str, Any] = {"make_packing": make_packing, "ShardDataset": ShardDataset}
    names |= {"lengths": np.array([9, 3]), "run": slmmodel.load("run"), "slmmodel": slmmodel}
    for call, mended in {
        "make_packing('bestfit', lengths, 8)": "make_packing('best_fit', lengths, 8)",
        "make_packing('bestfit', [9, 3], 8, seed=1, joined=True)": None,
        "make_packing('bestfit', lengths=lengths, seq_len=8)": "make_packing('best_fit', lengths, 8)",
        "make_packing(name='bestfit', lengths=lengths, seq_len=8)": "name='best_fit'",
        "ShardDataset('data', 'test', seq_len=8)": "ShardDataset('data', 'train', seq_len=8)",
        "run.evaluate('data', 'test')": "slmmodel.load('run').evaluate('data', 'train')",
    }.items():
        with pytest.raises((UnknownName, MissingInput)) as caught:
            eval(call, names)
        fix = str(caught.value.fix).partition(", or pack")[0]
        assert fix == (mended or call.replace("bestfit", "best_fit"))
        pickle.dumps(caught.value)
        if mended and mended.endswith(")"):
            assert eval(fix, names) is not None


@dataclasses.dataclass
class ForeignConfig:
    """A configuration as other trainers have it."""

    n_layer: int = 2
    n_embd: int = 64
    dropout: float | None = None


class PlainConfig:
    """A configuration whose values are those of its class."""

    n_layer, n_embd, dropout = 2, 64, None

    def rate(self) -> float:
        return 0.1

    @property
    def n_head(self) -> int:
        return 4


IDS = np.array([[1, 40]])
ROWS = [[1, 40]]
SCHEDULES = "wsd, cosine, linear or const"


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        # An object that is open names its path, and no fix invents one.
        ("app.train(ShardDataset('data', seq_len=8))", "data='data'"),
        ("app.train(torch.utils.data.DataLoader(ShardDataset('data', seq_len=8)))", "data='data'"),
        ("app.train(open_source('data'))", "data='data'"),
        ("app.train(Packed(Path('data'), 'shards', [], {}))", "data='data'"),
        ("app.train([Packed(Path('data'), 'shards', [], {})])", "data[0]='data'"),
        ("app.load('run').evaluate(Packed(Path('data'), 'shards', [], {}))", "data='data'"),
        ("app.train(3)", "data=PATH"),
        ("app.train(open_shards('data'), tokenizer=tok)", "data='data'"),
        ("app.load('run').evaluate(ShardDataset('data', seq_len=8))", "data='data'"),
        ("slmmodel.train(open_source('data'))", "data='data'"),
        (
            "app.train('data', preset='cpu-demo', model=app.load('run'))",
            "slm resume run -o NEW --budget steps=N in a shell trains the model of a run further; train() starts anew",
        ),
        (
            "app.train('data', resume_from_checkpoint=True)",
            "leave it out: the same call continues an interrupted run in its output; "
            "at a checkpoint, slm resume RUN --step N -o NEW in a shell",
        ),
        (
            "slmmodel.train('data', resume='run/checkpoints/step-2')",
            "leave it out: the same call continues an interrupted run in its output; "
            "at a checkpoint, slm resume run --step 2 -o NEW in a shell",
        ),
        ("slmmodel.train('data', beta2=0.99, adam_beta1=0.8)", "settings={'optim.betas': '0.8,0.99'}"),
        ("slmmodel.train(dataset=open_source('data'))", "data=dataset"),
        ("app.train(slmmodel.load('run'))", "name what to train on; slm resume continues a run"),
        ("app.load(app.load('run'))", "path='run'"),
        ("app.load(3)", "path=PATH, the name of a file or folder"),
        ("ShardDataset(np.memmap('data/train-00000.bin', dtype='u1'), seq_len=8)", "path='data/train-00000.bin'"),
        ("generate(app.load('run'), [[1]])", "slmmodel.load('run').model"),
        ("generate(3, [[1]])", "slmmodel.load(PATH).model"),
        ("app.train((text for text in ['a']), tokenizer=tok)", "slmtok.Texts(texts)"),
        ("app.train('text.txt', tokenizer=as_hf(tok))", "tokenizer=tok, the one that as_hf(tok) took"),
        ("app.train('text.txt', tokenizer=3)", "tokenizer=PATH, the name of a file or folder"),
        # The order of the arguments.
        ("app.train(tok, 'text.txt', seed=1)", "slmmodel.app.train('text.txt', tokenizer=tok, seed=1)"),
        ("app.train(slmmodel.load('run'), 'data')", "slmmodel.app.train('data')"),
        ("app.train(tok, tokenizer='text.txt')", "data='text.txt', tokenizer=tok"),
        ("Loader('data', seq_len=8, batch_size=2)", "source = open_source('data'); Loader(source, source.vocab, s"),
        (
            "slmmodel.load('run').generate(IDS, 5, top_k=3)",
            "slmmodel.load('run').generate([1, 40], max_new_tokens=5, top_k=3)",
        ),
        # More arguments than a call takes.
        ("app.load('run').score('a fox', ' ran')", "slmmodel.app.load('run').score('a fox')  # without ' ran'"),
        ("slmmodel.load('run').score(IDS, 3)", "leave out 3"),
        ("app.load('run').score('a fox', text=' ran')", "give it once"),
        ("ShardDataset('data', seq_len=8).set_epoch(1, IDS)", "dataset.set_epoch(1)  # without argument 2"),
        ("ShardLoader('data', seq_len=8, batch_size=2).state_dict(3)", "loader.state_dict()  # without 3"),
        ("app.load('run').generate('a', SamplingOptions(top_k=3))", "give options by name: top_k=3"),
        ("app.load('run').generate('a', options=SamplingOptions(top_k=3))", "top_k=3"),
        ("slmmodel.load('run').generate([1], SamplingOptions())", "give options by name"),
        # Options whose meaning is known.
        ("generate(MODEL, ROWS, temperature=0.7)", "options=SamplingOptions(temperature=0.7)"),
        (
            "generate(MODEL, ROWS, SamplingOptions(top_k=3), do_sample=False)",
            "options=SamplingOptions(top_k=3, temperature=0)",
        ),
        ("generate(MODEL, ROWS, stream=True)", "for step in slmmodel.generation.Generation(model, prompts): print("),
        ("slmmodel.load('run').generate([1], stream=False)", "leave it out: generate gives all new ids at once"),
        (
            "app.train('data', report=print)",
            "leave it out: progress is printed; slmmodel.train, for packed data, ",
        ),
        ("app.train('data', fp16=True, seed=1)", "settings={'run.precision': 'fp16'}"),
        ("app.train('data', preset={'n_layers': 2})", "settings={'model.n_layers': 2}"),
        ("app.train('data', settings=ForeignConfig())", "settings={'n_layer': 2, 'n_embd': 64}"),
        ("app.train('data', settings=PlainConfig())", "settings={'n_layer': 2, 'n_embd': 64}"),
        ("app.train('data', settings=PlainConfig)", "settings={'n_layer': 2, 'n_embd': 64}"),
        (
            "slmmodel.train('data', preset='cpu-demo', model='gpt2')",
            "leave out model, since preset='cpu-demo' is given; ",
        ),
        (
            "slmmodel.train('data', preset='cpu-demo', model='tiny-3m')",
            "leave out model, since preset='cpu-demo' is given, or write preset='tiny-3m' in its place",
        ),
        (
            "slmmodel.train('data', budget='steps=4', max_steps=4)",
            "leave out max_steps, since budget='steps=4' is given",
        ),
        (
            "slmmodel.train('data', settings={'run.seed': 1}, val_data='other')",
            "settings={'run.seed': 1, 'data.val': 'other'}",
        ),
        ("slmmodel.train('data', model='x' * 10**6)", "preset=model"),
        ("slmmodel.train('data', lr='x' * 10**6)", "settings={'optim.lr': LR}"),
        ("app.train('data', settings=[1])", "settings={NAME: VALUE}; slm config in a shell lists the names"),
        ("app.train('text.txt', tokenizer=tok, reading='\\n\\n')", "reading={'separator': '\\n\\n'}"),
        ("app.train('text.txt', tokenizer=tok, reading=3)", "reading={NAME: VALUE}, options by their names"),
    ],
)
def test_what_was_given_is_in_the_fix(inside: Path, call: str, fix: str) -> None:
    names = {**globals(), "tok": slmtok.load("data"), "MODEL": slmmodel.load("run").model}
    names |= {"as_hf": as_hf, "generate": generate_rows, "open_shards": open_shards, "Packed": Packed}
    before = sorted(inside.iterdir())
    assert fix_of(lambda: eval(call, names)).startswith(fix)
    assert sorted(inside.iterdir()) == before


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("slmmodel.train('data', frobnicate=1)", "slmmodel.train"),
        ("app.train('data', frobnicate=1, quux=2)", "slmmodel.app.train"),
        ("slmmodel.load('run', frobnicate=1)", "slmmodel.load"),
        ("app.load('run', frobnicate=1)", "slmmodel.app.load"),
        ("app.load('run').generate('a fox', frobnicate=1)", "slmmodel.app.TextRun.generate"),
        ("slmmodel.load('run').generate([1], frobnicate=1)", "slmmodel.Run.generate"),
        ("slmmodel.load('run').evaluate(frobnicate=1)", "slmmodel.Run.evaluate"),
        ("generate_rows(MODEL, ROWS, frobnicate=1)", "slmmodel.generation.generate"),
        ("ShardDataset('data', seq_len=8, frobnicate=1)", "slmmodel.data.ShardDataset"),
        ("SamplingOptions(frobnicate=1)", "slmmodel.sampling.SamplingOptions"),
    ],
)
def test_an_option_of_no_known_meaning_is_shown_the_options_that_exist(inside: Path, call: str, shown: str) -> None:
    """A call without the option would do something else than was meant."""
    names = {**globals(), "MODEL": slmmodel.load("run").model}
    with pytest.raises(SlmmodelError) as caught:
        eval(call, names)
    assert caught.value.fix == f"help({shown})" and caught.value.limit
    assert callable(eval(shown))


def test_a_limit_names_no_option_that_a_call_refuses(inside: Path) -> None:
    call: Any = app.load("run").generate
    with pytest.raises(WrongType, match=r"limit: generate\(prompt=, .*, regex=, \*\*options\)"):
        call("a", "b")


def test_an_adapter_is_not_called_one_of_another_library(inside: Path) -> None:
    tokenizer: Any = as_hf(slmtok.load("data"))
    with pytest.raises(WrongType, match=r"^tokenizer is of type HFTokenizer\n"):
        app.train("text.txt", tokenizer=tokenizer)


def test_the_loss_of_labels_that_are_shifted_and_of_those_that_are_not(inside: Path) -> None:
    run = slmmodel.load("run")
    fix = fix_of(lambda: run.model(torch.tensor(ROWS), labels=torch.tensor(ROWS)))
    losses = []
    for shift_labels, part in zip((True, False), fix.partition("the loss is ")[2].split("; "), strict=True):
        row = ShardDataset("data", seq_len=8, shift_labels=shift_labels)[0]
        # Labels that are not shifted lack that of the last column.
        ids, labels = (row[name][None, : -1 if shift_labels else None] for name in ("input_ids", "labels"))
        losses.append(eval(part.partition(" for ")[0], {"torch": torch, "run": run, "ids": ids, "labels": labels}))
    torch.testing.assert_close(*losses)


def test_a_stream_of_a_run_prints_what_was_asked_for(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"max_new_tokens": 9, "temperature": 0.7, "seed": 3}
    for run, prompt in ((app.load("run"), "a fox"), (slmmodel.load("run"), [1, 290])):
        call: Any = partial(run.generate, prompt, **options)  # type: ignore[arg-type]
        unlike, _, fix = fix_of(partial(call, streamer=print, assistant=run, no_such=1)).partition("; for the other ")
        code, _, reasons = fix.removeprefix("options ").partition("  # ")
        assert "without assistant: " in reasons
        assert (
            unlike
            == f"for no_such help({'slmmodel.Run' if isinstance(prompt, list) else 'slmmodel.app.TextRun'}.generate)"
        )
        exec(code, {})
        printed, wanted = capsys.readouterr().out, call()
        given = printed if isinstance(wanted, str) else [id for step in printed.splitlines() for id in json.loads(step)]
        assert given == wanted


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({"bf16": True, "run.seed": 1}, "settings={'run.seed': 1, 'run.precision': 'bf16'}"),
        ({"fp16": False}, "remove it"),
        ({"no_such": 1}, "list all settings with their meanings: slm config in a shell"),
        ({"model": {"lora_rank": 1}}, "list all settings with their meanings: slm config in a shell"),
        (
            {"lr": 1, "optim.no_such": 1},
            "write optim.lr for lr; for optim.no_such list all settings with their meanings: slm config in a shell",
        ),
        ({"output_dir": "out"}, "output='out' in place of output_dir"),
        (
            {"output_dir": "out", "bf16": True},
            "write output='out' beside the settings for output_dir; write run.precision: bf16 for bf16",
        ),
        ({"optim.name": torch.optim.AdamW}, "settings={'optim.name': 'adamw'}"),
        ({"optim.name": torch.optim.SGD}, "optim.name is one word: adamw or muon"),
        ({"optim.schedule": lambda step: 1.0}, f"optim.schedule.kind is one word: {SCHEDULES}"),
        (
            {"optim.schedule": torch.optim.lr_scheduler.CosineAnnealingLR},
            "name a setting of it, such as settings={'optim.schedule.kind': 'cosine'}",
        ),
        ({"optim": None}, "optim.name is one word: adamw or muon"),
    ],
)
def test_settings_that_hold_objects_and_switches(inside: Path, settings: dict[str, Any], fix: str) -> None:
    assert fix_of(lambda: app.train("data", settings=settings), InvalidConfig) == fix


def test_texts_in_place_of_ids_keep_the_stop(inside: Path) -> None:
    run, names = app.load("run"), {"tok": slmtok.load("data")}
    for name in ("stop_ids", "banned"):
        for value in (".", ["."]):
            fix = fix_of(lambda name=name, value=value: run.generate("a", **{name: value}), OptionError)  # type: ignore[misc]
            end = "with the tokenizer of the run as tok; it gives None for a text that is no token: leave that out"
            assert fix == f"{name}=[tok.token_to_id('.')], {end}"
    assert eval(fix.partition("=")[2].partition(", with")[0], names) == names["tok"].encode_list(".")
    assert fix_of(lambda: run.generate("a", banned=[None]), OptionError).startswith("banned=[ID]; tok.encode_list(")


def test_a_score_says_what_it_is_where_a_reduction_is_asked_for(inside: Path) -> None:
    fix = fix_of(lambda: app.load("run").score("a", reduction="sum"), WrongType)  # type: ignore[call-arg]
    assert fix == "leave it out: a score is bits per byte; times the bytes of the text it is the sum in bits"
    fix = fix_of(lambda: slmmodel.load("run").score([1, 2], reduction="sum"), WrongType)  # type: ignore[call-arg]
    assert fix == "leave it out: a score has the nats of each id; its method sum() adds them"


def test_options_of_other_libraries_for_sampling(inside: Path) -> None:
    options = {"temperature": 0.7, "do_sample": True}
    fix = fix_of(lambda: SamplingOptions(**options), UnknownName)
    assert fix == "SamplingOptions(temperature=0.7)  # without do_sample: it draws by default"
    assert fix_of(lambda: SamplingOptions(num_beams=2), UnknownName) == "run.generate(ids, beam=2)"
    assert fix_of(lambda: SamplingOptions(colour=2), UnknownName) == "help(slmmodel.sampling.SamplingOptions)"


@pytest.mark.parametrize(
    ("pack", "fix"), [(True, "pack='concat'"), (False, "slmmodel.data.ShardLoader("), (None, "use one of th")]
)
def test_a_switch_of_packing_is_a_strategy(inside: Path, pack: Any, fix: str) -> None:
    assert fix_of(lambda: ShardDataset("data", seq_len=8, pack=pack), UnknownName).startswith(fix)


def test_ids_are_no_path(inside: Path) -> None:
    ids: Any = slmtok.load("data").encode(TEXT)
    fix = fix_of(lambda: open_source(ids, "train"))
    assert fix.startswith("import json, numpy") and fix.endswith("path='ids.npy'")


def test_an_encoding_of_tiktoken_is_no_tokenizer(inside: Path) -> None:
    encoding = type("Encoding", (), {"name": "own"})()
    fix = fix_of(lambda: app.train("text.txt", tokenizer=encoding), slmtok.errors.WrongType)
    assert "; slmtok.from_tiktoken('enc.tiktoken', " in fix


def test_the_name_of_a_column_is_no_batch(inside: Path) -> None:
    """A sequence is a dict: `x, y = dataset[0]` gives the names of its columns."""
    x, _ = ShardDataset("data", seq_len=8)[0]
    assert fix_of(lambda: app.load("run").run.model(x)).startswith("batch['input_ids']")  # type: ignore[arg-type]


def test_an_argument_of_generate_is_no_field_of_its_options() -> None:
    """`min_new_tokens`, the nearest name, would have asked for the opposite."""
    with pytest.raises(UnknownName) as caught:
        SamplingOptions(temperature=0.7, max_new_tokens=20)  # type: ignore[call-arg]
    assert caught.value.fix == "run.generate(ids, temperature=0.7, max_new_tokens=20)"


def test_texts_of_several_ids_are_no_id(inside: Path) -> None:
    run = app.load("run")
    for name, fix in (
        ("banned", "leave 'zebra' out"),
        ("stop_ids", "leave 'zebra' out, and cut the new text there: new.partition('zebra')[0]"),
    ):
        assert fix_of(partial(run.generate, "a", **{name: ["zebra"]}), OptionError) == fix
        assert fix_of(partial(run.generate, "a", **{name: "zebra"}), OptionError) == fix


def test_options_of_draws_where_nothing_is_drawn(inside: Path) -> None:
    run = app.load("run")
    for options, idle in (({"temperature": 0, "top_k": 3}, "top_k and seed have"), ({"beam": 2}, "seed has")):
        with pytest.warns(UserWarning, match=f"^{idle} no effect: nothing is drawn$") as caught:
            run.generate("a", max_new_tokens=2, seed=3, **options)
        assert [Path(each.filename).name for each in caught] == [Path(__file__).name]
    run.generate("a", max_new_tokens=2, seed=3, beam_sample=2)


def test_remedies_without_a_place_for_the_value(inside: Path) -> None:
    fix = fix_of(lambda: app.load("run").generate("a", seed=None), OptionError)
    assert fix.endswith("seed=random.randrange(2**32), for another draw in each call")
    fix = fix_of(partial(app.train, "data", budget="steps=2", output="new", callbacks=[print]))
    assert fix == "leave it out: progress is printed; slmmodel.train, for packed data, takes report=FUNCTION"
    fix = fix_of(lambda: ShardLoader("data", seq_len=8, batch_size=2, drop_last=True))
    assert fix == "leave it out: the last batch of an epoch is completed from the next one"


def test_a_shard_loader_needs_no_set_epoch(inside: Path) -> None:
    """Other libraries ask whether a data set has `set_epoch`."""
    loader = ShardLoader("data", seq_len=8, batch_size=2)
    assert not hasattr(loader, "set_epoch")
    with pytest.raises(AttributeError, match=r"(?s)has no attribute 'set_epoch'.*fix:   leave it out: .*") as caught:
        loader.set_epoch(3)  # type: ignore[attr-defined]
    call, _, _ = str(caught.value).partition("; ")[2].partition(" begins")
    eval(call, {"loader": loader, "N": 3})
    assert loader.state_dict()["epoch"] == 3


def test_an_unknown_setting_is_named_beside_a_wrong_budget(inside: Path) -> None:
    for train in (slmmodel.train, app.train):
        with pytest.raises(OptionError, match=r"^budget is a mapping, .*; unknown setting 'lr'") as caught:
            train("data", budget={"steps": 2}, settings={"lr": 6e-4}, output="new")  # type: ignore[operator]
        assert str(caught.value.fix).startswith("budget='steps=2'; ") and "optim.lr" in str(caught.value.fix)

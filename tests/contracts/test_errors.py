"""Each error class is raised by a test, and errors that the packages raise say what to do. Code is read, not run."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Any

from sources import files, library, name, tree

from slmmodel.errors import ERRORS as MODEL_ERRORS
from slmmodel.errors import Argument, SlmmodelError
from slmtok.errors import ERRORS, Setting, SlmtokError

# Classes that no Python test can raise, with the reason.
UNTESTED = {
    "CorpusTooLarge": "needs 4 GiB of distinct pieces; a Rust test lowers the limit",
    "Interrupted": "replaced by the exception that stopped the work before it reaches Python",
}
WITHOUT_FIX = {"SpecialInText"}  # its remedies are lines of the message


def _names(node: ast.AST) -> set[str]:
    """Names and attributes in an expression."""
    parts = list(ast.walk(node))
    return {part.id for part in parts if isinstance(part, ast.Name)} | {
        part.attr for part in parts if isinstance(part, ast.Attribute)
    }


def _raised(module: ast.Module) -> set[str]:
    """The names in first arguments of `raises`, such as `errors.UnknownId` or `(KeyError, UnknownId)`."""
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call) and node.args]
    return {found for call in calls if "raises" in _names(call.func) for found in _names(call.args[0])}


def test_only_arguments_of_raises_count() -> None:
    assert "UnknownId" in _raised(ast.parse("with pytest.raises(errors.UnknownId, match='x'):\n f()"))
    assert "UnknownId" in _raised(ast.parse("with raises((KeyError, UnknownId)):\n f()"))
    assert _raised(ast.parse("assert kind is UnknownId\nassert name == 'UnknownId'")) == set()


def test_every_error_is_raised_by_a_test() -> None:
    tests = [path for path in files("tests", suffix=".py") if "contracts" not in path.parts]
    raised = {found for path in tests for found in _raised(tree(path))}
    assert {error.__name__ for error in ERRORS} - raised == set(UNTESTED)


def test_errors_of_both_packages_have_the_same_parts() -> None:
    """A command changes the remedy of either by its parts, which `str` has written already."""
    given: Any = {"fact": "a fact", "where": "a place", "limit": "a bound"}
    ours, models = ("use ", Setting("vocab_size", 300)), ("use ", Argument("vocab_size", 300))
    errors: list[tuple[Any, object]] = [
        (SlmtokError(**given, fix=ours), ours),
        (SlmmodelError(**given, fix=models), models),
    ]
    for error, fix in errors:
        assert error.parts == {**given, "fix": fix} and error.fix == "use vocab_size=300"
        error.fix = (*error.parts["fix"], ", or less")
        assert error.fix == "use vocab_size=300, or less" and len(error.parts["fix"]) == 3


def _without_fix(node: ast.AST, classes: set[str]) -> bool:
    """Whether it is a call of one of these error classes without the keyword `fix`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in classes
        and not any(keyword.arg == "fix" for keyword in node.keywords)
    )


def _installs(node: ast.AST) -> bool:
    """Whether it is a text that installs slmtok from an index."""
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and ("slmtok[" in node.value or "pip install slmtok" in node.value)
    )


OF_COMMANDS = {"slmmodel/config.py", "slmmodel/gpus.py"}  # they parse values of options, as of --set
_FLAG = re.compile(r"(?<![\w-])(--[a-z]|-[ot] )")
_COMMAND = re.compile(r"\b(slm|slmtok|torchrun|git|ray|python|hf)\b")


def _shows_flag(node: ast.AST) -> bool:
    """Whether it gives an error a remedy with an option of a command, and neither the command nor `OfCommand`."""
    if not isinstance(node, ast.Call):
        return False
    remedies = [keyword.value for keyword in node.keywords if keyword.arg == "fix"]
    calls = [part for remedy in remedies for part in ast.walk(remedy) if isinstance(part, ast.Call)]
    apart = {id(part) for call in calls if "OfCommand" in _names(call.func) for part in ast.walk(call)}
    parts = [part for remedy in remedies for part in ast.walk(remedy) if id(part) not in apart]
    text = " ".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))
    is_command = _COMMAND.search(text) or any(isinstance(part, ast.Name) and part.id == "command" for part in parts)
    return _FLAG.search(text) is not None and not is_command


def test_a_flag_without_its_command_is_found() -> None:
    def shows(call: str) -> bool:
        return _shows_flag(ast.parse(call, mode="eval").body)

    assert shows('E("a", fix=f"read another: --step {n}")') and shows('E("a", fix=("-o b, or ", c))')
    for fix in ('"slm train --no-verify"', '(OfCommand("--force", "b"), "c")', '("use ", Argument("step", 4))'):
        assert not shows(f'E("a --b", fix={fix})')


@cache
def _faults_of_the_library() -> tuple[list[str], list[str], list[str]]:
    """Where the packages raise an error without a remedy, install from an index, and show options of commands to
    callers of Python; one pass for all.
    """
    classes = {error.__name__ for error in (*ERRORS, *MODEL_ERRORS)} - WITHOUT_FIX
    missing: list[str] = []
    wrong: list[str] = []
    flags: list[str] = []
    for path in library():
        is_of_commands = {"cli", "bench"} & {*path.parts} or name(path) in OF_COMMANDS
        for node in ast.walk(tree(path)):
            if not is_of_commands and _shows_flag(node):
                flags.append(f"{name(path)}:{node.lineno}")
            if _without_fix(node, classes):
                missing.append(f"{name(path)}:{node.lineno}")
            elif _installs(node):
                wrong.append(f"{name(path)}:{node.lineno}")
    return missing, wrong, flags


def test_every_error_has_a_remedy() -> None:
    """Each call of an error class in the packages has the keyword `fix`."""
    assert _faults_of_the_library()[0] == []


def test_no_text_installs_slmtok_from_an_index() -> None:
    """It is not published: a message names a command that works with a wheel and in a checkout."""
    assert _faults_of_the_library()[1] == []


def test_no_remedy_shows_options_of_commands_to_callers_of_python() -> None:
    """`Setting`, `Argument` and `OfCommand` are written as the caller knows them."""
    assert _faults_of_the_library()[2] == []


def test_errors_about_a_corpus_keep_the_options_of_their_parts() -> None:
    """`error.fix` is text that spells options as Python does; the command line needs `error.parts["fix"]`."""
    reading = [path for folder in ("corpus", "shards", "training") for path in files(f"slmtok/{folder}", suffix=".py")]
    read = [
        f"{name(path)}:{node.lineno}"
        for path in reading
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr == "fix"
    ]
    assert read == []

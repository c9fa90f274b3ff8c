"""Paths among the arguments of a call: names of files in place of texts, globs, inputs and output, and free names."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import count, islice
from pathlib import Path

Paths = Sequence[str | os.PathLike[str]]
MAX_NAMES = 8
"""Texts at the beginning of many that are compared with the names of files."""
_MAX_NAME_CHARS = 1024
_MAX_MATCHES = 1000

BINARY_SUFFIXES = (
    *(".npy", ".npz", ".bin", ".pt", ".pth", ".pkl", ".pickle", ".safetensors", ".h5"),
    *(".parquet", ".arrow", ".feather", ".msgpack"),
    *(".pdf", ".docx", ".xlsx", ".png", ".jpg", ".jpeg"),
)
"""Suffixes of files that hold no text."""
TEXT_SUFFIXES = (
    *(".txt", ".md", ".rst", ".tex", ".log", ".html", ".htm", ".xml", ".svg", ".py", ".ipynb"),
    *(".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".yaml", ".yml", ".toml", ".ids"),
)
"""Suffixes of files that hold text in a form of their own."""
_FILE_SUFFIXES = (*BINARY_SUFFIXES, *TEXT_SUFFIXES, ".counts", ".model", ".tiktoken", ".gguf", ".onnx")


def free_name(name: str) -> str:
    """A name like this one that no file or link has: `tok-2.json` beside `tok.json`."""
    path = Path(name)
    others = (str(path.with_name(f"{path.stem}-{number}{path.suffix}")) for number in count(2))
    return name if not os.path.lexists(path) else next(other for other in others if not os.path.lexists(other))


def with_names(call: str) -> str:
    """A call of a fix with names for those in braces, so that it can be pasted.

    `{data}` is a free name for an output. `{TOK}` is tok.json where that is a file; else it stays in capitals, as in
    the usage of commands, and so do inputs of no usual name, such as CORPUS.
    """
    named = {"TOK": "tok.json" if os.path.isfile("tok.json") else "TOK"}  # noqa: PTH113
    return re.sub(r"\{([\w.]+)\}", lambda found: named.get(found[1]) or free_name(found[1]), call)


def hub_fetch(model: str) -> tuple[str, str]:
    """The command that fetches the tokenizer of a model of the Hugging Face Hub, and its path, which is free."""
    folder = free_name(Path(model).name.lower()) if Path("tokenizer.json").exists() else "."
    return f"hf download {model} tokenizer.json --local-dir {folder}", str(Path(folder, "tokenizer.json"))


def folder_meant(output: str) -> str | None:
    """The folder that is meant by a new folder with the name of a file; None for another name."""
    path = Path(output)
    if path.suffix.lower() not in _FILE_SUFFIXES or path.exists():
        return None
    # A folder is made where its parent exists.
    return free_name(output.removesuffix(path.suffix)) if path.parent.exists() else str(path.parent)


def inputs_and_output(paths: Paths) -> tuple[str | list[str], str | None]:
    """The inputs among paths by position, one alone or a list, and the output; None where each may be an input.

    The output is the last path, where no file has its name: an input exists. A folder of packed data is no input.
    """
    names = [os.fspath(path) for path in paths]
    output = names.pop() if len(names) > 1 and not _may_exist(names[-1]) else None
    return (names[0] if len(names) == 1 else names), output


def is_glob(name: str) -> bool:
    """Whether a name has a wildcard."""
    return any(char in name for char in "*?[")


def glob_matches(name: str) -> list[str]:
    """The files that a name with wildcards stands for, at most 1,000, sorted; none for another name or a text."""
    # The import takes 5 ms.
    from glob import iglob

    may_match = is_glob(name) and "\0" not in name and len(name) <= _MAX_NAME_CHARS
    return sorted(islice(iglob(name), _MAX_MATCHES)) if may_match else []  # noqa: PTH207 (any path)


def is_file_name(text: object) -> bool:
    """Whether a text is the name of a file: one with a suffix or a folder, for a word may be a name by chance."""
    if isinstance(text, os.PathLike):
        return os.path.isfile(text)  # noqa: PTH113 (false for names that the system refuses)
    return (
        isinstance(text, str)
        and len(text) <= _MAX_NAME_CHARS
        and ("." in text or os.sep in text)
        and os.path.isfile(text)  # noqa: PTH113
    )


def _may_exist(name: str) -> bool:
    """Whether a path exists, or names what is no file: a glob, or a data set of the Hub."""
    if os.path.isfile(os.path.join(name, "manifest.json")):  # noqa: PTH113, PTH118
        return False
    return os.path.exists(name) or name.startswith("hf:") or is_glob(name)  # noqa: PTH110

"""The command `slm`: its table of commands, on the command-line runtime of slmtok.

To add a command, write its function and its line in `COMMANDS`. A command imports torch inside functions, so that its
help and its usage errors do not load it.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten

import slmtok.cli
import slmtok.errors
from slmmodel.cli.environment import PACKAGES, check_environment, missing_packages
from slmmodel.cli.ranks import OF_RANKS, check_is_alone, reports
from slmmodel.errors import (
    BytesDisagree,
    MissingPackage,
    OptionError,
    OutOfMemory,
    SlmmodelError,
    UnknownName,
    missing_package,
)
from slmmodel.folder_lock import release_all
from slmmodel.versions import versions
from slmtok.cli.app import App, Entry
from slmtok.cli.errors import ErrorPolicy
from slmtok.cli.library_memory import parts_about, refuse_beyond_limits
from slmtok.cli.unknown_commands import FINETUNE
from slmtok.entry_point import NO_ADDRESS_SPACE
from slmtok.interrupts import at_exit

# Loaded before torch, which may leave no memory for it within a limit that is then named. Windows has none.
try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

COMMANDS: dict[str, Entry] = {
    "demo": Entry("slmmodel.cli.demo:demo", "text to a tokenizer, a trained model and its samples"),
    "train": Entry("slmmodel.cli.train:train", "train a model on token data"),
    "resume": Entry("slmmodel.cli.train:resume", "continue a run, or branch a new run from a checkpoint"),
    "config": Entry("slmmodel.cli.config:config", "write a configuration file with every setting, or check one"),
    "batches": Entry("slmmodel.cli.batches:batches", "show sequences of real batches, decoded"),
    "eval": Entry("slmmodel.cli.eval:eval", "bits per byte with a certificate and baselines"),
    "compare": Entry("slmmodel.cli.eval:compare", "compare two models on the same documents, by their loss files"),
    "ablate": Entry("slmmodel.cli.ablate:ablate", "say which tokenizer is better, by matched models on the same text"),
    "status": Entry("slmmodel.cli.status:status", "say whether a run goes well, from its folder"),
    "passkey": Entry("slmmodel.cli.passkey:passkey", "find a number in long filler: right answers by length and depth"),
    "pairs": Entry("slmmodel.cli.pairs:pairs", "minimal pairs: how often the good sentence is likelier"),
    "probe": Entry("slmmodel.cli.probe:probe", "train copies on copying, spelling, adding and counting"),
    "prompts": Entry("slmmodel.cli.prompts:prompts", "continue 20 fixed prompts in three ways, with measures"),
    "plot": Entry("slmmodel.cli.curves:plot", "draw the curves of runs: loss and bits per byte"),
    "report": Entry("slmmodel.cli.report:report", "write a page about runs and ablations, to send to a colleague"),
    "bench": Entry("slmmodel.cli.bench:bench", "measure training speed by batch size and device, and decoding"),
    "doctor": Entry("slmmodel.cli.inspection:doctor", "describe this machine, and check runs and data"),
    "sample": Entry("slmmodel.cli.sample:sample", "generate text with a trained model"),
    "chat": Entry("slmmodel.cli.chat:chat", "continue text with a trained model, turn by turn"),
    "logprobs": Entry("slmmodel.cli.sample:logprobs", "list the likeliest next tokens after a prompt"),
    "info": Entry("slmmodel.cli.inspection:info", "describe a run, a preset or a vocab.json"),
    "export": Entry("slmmodel.cli.export:export", "write a run for another program; logits are compared"),
    "completion": Entry("slmtok.cli.completion:slm_completion", "print the script of completion in a shell"),
}


def _prepare(command: str) -> None:
    """Raises `OptionError` for several processes where one runs the command, and what `check_environment` raises.

    Sets OpenMP threads to sleep instead of spinning while they wait.
    """
    if command == "completion":
        return
    if command not in OF_RANKS:
        check_is_alone()
    check_environment(command)
    # A spinning thread holds the core that another process may need. libgomp reads this when torch is loaded.
    if not any(name in os.environ for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")):
        os.environ["GOMP_SPINCOUNT"] = "10000"
    at_exit.add(release_all)
    slmtok.cli.prepare(command)
    refuse_beyond_limits("torch", TORCH, within="lib/libtorch_cuda.so", free=TORCH_FREE)


def _meant(command: str, arguments: Sequence[str]) -> str | None:
    """`slm resume` of a run for a command that tunes one."""
    if command not in FINETUNE:
        return None
    from slmmodel.cli.run_argument import resumed

    return resumed(arguments)


TORCH = {"RLIMIT_AS": 3000, "RLIMIT_DATA": 700}
"""MB that torch for CUDA takes."""
TORCH_FREE = 300
"""MB of memory that torch for CUDA takes while it is loaded, without its files."""


def _library_too_large(error: Exception) -> Exception | None:
    """The error for torch or another library that cannot be loaded within a limit on the memory of this process."""
    found = NO_ADDRESS_SPACE.search(str(error)) if isinstance(error, (ImportError, OSError)) else None
    limit = _tightest_limit()
    if limit is None or not (found or (isinstance(error, MemoryError) and _is_raised_by_torch(error))):
        return None
    fact = f"a library cannot be loaded: {found[0]}" if found else "torch cannot be loaded: not enough memory"
    where, bound, fix = parts_about(limit, "torch for CUDA", TORCH[limit])
    return OutOfMemory(fact, where=where, limit=bound, fix=fix)


def _tightest_limit() -> str | None:
    """The limit that is set on the memory of this process and leaves least of what torch takes; None without one."""
    if resource is None:
        return None
    limits = {name: resource.getrlimit(getattr(resource, name))[0] for name in TORCH}
    given = [name for name, soft in limits.items() if soft != resource.RLIM_INFINITY]
    return min(given, key=lambda name: limits[name] / TORCH[name], default=None)


def _memory_error(error: Exception) -> Exception | None:
    """The error for a `RuntimeError` by which torch says that the system gives no memory."""
    if "torch" not in sys.modules or not isinstance(error, RuntimeError):
        return None
    from slmmodel.training.microbatch import is_out_of_memory

    if not is_out_of_memory(error):
        return None
    return OutOfMemory(
        f"not enough memory: {str(error).splitlines()[0][:200]}",
        limit="free memory, and what ulimit -v leaves of it",
        fix="free memory, raise its limit (ulimit -v), or take a smaller model or fewer sequences at a time",
    )


_LIMITS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE)


def _import_error(error: Exception) -> Exception | None:
    """The error for a package of the extra `model` that is missing, or a torch that cannot be imported: incomplete, or
    without one of its libraries.
    """
    if isinstance(error, ModuleNotFoundError) and error.name in PACKAGES:
        return missing_package("slm", *(missing_packages() or [PACKAGES[error.name]]))
    if too_large := _library_too_large(error):
        return too_large
    if "torch" in sys.modules or not isinstance(error, (ImportError, OSError)):
        return None
    # A full disk or a limit is no fault of torch; the runtime names it.
    if getattr(error, "errno", None) in _LIMITS or "temporary directory" in str(error):
        return None
    if not _is_raised_by_torch(error):
        return None
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return MissingPackage(
        f"torch is installed and cannot be imported: {lines[-1]}",
        where="python -c 'import torch' fails in the same way",
        fix="install it again: pip install --force-reinstall --no-cache-dir torch",
    )


def _variable_error(error: Exception) -> Exception | None:
    """The error for a variable of the environment that torch reads while it is imported, and whose value it refuses.

    The message has its name or its value, or the line that fails reads it.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "torch" in Path(frame.filename).parts]
    if not any(frame.name == "<module>" for frame in frames):
        return None
    read = {*re.findall(r"\w+", f"{error} {frames[-1].line}")}
    given = {name: value for name, value in os.environ.items() if "TORCH" in name}
    named = [name for name in given if name in read]
    # A relative path stands behind that of the working folder.
    quoted = (name for name, value in given.items() if value and re.search(f"['/]{re.escape(value)}'", str(error)))
    named = named or [*quoted]
    if len(named) != 1:
        return None
    return OptionError(
        f"torch refuses {named[0]}={given[named[0]]}: {shorten(str(error), _MAX_SHOWN, placeholder=' ...')}",
        where="the variables of the environment",
        fix=f"unset {named[0]}, then run the same command again",
    )


_MAX_SHOWN = 200
"""Characters of an error of torch, which may list all values."""


def _is_raised_by_torch(error: Exception) -> bool:
    """Whether an error was raised while torch was imported."""
    files = (Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__))
    return any(file.name == "__init__.py" and file.parent.name == "torch" for file in files)


APP = App(
    name="slm",
    summary="small language models over token ids",
    commands=COMMANDS,
    versions=versions,
    policy=ErrorPolicy(
        own=(SlmmodelError, slmtok.errors.SlmtokError),
        usage=(OptionError, UnknownName, slmtok.errors.OptionError, slmtok.errors.UnknownName),
        answer_no=(BytesDisagree,),
        translate=lambda error: _memory_error(error) or _variable_error(error) or _import_error(error),
    ),
    package="slmmodel",
    other=slmtok.cli.APP,
    prepare=_prepare,
    meant=_meant,
    reports=reports,
    shared=OF_RANKS,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (without the program's name) and returns its exit status."""
    return APP.main(argv)

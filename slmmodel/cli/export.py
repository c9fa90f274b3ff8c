"""`slm export`: a run as a folder that another program loads; it is read back and compared before it is renamed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.open_by_path import load_torch, open_run
from slmmodel.cli.options import CHECKPOINT_FLAGS, QUANTIZATION_HABITS, run_argument, step_option, with_output
from slmmodel.cli.run_argument import run_among, step_meant, without
from slmmodel.errors import OptionError
from slmmodel.export.output_folder import RECEIPT_FILE, check_folder
from slmmodel.folder_lock import check_in_place
from slmtok.atomic import check_outputs
from slmtok.cli.arguments import OUTPUT_FLAGS, folder_for_file, value_after
from slmtok.cli.errors import EXTRA
from slmtok.cli.files import check_is_folder_name
from slmtok.cli.options import choice, command, dry_run_option, option, output_options
from slmtok.cli.output import Outcome, print_rows
from slmtok.files import free_name
from slmtok.foreign_options import nearest_remark


def _format(value: str | None, arguments: Sequence[str]) -> str:
    """The option for a format of another program, where it is another than ours by its own word."""
    name = value or "hf"
    folder = folder_for_file(arguments, name, "hf") or _free_folder(arguments)
    return f"--output-format hf{folder}" + ("" if name.lower() == "safetensors" else nearest_remark(name, "hf", "slm"))


def _free_folder(arguments: Sequence[str]) -> str:
    """The option of a free folder, where the one that is named holds something else than an export to replace."""
    output = value_after(OUTPUT_FLAGS, arguments)
    if output is None or not Path(output).is_dir() or not any(Path(output).iterdir()):
        return ""
    is_replaced = "--force" in arguments and (Path(output) / RECEIPT_FILE).is_file()
    return "" if is_replaced else f" -o {shlex.quote(free_name(output))}"


def _folder(value: str | None, arguments: Sequence[str]) -> str:
    """For an argument too many that names nothing: the command with it as the folder to write."""
    words = with_output(arguments, takes_run=True)
    return shlex.join(["slm", "export", *words]) if words else ""


_HUB = ("--push-to-hub", "--hub-model-id", "--repo-id")
"""Options of other programs that upload a model."""


def _published(value: str | None, arguments: Sequence[str]) -> str:
    """For an option that uploads a model: the command that writes the folder, and the one that uploads it."""
    flags = [word.partition("=")[0] for word in arguments if word.partition("=")[0].replace("_", "-") in _HUB]
    kept = without([*flags, "--private"], arguments)
    # A flag takes no value.
    words = [*([value] if value is not None and Path(value).exists() else []), *kept]
    repository, run = "USER/NAME" if value is None or Path(value).exists() else value, run_among(arguments) or "RUN"
    folder = value_after(OUTPUT_FLAGS, words)
    given = [*([] if run in words else [run]), *words, *([] if folder else ["-o", free_name(f"{run.rstrip('/')}-hf")])]
    upload = shlex.join(["hf", "upload", repository, folder or given[-1]])
    return f"leave it out, slm uploads nothing; {shlex.join(['slm', 'export', *given])} && {upload}"


_HABITS = {
    **dict.fromkeys(("--format", "--to", "--target"), _format),
    **dict.fromkeys(_HUB, _published),
    **QUANTIZATION_HABITS,
    **dict.fromkeys(CHECKPOINT_FLAGS, step_meant),
    EXTRA: _folder,
}


@command("export", example="slm export run --output-format hf -o for-transformers", habits=_HABITS)
@run_argument
@option("--output-format", type=choice("hf"), metavar="hf", default="hf", help="The format to write.")
@step_option
@output_options(metavar="DIR", help="The new folder.")
@dry_run_option
def export(run: str, output_format: str, step: int | None, output: str | None, force: bool, dry_run: bool) -> Outcome:
    """Write model and tokenizer as from_pretrained of Hugging Face reads them, with a receipt of the comparison."""
    RunFolder.open(run)
    if output is None and not dry_run:
        fix = f"slm export {run} --output-format {output_format} -o FOLDER"
        raise OptionError("--output is missing", fix=fix, option="--output")
    if output is not None and output.lower().endswith(".gguf") and not Path(output).exists():
        fix = folder_for_file(["-o", output], "gguf", "hf").strip() + nearest_remark("gguf", "hf", "slm")
        raise OptionError(f"-o {output!r} names a gguf, and a folder of hf is written", fix=fix, option="--output")
    if output is not None:
        check_is_folder_name(output)
    if output is not None and not dry_run:
        check_folder(Path(output), force=force)
        # Without room for it, or the right to write, nothing is read.
        check_outputs(Path(output, RECEIPT_FILE) if Path(output).is_dir() else output, force=True)
    load_torch()
    from slmmodel.export import architecture, hf
    from slmtok.formats.hf import files as tokenizer_files

    context = open_run(run, device="cpu", step=step)
    # Verified once more: the weights may have changed between their sum and their reading.
    context.run.weights(step)
    name = architecture(context.model.config)
    if dry_run:
        return Outcome({"target": name, "run": run}, lambda: print_rows([("architecture", name)], title=run))
    assert output is not None
    more = {} if context.text is None else tokenizer_files(context.text.tokenizer, "tokenizer")
    # All has been read that is written.
    check_in_place(context.run.handle)
    receipt = hf.write(Path(output), context.model, context.vocab, more, force=force)
    checks = receipt["checks"]
    theirs = checks["transformers"]
    rows = [
        ("architecture", name),
        ("files", ", ".join(receipt["files"])),
        ("read back", f"logits differ by {checks['own_reader']:.2g}"),
        ("transformers", "not installed: not compared" if theirs is None else f"logits differ by {theirs:.2g}"),
    ]
    return Outcome({"path": output, **receipt}, summary=lambda: print_rows(rows, title=output))

"""`slm export`: a run as a folder that another program loads, read back and compared before it gets its name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from slmmodel.cli import _options, _output
from slmmodel.cli._tables import print_rows

_To = Annotated[str, typer.Option("--to", parser=_options.choice("hf"), metavar="hf", help="Which program.")]
_Out = Annotated[str | None, typer.Option("-o", "--output", metavar="DIR", help="The new folder.", show_default=False)]


def export(
    run: _options.RunArgument,
    to: _To = "hf",
    output: _Out = None,
    step: _options.Step = None,
    dry_run: _options.DryRun = False,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Write model and tokenizer as Hugging Face's from_pretrained reads them, with a receipt of what was compared."""
    from slmmodel.cli._opened import open_run
    from slmmodel.errors import InvalidOption
    from slmmodel.export import architecture, hf

    opened = open_run(run, device="cpu", step=step)
    name = architecture(opened.model.config)
    if dry_run:
        plan: dict[str, Any] = {"target": name, "run": run}
        return _output.Outcome(plan, lambda: print_rows([("becomes", name)], title=run))
    if output is None:
        raise InvalidOption("-o is missing", fix=f"slm export {run} --to hf -o FOLDER", option="--output")
    more = {} if opened.text is None else opened.text.hugging_face()
    receipt = hf.write(Path(output), opened.model, opened.vocab, more, force=force)
    checks = receipt["checks"]
    theirs = checks["transformers"]
    rows = [
        ("becomes", name),
        ("files", ", ".join(receipt["files"])),
        ("read back", f"logits differ by {checks['own_reader']:.2g}"),
        ("transformers", "not installed: not compared" if theirs is None else f"logits differ by {theirs:.2g}"),
    ]
    return _output.Outcome({"path": output, **receipt}, None if quiet else lambda: print_rows(rows, title=output))

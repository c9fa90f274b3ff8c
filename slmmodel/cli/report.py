"""`slm report`: runs, ablations and their evaluations as one page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from slmmodel.checkpoint import RunFolder
from slmmodel.cli import result_sections, run_sections, text_sections
from slmmodel.cli.ablation_sections import ablation_sections, is_ablation
from slmmodel.cli.open_by_path import RunContext, check_written
from slmmodel.cli.options import device_option, threads_option
from slmmodel.cli.run_argument import check_runs, refuse_output, run_here
from slmmodel.cli.run_sections import Subject
from slmmodel.cli.text import Text
from slmmodel.cli.text_sections import Opened
from slmmodel.errors import OptionError, SlmmodelError
from slmmodel.folder_lock import FolderHandle, check_in_place
from slmmodel.hardware import device_for, use_threads
from slmmodel.versions import package_version
from slmtok.cli.arguments import notes_on_escapes
from slmtok.cli.files import PAGE, STDIO, check_content, check_opens, short_names, write_page
from slmtok.cli.options import OUTPUT, argument, arguments_of_command, command, option, output_options
from slmtok.cli.output import Outcome
from slmtok.cli.progress import Progress
from slmtok.errors import OptionError as NotText
from slmtok.errors import SlmtokError
from slmtok.file_kinds import NAMES, READERS, is_run, kind_of_file
from slmtok.pages.frame import Page
from slmtok.pages.loss_map import STYLES
from slmtok.pages.sections import FOOTER, Block, Paragraph, Section, report_page


@command("report", example="slm report run -o report.html")
@argument("subjects", metavar="RUN|ABLATION...", nargs=-1, required=True,
          help="Runs, finished or running; folders of slm ablate, or their ablation.json.")  # fmt: skip
@option("--with", "results", metavar="FILE", multiple=True,
        help="A further result: of slm eval, passkey, probe, prompts, pairs --json. Repeat for several.")  # fmt: skip
@option("--on", metavar="TEXT", multiple=True, show_default="the validation documents of the first run",
        help="The text that is coloured by its bits; its beginning is read. Repeat for several.")  # fmt: skip
@option("--prompt", "-p", metavar="TEXT", show_default="the beginning of that text",
        help="Where the next tokens are listed, and samples begin.")  # fmt: skip
@option("--open", "opens", is_flag=True, panel=OUTPUT, help="Open the page in the browser.")
@device_option
@threads_option
@output_options(default="report.html")
def report(
    subjects: tuple[str, ...],
    results: tuple[str, ...],
    on: tuple[str, ...],
    prompt: str | None,
    opens: bool,
    device: str,
    threads: int,
    output: str,
    force: bool,
) -> Outcome:
    """Write a page about runs and ablations: curves, evaluations, bits of a text, next tokens, samples, parameters.

    The page is one file of at most 5 MB that asks no network and holds no date. Results in the folder eval of a run are
    shown. A run that has not finished is shown with its newest checkpoint.
    """
    check_opens(opens, output)
    refuse_output(subjects, (".html", ".htm"))
    if named := [path for path in subjects if kind_of_file(path) in READERS and not is_ablation(path)]:
        shown = [path for path in named if result_sections.is_drawn(result_sections.kind_of(path))]
        words = [word for word in arguments_of_command() if word in shown or word not in named]
        words = [part for word in words for part in (("--with", word) if word in shown else (word,))]
        if {*named} == {*subjects}:
            own = RunFolder(Path(named[0])).enclosing
            words = [str(own[0]) if own else run_here(), *words]
        fact = f"{named[0]!r} is {NAMES[kind_of_file(named[0])]}, not a run"
        left = f" # a report does not show {shlex.join(others)}" if (others := [*{*named} - {*shown}]) else ""
        raise OptionError(fact, fix=f"{shlex.join(['slm', 'report', *words])}{left}", option="with")
    if twice := next((each for each in subjects if subjects.count(each) > 1), None):
        raise OptionError(f"{twice!r} is named twice", fix="name it once", option="subjects")
    if output != STDIO:
        check_written(output, "output", [*subjects, *results, *on], force=force)
    check_content(output, PAGE)
    check_runs(click.get_current_context(), None, tuple(path for path in subjects if not is_ablation(path)))
    _refuse_runs(results)
    for path in results:
        result_sections.drawn_kind(path)
    # Read before torch is imported.
    texts = _named_text(on) if on else None
    use_threads(threads)
    page, warnings = make_page(subjects, results=results, texts=texts, prompt=prompt, device=device)
    warnings = (*notes_on_escapes("--prompt", prompt or ""), *warnings)
    return write_page(page.html, output, force=force, opens=opens, warnings=warnings, subjects=list(subjects))


def _refuse_runs(results: Sequence[str]) -> None:
    """Raises `OptionError` for a run in the place of a result; the fix has it among the runs."""
    if not (runs := [path for path in results if is_run(path)]):
        return
    arguments = arguments_of_command()
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    words = [word for word, value in pairs if word != "--with" or value not in runs]
    words = [path if (path := word.removeprefix("--with=")) in runs else word for word in words]
    fact, fix = f"{runs[0]!r} is a run, not a result", shlex.join(["slm", "report", *words])
    raise OptionError(fact, where="--with", limit=result_sections.LIMIT, fix=fix, option="with")


def make_page(
    subjects: Sequence[str],
    *,
    results: Sequence[str] = (),
    texts: list[bytes] | None = None,
    prompt: str | None = None,
    device: str = "auto",
) -> tuple[Page, tuple[str, ...]]:
    """The page of runs and ablations, and its warnings: what it lacks, and which runs have not finished.

    `texts`: what is coloured, by default validation documents of the first run.

    Raises what reading the runs raises, and `OptionError` for a page beyond 5 MB.
    """
    ablations = [path for path in subjects if is_ablation(path)]
    runs = [path for path in subjects if path not in ablations]
    labels = short_names([path.rstrip("/") for path in runs])
    folders = [Path(path) if Path(path).is_dir() else Path(path).parent for path in ablations]
    handles = [FolderHandle(folder) for folder in folders if folder.is_dir()]
    sections = [section for number, path in enumerate(ablations) for section in ablation_sections(path, number)]
    with Progress() as progress:
        opened = [Subject.open(name, path) for name, path in labels.items()]
        if opened:
            sections += _run_sections(opened, results, texts, prompt, device, lambda text: progress(text, 0, 0))
        elif results:
            sections.append(Section("evaluations", "Evaluations", list(result_sections.evaluations([], results))))
    for handle in (*handles, *(subject.run.handle for subject in opened)):
        check_in_place(handle)
    title = "Ablation report" if not runs else "Run report"
    footer = FOOTER.format("slmmodel", package_version())
    page = report_page(title, sections, footer=footer, fix="name fewer runs", option="subjects", styles=STYLES)
    blocks = [block for section in sections for block in section.blocks]
    return page, tuple(block.text for block in blocks if isinstance(block, Paragraph) and block.role == "warning")


def _run_sections(
    subjects: Sequence[Subject],
    results: Sequence[str],
    texts: list[bytes] | None,
    prompt: str | None,
    device: str,
    progress: Callable[[str], object],
) -> Iterator[Section]:
    progress("reading the runs")
    yield Section("runs", "Runs", list(run_sections.facts(subjects)))
    yield Section("curves", "Training", list(run_sections.curves(subjects)))
    yield Section("gates", "Gates of the memory", list(run_sections.gates(subjects)))
    yield Section("evaluations", "Evaluations", list(result_sections.evaluations(subjects, results)))
    opened, notes = _open(subjects, device)
    texts = _validation_text(opened, notes) if texts is None else texts
    prompt = text_sections.prompt_of(texts) if prompt is None else prompt
    progress("scoring the text")
    yield Section("bits", "Where the bits go", [*notes, *text_sections.loss_map(opened, texts)])
    yield Section("next", "Next tokens", [*text_sections.next_tokens(opened, prompt), *_next_words(opened, prompt)])
    progress("drawing samples")
    yield Section("samples", "Samples", list(text_sections.samples(opened, prompt)))
    yield Section("parameters", "Parameters", list(run_sections.parameters(subjects)))
    yield Section("batch", "A batch", list(run_sections.batches(subjects)))


def _open(subjects: Sequence[Subject], device: str) -> tuple[list[Opened], list[Block]]:
    """The runs that have weights and a tokenizer, and why others have not."""
    found: list[Opened] = []
    notes: list[Block] = []
    place = str(device_for(device))
    for subject in subjects:
        run = subject.run
        if run.tokenizer is None:
            notes.append(Paragraph(f"{subject.name} has no tokenizer file, so its text is not shown.", role="warning"))
        elif not run.finished and run.newest() is None:
            notes.append(Paragraph(f"{subject.name} has no weights yet, so its text is not shown.", role="warning"))
        else:
            text = Text(str(run.tokenizer), run.vocab)
            found.append(Opened(subject.name, RunContext(run, run.model(place), run.vocab, text), text))
    return found, notes


def _next_words(opened: Sequence[Opened], prompt: str) -> Iterator[Block]:
    """Words of the training text of the first run; a warning where it is gone or cannot be read."""
    if not opened:
        return
    try:
        text = text_sections.training_text(opened[0].context.run, opened[0].text)
    except (SlmmodelError, SlmtokError) as error:
        yield Paragraph(f"No words of the training text are listed: {error.fact}.", role="warning")
        return
    yield from text_sections.next_words(text, prompt)


def _named_text(on: Sequence[str]) -> list[bytes]:
    """The text that --on names. Raises `OptionError` for a file that is no text, and what reading raises."""
    try:
        return text_sections.text_of(on)
    except NotText as error:
        # The fix of slmtok names options of a corpus, which a report has not.
        fix = "name text in UTF-8, or records: .jsonl, .json, .csv, .tsv, .parquet"
        raise OptionError(error.fact, where="--on", fix=fix, option="on") from None


def _validation_text(opened: Sequence[Opened], notes: list[Any]) -> list[bytes]:
    """Validation documents of the first run; where its data are gone, a note says so."""
    if not opened:
        return []
    try:
        return text_sections.validation_text(opened[0].context.run, opened[0].text)
    except (SlmmodelError, SlmtokError) as error:
        notes.append(Paragraph(f"No text is coloured: {error.fact}. --on TEXT names one.", role="warning"))
        return []

"""`slm chat`: an interactive prompt. The model continues the whole text so far, and the answer is shown as it grows."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slmmodel.cli.open_by_path import RunContext, check_written, open_run, prompt_ids, stdin_lines
from slmmodel.cli.options import (
    COUNT,
    OPENING,
    SAMPLING_HABITS,
    SEED,
    field_option,
    one_text,
    opening_options,
    run_argument,
    run_as_argument,
)
from slmmodel.cli.run_argument import without
from slmmodel.cli.text import STDIN, TextDecoder
from slmmodel.decoding_options import SampleConfig
from slmmodel.errors import InvalidInput, OptionError
from slmtok.atomic import write
from slmtok.cli.app import Terminated
from slmtok.cli.errors import EXTRA
from slmtok.cli.files import PLAIN_TEXT
from slmtok.cli.options import OUTPUT, Habit, command, instead, option
from slmtok.cli.output import DONE, FAILED, Outcome, counted, note, printable, settings, shown
from slmtok.errors import OutputExists, SlmtokError, suggestion
from slmtok.files import free_name, read_at_most

HELP = """\
Type a text, and the model continues everything so far.
An empty line continues without a new text.
  /temperature X   change a setting; without a value, show it
                   (also /top-p X, /top-k N, /max-new N)
  /undo            forget the last turn
  /clear           forget everything
  /save FILE       write the transcript
  /help            this text
  /quit            end (also Ctrl-D); Ctrl-C ends an answer
"""
SETTINGS = {"/temperature": "temperature", "/top-p": "top_p", "/top-k": "top_k", "/max-new": "max_new_tokens"}
"""Option of `SampleConfig` by command."""
_FAREWELLS = ("exit", "exit()", "quit", "quit()", "bye", "q", ":q")
"""Lines that end other programs."""
_REMEDIES = {
    **dict.fromkeys(_FAREWELLS, "/quit ends the chat"),
    **dict.fromkeys(("sav", "write", "export"), "/save FILE writes the transcript"),
    **dict.fromkeys(("reset", "restart", "new", "forget", "cls"), "did you mean /clear?"),
}
"""What to type for the commands of other chats, whose letters are like those of other commands."""
_SETTING_WORDS = ("set", "setting", "parameter", "param", "option", "config")
"""Words that other chats have before the name of a setting."""


def _first_turn(text: str | None, arguments: Sequence[str]) -> str:
    """For a text behind an option: the command with the text as its first turn, a line of stdin."""
    return shlex.join(["printf", r"%s\n", text or "TEXT"]) + f" | slm chat {shlex.join(without(_PROMPTS, arguments))}"


_PROMPTS = ("-p", "--prompt", "--text", "--message")
_HABITS: dict[str, Habit] = {
    **SAMPLING_HABITS,
    EXTRA: lambda text, given: one_text("sample")(text, given) or f"slm sample {shlex.join(given)}",
    **run_as_argument("chat"),
    **dict.fromkeys(_PROMPTS, _first_turn),
    **dict.fromkeys(
        ("--system", "--system-prompt"),
        instead("the first text of the chat for it; the model continues text and follows no instructions"),
    ),
}
"""Options of other chats, each with what stands for it here."""


@command("chat", example="slm chat run", habits=_HABITS)
@run_argument
@field_option("temperature", SampleConfig.model_fields["temperature"])
@field_option("top_p", SampleConfig.model_fields["top_p"])
@field_option("top_k", SampleConfig.model_fields["top_k"])
@option("--max-new", "--max-new-tokens", "max_new_tokens", metavar="N", type=COUNT, default=128,
        help="Maximum number of new ids of an answer.")  # fmt: skip
@option("--seed", metavar="N", type=SEED, default=0, help="Seed of the random choices.")
@option(
    "--transcript",
    metavar="FILE",
    panel=OUTPUT,
    help="Write the transcript here at the end, also of an interrupted chat.",
)
@option("--force", is_flag=True, panel=OUTPUT, help="Replace a transcript that exists.",
        needs="--transcript FILE")  # fmt: skip
@opening_options
def chat(run: str, transcript: str | None, force: bool, **values: Any) -> Outcome:
    """Continue text with a trained model, turn by turn; /help lists what can be changed on the fly.

    The model continues a text, as it was trained to: it follows no instructions.
    """
    opening = {name: values.pop(name) for name in OPENING}
    options = SampleConfig(overflow="slide", **values)
    check_written(transcript, "transcript", [run, opening["tokenizer"]], force=force, content=PLAIN_TEXT)
    context = open_run(run, **opening)
    context.need_text("slm chat")
    from slmmodel.run import special_ids  # after torch has been loaded, with a spinner

    conversation = Chat(context, options.model_copy(update=special_ids(context.vocab)), sys.stdout.write)
    if not settings().quiet and not settings().as_json:
        sys.stderr.write(f"{run}: {HELP}")
    has_ended = False

    def keep() -> None:
        nonlocal transcript
        if transcript is not None and (has_ended or conversation.turns):
            transcript = conversation.keep(transcript, force=force)

    try:
        try:
            conversation.run(_lines())
            has_ended = True
        finally:
            # Also after Ctrl-C at the prompt, SIGTERM or an error: what was said is kept.
            keep()
    except (KeyboardInterrupt, Terminated):
        # Perhaps while it was written: a terminal that is closed ends the lines, and sends SIGHUP. No second signal is
        # heard here.
        keep()
        raise
    turns = [{"text": turn.text, "answer": turn.answer} for turn in conversation.turns]
    faults = tuple(conversation.faults)
    # On a terminal one saw them, and typed something else.
    is_read = sys.stdin is not None and sys.stdin.isatty()
    code = FAILED if faults and not is_read else DONE
    if code == FAILED and settings().quiet and not settings().as_json:
        fact = f"{counted(len(faults), 'line')} not carried out; the first: {faults[0]}"
        raise InvalidInput(fact, where=STDIN, fix="correct the lines; without --quiet, each has a remark")
    warnings = (*faults, *conversation.notes)
    return Outcome({"turns": turns, "transcript": transcript}, warnings=warnings, warnings_shown=True, code=code)


def _lines() -> Iterator[str]:
    """Lines of stdin, with a prompt and editing on a terminal, until they end."""
    if sys.stdin is None or not sys.stdin.isatty():
        yield from (line.decode("utf-8", "surrogateescape").rstrip("\r\n") for line in stdin_lines())
        return
    import contextlib

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401
    while True:
        try:
            yield input("> ")
        except EOFError:
            sys.stdout.write("\n")
            return


@dataclass
class Turn:
    """A text and its continuation. `ids` are those of both."""

    text: str
    answer: str
    ids: list[int]


@dataclass
class Chat:
    """A conversation. `show` takes the parts of an answer as they come."""

    context: RunContext
    options: SampleConfig
    show: Callable[[str], object]
    turns: list[Turn] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Lines that were not carried out, as warnings of the result."""
    notes: list[str] = field(default_factory=list)
    """Other warnings of the result."""

    def run(self, lines: Iterator[str]) -> None:
        """Handles lines until they end, or `/quit`."""
        for line in lines:
            word, _, rest = line.strip().partition(" ")
            if word == "/quit":
                return
            if any("\udc80" <= char <= "\udcff" for char in line):
                self._refuse("this line is not UTF-8 and was left out")
            elif word.startswith("/"):
                self._command(word, rest.strip())
            else:
                if line.strip().lower() in _FAREWELLS:
                    self._say(f"{line.strip()!r} is continued as text; /quit ends the chat")
                self.answer(line)

    def transcript(self) -> str:
        """The whole text so far."""
        return "".join(turn.text + turn.answer for turn in self.turns)

    def write(self, path: str, *, force: bool = False) -> None:
        """Writes the transcript. Without `force`, it replaces only a file that holds a beginning of it, such as an
        earlier `/save`: nothing is lost."""
        content, is_beginning = self.transcript().encode(), False
        # A pipe would be waited for.
        if Path(path).is_file():
            with suppress(OSError), Path(path).open("rb") as file:
                is_beginning = content.startswith(read_at_most(file, len(content) + 1))
        write(path, content, force=force or is_beginning)

    def keep(self, path: str, *, force: bool) -> str:
        """Writes the transcript at the end and gives its name: a free one where `path` was written meanwhile.

        The conversation cannot be repeated: where the file cannot be written, the transcript becomes a temporary file,
        or else goes to stdout; the error says so.
        """
        name = path
        while True:
            try:
                self.write(name, force=force)
            except OutputExists:
                name = free_name(path)
                continue
            except SlmtokError as error:
                error.fix = f"free some space, or make the folder writable; {self._keep_elsewhere(name)}"
                raise
            if name != path:
                self.notes.append(f"{path!r} exists by now; the transcript is {name!r}")
                # Also with --quiet: no other line has the name.
                note(self.notes[-1])
            return name

    def _keep_elsewhere(self, path: str) -> str:
        """Writes the transcript to a temporary file, or else to stdout, and says where it is."""
        import tempfile

        try:
            with tempfile.NamedTemporaryFile(prefix="chat-", suffix=".txt", delete=False) as file:
                try:
                    file.write(self.transcript().encode())
                    file.flush()
                except OSError:
                    Path(file.name).unlink()
                    raise
        except OSError:
            sys.stdout.write(f"{self.transcript()}\n")
            return "the transcript is on stdout"
        return f"then keep the transcript: {shlex.join(['mv', file.name, path])}"

    def answer(self, text: str) -> str:
        """Continues the text so far with a new one. Ctrl-C ends the answer, which is kept."""
        from slmmodel.generation import Generation

        context, options = self.context, self.options
        adapter = context.need_text("slm chat")
        new = adapter.encode(text) if text else []
        ids = [*prompt_ids(context, None, None), *(id for turn in self.turns for id in turn.ids), *new]
        # An answer begins with at least half of the window free.
        ids = ids[-max(1, context.model.config.max_context // 2) :]
        decoder, parts = TextDecoder(), []
        row = Generation(
            context.model,
            [ids],
            options,
            max_new_tokens=options.max_new_tokens,
            overflow=options.overflow,
            first_row=len(self.turns),
        )
        try:
            for produced in row:
                for _, id in produced:
                    parts.append(decoder.push(adapter.data([id])))
                    self._show(parts[-1])
        except KeyboardInterrupt:
            self._say("(ended)")
        finally:
            # Whatever ends the answer, the transcript has it.
            parts.append(decoder.finish())
            self.turns.append(Turn(text, "".join(parts), new + row.samples[0].ids))
        self._show(parts[-1] + "\n")
        return self.turns[-1].answer

    def _command(self, word: str, value: str) -> None:
        """Carries out a command, and says what came of it."""
        if word in SETTINGS:
            self._set(word, value)
        elif word == "/save":
            self._save(value)
        elif word == "/help":
            self._say(HELP.rstrip())
        elif word not in ("/undo", "/clear"):
            self._refuse(f"unknown command {word}; {_remedy(word, value)}")
        else:
            del self.turns[-1 if word == "/undo" else 0 :]
            self._say(counted(len(self.turns), "turn"))

    def _set(self, word: str, value: str) -> None:
        name = SETTINGS[word]
        if value:
            try:
                self.options = SampleConfig(**{**self.options.model_dump(), name: value})
            except OptionError as error:
                reason = f"takes {error.limit}" if error.limit else error.fact
                self._refuse(f"{word} {value} is refused: {reason}; it stays {getattr(self.options, name)}")
                return
        self._say(f"{name} {getattr(self.options, name)}")

    def _save(self, path: str) -> None:
        if not path:
            self._refuse("/save takes a file name")
            return
        try:
            self.write(path)
        except (SlmtokError, OSError) as error:
            self._refuse(f"not saved: {getattr(error, 'fact', error)}")
        else:
            self._say(f"saved {counted(len(self.turns), 'turn')} to {path}")

    def _refuse(self, fault: str) -> None:
        """Says what was not carried out, and keeps it for the result."""
        self.faults.append(fault)
        self._say(fault)

    def _show(self, text: str) -> None:
        if not settings().as_json:
            self.show(shown(text))
            sys.stdout.flush()

    def _say(self, text: str) -> None:
        """A remark on stderr, so that stdout holds only what the model wrote."""
        if not settings().quiet:
            sys.stderr.write(printable(text) + "\n")
            sys.stderr.flush()


def _remedy(word: str, value: str) -> str:
    """What to type for an unknown command: the line of the setting that it names, or the command that it misspells."""
    if found := _REMEDIES.get(word[1:].lower()):
        return found
    words = [word.removeprefix("/"), *value.replace("=", " ").split()]
    while len(words) > 1 and words[0].lower() in _SETTING_WORDS:
        words = words[1:]
    name = f"/{words[0].lower()}"
    # No word leads to /save, which would write a file of the name that follows.
    meant = suggestion(name, (*SETTINGS, "/undo", "/clear", "/help"), cutoff=0.6)
    meant = next((each for each in SETTINGS if len(name) > 2 and each.startswith(name)), meant)
    if meant is None:
        return "/help lists the commands"
    return f"did you mean {' '.join([meant, *words[1:2]] if meant in SETTINGS else [meant])}?"

"""annotate: a page on which trees are accepted and corrected, and a journal that keeps every step."""

import getpass
import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discotree.cli.common import err, report_choice, report_written
from discotree.cli.model_options import Device, Engine, Model
from discotree.cli.options import Encoding, check_output, expand, format_option, output_option
from discotree.cli.serve import Host, Origins, Port, RootPath, key_option
from discotree.errors import InputError, TreebankError, requires_extra
from discotree.files.names import STANDARD_STREAM, base_name, is_archive
from discotree.integrations.annotation.journal import is_journal
from discotree.models import finding
from discotree.models.card import CARD, Card
from discotree.models.choice import Candidates
from discotree.parsing.inputs import INPUT_KINDS, SentenceSource, beginning_of, find_sources
from discotree.parsing.text_input import LINES, TEXT, DecodingErrors
from discotree.treebanks import FORMATS, guess_format, read

if TYPE_CHECKING:
    from discotree.integrations.annotation.project import Project
    from discotree.integrations.annotation.service import AnnotationService
    from discotree.parsing.parser import Parser

SUFFIX = ".annotation.jsonl"


def annotate(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="Files, folders or patterns to annotate, or a journal to go on with."),
    ],
    model: Model = "",
    journal: Annotated[
        str,
        typer.Option(metavar="FILE", show_default=False, help=f"File that keeps every step; by default INPUT{SUFFIX}."),
    ] = "",
    output: Annotated[str, output_option("Treebank of the finished trees, written soon after every step.")] = "",
    to: Annotated[
        str | None, format_option("--to", FORMATS, f"Format of the treebank, if not clear: {', '.join(FORMATS)}.")
    ] = None,
    export: Annotated[bool, typer.Option("--export", help="Write the finished trees to -o, and end.")] = False,
    order: Annotated[
        Literal["unsure", "given"], typer.Option(help="What comes first: uncertain trees, or the first sentences.")
    ] = "unsure",
    annotator: Annotated[
        str, typer.Option(metavar="NAME", show_default=False, help="Your name in the history; by default your login.")
    ] = "",
    held_out: Annotated[
        str,
        typer.Option(
            metavar="FILE", show_default=False, help="Gold trees to score every model on that you start with."
        ),
    ] = "",
    from_: Annotated[
        str | None,
        format_option("--from", INPUT_KINDS, f"Format of the input, if not clear: {', '.join(INPUT_KINDS)}."),
    ] = None,
    encoding: Encoding = None,
    errors: Annotated[
        DecodingErrors, typer.Option(help="Leave out sentences that cannot be decoded, or replace bytes by �.")
    ] = "strict",
    tags: Annotated[bool, typer.Option("--tags", help="Give the model the tags of the treebank.")] = False,
    device: Device = "",
    engine: Engine = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    api_keys: Annotated[list[str] | None, key_option("annotators must enter")] = None,
    origins: Origins = None,
    root_path: RootPath = "",
) -> None:
    """Annotate sentences in the browser: accept, correct, skip, comment.

    Every step is on the disk before the page goes on, in a journal that keeps who changed what and when. A later run
    goes on where this one ends, also with another model. Train on the finished trees with discotree train --from.
    """
    paths = expand(inputs)
    opened = paths[0] if len(paths) == 1 and is_journal(paths[0]) else ""
    if opened and journal:
        raise typer.BadParameter("--journal: the input is a journal already")
    path = opened or journal or _journal_for(paths)
    _check_output(output, to, [*paths, path, held_out])
    if export:
        _export(path, output, to, model)
        return
    check_output(path, [held_out, *([] if opened else [name for name in paths if not os.path.isdir(name)])])
    with requires_extra("web"):
        from discotree.integrations.web.app import create_app
        from discotree.integrations.web.server import listen, make_access, run
    with listen(host, port) as bound:
        access = make_access(host, bound, origins or [], api_keys or [], root_path)
        sources = [] if opened else find_sources(paths, from_)
        gold = list(read(held_out)) if held_out else []
        if not model and not opened:
            sample, sources = beginning_of(sources, encoding, tags)
            choice = Candidates.installed().choose(sample)
            report_choice(choice)
            model = choice.model
        service = _service(path, sources, model, annotator or _login(), encoding, errors, tags, device, engine or "")
        try:
            service.order = order
            service.title = base_name(paths[0]) if len(paths) == 1 else f"{len(paths)} inputs"
            if output:
                service.follow(output, to)
            if gold:
                service.score(gold, base_name(held_out))
            folder = service.parser.folder
            cards = {service.model: Card.read(folder / CARD)} if folder and (folder / CARD).exists() else {}
            app = create_app({service.model: service.parser}, access=access, cards=cards, annotation=service)
        except BaseException:
            service.close()
            raise
        if access.hosts is None and not access.api_keys:
            err.print(f"discotree: anyone who reaches {host} can annotate, without a key", style="yellow")

        def ready() -> None:
            name = f"[{host}]" if ":" in host else host
            print(f"http://{name}:{bound.getsockname()[1]}{access.root_path}/annotate", flush=True)
            err.print(f"every step is saved in {path}; Ctrl-C stops the server", style="dim", soft_wrap=True)

        run(app, bound, ready)


def _service(
    path: str,
    sources: list[SentenceSource],
    model: str,
    who: str,
    encoding: str | None,
    errors: DecodingErrors,
    tags: bool,
    device: str,
    engine: str,
) -> "AnnotationService":
    """Open the project, load the model, and begin to parse what is not parsed yet."""
    from discotree.integrations.annotation.lines import now
    from discotree.integrations.annotation.predicting import Predictor, model_use
    from discotree.integrations.annotation.project import Project
    from discotree.integrations.annotation.service import AnnotationService
    from discotree.parsing.load import load

    facts = {"input": [source.name for source in sources], "time": now(), "who": who} if sources else None
    if model:
        finding.find(model)  # before a journal begins
    project = Project.open(path, facts)
    try:
        _report(project)
        name = model or (project.models[-1].name if project.models else "")
        folder = finding.find(name)
        parser = load(folder, device, engine=engine)
        _check(parser, sources, tags)
        if not parser.model.calibration:
            err.print(
                "discotree: this model is not calibrated: its order of uncertainty is a rough one", style="yellow"
            )
        predictor = Predictor(project, parser, model_use(_name(name, folder), folder, who))
        unread = None
        if sources:
            language = parser.config.language
            items = (source.sentences(language, encoding, errors, tags) for source in sources)
            unread = predictor.skip_known(chain.from_iterable(items))
        predictor.start(unread)
        return AnnotationService(project, parser, _name(name, folder), predictor, annotator=who)
    except BaseException:
        project.close()
        raise


def _journal_for(paths: list[str]) -> str:
    if len(paths) != 1 or paths[0] == STANDARD_STREAM:
        raise typer.BadParameter("where shall the steps be kept? --journal FILE")
    if not os.path.exists(paths[0]):
        raise TreebankError("no such file", paths[0])
    return paths[0].rstrip("/\\") + SUFFIX


def _check_output(output: str, to: str | None, sources: list[str]) -> None:
    """Refuse a treebank that cannot be written, before anything is annotated."""
    if not output:
        return
    if is_archive(output):
        raise TreebankError("archives can be read but not written", output)
    if not to and guess_format(output) is None:
        raise typer.BadParameter(f"-o {output}: in what format? --to FORMAT")
    check_output(output, sources)


def _export(path: str, output: str, to: str | None, model: str) -> None:
    """Write the finished trees of a journal, which another process may be writing."""
    from discotree.integrations.annotation.finished import write_finished
    from discotree.integrations.annotation.project import Project

    if not output:
        raise typer.BadParameter("--export needs a file: -o FILE")
    heads = None
    if model:
        from discotree.models.folder import read_model

        heads = read_model(finding.find(model)).head_rules
    project = Project.open(path, read_only=True)
    try:
        count, problems = write_finished(project, output, to, heads)
    finally:
        project.close()
    report_written(f"{count:,} finished trees", output)
    for problem in problems[:10]:
        err.print(f"discotree: left out: {problem}", style="red", soft_wrap=True)
    if problems:
        err.print(f"discotree: {len(problems):,} trees cannot be written in this format", style="red")
        raise typer.Exit(1)


def _check(parser: "Parser", sources: list[SentenceSource], tags: bool) -> None:
    """Refuse what would fail for every single sentence."""
    if any(source.kind in (TEXT, LINES) for source in sources) and not parser.config.language:
        raise InputError("this model has no language to tokenise text by: --from tokens")
    if sources and parser.has_tags and not tags:
        raise InputError("this model needs tags: give it a treebank that has them, and --tags")
    if tags and not parser.has_tags:
        raise InputError("this model takes no tags: leave out --tags")


def _report(project: "Project") -> None:
    if project.journal.torn_bytes:
        message = f"the last line was torn by a crash and is removed ({project.journal.torn_bytes:,} bytes)"
        err.print(f"discotree: {project.journal.shown}: {message}", style="yellow", soft_wrap=True)
    if len(project):
        done = f"{project.finished:,} of {len(project):,} sentences are finished"
        err.print(f"discotree: {project.journal.shown}: {done}", style="dim", soft_wrap=True)


def _name(name: str, folder: Path) -> str:
    """Return what to call a model: a folder by its name, or by that of its run."""
    if not os.path.isdir(name):
        return name
    return folder.resolve().parent.name if folder.resolve().name == "model" else folder.resolve().name


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have no user
        return "annotator"

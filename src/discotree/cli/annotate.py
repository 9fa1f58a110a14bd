"""annotate: a web page on which trees are accepted and corrected, and a journal that records every step."""

import getpass
import os
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discotree.cli.console import complain, err, note, report_choice, report_written, warn
from discotree.cli.options import (
    check_output,
    choice_option,
    encoding_option,
    examples,
    expand,
    format_option,
    model_option,
    output_option,
)
from discotree.cli.parse import check_model_input
from discotree.cli.serve import address_options, announce, api_key_option, origins_option
from discotree.errors import DiscotreeError, TreebankError, counted, requires_extra
from discotree.files.writing import STANDARD_STREAM, base_name, is_archive
from discotree.models import finding
from discotree.models.card import CARD, Card
from discotree.models.finding import Candidates
from discotree.parsing.inputs import INPUT_KINDS, SentenceSource, beginning_of, find_sources
from discotree.treebanks import FORMATS, guess_format, read
from discotree.web.annotation.journal import Order, is_journal, now

if TYPE_CHECKING:
    from discotree.web.annotation.project import Project
    from discotree.web.annotation.session import AnnotationSession

SUFFIX = ".annotation.jsonl"


@click.command(
    epilog=examples(
        "discotree annotate news.txt --model nl -o news.export",
        "discotree annotate news.txt --model runs/news/model --held-out gold.export",
        "discotree annotate news.txt --export -o news.tiger.xml --to tigerxml",
        "discotree annotate news.txt --double 0.2",
        "discotree annotate news.txt --invite Ann",
    )
)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@model_option
@click.option("--journal", metavar="FILE", help=f"File that records every step. By default, INPUT{SUFFIX}.")
@output_option("Treebank of the accepted trees, updated after every step.", default=None)
@format_option("--to", FORMATS, "Format of the treebank, if the name of the file does not show it")
@click.option(
    "--export", is_flag=True, help="Write the accepted trees to -o and exit; with --annotator, those of one annotator."
)
@choice_option("--order", Order, "Show the least certain trees first, or keep the order of the input.", "unsure")
@click.option("--annotator", metavar="NAME", help="Your name in the journal. By default, your login.")
@click.option(
    "--double",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Share of the sentences that two annotators annotate, such as 0.2. It cannot be changed later.",
)
@click.option(
    "--invite",
    metavar="NAME",
    help="Print a link for this annotator and exit. Pass the same --host, --port and --allow-origin as for the server.",
)
@click.option("--revoke", metavar="NAME", help="Make the link of this annotator invalid, and exit.")
@click.option("--held-out", metavar="FILE", help="Gold trees on which every model you use is scored.")
@format_option("--from", INPUT_KINDS, "Format of the input, if it cannot be detected")
@encoding_option
@click.option("--tags", is_flag=True, help="Pass the tags of the treebank to the model.")
@address_options
@api_key_option("Key that annotators must enter.")
@origins_option
def annotate(
    inputs: tuple[str, ...],
    model: str | None,
    journal: str | None,
    output: str | None,
    to: str | None,
    export: bool,
    order: Order,
    annotator: str | None,
    double: float | None,
    invite: str | None,
    revoke: str | None,
    held_out: str | None,
    from_: str | None,
    encoding: str | None,
    tags: bool,
    host: str,
    port: int,
    api_keys: tuple[str, ...],
    origins: tuple[str, ...],
) -> None:
    """Annotate sentences in the browser.

    INPUT is a file, a folder or a pattern, or a journal to continue with. You can accept, correct, skip and comment on
    trees. Every step is saved at once in a journal that records who changed what and when, and a later run continues
    there, also with another model. Train on the accepted trees with discotree train --base.
    """
    paths = expand(inputs)
    opened = paths[0] if len(paths) == 1 and is_journal(paths[0]) else None
    if opened and journal:
        raise click.UsageError("--journal cannot be used: the input is a journal already")
    path = opened or journal or _journal_for(paths)
    _check_treebank(output, to, [*paths, path, held_out])
    if export:
        _export(path, output, to, model, annotator)
        return
    if invite is not None or revoke is not None:
        _change_invitations(path, invite, revoke, _address(host, port, origins))
        return
    check_output(path, [held_out, *([] if opened else [name for name in paths if not os.path.isdir(name)])])
    with requires_extra("web"):
        from discotree.web.annotation.invitations import Invitations
        from discotree.web.annotation.session import AcceptedTreesFile
        from discotree.web.app import create_app
        from discotree.web.server import listen, make_access, run
    with listen(host, port) as bound:
        invitations = Invitations(path)
        invitations.read()
        access = replace(make_access(host, bound, origins, api_keys, ""), invited=invitations.hashes)
        sources = [] if opened else find_sources(paths, from_)
        gold = list(read(held_out)) if held_out else []
        if not model and not opened:
            sample, sources = beginning_of(sources, encoding, tags)
            choice = Candidates.installed().choose(sample)
            report_choice(choice)
            model = choice.model
        service = _service(path, sources, model, annotator or _login(), encoding, tags, double)
        try:
            service.order = order
            service.title = base_name(paths[0]) if len(paths) == 1 else f"{len(paths)} inputs"
            if output:
                service.output = AcceptedTreesFile(service.project, output, to, service.parser.head_rules)
            if held_out:
                service.score(gold, base_name(held_out))
            folder = service.parser.folder
            cards = {service.model: Card.read(folder / CARD)} if folder and (folder / CARD).exists() else {}
            app = create_app({service.model: service.parser}, access=access, cards=cards, annotation=service)
        except BaseException:
            service.close()
            raise
        err.print(f"every step is saved in {path}", style="dim", soft_wrap=True)
        announce(host, bound, access, "/annotate")
        run(app, bound)


def _service(
    path: str,
    sources: list[SentenceSource],
    model: str | None,
    who: str,
    encoding: str | None,
    tags: bool,
    double: float | None,
) -> "AnnotationSession":
    """Open the project, load the model, and start to parse the remaining sentences."""
    from discotree.parsing.parser import load
    from discotree.web.annotation.project import Project
    from discotree.web.annotation.session import AnnotationSession, Predictor

    facts: dict[str, object] | None = None
    if sources:
        facts = {"input": [source.name for source in sources], "time": now(), "who": who}
        facts |= {"double": double} if double else {}
    if model:
        finding.find(model)  # before a journal begins
    project = Project.open(path, facts)
    try:
        if double is not None and double != project.double:
            raise DiscotreeError(
                f"--double {double:g}: {path} was started with --double {project.double:g}, which cannot be changed; "
                "pass --journal with another name to start again"
            )
        _report(project)
        name = model or (project.models[-1]["name"] if project.models else "")
        folder = finding.find(name)
        parser = load(folder)
        check_model_input(parser, sources, tags)
        if not parser.model.calibration:
            warn("this model is not calibrated, so the order of uncertain sentences is approximate")
        use = project.use_model(_name(name, folder), finding.fingerprint(folder), who)
        predictor = Predictor(project, parser, use)
        unread = None
        if sources:
            language = parser.config.language
            items = (source.sentences(language, encoding, tags=tags) for source in sources)
            unread = predictor.skip_known(chain.from_iterable(items))
        predictor.start(unread)
        return AnnotationSession(project, parser, _name(name, folder), predictor, annotator=who)
    except BaseException:
        project.close()
        raise


def _journal_for(paths: list[str]) -> str:
    if len(paths) != 1 or paths[0] == STANDARD_STREAM:
        raise click.UsageError("several inputs or standard input: pass --journal FILE to choose where to save")
    if not os.path.exists(paths[0]):
        raise TreebankError("no such file", paths[0])
    return paths[0].rstrip("/\\") + SUFFIX


def _check_treebank(output: str | None, to: str | None, sources: list[str | None]) -> None:
    """Refuse a treebank that cannot be written, before anything is annotated."""
    if not output:
        return
    if is_archive(output):
        raise TreebankError("archives can be read but not written", output)
    if not to and guess_format(output) is None:
        raise click.UsageError(f"cannot tell the format of {output} from its name; pass --to FORMAT")
    check_output(output, sources)


def _change_invitations(path: str, invite: str | None, revoke: str | None, address: str) -> None:
    """Print the link of an annotator, or revoke it. A running server notices the change."""
    with requires_extra("web"):
        from discotree.web.annotation.invitations import Invitations
    invitations = Invitations(path)
    if revoke is not None:
        note(f"the link of {invitations.revoke(revoke)} no longer works")
    if invite is not None:
        name, token = invitations.invite(invite)
        print(f"{address}#token={token}")
        note(f"whoever has this link annotates as {name}; earlier links of {name} no longer work")


def _address(host: str, port: int, origins: tuple[str, ...]) -> str:
    """Return the address of the page, as annotators see it."""
    name = f"[{host}]" if ":" in host else host
    return f"{next((origin for origin in origins if origin != '*'), f'http://{name}:{port}')}/annotate"


def _export(path: str, output: str | None, to: str | None, model: str | None, annotator: str | None) -> None:
    """Write the accepted trees of a journal, while another process may be writing it."""
    from discotree.web.annotation.project import Project
    from discotree.web.annotation.session import write_accepted

    if not output:
        raise click.UsageError("--export needs an output file: pass -o FILE")
    heads = None
    if model:
        from discotree.models.folder import read_model

        heads = read_model(finding.find(model)).head_rules
    with closing(Project.open(path, read_only=True)) as project:
        count, problems = write_accepted(project, output, to, heads, annotator)
    report_written(f"{counted(count, 'accepted tree')}{f' of {annotator}' if annotator else ''}", output)
    for problem in problems[:10]:
        complain(f"left out: {problem}")
    if problems:
        complain(f"{counted(len(problems), 'tree')} cannot be written in this format")
        raise click.exceptions.Exit(1)


def _report(project: "Project") -> None:
    journal = project.journal
    if journal.torn_bytes:
        warn(f"{journal.name}: removed the incomplete last line, left by a crash ({journal.torn_bytes:,} bytes)")
    if len(project):
        note(f"{journal.name}: {project.accepted_count:,} of {len(project):,} sentences are finished")


def _name(name: str, folder: Path) -> str:
    """Return the name of a model; a folder has its own name, or that of its run."""
    if not os.path.isdir(name):
        return name
    return folder.resolve().parent.name if folder.resolve().name == "model" else folder.resolve().name


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have no user
        return "annotator"

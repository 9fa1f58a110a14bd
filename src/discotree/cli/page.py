"""page: a web page that parses without a server."""

import click

from discotree.cli.console import report_written
from discotree.cli.options import complete_model, examples


@click.command(
    epilog=examples(
        "discotree page -o site --model nl --model de --model en",
        "discotree page -o site -m runs/pcc/model --runtime node_modules/onnxruntime-web",
    )
)
@click.option("--output", "-o", metavar="FOLDER", required=True, help="Folder to write the page to.")
@click.option(
    "--model",
    "-m",
    "models",
    shell_complete=complete_model,
    metavar="MODEL",
    multiple=True,
    required=True,
    help="Model of the page: an installed model, a folder, or hub:ORG/NAME. May be repeated.",
)
@click.option(
    "--runtime",
    metavar="FOLDER",
    help="Folder of the npm package onnxruntime-web. By default, it is looked for in node_modules and js/node_modules.",
)
def page(output: str, models: tuple[str, ...], runtime: str | None) -> None:
    """Make a web page that parses in the browser, without a server.

    The folder can be published on any static host, also below a path. It has the page of discotree serve with the
    parser, the editor and downloads. The parser runs in the browser, so the reader's text stays on the reader's device.
    """
    from discotree.web.site import build_site

    files, size = build_site(models, output, runtime)
    report_written(f"{files} files, {size / 1e6:.1f} MB", output)

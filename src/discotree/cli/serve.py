"""serve: the web page and the HTTP API."""

from typing import TYPE_CHECKING

import click

from discotree.cli.console import ProgressBar, err, warn
from discotree.cli.options import Decorator, F, complete_model, device_option, engine_option, examples
from discotree.errors import requires_extra

if TYPE_CHECKING:
    from socket import socket

    from discotree.web.security import Access


def address_options(function: F) -> F:
    """Add --host and --port."""
    port_help = "Port to listen on; 0 chooses a free one."
    function = click.option("--port", type=click.IntRange(0, 65535), metavar="PORT", default=8000, help=port_help)(
        function
    )
    host_help = "Address to listen on. Only loopback addresses are private."
    return click.option("--host", metavar="ADDRESS", default="127.0.0.1", help=host_help)(function)


def api_key_option(help: str) -> Decorator:
    return click.option(
        "--api-key",
        "api_keys",
        metavar="KEY",
        envvar="DISCOTREE_API_KEY",
        show_envvar=True,
        multiple=True,
        help=f"{help} May be repeated; in the environment variable, keys are separated by spaces.",
    )


def origins_option(function: F) -> F:
    return click.option(
        "--allow-origin",
        "origins",
        metavar="ORIGIN",
        multiple=True,
        help="Let pages from this origin, such as https://example.org, use the API; * allows all. May be repeated.",
    )(function)


@click.command(
    epilog=examples(
        "discotree serve",
        "discotree serve -m nl -m runs/pcc/model --port 9000",
        "discotree serve --treebank tiger.xml --treebank alpino='corpus/*.xml'",
    )
)
@click.option(
    "--model",
    "-m",
    "models",
    shell_complete=complete_model,
    metavar="MODEL",
    multiple=True,
    help="Model to serve: an installed model, a folder, or hub:ORG/NAME. May be repeated. By default, all installed "
    "models that allow commercial use.",
)
@address_options
@click.option(
    "--treebank",
    "treebanks",
    metavar="[NAME=]FILE",
    multiple=True,
    help="Treebank to search: a file, folder, archive, pattern or index. May be repeated.",
)
@click.option(
    "--index-folder", metavar="FOLDER", help="Folder for the indexes of treebanks. By default, the user's cache."
)
@device_option
@engine_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    default=60.0,
    help="Longest time that a request may take.",
)
@api_key_option("Key that API calls must send.")
@origins_option
@click.option("--root-path", metavar="PATH", help="Path of the server behind a proxy, such as /discotree.")
@click.option(
    "--trust-proxy",
    "proxies",
    metavar="ADDRESS",
    multiple=True,
    help="Take the client's address from the X-Forwarded-For header of this proxy. May be repeated.",
)
@click.option("--access-log", metavar="FILE", help="Log every request as a line of JSON; - logs to standard error.")
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    treebanks: tuple[str, ...],
    index_folder: str | None,
    device: str | None,
    engine: str | None,
    timeout: float,
    api_keys: tuple[str, ...],
    origins: tuple[str, ...],
    root_path: str | None,
    proxies: tuple[str, ...],
    access_log: str | None,
) -> None:
    """Serve the web page and the HTTP API.

    By default, only this machine can reach the server.
    """
    with requires_extra("web"):
        from discotree.web.limits import Limits
        from discotree.web.metrics import log_access
        from discotree.web.served_treebanks import open_treebanks
        from discotree.web.server import listen, load_app, make_access, run
    bound = listen(host, port)
    access = make_access(host, bound, origins, api_keys, root_path or "")
    if access_log:
        log_access(access_log)
    with ProgressBar(shown=bool(treebanks)) as bar:
        opened = open_treebanks(treebanks, index_folder, bar)
    app = load_app(models, device or "", engine or "", access, Limits(timeout_seconds=timeout), opened)
    announce(host, bound, access)
    run(app, bound, proxies)


def announce(host: str, bound: "socket", access: "Access", path: str = "") -> None:
    """Print the address of a server, and a warning if anyone can use it."""
    if access.hosts is None and not access.api_keys and access.invited() is None:
        warn(f"anyone who can reach {host} can use this server without a key")
    name = f"[{host}]" if ":" in host else host
    print(f"http://{name}:{bound.getsockname()[1]}{path}", flush=True)
    err.print("press Ctrl-C to stop the server", style="dim")

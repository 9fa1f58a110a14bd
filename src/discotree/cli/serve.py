"""serve."""

from typing import Annotated, Any

import typer

from discotree.cli.common import err
from discotree.cli.model_options import Device, Engine, complete_model
from discotree.cli.progress import ProgressBar
from discotree.errors import requires_extra

DESCRIPTION = (
    "Model to offer: a name, a folder or hub:ORG/NAME; may be repeated. "
    "By default all installed ones but those for non-commercial use only."
)
Host = Annotated[str, typer.Option(help="Address to listen on; only loopback addresses are private.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
RootPath = Annotated[
    str, typer.Option(metavar="PATH", help="Path under which a proxy offers the server, such as /discotree.")
]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        help="Let the pages of this origin (https://example.org) use the API; may be repeated; * for all.",
    ),
]


def key_option(use: str) -> Any:
    """Return the option for keys; ``use`` says what is done with them."""
    help = f"Key that {use}; may be repeated. In the variable, keys are separated by spaces."
    return typer.Option("--api-key", metavar="KEY", envvar="DISCOTREE_API_KEY", show_envvar=True, help=help)


def serve(
    models: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="MODEL", autocompletion=complete_model, help=DESCRIPTION),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    treebanks: Annotated[
        list[str] | None,
        typer.Option(
            "--treebank",
            metavar="FILE",
            help="Treebank to search: a file, folder, archive, index or pattern, or NAME=FILE; may be repeated.",
        ),
    ] = None,
    index_folder: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where to keep indexes of treebanks; by default with other caches.")
    ] = "",
    device: Device = "",
    engine: Engine = None,
    batching: Annotated[
        bool, typer.Option("--batching/--no-batching", help="Batch requests that arrive at the same time.")
    ] = True,
    seconds: Annotated[float, typer.Option(min=0.1, help="Longest time a client waits for an answer.")] = 60.0,
    api_keys: Annotated[list[str] | None, key_option("API calls must send")] = None,
    origins: Origins = None,
    root_path: RootPath = "",
    proxies: Annotated[
        list[str] | None,
        typer.Option(
            "--trust-proxy",
            metavar="ADDRESS",
            help="Address of a proxy whose X-Forwarded-For header names the clients; may be repeated.",
        ),
    ] = None,
    access_log: Annotated[
        str, typer.Option(metavar="FILE", help="Log every request as a line of JSON; - for standard error.")
    ] = "",
) -> None:
    """Serve the web page and the HTTP API, by default for this machine only."""
    with requires_extra("web"):
        from discotree.integrations.web.limits import Limits
        from discotree.integrations.web.observing import log_access
        from discotree.integrations.web.served_treebanks import open_treebanks
        from discotree.integrations.web.server import listen, load_app, make_access, run
    bound = listen(host, port)
    access = make_access(host, bound, origins or [], api_keys or [], root_path)
    if access_log:
        log_access(access_log)
    with ProgressBar(shown=bool(treebanks)) as bar:
        opened = open_treebanks(treebanks or [], index_folder, bar)
    app = load_app(models or [], device, engine or "", access, batching, Limits(timeout_seconds=seconds), opened)
    name = f"[{host}]" if ":" in host else host
    if access.hosts is None and not access.api_keys:
        err.print(f"discotree: anyone who reaches {host} can use this server, without a key", style="yellow")

    def ready() -> None:
        print(f"http://{name}:{bound.getsockname()[1]}", flush=True)
        err.print("Ctrl-C stops the server", style="dim")

    run(app, bound, ready, proxies or [])

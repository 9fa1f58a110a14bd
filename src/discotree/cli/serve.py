"""serve."""

from typing import Annotated

import typer

from discotree.cli.common import err
from discotree.cli.options import Device, completing
from discotree.errors import requires_extra
from discotree.models.finding import names

DESCRIPTION = "Model to offer: a name, a folder or hub:ORG/NAME; may be repeated. All bundled models if not given."


def serve(
    models: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="MODEL", autocompletion=completing(names()), help=DESCRIPTION),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; only loopback addresses are private.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    device: Device = "",
    batching: Annotated[
        bool, typer.Option("--batching/--no-batching", help="Batch requests that arrive at the same time.")
    ] = True,
    seconds: Annotated[float, typer.Option(min=0.1, help="Longest time a client waits for an answer.")] = 60.0,
) -> None:
    """Serve the web page and the HTTP API, by default for this machine only."""
    with requires_extra("web"):
        from discotree.integrations.web.limits import Limits
        from discotree.integrations.web.server import allowed_hosts, listen, load_app, run
    bound = listen(host, port)
    hosts = allowed_hosts(host, bound)
    app = load_app(models or [], device, hosts, batching, Limits(timeout_seconds=seconds))
    name = f"[{host}]" if ":" in host else host
    if hosts is None:
        err.print(f"discotree: anyone who reaches {host} can use this server, without a password", style="yellow")

    def ready() -> None:
        print(f"http://{name}:{bound.getsockname()[1]}", flush=True)
        err.print("Ctrl-C stops the server", style="dim")

    run(app, bound, ready)

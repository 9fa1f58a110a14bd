"""serve."""

from typing import Annotated

import typer

from discotree.cli.common import err
from discotree.errors import requires_extra

DESCRIPTION = (
    "Models that clients may choose: names, folders or hub:ORG/NAME; may be repeated. All bundled ones if none."
)


def serve(
    models: Annotated[list[str] | None, typer.Option("--model", metavar="MODEL", help=DESCRIPTION)] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; others than this machine's are public.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …; a GPU if there is one.")] = "",
    batching: Annotated[
        bool, typer.Option("--batching/--no-batching", help="Parse together what comes at the same time.")
    ] = True,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long a client waits for an answer, at most.")] = 60.0,
) -> None:
    """Serve the web page and the HTTP API, on this machine only unless told otherwise."""
    with requires_extra("web"):
        from discotree.integrations.web.limits import Limits
        from discotree.integrations.web.server import allowed_hosts, listen, load_app, run
    bound = listen(host, port)
    hosts = allowed_hosts(host, bound)
    app = load_app(models or [], device, hosts, batching, Limits(timeout_seconds=seconds))
    name = f"[{host}]" if ":" in host else host
    if hosts is None:
        err.print(f"discotree: whoever reaches {host} may use this server, without a password", style="yellow")

    def ready() -> None:
        print(f"http://{name}:{bound.getsockname()[1]}", flush=True)
        err.print("Ctrl-C stops the server", style="dim")

    run(app, bound, ready)

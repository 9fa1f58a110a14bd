"""The web page, the HTTP API and annotation: ``discotree serve`` and ``discotree annotate``.

    app = create_app({"nl": discotree.load("nl")})

``server`` runs uvicorn with timeouts for connections. A request passes the middleware (``metrics``, ``security``) and
reaches its endpoint (``app``, ``endpoints``). Bodies are validated (``schemas``) outside the event loop. Sentences are
parsed in batches shared with other requests (``batching``). Drawing, uploads and search (``tasks``, ``uploads``,
``search``) run in separate processes (``workers``). Except for annotation, the server stores nothing between requests.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discotree.errors import requires_extra

if TYPE_CHECKING:
    from discotree.web.app import create_app
    from discotree.web.limits import Limits

__all__ = ["Limits", "create_app"]
_MODULES = {"create_app": "app", "Limits": "limits"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with requires_extra("web"):
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

"""The web page and the HTTP API: ``discotree serve``.

    app = create_app({"nl": discotree.load("nl")})

A connection (``connections``) carries requests through the middleware (``observing``, ``security``) to their endpoint
(``endpoints``). Bodies are validated (``validation``, ``schemas``) outside the event loop. Sentences are parsed in
batches shared with other requests (``batching``); drawings and uploads (``tasks``) run in processes of their own
(``worker``). The server stores nothing between requests, and nothing leaves the machine.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from discotree.errors import requires_extra

if TYPE_CHECKING:
    from discotree.integrations.web.app import create_app
    from discotree.integrations.web.limits import Limits

__all__ = ["Limits", "create_app"]
_MODULES = {"create_app": "app", "Limits": "limits"}

with requires_extra("web"):  # checked, not imported: worker processes need none of them
    for _name in ("fastapi", "uvicorn", "prometheus_client"):
        if find_spec(_name) is None:
            raise ModuleNotFoundError(name=_name)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

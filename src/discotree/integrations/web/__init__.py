"""The web page and the HTTP API: ``discotree serve``.

    app = create_app({"nl": discotree.load("nl")})

A request passes the middleware (``security``), is validated (``schemas``), reaches its endpoint (``endpoints``), is
parsed in batches shared with other requests (``batching``), and becomes a response (``rendering``). The server stores
nothing between requests, and nothing leaves the machine.
"""

from discotree.errors import requires_extra

with requires_extra("web"):
    import fastapi  # noqa: F401
    import uvicorn  # noqa: F401 - imported first, so that every module of this package reports the missing extra

from discotree.integrations.web.app import create_app
from discotree.integrations.web.limits import Limits

__all__ = ["Limits", "create_app"]

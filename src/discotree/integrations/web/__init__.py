"""The web page and the HTTP API: ``discotree serve``.

    app = create_app({"nl": discotree.load("nl")})

A request is checked (``guard``), read (``schemas``), parsed together with what others ask for at the same time
(``batching``), and answered (``outputs``). Nothing is kept between requests, and nothing leaves the machine.
"""

from discotree.integrations.web.app import create_app
from discotree.integrations.web.limits import Limits

__all__ = ["Limits", "create_app"]

"""A real server in a thread of the test process, and a client for it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn
from fastapi import FastAPI

from discotree.web.server import listen, uvicorn_config


@contextmanager
def serving(app: FastAPI) -> Iterator[httpx.Client]:
    """Serve an application on a free port while the block runs; yield a client."""
    with listen("127.0.0.1", 0) as bound:
        is_ours = hasattr(app.state, "endpoints")
        config = uvicorn_config(app) if is_ours else uvicorn.Config(app, log_level="error", access_log=False)
        config.timeout_graceful_shutdown = 1
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([bound],))
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            with httpx.Client(base_url=f"http://127.0.0.1:{bound.getsockname()[1]}", timeout=30) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()

"""Request ids, metrics for Prometheus, and the access log."""

import json
import logging
import logging.handlers
import random
import re
import sys
import time
from datetime import datetime, timezone
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discotree import __version__
from discotree.web.endpoints import CLIENT, Endpoints

REQUEST_ID = "discotree.id"  # key in the scope of a request
ID_HEADER = "X-Request-ID"
VALID_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
OTHER_PATH = "other"  # paths without a route, so that clients cannot create metrics
SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60)
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

access_logger = logging.getLogger("discotree.access")


class ServerMetrics:
    """The metrics of one server."""

    def __init__(self, endpoints: Endpoints) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Gauge("discotree_info", "The version.", ["version"], registry=registry).labels(__version__).set(1)
        self.requests = Counter(
            "discotree_requests", "Answered requests.", ["method", "path", "status"], registry=registry
        )
        self.seconds = Histogram(
            "discotree_request_seconds", "Time from request to response.", ["path"], buckets=SECONDS, registry=registry
        )
        self.in_progress = Gauge("discotree_requests_in_progress", "Requests being processed.", registry=registry)
        words = Gauge("discotree_queued_words", "Words waiting to be parsed.", ["model"], registry=registry)
        for name, batcher in endpoints.batchers.items():
            words.labels(name).set_function(partial(getattr, batcher, "queued_words"))
        jobs = Gauge("discotree_queued_jobs", "Drawings, uploads and searches waiting for a worker.", registry=registry)
        jobs.set_function(lambda: len(endpoints.workers.queue))

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class MetricsMiddleware:
    """ASGI middleware that assigns an id to every request, counts it and, if configured, logs it."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent_id = Headers(scope=scope).get(ID_HEADER, "")
        scope[REQUEST_ID] = request_id = sent_id if VALID_ID.fullmatch(sent_id) else f"{random.getrandbits(128):032x}"
        begin = time.perf_counter()
        status = sent = 0

        async def send_observed(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[ID_HEADER] = request_id
            sent += len(message.get("body", b""))
            await send(message)

        with self.metrics.in_progress.track_inprogress():
            try:
                await self.app(scope, receive, send_observed)
            finally:
                seconds = time.perf_counter() - begin
                path = getattr(scope.get("route"), "path", OTHER_PATH)
                method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD", "OPTIONS") else "other"
                self.metrics.requests.labels(method, path, status or "none").inc()
                self.metrics.seconds.labels(path).observe(seconds)
                if access_logger.handlers:
                    access_logger.info(_log_line(scope, request_id, status, sent, seconds))


def _log_line(scope: Scope, request_id: str, status: int, sent: int, seconds: float) -> str:
    """Return the log entry of a request as JSON, which escapes control characters. It has no body and no query."""
    entry = {
        "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "id": request_id,
        "client": scope.get(CLIENT, ""),
        "method": scope["method"],
        "path": scope["path"][:200],
        "status": status,
        "bytes": sent,
        "seconds": round(seconds, 4),
    }
    return json.dumps(entry)


def log_access(file: str) -> None:
    """Log every request to a file, which may be rotated, or to standard error for "-"."""
    handler = (
        logging.StreamHandler(sys.stderr)
        if file == "-"
        else logging.handlers.WatchedFileHandler(file, encoding="utf-8", delay=False)
    )
    handler.setFormatter(logging.Formatter("%(message)s"))
    access_logger.addHandler(handler)
    access_logger.setLevel(logging.INFO)
    access_logger.propagate = False

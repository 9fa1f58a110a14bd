"""Attack a web server, and measure its memory and the response time of /health meanwhile.

    python benchmarks/attack.py MODEL [--only NAME,NAME] [--scale 1]

Starts `discotree serve` on loopback in a process of its own and replays one attack after the other. During each, a
client asks for /health on a new connection every 50 ms, and another one has a sentence parsed. Memory is that of the
server with its worker processes; shared pages count once (PSS). Exits with 1 unless memory stays below 1 GiB and every
answer of /health comes within a second. --scale makes all attacks smaller.
"""

import argparse
import http.client
import json
import multiprocessing
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

MAX_MIB = 1024
MAX_HEALTH_SECONDS = 1.0
WATCH_SECONDS = 0.05
SENTENCE = ["De", "man", "die", "daar", "woont", ",", "komt", "uit", "Amsterdam", "."]


class Target:
    """A running server. ``scale`` multiplies the size of attacks."""

    def __init__(self, address: str, process: int, scale: float = 1.0) -> None:
        self.address = address
        self.process = process
        self.scale = scale

    def size(self, full: int) -> int:
        return max(int(full * self.scale), 1)

    def post(self, path: str, body: bytes, timeout: float = 120) -> int:
        """Send a body and return the status; 0 if the server closes the connection."""
        connection = http.client.HTTPConnection(self.address, timeout=timeout)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            return response.status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        host, _, port = self.address.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=60)

    def together(self, count: int, send: Callable[[], int]) -> Counter[int]:
        """Send the same request from several threads; return the statuses."""
        statuses: Counter[int] = Counter()
        threads = [threading.Thread(target=lambda: statuses.update([send()])) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return statuses

    def memory_mib(self) -> float:
        pids = [self.process]
        total = 0
        for pid in pids:  # grows while we walk it: children of children
            try:
                for task in Path(f"/proc/{pid}/task").glob("*/children"):
                    pids += map(int, task.read_text().split())
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
            except OSError:  # it has ended
                continue
        return total / 1024


def to_body(record: object) -> bytes:
    return json.dumps(record).encode()


def numbers(target: Target) -> object:
    """4 MB of [1,1,…] as tokens, constituents and positions, four at a time."""
    ones = b"[" + b"1," * target.size(2_000_000) + b"1]"
    bodies = [
        ("/api/parse", b'{"tokens":' + ones + b"}"),
        ("/api/parse", b'{"text":' + ones + b"}"),
        ("/api/draw", b'{"tree":{"tokens":[{"form":"a"}],"constituents":' + ones + b"}}"),
        ("/api/draw", b'{"tree":{"tokens":[{"form":"a"}],"constituents":[{"label":"A","positions":' + ones + b"}]}}"),
        ("/api/parse", b'{"tokens":' + ones.replace(b"1", b"[]") + b"}"),
    ]
    return sum((target.together(4, lambda p=path, b=body: target.post(p, b)) for path, body in bodies), Counter())  # type: ignore[misc]


def unknown_fields(target: Target) -> object:
    """A million unknown fields."""
    fields = ",".join(f'"{k}":1' for k in range(target.size(1_000_000)))
    body = f"{{{fields}}}".encode()
    return target.together(4, lambda: target.post("/api/parse", body))


def nesting(target: Target) -> object:
    """Deep nesting, in JSON and in a tree."""
    statuses = target.together(4, lambda: target.post("/api/parse", b'{"text":' + b"[" * target.size(8_000_000)))
    deep = "(A " * target.size(100_000) + "0=a" + ")" * target.size(100_000)
    body = to_body({"content": deep, "format": "discbracket"})
    return statuses + target.together(2, lambda: target.post("/api/treebank", body))


def huge_numbers(target: Target) -> object:
    """Numbers of millions of digits."""
    body = b'{"text":"Ja.","k":1' + b"0" * target.size(8_000_000) + b"}"
    tree = {"tokens": [{"form": "a"}], "constituents": [{"label": "A", "positions": [10**4000]}]}
    return target.together(4, lambda: target.post("/api/parse", body)) + Counter(
        [target.post("/api/draw", to_body({"tree": tree}))]
    )


def secondary_edges(target: Target) -> object:
    """14,000 secondary edges, and as many as are allowed, in every output."""
    statuses: Counter[int] = Counter()
    words = 200
    for count in (target.size(14_000), target.size(1000)):
        tree = {
            "tokens": [{"form": f"w{k}"} for k in range(words)],
            "constituents": [{"label": "S", "positions": list(range(words))}],
            "secondary": [{"label": "x", "child": k % words, "parent": words} for k in range(count)],
        }
        for output in ("svg", "latex", "export", "text"):
            body = to_body({"tree": tree, "output": output})
            statuses += target.together(2, lambda body=body: target.post("/api/draw", body))  # type: ignore[misc]
    return statuses


def long_words(target: Target) -> object:
    """One long word in a deep tree, and many words of the longest length allowed, drawn as text."""
    statuses: Counter[int] = Counter()
    depth = 1000
    for words in (["w" * target.size(200_000)], ["w" * 1000] * target.size(500)):
        chain = [{"label": "A", "positions": list(range(len(words)))}] * (depth // len(words) + 1)
        tree = {"tokens": [{"form": word} for word in words], "constituents": chain}
        for output in ("text", "svg"):
            body = to_body({"tree": tree, "output": output})
            statuses += target.together(2, lambda body=body: target.post("/api/draw", body))  # type: ignore[misc]
    return statuses


def large_drawings(target: Target) -> object:
    """The largest trees that are allowed, 16 at a time."""
    n = target.size(1000)
    tree = {
        "tokens": [{"form": f"w{k}"} for k in range(n)],
        "constituents": [{"label": "S", "positions": list(range(k, n))} for k in range(n)],
    }
    body = to_body({"tree": tree, "output": "text"})
    return target.together(16, lambda: target.post("/api/draw", body))


def uploads(target: Target) -> object:
    """Treebanks as large as a request may be, 8 at a time."""
    line = "(S " + " ".join(f"(A {k}=a)" for k in range(30)) + ")\n"
    body = to_body({"content": line * (target.size(15 * 2**20) // len(line)), "format": "discbracket"})
    return target.together(8, lambda: target.post("/api/treebank", body))


def large_texts(target: Target) -> object:
    """Long texts and long sentences from 8 clients at once, and k-best trees."""
    text = to_body({"tokens": [SENTENCE] * target.size(1000)})
    long = to_body({"tokens": (SENTENCE * 200)[: target.size(1000)]})
    best = to_body({"tokens": (SENTENCE * 20)[: target.size(100)], "k": 10})
    statuses: Counter[int] = Counter()
    for body in (text, long, best):
        statuses += target.together(8, lambda body=body: target.post("/api/parse", body, 90))  # type: ignore[misc]
    return statuses


def abandoned(target: Target) -> object:
    """100 large requests whose clients leave at once."""
    body = to_body({"tokens": [SENTENCE] * target.size(1000)})
    head = f"POST /api/parse HTTP/1.1\r\nHost: {target.address}\r\nContent-Type: application/json\r\n"
    for _ in range(target.size(100)):
        with target.connect() as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return target.post("/api/parse", to_body({"tokens": SENTENCE}))


def _held(target: Target, count: int, first: bytes, drip: bytes, seconds: float) -> str:
    """Open connections, send the beginning and then a byte at a time; return how many are left at the end."""
    connections = []
    for _ in range(count):
        with suppress(OSError):
            connection = target.connect()
            connection.sendall(first)
            connection.setblocking(False)
            connections.append(connection)
    end = time.monotonic() + seconds
    closed: set[int] = set()
    while time.monotonic() < end:
        for index, connection in enumerate(connections):
            if index in closed:
                continue
            try:
                if drip:
                    connection.send(drip)
                if connection.recv(65536) == b"":
                    closed.add(index)
            except BlockingIOError:
                continue
            except OSError:
                closed.add(index)
        time.sleep(0.5)
    for connection in connections:
        connection.close()
    return f"{len(connections) - len(closed)} of {count} left after {seconds:g} s"


def idle_connections(target: Target) -> object:
    """1,000 connections that send nothing."""
    return _held(target, target.size(1000), b"", b"", target.scale * 14)


def slow_headers(target: Target) -> object:
    """500 connections that send their headers byte by byte."""
    return _held(target, target.size(500), b"GET /health HTTP/1.1\r\nX: ", b"a", target.scale * 14)


def slow_bodies(target: Target) -> object:
    """500 connections that send 60 kB of body byte by byte."""
    head = f"POST /api/parse HTTP/1.1\r\nHost: {target.address}\r\nContent-Type: application/json\r\n"
    return _held(target, target.size(500), f"{head}Content-Length: 60000\r\n\r\n{{".encode(), b" ", target.scale * 14)


def slow_readers(target: Target) -> object:
    """50 clients that ask for a large drawing and never read it."""
    tree = {
        "tokens": [{"form": f"w{k}"} for k in range(400)],
        "constituents": [{"label": "S", "positions": list(range(k, 400))} for k in range(400)],
    }
    body = to_body({"tree": tree, "output": "svg"})
    head = f"POST /api/draw HTTP/1.1\r\nHost: {target.address}\r\nContent-Type: application/json\r\n"
    connections = []
    for _ in range(target.size(50)):
        connection = target.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        connections.append(connection)
    time.sleep(target.scale * 30)
    for connection in connections:
        connection.close()
    return f"{len(connections)} requests"


ATTACKS: dict[str, Callable[[Target], object]] = {
    attack.__name__: attack
    for attack in (
        *(numbers, unknown_fields, nesting, huge_numbers, secondary_edges, long_words, large_drawings, uploads),
        *(large_texts, abandoned, idle_connections, slow_headers, slow_bodies, slow_readers),
    )
}


class Watch:
    """Threads that ask for /health, parse a sentence and measure the memory until the block ends."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.health_seconds = 0.0
        self.parse_seconds: list[float] = []
        self.peak_mib = 0.0
        self.failures: Counter[str] = Counter()
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=work) for work in (self._ask, self._parse, self._measure)]

    def __enter__(self) -> "Watch":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def _ask(self) -> None:
        while not self.stop.is_set():
            begin = time.perf_counter()
            connection = http.client.HTTPConnection(self.target.address, timeout=30)
            try:
                connection.request("GET", "/health")
                response = connection.getresponse()
                response.read()
                if response.status != http.client.OK:
                    self.failures[f"health {response.status}"] += 1
            except (OSError, http.client.HTTPException) as error:
                self.failures[f"health {type(error).__name__}"] += 1
            finally:
                connection.close()
            self.health_seconds = max(self.health_seconds, time.perf_counter() - begin)
            self.stop.wait(WATCH_SECONDS)

    def _parse(self) -> None:
        body = to_body({"tokens": SENTENCE})
        while not self.stop.is_set():
            begin = time.perf_counter()
            status = self.target.post("/api/parse", body)
            self.parse_seconds.append(time.perf_counter() - begin)
            if status != http.client.OK:
                self.failures[f"parse {status}"] += 1
            self.stop.wait(4 * WATCH_SECONDS)

    def _measure(self) -> None:
        while not self.stop.is_set():
            self.peak_mib = max(self.peak_mib, self.target.memory_mib())
            self.stop.wait(WATCH_SECONDS)


@contextmanager
def server(model: str, scale: float) -> Iterator[Target]:
    """Run a server while the block runs."""
    command = [sys.executable, "-m", "discotree", "serve", "--model", model, "--port", "0", "--device", "cpu"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip()).netloc
        if not address:
            raise SystemExit("the server did not start: run discotree serve to see why")
        yield Target(address, process.pid, scale)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def apart(attack: Callable[[Target], object], target: Target) -> object:
    """Run an attack in a process of its own, so that it does not hold up those who measure."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(attack(target)))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return "the attack failed"
    finally:
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--only", default=",".join(ATTACKS), help=f"some of {', '.join(ATTACKS)}")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    peak, slowest = 0.0, 0.0
    with server(options.model, options.scale) as target:
        target.post("/api/parse", to_body({"tokens": SENTENCE}))
        print(f"at the start: {target.memory_mib():.0f} MiB")
        print(f"{'attack':18}{'s':>6}{'peak MiB':>10}{'/health s':>11}{'a sentence s':>14}  answers")
        for name in options.only.split(","):
            begin = time.perf_counter()
            with Watch(target) as watch:
                answers = apart(ATTACKS[name], target)
            seconds = time.perf_counter() - begin
            shown = dict(answers) if isinstance(answers, Counter) else answers
            print(
                f"{name:18}{seconds:6.0f}{watch.peak_mib:10.0f}{watch.health_seconds:11.2f}"
                f"{max(watch.parse_seconds, default=0):14.2f}  {shown} {dict(watch.failures) or ''}",
                flush=True,
            )
            peak, slowest = max(peak, watch.peak_mib), max(slowest, watch.health_seconds)
        print(f"afterwards: {target.memory_mib():.0f} MiB")
    print(f"peak memory {peak:.0f} MiB, slowest /health {slowest:.2f} s")
    sys.exit(peak > MAX_MIB or slowest > MAX_HEALTH_SECONDS)


if __name__ == "__main__":
    main()

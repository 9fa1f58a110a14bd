"""Run the web server for minutes among many clients, of which one in six is hostile.

    python benchmarks/soak.py [MODEL] [--seconds 600] [--clients 128] [--device cpu]

Starts `discotree serve` on loopback in a process of its own. Every client has an address of its own (127.x.x.x). An
ordinary one sends a sentence or a small treebank, waits, and sends the next; a 503 makes it wait for the time in
Retry-After. A hostile one sends bodies beyond all limits, bodies and headers that trickle, nonsense, requests of the
largest size allowed, and leaves before it is answered. Memory is that of the server and its children. Fails (exit
code 1) if there is a status of 500 or more other than 503, if the server ends or ordinary requests fail, or if memory
keeps growing: the last third of the run takes 10 % and 32 MiB more than the second.
"""

import argparse
import http.client
import json
import random
import socket
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from serve import SENTENCES, server

HOSTILE_ONE_IN = 6
TREES = "(ROOT (S (VP (ADV 0=Daar) (V 3=gesproken)) (V 1=heeft) (NP 2=niemand)))\n" * 20
BROKEN = (OSError, http.client.HTTPException)
Body = tuple[str, bytes]


class Soak:
    """What the clients see, and when they stop."""

    def __init__(self, address: str, seconds: float) -> None:
        self.address = address
        self.end = time.monotonic() + seconds
        self.ordinary: Counter[str] = Counter()  # statuses, and names of errors
        self.hostile: Counter[str] = Counter()
        self.latencies: list[float] = []
        self.health_seconds: list[float] = []

    def is_over(self) -> bool:
        return time.monotonic() >= self.end

    def connect(self, number: int, timeout_seconds: float = 90.0) -> http.client.HTTPConnection:
        source = (f"127.0.{1 + number // 250}.{1 + number % 250}", 0)
        return http.client.HTTPConnection(self.address, timeout=timeout_seconds, source_address=source)

    def be_ordinary(self, number: int) -> None:
        rng = random.Random(number)
        connection = self.connect(number)
        while not self.is_over():
            path, body = ordinary_request(rng)
            begin = time.perf_counter()
            try:
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                response.read()
            except BROKEN as error:
                self.ordinary[type(error).__name__] += 1
                connection.close()
                time.sleep(0.1)
                continue
            self.ordinary[str(response.status)] += 1
            if response.status == http.client.SERVICE_UNAVAILABLE:
                time.sleep(float(response.headers.get("Retry-After", 1)))
            else:
                self.latencies.append(time.perf_counter() - begin)
        connection.close()

    def be_hostile(self, number: int) -> None:
        rng = random.Random(number)
        while not self.is_over():
            attack = rng.choice(ATTACKS)
            try:
                status = attack(self, number, rng)
            except BROKEN as error:  # the server closed the connection, as intended
                status = type(error).__name__
            self.hostile[status] += 1
            time.sleep(0.05)

    def watch_health(self) -> None:
        while not self.is_over():
            begin = time.perf_counter()
            connection = self.connect(0, 30)
            with suppress(*BROKEN):
                connection.request("GET", "/health")
                connection.getresponse().read()
            connection.close()
            self.health_seconds.append(time.perf_counter() - begin)
            time.sleep(1)


def ordinary_request(rng: random.Random) -> Body:
    kind = rng.randrange(10)
    if kind == 0:
        return "/api/treebank", json.dumps({"content": TREES, "label": "VP"}).encode()
    if kind == 1:
        return "/api/draw", json.dumps({"tree": {"content": TREES.split("\n")[0]}, "output": "svg"}).encode()
    return "/api/parse", json.dumps({"tokens": rng.choice(SENTENCES).split()}).encode()


# Attacks: each returns the status of its response, or what became of it


def send_nonsense(soak: Soak, number: int, rng: random.Random) -> str:
    """Send JSON that is damaged or means nothing."""
    path, body = ordinary_request(rng)
    damaged = bytearray(body)
    for _ in range(rng.choice((1, 5, 50))):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return _posted(soak, number, path, bytes(damaged))


def send_too_much(soak: Soak, number: int, rng: random.Random) -> str:
    """Send a body beyond the limit, or one of nothing but numbers and brackets below it."""
    body = rng.choice(
        (b"[" * 20_000_000, b'{"tree": [' + b"1," * 2_000_000 + b"1]}", b'{"text": "' + b"a" * 10_000_000)
    )
    return _posted(soak, number, rng.choice(("/api/parse", "/api/draw", "/api/evaluate")), body)


def send_the_most_allowed(soak: Soak, number: int, rng: random.Random) -> str:
    """Send as much valid work as one request may contain."""
    words = rng.choice(SENTENCES).split()
    body = {"tokens": [words] * (9000 // len(words)), "k": rng.choice((0, 0, 3))}
    return _posted(soak, number, "/api/parse", json.dumps(body).encode())


def trickle(soak: Soak, number: int, rng: random.Random) -> str:
    """Send a header or a body a byte at a time, for up to 30 seconds."""
    head = b"POST /api/parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with _raw(soak, number) as stream:
        stream.sendall(head + (b"Content-Length: 1000\r\n\r\n{" if rng.randrange(2) else b"X-Slow: "))
        for _ in range(60):
            if soak.is_over():
                break
            stream.sendall(b" ")
            time.sleep(0.5)
    return "trickled"


def leave(soak: Soak, number: int, rng: random.Random) -> str:
    """Ask for work and hang up."""
    path, body = ordinary_request(rng)
    if rng.randrange(2):
        path, body = "/api/parse", json.dumps({"tokens": [SENTENCES[-1].split()] * 100}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with _raw(soak, number) as stream:
        stream.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[: rng.choice((len(body), 20))])
        time.sleep(rng.random() / 5)
    return "left"


def talk_rubbish(soak: Soak, number: int, rng: random.Random) -> str:
    """Send bytes that are no HTTP."""
    with _raw(soak, number) as stream:
        stream.sendall(rng.randbytes(rng.choice((1, 100, 100_000))))
        stream.settimeout(2)
        with suppress(TimeoutError):
            stream.recv(1000)
    return "rubbish"


ATTACKS: list[Callable[[Soak, int, random.Random], str]] = [
    *(send_nonsense, send_nonsense, send_too_much, send_the_most_allowed, trickle, leave, leave, talk_rubbish)
]


def _posted(soak: Soak, number: int, path: str, body: bytes) -> str:
    connection = soak.connect(number)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        return str(response.status)
    finally:
        connection.close()


def _raw(soak: Soak, number: int) -> socket.socket:
    connection = soak.connect(number, 30)
    connection.connect()
    return connection.sock


# Memory


def tree_mib(process: int) -> float:
    """Return the memory of a process and its descendants in MiB; pages that they share count once."""
    total = 0.0
    for one in _descendants(process):
        with suppress(OSError):  # it has just ended
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return total


def _descendants(process: int) -> Iterator[int]:
    yield process
    with suppress(OSError):
        for tasks in Path(f"/proc/{process}/task").iterdir():
            for child in (tasks / "children").read_text().split():
                yield from _descendants(int(child))


def keeps_growing(samples: list[float]) -> bool:
    """Return whether the last third lies above the second; the first is the time to warm up."""
    third = len(samples) // 3
    if not third:
        return False
    before, after = (statistics.median(part) for part in (samples[third : 2 * third], samples[2 * third :]))
    return after > 1.1 * before + 32


def is_failure(status: str) -> bool:
    return status.isdigit() and int(status) >= 500 and status != "503"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="nl")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=128)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    with server(options.model, options.device) as (address, process):
        soak = Soak(address, options.seconds)
        hostile = options.clients // HOSTILE_ONE_IN
        jobs = [(soak.be_hostile if k < hostile else soak.be_ordinary, (k + 1,)) for k in range(options.clients)]
        threads = [threading.Thread(target=job, args=numbers, daemon=True) for job, numbers in jobs]
        threads.append(threading.Thread(target=soak.watch_health, daemon=True))
        for thread in threads:
            thread.start()
        print(f"{options.clients - hostile} ordinary and {hostile} hostile clients for {options.seconds:g} seconds")
        memory = watch_memory(soak, process, options.seconds)
        for thread in threads:
            thread.join(120)
        is_up = Path(f"/proc/{process}/stat").read_text().split(")")[-1].split()[0] != "Z"
    sys.exit(report(soak, memory, options.seconds, is_up))


def watch_memory(soak: Soak, process: int, seconds: float) -> list[float]:
    """Return the memory at intervals, and print some of it on the way."""
    samples: list[float] = []
    start = time.monotonic()
    pause = max(0.5, seconds / 120)
    while not soak.is_over():
        samples.append(tree_mib(process))
        if len(samples) % 10 == 1:
            done = sum(soak.ordinary.values())
            print(f"{time.monotonic() - start:6.0f} s {samples[-1]:8.0f} MiB {done:10,} requests", flush=True)
        time.sleep(pause)
    return samples


def report(soak: Soak, memory: list[float], seconds: float, is_up: bool) -> int:
    """Print all measurements; return the exit code."""
    milliseconds = [1000 * value for value in soak.latencies] or [0.0]
    percentiles = statistics.quantiles(milliseconds, n=100, method="inclusive") if len(milliseconds) > 1 else [0.0] * 99
    print(f"requests/s    {len(soak.latencies) / seconds:.1f}")
    print(f"latency ms    median {percentiles[49]:.0f}, 95 % {percentiles[94]:.0f}, 99 % {percentiles[98]:.0f}", end="")
    print(f", longest {max(milliseconds):.0f}")
    print(f"ordinary      {_listed(soak.ordinary)}")
    print(f"hostile       {_listed(soak.hostile)}")
    print(f"/health       longest {max(soak.health_seconds, default=0.0):.2f} s")
    print(f"memory MiB    first {memory[0]:.0f}, last {memory[-1]:.0f}, highest {max(memory):.0f}")
    problems = [
        *(f"status {status}" for status in soak.ordinary | soak.hostile if is_failure(status)),
        *(f"ordinary clients see {name}" for name in soak.ordinary if not name.isdigit()),
        *(["memory keeps growing"] if keeps_growing(memory) else []),
        *([] if is_up else ["the server has ended"]),
    ]
    print("failed: " + "; ".join(problems) if problems else "passed")
    return 1 if problems else 0


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())


if __name__ == "__main__":
    main()

"""Measure the web server: requests per second, latency, and memory growth.

    python benchmarks/serve.py MODEL [--seconds 10] [--requests 10000] [--clients 1,16,128] [--device cpu]

Starts `discotree serve` on loopback in a process of its own. Each client is a connection that sends one sentence, waits
for its tree as JSON, and sends the next. The sentences below have 4 to 22 words. The last two columns are the processor
time of the server and of the clients, which are one process, for a request. Memory is the resident memory of the server
process, before and after --requests further requests.
"""

import argparse
import asyncio
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

SENTENCES = [
    "Dat is zo .",
    "Zij heeft het boek gelezen .",
    "Wie denk je dat de prijs wint ?",
    "Gisteren heeft hij haar niet willen zien .",
    "De man die daar woont , komt uit Amsterdam .",
    "Het is niet duidelijk wat de regering daar volgend jaar aan wil doen .",
    "Volgens de minister zal de nieuwe wet , die in maart wordt behandeld , nog dit jaar worden ingevoerd .",
]
WARM_UP_REQUESTS = 100
MEMORY_CLIENTS = 64


class LoadResult(NamedTuple):
    requests_per_second: float
    median_ms: float
    percentile_99_ms: float
    refused: int


@contextmanager
def server(model: str, device: str) -> Iterator[tuple[str, int]]:
    """Run a server; yield its address and process id."""
    command = [sys.executable, "-m", "discotree", "serve", "--model", model, "--port", "0"]
    process = subprocess.Popen(
        [*command, "--device", device], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip()).netloc
        if not address:
            raise SystemExit("the server did not start: run discotree serve to see why")
        yield address, process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def load(address: str, clients: int, seconds: float = float("inf"), requests: float = float("inf")) -> LoadResult:
    """Send requests from several clients for some time, or up to a number of requests."""
    return asyncio.run(_load(address, clients, seconds, requests))


async def _load(address: str, clients: int, seconds: float, requests: float) -> LoadResult:
    numbers = itertools.count()
    latencies: list[float] = []
    refused: list[bytes] = []
    host, port = address.split(":")
    bodies = [json.dumps({"tokens": sentence.split()}).encode() for sentence in SENTENCES]
    head = f"POST /api/parse HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: "
    messages = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
    start = time.perf_counter()

    async def client() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        while (number := next(numbers)) < requests and time.perf_counter() - start < seconds:
            begin = time.perf_counter()
            writer.write(messages[number % len(messages)])
            headers = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(headers.partition(b"content-length:")[2].partition(b"\r")[0]))
            if headers.startswith(b"http/1.1 200"):
                latencies.append(time.perf_counter() - begin)
            else:
                refused.append(headers)
        writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    percentiles = statistics.quantiles(latencies, n=100, method="inclusive") if len(latencies) > 1 else [0.0] * 99
    elapsed = time.perf_counter() - start
    return LoadResult(len(latencies) / elapsed, 1000 * percentiles[49], 1000 * percentiles[98], len(refused))


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(process: int) -> float:
    """Return the resident memory of a process in MiB."""
    (line,) = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=10, help="duration of each measurement")
    parser.add_argument(
        "--requests", type=int, default=10_000, help="requests between the two memory measurements; 0 skips them"
    )
    parser.add_argument("--clients", default="1,16,128")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    print(
        f"{'clients':>8}{'requests/s':>12}{'median ms':>11}{'99 % ms':>10}{'refused':>9}{'server':>9}{'client':>9} ms"
    )
    with server(options.model, options.device) as (address, process):
        load(address, 4, requests=WARM_UP_REQUESTS)
        for clients in map(int, options.clients.split(",")):
            before = processor_seconds(process), time.process_time()
            result = load(address, clients, options.seconds)
            after = processor_seconds(process), time.process_time()
            requests = result.requests_per_second * options.seconds / 1000
            server_ms, client_ms = ((now - then) / requests for now, then in zip(after, before, strict=True))
            print(
                f"{clients:8}{result.requests_per_second:12.1f}{result.median_ms:11.0f}"
                f"{result.percentile_99_ms:10.0f}{result.refused:9}{server_ms:9.2f}{client_ms:9.2f}",
                flush=True,
            )
        if options.requests:
            first = resident_mib(process)
            load(address, MEMORY_CLIENTS, requests=options.requests)
            last = resident_mib(process)
            print(f"memory: {first:.0f} MiB, after {options.requests:,} more requests {last:.0f} MiB")


if __name__ == "__main__":
    main()

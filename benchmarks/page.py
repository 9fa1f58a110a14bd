"""Measure the page without a server, beside `discotree serve`: download, time to the first tree, speed of parsing.

    discotree page -o site --model nl
    python benchmarks/page.py site nl [--megabits 50] [--rounds 30]

Both are opened in Chromium, with an empty cache for the first visit. The static host sends --megabits per second, as a
broadband line does; the server is not limited, because it runs on the reader's own machine. Needs playwright.
"""

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TWENTY_WORDS = "Volgens de minister zal de nieuwe wet, die in maart wordt behandeld, nog dit jaar worden ingevoerd."
TEXT = """Dat is zo. Zij heeft het boek gelezen. Wie denk je dat de prijs wint? Gisteren heeft hij haar niet gezien.
De man die daar woont, komt uit Amsterdam. Het is niet duidelijk wat de regering daar volgend jaar aan wil doen. """
PARSE = """async ([text, model, rounds]) => {
  const { parse } = await import(new URL("page/backend.js", location.href));
  const times = [];
  let trees = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    ({ trees } = await parse({ text: `${text}${" ".repeat(round % 2)}`, model }));
    times.push(performance.now() - start);
  }
  return { times, sentences: trees.length, words: trees.reduce((sum, { tokens }) => sum + tokens.length, 0) };
}"""
CHUNK = 1 << 15


class Line:
    """A line on which all responses share a number of bytes per second."""

    def __init__(self, bytes_per_second: float) -> None:
        self.bytes_per_second, self.free_at, self.sent = bytes_per_second, 0.0, 0
        self.lock = threading.Lock()

    def wait(self, size: int) -> None:
        with self.lock:
            now = time.monotonic()
            self.free_at = max(self.free_at, now) + size / self.bytes_per_second
            self.sent += size
            pause = self.free_at - now
        time.sleep(pause)


class Handler(SimpleHTTPRequestHandler):
    def __init__(self, line: Line, *arguments: Any, **options: Any) -> None:
        self.line = line
        super().__init__(*arguments, **options)

    def copyfile(self, source: Any, outputfile: Any) -> None:
        while chunk := source.read(CHUNK):
            self.line.wait(len(chunk))
            outputfile.write(chunk)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def static_host(folder: str, megabits: float) -> Iterator[tuple[str, Line]]:
    line = Line(megabits * 1e6 / 8)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, line, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", line
        server.shutdown()


@contextmanager
def discotree_serve(model: str) -> Iterator[tuple[str, float]]:
    """Run a server; yield its address and the seconds that it took to start."""
    start = time.monotonic()
    command = [sys.executable, "-m", "discotree", "serve", "--model", model, "--port", "0", "--device", "cpu"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield f"{process.stdout.readline().strip()}/", time.monotonic() - start
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def measure(browser: Any, address: str, model: str, rounds: int) -> dict[str, float]:
    """Visit a page for the first time, parse a sentence and a text, and visit it again."""
    context = browser.new_context(locale=model)
    page = context.new_page()
    page.set_default_timeout(300_000)
    start = time.monotonic()
    page.goto(address)
    page.wait_for_selector("#results .node")
    first = time.monotonic() - start
    page.evaluate(PARSE, [TWENTY_WORDS, model, 1])
    own = time.monotonic() - start
    sentence = page.evaluate(PARSE, [TWENTY_WORDS, model, rounds])
    text = page.evaluate(PARSE, [TEXT * 20, model, 2])
    if page.evaluate("document.documentElement.classList.contains('static')"):
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    start = time.monotonic()
    page.goto(f"{address}?again")
    page.wait_for_selector("#results .node")
    page.evaluate(PARSE, [TWENTY_WORDS, model, 1])
    again = time.monotonic() - start
    context.close()
    return {
        "first tree (s)": first,
        "first sentence of your own (s)": own,
        "second visit: sentence of your own (s)": again,
        f"one sentence of {sentence['words']} tokens, median (ms)": statistics.median(sentence["times"]),
        f"one sentence of {sentence['words']} tokens, fastest (ms)": min(sentence["times"]),
        "pasted text, sentences per second": 1000 * text["sentences"] / min(text["times"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site")
    parser.add_argument("model")
    parser.add_argument("--megabits", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with static_host(given.site, given.megabits) as (address, line):
            static = measure(browser, address, given.model, given.rounds)
            static["downloaded (MB)"] = line.sent / 1e6
        with discotree_serve(given.model) as (address, started):
            server = measure(browser, address, given.model, given.rounds)
            server["start of the server (s)"] = started
        browser.close()
    print(json.dumps({"static": static, "serve": server}, indent=1))
    print("\n| | page without a server | `discotree serve` |\n|---|---|---|")
    for name in {**static, **server}:
        cells = [f"{row[name]:.3g}" if name in row else "–" for row in (static, server)]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

"""From a change to its diagnostics in an editor: `python benchmarks/editor.py [FILE …]`.

The real server is talked to over its pipes. A line is typed into a file of 1,000 lines with JAX
code, again and again, and the time is taken from when a change is sent to when the diagnostics of
that version arrive. That counts the pipes and the JSON of both sides, and not the 100 ms that the
server waits for more typing. The line is in a function in the middle of the file. Beside it stands
what the processor worked for a change, clearing up afterwards included: on a machine that has other
things to do, it says more than the clock. The bar is 150 ms in a file of 1,000 lines. Without
arguments the files are made here: one alone, and one whose arrays come from another file; else each
file that is named is measured in its own folder.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any, cast

ROUNDS = 30
PAUSE = 0.1
"""What `placement_lint.integrations.lsp.scheduler` waits."""
BAR = 150

HEAD = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np

cpu = jax.devices("cpu")[0]
"""
LOADER = """\


def load(path):
    with jax.default_device(cpu):
        return jnp.asarray(np.load(path))


data = load("train.npy")
"""
PART = '''\


class Trainer{i}:
    """One of many that share a shape."""

    def __init__(self, model, rate={i}e-3):
        self.model = model
        self.rate = rate
        self.table = jax.device_put(jnp.zeros(({i}, 8)), cpu)

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, params, batch):
        loss, grads = jax.value_and_grad(self.model.loss)(params, batch)
        return jax.tree.map(lambda p, g: p - self.rate * g, params, grads), loss

    def run(self, params, steps):
        losses = []
        for step in range(steps):
            batch = {{"x": jnp.ones((4, 8)), "y": np.arange(4)}}
            if step % 10 == 0:
                print(step, losses[-1:] or None)
            params, loss = self.step(params, batch)
            losses.append(loss)
        return params, losses
'''
USE = "\n\nfor index in range(3):\n    batch = data[index]\n"


def program(head: str, lines: int) -> str:
    """Give a file of so many lines."""
    text, number = head, 0
    while text.count("\n") < lines - 8:
        number += 1
        text += PART.format(i=number)
    return text + USE


class Server:
    """The server, and what it says."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "placement_lint", "server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.stdin = cast("IO[bytes]", self.process.stdin)
        self.stdout = cast("IO[bytes]", self.process.stdout)
        params = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
        self.send({"id": 1, "method": "initialize", "params": params})
        while self.read().get("id") != 1:
            pass
        self.send({"method": "initialized", "params": {}})

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Read a message."""
        length = 0
        while (line := self.stdout.readline().strip()) or not length:
            if line.startswith(b"Content-Length:"):
                length = int(line.partition(b":")[2])
        found: dict[str, Any] = json.loads(self.stdout.read(length))
        return found

    def diagnostics(self, uri: str, version: int) -> list[Any]:
        """Wait for the diagnostics of a version."""
        while True:
            message = self.read()
            params = message.get("params") or {}
            if message.get("method") == "textDocument/publishDiagnostics" and (
                (params["uri"], params.get("version")) == (uri, version)
            ):
                told: list[Any] = params["diagnostics"]
                return told

    def close(self) -> None:
        """End it."""
        self.send({"method": "exit"})
        self.process.communicate(timeout=10)


def typed(text: str, number: int) -> str:
    """Give a text with one more statement in it: in a function in the middle, if there is one."""
    found = re.compile(r"^([ \t]+)return\b", re.MULTILINE).search(text, len(text) // 2)
    if found is None:
        return f"{text}\nnumber = {number}\n"
    return f"{text[: found.start()]}{found[1]}number = {number}\n{text[found.start() :]}"


def processor_seconds(process: int) -> float:
    """Give how long the processors have worked for a process (as Linux tells it)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(path: Path) -> tuple[list[float], float, int]:
    """Give the milliseconds of each change, those of the processor, and how many findings."""
    server = Server(path.parent)
    text, uri = path.read_text(encoding="utf-8"), path.as_uri()
    item = {"uri": uri, "languageId": "python", "version": 0, "text": text}
    server.send({"method": "textDocument/didOpen", "params": {"textDocument": item}})
    found = server.diagnostics(uri, 0)
    times = []
    before = processor_seconds(server.process.pid)
    for version in range(1, ROUNDS + 1):
        changes = [{"text": typed(text, version)}]
        document = {"uri": uri, "version": version}
        params = {"textDocument": document, "contentChanges": changes}
        started = time.perf_counter()
        server.send({"method": "textDocument/didChange", "params": params})
        server.diagnostics(uri, version)
        times.append((time.perf_counter() - started - PAUSE) * 1000)
    processor = (processor_seconds(server.process.pid) - before) / ROUNDS * 1000
    server.close()
    return times, processor, len(found)


def report(name: str, path: Path) -> None:
    """Measure a file, and print a line about it."""
    times, processor, found = measure(path)
    lines = path.read_text(encoding="utf-8").count("\n")
    print(
        f"{name}: {lines} lines, {found} findings: {statistics.median(times):.0f} ms after the "
        f"pause of {PAUSE * 1000:.0f} ms (median of {ROUNDS}; from {min(times):.0f} to "
        f"{max(times):.0f} ms; the processor worked {processor:.0f} ms; the bar is {BAR})"
    )


def main(arguments: list[str]) -> None:
    """Measure what is named, or what is made here."""
    for name in arguments:
        report(name, Path(name).resolve())
    if arguments:
        return
    with tempfile.TemporaryDirectory() as folder:
        alone, together = Path(folder, "alone"), Path(folder, "together")
        for each in (alone, together):
            each.mkdir()
        (alone / "train.py").write_text(program(HEAD + LOADER, 1000), encoding="utf-8")
        (together / "data.py").write_text(HEAD + LOADER, encoding="utf-8")
        text = program(HEAD + "from data import data\n", 1000)
        (together / "train.py").write_text(text, encoding="utf-8")
        report("alone", (alone / "train.py").resolve())
        report("with data from another file", (together / "train.py").resolve())


if __name__ == "__main__":
    main(sys.argv[1:])

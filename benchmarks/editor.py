"""From a change to its diagnostics in an editor: `python benchmarks/editor.py [FILE …]`.

The real server is talked to over its pipes. A file of 1,200 lines with JAX code is changed again
and again: a statement in a function in the middle of the file, an import, a comment, or an empty
line. The time is taken from when a change is sent to when the diagnostics of that version arrive.
That counts the pipes and the JSON of both sides, and not the 100 ms that the server waits for more
typing. Beside it stands what the processor worked for a change, clearing up afterwards included: on
a machine that has other things to do, it says more than the clock; the bar is 100 ms. LibCST's
parse of the file is measured in the same run, to compare. Without arguments the files are made here
(one alone, and one whose arrays come from another file), and the numbers go into
`benchmarks/editor.json` and a part of `benchmarks/RESULTS.md`; else each file that is named is
measured in its own folder.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import libcst as cst

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.comparison import command, publish
from benchmarks.comparison.keystrokes import BAR, Keystroke, Keystrokes

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 30
PAUSE = 0.1
"""What `placement_lint.integrations.lsp.scheduler` waits."""

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


def with_import(text: str, number: int) -> str:
    """Give a text that imports something else."""
    return re.sub(
        r"^import ", f"import math as math{number}\nimport ", text, count=1, flags=re.MULTILINE
    )


def with_comment(text: str, number: int) -> str:
    """Give a text in which a comment says something else."""
    return typed(text, 0).replace("number = 0\n", f"pass  # {'said' * number}\n", 1)


def with_lines(text: str, number: int) -> str:
    """Give a text that has so many empty lines more."""
    return typed(text, 0).replace("number = 0\n", "pass\n" + "\n" * number, 1)


EDITS = {
    "a statement": typed,
    "an import": with_import,
    "a comment": with_comment,
    "an empty line": with_lines,
}


def processor_seconds(process: int) -> float:
    """Give how long the processors have worked for a process (as Linux tells it)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(path: Path, edit: Callable[[str, int], str]) -> tuple[list[float], float, int]:
    """Give the milliseconds of each change, those of the processor, and how many findings."""
    server = Server(path.parent)
    text, uri = path.read_text(encoding="utf-8"), path.as_uri()
    item = {"uri": uri, "languageId": "python", "version": 0, "text": edit(text, 0)}
    server.send({"method": "textDocument/didOpen", "params": {"textDocument": item}})
    found = server.diagnostics(uri, 0)
    times = []
    before = processor_seconds(server.process.pid)
    for version in range(1, ROUNDS + 1):
        changes = [{"text": edit(text, version)}]
        document = {"uri": uri, "version": version}
        params = {"textDocument": document, "contentChanges": changes}
        started = time.perf_counter()
        server.send({"method": "textDocument/didChange", "params": params})
        server.diagnostics(uri, version)
        times.append((time.perf_counter() - started - PAUSE) * 1000)
    processor = (processor_seconds(server.process.pid) - before) / ROUNDS * 1000
    server.close()
    return times, processor, len(found)


def parsing(text: str) -> float:
    """Give the milliseconds of processor time that LibCST takes to parse a text."""
    taken = []
    for _ in range(7):
        started = time.process_time()
        cst.parse_module(text)
        taken.append(time.process_time() - started)
    return statistics.median(taken) * 1000


def measured(name: str, path: Path) -> list[Keystroke]:
    """Measure a file, and print a line for each kind of edit."""
    text = path.read_text(encoding="utf-8")
    lines, rows = text.count("\n"), []
    for kind, edit in EDITS.items():
        times, processor, found = measure(path, edit)
        row = Keystroke(name, lines, kind, statistics.median(times), processor, parsing(text))
        rows.append(row)
        print(
            f"{name}: {lines} lines, {found} findings, {kind}: the processor worked "
            f"{processor:.0f} ms ({processor / row.libcst:.1f} times LibCST's parse; the bar is "
            f"{BAR} ms); {row.wall:.0f} ms after the pause of {PAUSE * 1000:.0f} ms (median of "
            f"{ROUNDS}; from {min(times):.0f} to {max(times):.0f} ms)",
            flush=True,
        )
    return rows


def main(arguments: list[str]) -> None:
    """Measure what is named, or what is made here."""
    for name in arguments:
        measured(name, Path(name).resolve())
    if arguments:
        return
    with tempfile.TemporaryDirectory() as folder:
        alone, together = Path(folder, "alone"), Path(folder, "together")
        for each in (alone, together):
            each.mkdir()
        (alone / "train.py").write_text(program(HEAD + LOADER, 1200), encoding="utf-8")
        (together / "data.py").write_text(HEAD + LOADER, encoding="utf-8")
        text = program(HEAD + "from data import data\n", 1200)
        (together / "train.py").write_text(text, encoding="utf-8")
        rows = measured("alone", (alone / "train.py").resolve())
        rows += measured("with data from another file", (together / "train.py").resolve())
    date = dt.datetime.now(dt.timezone.utc).date().isoformat()
    done = Keystrokes(date, command.machine(), tuple(rows))
    kept = command.KEPT.with_name("editor.json")
    kept.write_text(json.dumps(asdict(done), indent=1) + "\n", encoding="utf-8")
    publish.publish(command.KEPT, command.REPOSITORY)


if __name__ == "__main__":
    main(sys.argv[1:])

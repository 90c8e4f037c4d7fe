"""The protocol at its edges, byte by byte: what an editor does that is broken, or in a hurry."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from tests import warm
from tests.integrations.lsp.editor import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from typing_extensions import Self

PARSE_ERROR_IS_SURVIVED = b"{ this is no JSON"
INVALID_REQUEST, NOT_INITIALIZED, NOT_FOUND, INVALID_PARAMS = -32600, -32002, -32601, -32602


def forked() -> list[str]:
    """Return the command line of a server that is a fork of a process that has it imported."""
    return warm.command("placement_lint", "server", environment=environment())


class Wire:
    """A pipe to a server, and what comes out of it."""

    def __init__(self, folder: Path, command: Sequence[str] = COMMAND) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(60)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()

    def send(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def tell(self, method: str, params: object = None, identity: object = None) -> None:
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
        if identity is not None:
            message["id"] = identity
        self.send(json.dumps(message).encode())

    def read(self) -> dict[str, Any]:
        """Read one message: whatever is no message fails here."""
        assert self.process.stdout is not None
        length = 0
        while True:
            line = self.process.stdout.readline()
            assert line.endswith(b"\r\n"), line
            if line == b"\r\n":
                break
            name, _, value = line.partition(b":")
            assert name in {b"Content-Length", b"Content-Type"}
            if name == b"Content-Length":
                length = int(value)
        found: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return found

    def answer(self, identity: object) -> dict[str, Any]:
        """Read until a request is answered."""
        while True:
            message = self.read()
            if message.get("id") == identity and "method" not in message:
                return message

    def ask(self, method: str, params: object = None, identity: object = 1) -> dict[str, Any]:
        self.tell(method, params, identity)
        return self.answer(identity)

    def initialize(self, process: int | None = None) -> dict[str, Any]:
        params: dict[str, object] = {
            "processId": process,
            "rootUri": self.folder.as_uri(),
            "capabilities": {},
        }
        answer = self.ask("initialize", params, "begin")
        self.tell("initialized", {})
        return answer


def test_a_conversation_goes_by_the_specification(tmp_path: Path) -> None:
    with Wire(tmp_path) as wire:
        early = wire.ask("textDocument/hover", {}, 1)
        assert early["error"]["code"] in {NOT_INITIALIZED, INVALID_PARAMS}
        place = {"textDocument": {"uri": "file:///x.py"}, "position": {"line": 0, "character": 0}}
        assert wire.ask("textDocument/hover", place, 2)["error"]["code"] == NOT_INITIALIZED
        wire.tell("textDocument/didClose", {"textDocument": {"uri": "file:///x.py"}})
        begun = wire.initialize()["result"]
        assert begun["serverInfo"]["name"] == "placement-lint"
        assert begun["capabilities"]["positionEncoding"] == "utf-16"
        again = wire.ask("initialize", {"capabilities": {}, "processId": None, "rootUri": None}, 3)
        assert again["result"] == begun
        assert wire.ask("no/such/method", {}, 4)["error"]["code"] == NOT_FOUND
        # Of a document that was never opened there is nothing to say, and nothing to do.
        assert wire.ask("textDocument/hover", place, 5)["result"] is None
        wire.tell("textDocument/didClose", {"textDocument": {"uri": "file:///x.py"}})
        identifier = {"uri": "file:///x.py", "version": 2}
        wire.tell("textDocument/didChange", {"textDocument": identifier, "contentChanges": []})
        assert "result" in wire.ask("shutdown", None, 6)
        late = wire.ask("textDocument/hover", place, 7)
        assert late["error"]["code"] == INVALID_REQUEST
        wire.tell("exit")
        assert wire.process.wait(60) == 0


def test_what_cannot_be_understood_is_answered_and_does_not_end_the_server(tmp_path: Path) -> None:
    with Wire(tmp_path, forked()) as wire:
        wire.initialize()
        wire.send(PARSE_ERROR_IS_SURVIVED)
        wire.send(b"[]")
        answer = wire.ask("textDocument/hover", {"position": "somewhere"}, 1)
        assert answer["error"]["code"] in {INVALID_PARAMS, -32603}
        wire.tell("textDocument/didOpen", {"textDocument": 17})
        explain = {"command": "placement-lint.explain", "arguments": [["JDP204", {}]]}
        assert "error" in wire.ask("workspace/executeCommand", explain, 2)
        remove = {"command": "rm", "arguments": ["-rf"]}
        assert "error" in wire.ask("workspace/executeCommand", remove, 3)
        text = "import jax\njax.device_put(x, \ud800)\n"
        uri = (tmp_path / "a.py").as_uri()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        wire.tell("textDocument/didOpen", {"textDocument": item})
        far = {"line": 2**31 - 1, "character": 2**31 - 1}
        place = {"textDocument": {"uri": uri}, "position": far}
        assert wire.ask("textDocument/hover", place, 4)["result"] is None
        place = {"textDocument": {"uri": uri}, "range": {"start": far, "end": far}, "context": {}}
        assert "error" in wire.ask("textDocument/codeAction", place, 5)
        assert "result" in wire.ask("shutdown", None, 6)


def test_exit_without_shutdown_is_an_error(tmp_path: Path) -> None:
    with Wire(tmp_path, forked()) as wire:
        wire.initialize()
        wire.tell("exit")
        assert wire.process.wait(60) == 1


def test_the_server_ends_with_the_editor_that_started_it(tmp_path: Path) -> None:
    started = [sys.executable, "-c", "input()"]
    with subprocess.Popen(started, stdin=subprocess.PIPE) as editor, Wire(tmp_path) as wire:
        wire.initialize(editor.pid)
        time.sleep(0.1)
        assert wire.process.poll() is None
        os.kill(editor.pid, signal.SIGKILL)
        editor.wait(60)
        # Standard input is still open: others may hold it.
        assert wire.process.wait(60) == 1


def test_the_number_of_a_process_elsewhere_means_nothing_here(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait(60)
    with Wire(tmp_path, forked()) as wire:
        wire.initialize(gone.pid)
        time.sleep(1.5)
        assert "result" in wire.ask("shutdown", None, 1)


def test_what_is_printed_does_not_get_among_the_messages(tmp_path: Path) -> None:
    code = (
        "import os, sys, placement_lint.integrations.lsp.analysis as analysis\n"
        "before = analysis.AnalysisService.look\n"
        "def look(self, snapshot):\n"
        "    print('from Python', flush=True)\n"
        "    os.write(1, b'from below')\n"
        "    return before(self, snapshot)\n"
        "analysis.AnalysisService.look = look\n"
        "from placement_lint.cli import main\n"
        "main(['server', '--stdio'])\n"
    )
    with Wire(tmp_path, (sys.executable, "-c", code)) as wire:
        wire.initialize()
        uri = (tmp_path / "a.py").as_uri()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": "import jax\n"}
        wire.tell("textDocument/didOpen", {"textDocument": item})
        message = wire.read()
        while message.get("method") != "textDocument/publishDiagnostics":
            message = wire.read()
        assert message["params"]["uri"] == uri
        assert "result" in wire.ask("shutdown", None, 1)


def test_an_analysis_that_fails_is_an_error_reply_and_no_end(tmp_path: Path) -> None:
    code = (
        "from placement_lint.lint.linter import Linter\n"
        "def check(self, files=None):\n"
        "    raise KeyError('our mistake')\n"
        "Linter.check = check\n"
        "from placement_lint.cli import main\n"
        "main(['server'])\n"
    )
    with Wire(tmp_path, (sys.executable, "-c", code)) as wire:
        wire.initialize()
        uri = (tmp_path / "a.py").as_uri()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": "import jax\n"}
        wire.tell("textDocument/didOpen", {"textDocument": item})
        place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
        for identity in (1, 2):
            error = wire.ask("textDocument/hover", place, identity)["error"]
            assert "the analysis failed" in error["message"]
        assert "result" in wire.ask("shutdown", None, 3)


def test_without_the_extra_it_is_said_what_to_install(tmp_path: Path) -> None:
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *_: None if name == 'pygls' else find(name)\n"
        "from placement_lint.cli import main\n"
        "sys.exit(main(['server']))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=tmp_path,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        "error: the language server needs pygls, which is not installed here: "
        "pip install 'placement-lint[lsp]', or in a clone pip install '.[lsp]'\n"
    )

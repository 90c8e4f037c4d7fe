"""What an editor sends that is no message: answered or passed over, and no end of the server."""

from __future__ import annotations

import io
import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from placement_lint.integrations.lsp.incoming import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    MOST_OF_MESSAGE,
    PARSE_ERROR,
    Incoming,
)
from tests.integrations.lsp.editor import COMMAND, environment

if TYPE_CHECKING:
    from pathlib import Path

GOOD = b'{"jsonrpc": "2.0", "id": 7, "method": "shutdown", "params": null}'
Refused = tuple[object, int]


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def taken(data: bytes) -> tuple[list[bytes], list[Refused], list[str]]:
    """Give what pygls would read, what is refused, and why nothing more is read."""
    refused: list[Refused] = []
    ends: list[str] = []

    def refuse(identity: object, code: int, message: str) -> None:
        assert message
        refused.append((identity, code))

    incoming = Incoming(io.BytesIO(data), refuse, ends.append)
    bodies = []
    while header := incoming.readline():
        assert incoming.readline() == b"\r\n"
        bodies.append(incoming.read(0))
        assert header == b"Content-Length: %d\r\n" % len(bodies[-1])
    return bodies, refused, ends


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        b'{"jsonrpc": "2.0", "id": "a", "method": "x"}',
        b'{"jsonrpc": "2.0", "id": -1, "method": "x", "params": []}',
        b'{"jsonrpc": "2.0", "method": "x", "params": {"a": {"id": {}}}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": null}',
        b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}}',
        b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}',
    ],
)
def test_messages_are_handed_on_as_they_are(body: bytes) -> None:
    assert taken(framed(body) + framed(GOOD)) == ([body, GOOD], [], [])


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (b"{ this is no JSON", [(None, PARSE_ERROR)]),
        (b"\xff\xfe", [(None, PARSE_ERROR)]),
        (b"[" * 100_000, [(None, PARSE_ERROR)]),
        (b'{"a":' * 100_000, [(None, PARSE_ERROR)]),
        (b'{"jsonrpc": "2.0", "id": %s, "method": "x"}' % (b"9" * 5_000), [(None, PARSE_ERROR)]),
        *((body, [(None, INVALID_REQUEST)]) for body in (b"1", b"null", b'"x"', b"[]", b"{}")),
        (b"[%s]" % GOOD, [(None, INVALID_REQUEST)]),
        (b'{"id": 9, "method": "shutdown"}', [(None, INVALID_REQUEST)]),
        (b'{"jsonrpc": "1.0", "id": 9, "method": "shutdown"}', [(None, INVALID_REQUEST)]),
        # One inside of another: pygls would take it for one more.
        (
            b'{"jsonrpc": "2.0", "id": 9, "method": "x", "params": %s}' % GOOD,
            [(None, INVALID_REQUEST)],
        ),
        *(
            (b'{"jsonrpc": "2.0", "id": %s, "method": "x"}' % identity, [(None, INVALID_REQUEST)])
            for identity in (b"{}", b"[1]", b"null", b"true", b"1.5", b"1e400", b"9" * 3_000)
        ),
        *(
            (b'{"jsonrpc": "2.0", "id": 9, "method": %s}' % method, [(9, INVALID_REQUEST)])
            for method in (b"1", b"null", b"[]", b"{}")
        ),
        (b'{"jsonrpc": "2.0", "id": 9, "method": "x", "params": "y"}', [(9, INVALID_PARAMS)]),
        (b'{"jsonrpc": "2.0", "method": "x", "params": "y"}', []),
        (b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": {}}}', []),
        (b'{"jsonrpc": "2.0", "method": "$/cancelRequest"}', []),
        # A response is never answered.
        (b'{"jsonrpc": "2.0", "id": {}, "result": 1}', []),
        (b'{"jsonrpc": "2.0", "id": [], "error": {"code": 1, "message": ""}}', []),
        (b'{"jsonrpc": "2.0", "id": 1, "error": 1}', []),
        (b'{"jsonrpc": "2.0", "id": 1}', []),
        (b'{"jsonrpc": "2.0"}', []),
    ],
    ids=lambda value: value[:60].decode("latin-1") if isinstance(value, bytes) else "",
)
def test_what_is_no_message_is_not(body: bytes, refused: list[Refused]) -> None:
    assert taken(framed(body) + framed(GOOD)) == ([GOOD], refused, [])


@pytest.mark.parametrize(
    "before",
    [
        b"Content-Length: abc\r\n\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"\r\n\r\n",
        b"x" * 1_000_000 + b"\r\n\r\n",
        b"Content-Type: text\r\n",
    ],
    ids=lambda value: value[:30].decode(),
)
def test_headers_that_say_nothing_are_passed_over(before: bytes) -> None:
    assert taken(before + framed(GOOD)) == ([GOOD], [], [])
    small = framed(GOOD).replace(b"Content-Length", b"content-length")
    assert taken(before + small) == ([GOOD], [], [])


def test_a_line_without_an_end_is_not_kept() -> None:
    class Endless(io.RawIOBase):
        read_so_far = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert 0 < size <= 8 * 1024
            self.read_so_far += size
            return b"x" * size if self.read_so_far < 10**8 else b""

    incoming = Incoming(Endless(), lambda *_: None, pytest.fail)  # type: ignore[arg-type]
    assert incoming.readline() == b""


@pytest.mark.parametrize("digits", [str(MOST_OF_MESSAGE + 1), "9" * 50, "9" * 10_000])
def test_more_than_any_message_has_is_the_end(digits: str) -> None:
    data = b"Content-Length: %b\r\n\r\n" % digits.encode() + framed(GOOD)
    assert taken(data) == ([], [], ["a message of more than 128 MiB was announced"])


def test_a_message_that_ends_early_is_the_end() -> None:
    assert taken(b"Content-Length: 100\r\n\r\n{}") == ([], [], [])


def test_the_process_says_it_in_a_line(tmp_path: Path) -> None:
    run = subprocess.run(
        COMMAND,
        input=framed(GOOD.replace(b"7", b"{}")) + b"Content-Length: 99999999999999\r\n\r\n",
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr == b"error: a message of more than 128 MiB was announced\n"
    answer = json.loads(run.stdout.partition(b"\r\n\r\n")[2])
    assert (answer["id"], answer["error"]["code"]) == (None, INVALID_REQUEST)


def test_parameters_that_cannot_be_understood_are_a_line_too(tmp_path: Path) -> None:
    bad = {"textDocument": {"uri": 1}, "position": {"line": -1, "character": 0}}
    hover = {"jsonrpc": "2.0", "id": 3, "method": "textDocument/hover", "params": bad}
    run = subprocess.run(
        COMMAND,
        input=framed(json.dumps(hover).encode()),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert b'"code": %d' % INVALID_PARAMS in run.stdout
    assert b"Traceback" not in run.stderr
    assert all(line.startswith(b"warning: ") for line in run.stderr.splitlines())

"""Standard input, without what is no message of the protocol.

pygls (2.1) takes memory for as many bytes as a header announces, keeps a line of any length, waits
endlessly for an answer to a request whose `id` is none, and takes an object inside of a message for
one more message. All this is seen to before it reads anything: what is passed on are requests,
notifications and responses as JSON-RPC has them, each behind the one header that it needs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO, TypeAlias

    Refuse: TypeAlias = Callable[[int | str | None, int, str], None]

MOST_OF_MESSAGE = 128 * 1024 * 1024
"""Bytes of one message: a source file as large as they may be, with each character escaped."""
_MOST_OF_LINE = 8 * 1024
"""Bytes of one header; what is longer is passed over."""
_LENGTH = b"content-length"
_LARGEST_ID = 2**63
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602


class Incoming:
    """What pygls reads in place of standard input."""

    def __init__(self, stream: BinaryIO, refuse: Refuse, end: Callable[[str], None]) -> None:
        """Take the stream, and what is to be called.

        `refuse` answers a message that cannot be taken, by its `id` (None where it has none) with
        a code and a text. `end` is told why nothing more is read.
        """
        self._stream = stream
        self._refuse = refuse
        self._end = end
        self._headers: list[bytes] = []
        self._body = b""

    def readline(self) -> bytes:
        """Return the next line of a header; nothing at the end."""
        if not self._headers:
            body = self._next()
            if body is None:
                return b""
            self._body = body
            self._headers = [b"Content-Length: %d\r\n" % len(body), b"\r\n"]
        return self._headers.pop(0)

    def read(self, _: int) -> bytes:
        """Return the message that was announced."""
        return self._body

    def _next(self) -> bytes | None:
        """Return the next message that can be taken; None at the end."""
        while True:
            length = self._length()
            if length is None:
                return None
            if length > MOST_OF_MESSAGE:
                limit = MOST_OF_MESSAGE >> 20
                self._end(f"a message of more than {limit} MiB was announced")
                return None
            body = self._stream.read(length)
            if len(body) < length:
                return None
            if self._is_message(body):
                return body

    def _length(self) -> int | None:
        """Read the header of a message, and give how long that is; None at the end."""
        length = 0
        while True:
            line = self._stream.readline(_MOST_OF_LINE)
            if not line:
                return None
            if not line.strip():
                if length:
                    return length
                continue
            name, _, value = line.partition(b":")
            digits = value.strip()
            if not length and name.strip().lower() == _LENGTH and digits.isdigit():
                # So many digits that Python would not take them are too many all the same.
                length = int(digits[:20])

    def _is_message(self, body: bytes) -> bool:
        """Return whether a body is a message; answer one that is not."""
        named: list[dict[str, Any]] = []

        def note(table: dict[str, Any]) -> dict[str, Any]:
            if "jsonrpc" in table:
                named.append(table)
            return table

        try:
            message = json.loads(body, object_hook=note)
        except (ValueError, RecursionError):
            self._refuse(None, PARSE_ERROR, "not JSON, or nested too deeply")
            return False
        is_one = isinstance(message, dict) and len(named) == 1 and named[0] is message
        if not is_one or message["jsonrpc"] != "2.0":
            self._refuse(None, INVALID_REQUEST, "not a message of JSON-RPC 2.0")
            return False
        identity = message.get("id")
        has_identity = "id" in message
        if has_identity and not _is_identity(identity):
            if "method" in message:
                self._refuse(None, INVALID_REQUEST, "an id is a whole number or a string")
            return False
        if "method" not in message:
            return has_identity and _is_response(message)
        if not isinstance(message["method"], str):
            self._refuse(identity, INVALID_REQUEST, "a method is a string")
            return False
        params = message.get("params")
        if params is not None and not isinstance(params, dict | list):
            if has_identity:
                self._refuse(identity, INVALID_PARAMS, "parameters are an object or an array")
            return False
        return message["method"] != "$/cancelRequest" or (
            isinstance(params, dict) and _is_identity(params.get("id"))
        )


def _is_identity(value: object) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_ID


def _is_response(message: dict[str, Any]) -> bool:
    if "error" not in message:
        return "result" in message
    error = message["error"]
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and isinstance(error.get("message"), str)
    )

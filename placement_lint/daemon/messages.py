"""Messages between the two sides: JSON, behind its length in four bytes."""

from __future__ import annotations

import json
import socket

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_LENGTH = 4
_MOST = 16 * 1024 * 1024
"""Bytes of one message: arguments and an environment, which a system bounds to a few megabytes."""
STREAMS = 3


class BrokenOffError(Exception):
    """The other side has gone, or speaks otherwise."""


def send(connection: socket.socket, message: Mapping[str, Any], files: Sequence[int] = ()) -> None:
    """Send a message, with open files of this process if some are given. Raises OSError."""
    body = json.dumps(message).encode("ascii")
    head = len(body).to_bytes(_LENGTH, "big")
    if files:
        socket.send_fds(connection, [head], files)
    else:
        connection.sendall(head)
    connection.sendall(body)


def receive(connection: socket.socket) -> dict[str, Any]:
    """Return the next message. Raises BrokenOffError, or OSError."""
    return _body(connection, _exactly(connection, _LENGTH))


def receive_with_files(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the next message, and the open files that came with it. Raises as `receive` does."""
    head, files, _, _ = socket.recv_fds(connection, _LENGTH, STREAMS)
    head += _exactly(connection, _LENGTH - len(head))
    return _body(connection, head), files


def _body(connection: socket.socket, head: bytes) -> dict[str, Any]:
    length = int.from_bytes(head, "big")
    if length > _MOST:
        raise BrokenOffError
    try:
        message = json.loads(_exactly(connection, length))
    except ValueError as error:
        raise BrokenOffError from error
    if not isinstance(message, dict):
        raise BrokenOffError
    return message


def _exactly(connection: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = connection.recv(length)
        if not part:
            raise BrokenOffError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)

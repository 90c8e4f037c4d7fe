"""The process: standard input and output belong to the protocol, and to nothing else."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, NoReturn, cast

from placement_lint.integrations.lsp.incoming import Incoming
from placement_lint.integrations.lsp.server import Server

if TYPE_CHECKING:
    from typing import BinaryIO


class _LineFormatter(logging.Formatter):
    """A line for each event: a traceback of pygls is of no use to who wrote a wrong message."""

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None
        text, _, _ = record.getMessage().partition("\n")
        error = record.exc_info[1] if record.exc_info else None
        return f"warning: {text}" + (f" ({type(error).__name__}: {error})" if error else "")


def _log_in_lines() -> None:
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_LineFormatter())
    logger = logging.getLogger("pygls")
    logger.addHandler(handler)
    logger.propagate = False


def run() -> int:
    """Serve until the editor says that it is enough, or is gone; end the process then.

    The exit code is 0 after `shutdown`, and 1 without.
    """
    # Whatever prints, in Python or below it, must not end up between two messages.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    server = Server()

    def end(code: int) -> NoReturn:
        server.delete_pages()
        # An analysis that still runs, and a thread that still reads, are not waited for.
        os._exit(code)

    def say(reason: str) -> None:
        print(f"error: {reason}", file=sys.stderr, flush=True)

    _log_in_lines()
    server.protocol.on_exit = end
    incoming = Incoming(sys.stdin.buffer, server.protocol.refuse, say)
    server.pygls.start_io(cast("BinaryIO", incoming), output)
    end(0 if server.protocol.was_shut_down else 1)

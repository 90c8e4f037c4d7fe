"""The process: standard input and output belong to the protocol, and to nothing else."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from placement_lint.integrations.lsp.server import Server


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
        server.forget_pages()
        # An analysis that still runs, and a thread that still reads, are not waited for.
        os._exit(code)

    server.protocol.on_exit = end
    server.pygls.start_io(sys.stdin.buffer, output)
    end(0 if server.protocol.was_shut_down else 1)

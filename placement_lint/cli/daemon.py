"""`--daemon`, and `placement-lint daemon`: the background process that has everything imported."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from placement_lint.cli import streams
from placement_lint.cli.parser import USAGE_ERROR, Parser
from placement_lint.daemon import client
from placement_lint.daemon.address import NoAddressError, is_supported

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DESCRIPTION = """\
Start, stop or show the background process that `placement-lint --daemon` uses. It belongs to one
user, one Python and one version of placement-lint, ends after 30 minutes without a run, and
whenever the code of placement-lint changes."""

_SERVING = "from placement_lint.cli import daemon, main; daemon.serve(main)"
_SECONDS_TO_START = 30.0
_SECONDS_TO_STOP = 10.0
_PAUSE = 0.05
_SAMPLE = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np

cpu = jax.devices("cpu")[0]


class Trainer:
    def __init__(self, params):
        self.params = jax.device_put(params, cpu)

    @functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
    def step(self, params, batch):
        return jax.tree.map(lambda p: p - jnp.mean(batch["x"]), params)


with jax.default_device(cpu):
    data = jnp.asarray(np.load("data.npy"))
trainer = Trainer({"w": jnp.ones((8, 8))})
for index in range(8):
    trainer.params = trainer.step(trainer.params, {"x": data[index]})
"""
"""A program with something to follow and something to report: it imports what most runs need."""


def is_asked_for(arguments: Sequence[str]) -> bool:
    """Return whether the options say that the background process is to run the command."""
    for word in arguments:
        if word == "--":
            return False
        if word == "--daemon":
            return True
    return False


def check(arguments: Sequence[str]) -> int:
    """Check in the background process, or here if there is none yet; return the exit code."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    rest = [*(word for word in arguments[:end] if word != "--daemon"), *arguments[end:]]
    if not is_supported():
        _warn("this system has no background process")
    else:
        try:
            return client.run(rest)
        except client.DiedError:
            streams.fail("the background process ended the run, or was ended; run it again")
            return USAGE_ERROR
        except client.NoDaemonError:
            _start_for_the_next_time()
        except NoAddressError as error:
            _warn(str(error))

    from placement_lint.cli import check as command

    return command.main(rest)


def main(arguments: Sequence[str]) -> int:
    """Run `placement-lint daemon`; return its exit code."""
    parser = Parser("placement-lint daemon", description=_DESCRIPTION)
    parser.add_argument(
        "what",
        choices=("status", "start", "stop"),
        nargs="?",
        default="status",
        metavar="status|start|stop",
        help="what to do (default: status)",
    )
    what = parser.parse_args(arguments).what
    if not is_supported():
        parser.error("this system has no background process: it lacks `fork`")
    try:
        return {"status": _status, "start": _start, "stop": _stop}[what](parser)
    except NoAddressError as error:
        parser.error(str(error))


def serve(run: Callable[[Sequence[str]], int]) -> None:
    """Be the background process of a command: arguments to exit code."""
    from placement_lint.daemon.address import socket_path
    from placement_lint.daemon.server import serve as listen

    listen(socket_path(os.environ), run, _prepare)


def _prepare() -> None:
    """Import what runs need, by a run."""
    from tempfile import TemporaryDirectory

    from placement_lint.cli import check as command

    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "sample.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_SAMPLE)
        command.main(["--isolated", "--no-cache", "-j", "1", "--output-format", "full", path])


def _start_for_the_next_time() -> None:
    try:
        client.start(_SERVING)
    except OSError as error:
        _warn(error.strerror or str(error))


def _warn(reason: str) -> None:
    from placement_lint.report.escape import escape

    streams.complain(f"warning: --daemon: {escape(reason)}; checking without it")


def _status(_: Parser) -> int:
    try:
        answer = client.ask("status")
    except client.NoDaemonError:
        streams.write("No background process runs.\n")
        return 1
    minutes, runs = int(answer["seconds"] / 60), answer["runs"]
    streams.write(
        f"Process {answer['process']} has run for {minutes} min, with {runs} "
        f"run{'' if runs == 1 else 's'}.\n"
    )
    return 0


def _start(parser: Parser) -> int:
    with suppress(client.NoDaemonError):
        client.ask("status")
        return _status(parser)
    try:
        client.start(_SERVING)
    except OSError as error:
        parser.error(error.strerror or str(error))
    end = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < end:
        with suppress(client.NoDaemonError):
            client.ask("status")
            return _status(parser)
        time.sleep(_PAUSE)
    streams.fail(f"the background process does not answer after {_SECONDS_TO_START:.0f} s")
    return USAGE_ERROR


def _stop(_: Parser) -> int:
    try:
        answer = client.ask("stop")
    except client.NoDaemonError:
        streams.write("No background process runs.\n")
        return 0
    end = time.monotonic() + _SECONDS_TO_STOP
    while time.monotonic() < end:
        try:
            client.ask("status")
        except client.NoDaemonError:
            break
        time.sleep(_PAUSE)
    streams.write(f"Stopped process {answer['process']}.\n")
    return 0

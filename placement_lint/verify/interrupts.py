"""Being asked to stop: leave in the ordinary way, so that no subprocess is left behind."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

_POLITE = ("SIGTERM", "SIGHUP")


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise SystemExit (128 + the signal's number), as SIGINT raises.

    Without this they would end the process at once, and its subprocesses would only notice when
    their lifeline is cut. Does nothing outside of the main thread, where no handler can be set.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _POLITE if hasattr(signal, name)]
    # What is ignored on purpose, as nohup does it, stays ignored.
    before = {
        number: signal.signal(number, _leave)
        for number in numbers
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)

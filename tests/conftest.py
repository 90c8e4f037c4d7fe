from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# On a machine with other work to do, what takes milliseconds takes seconds: time is measured by the
# tests that are about it, in seconds of processor time.
settings.register_profile(
    "placement-lint", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("placement-lint")


def pytest_configure() -> None:
    """Have the processes that tests start react to signals, also where we were told not to.

    Under `nohup`, or behind an `&`, these are ignored, and a process hands that on to those that it
    starts. A handler it does not hand on.
    """
    for name in ("SIGINT", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignored)


def _ignored(*_: object) -> None:
    """Go on, as with the signal ignored."""


@pytest.fixture(scope="session", autouse=True)
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what is written for a user, by this process and those it starts, out of the user's."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import sampled

# On a machine with other work to do, what takes milliseconds takes seconds: time is measured by the
# tests that are about it, in seconds of processor time.
settings.register_profile(
    "placement-lint", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("placement-lint")

ROOT = Path(__file__).parents[1]
_OPTIONS_BY_ENVIRONMENT = frozenset(
    f"PLACEMENT_LINT_{name}"
    for name in ("CACHE_DIR", "CONFIG", "NO_CACHE", "OUTPUT_FILE", "OUTPUT_FORMAT")
)
_FIRST = (
    # JAX in processes of their own, and one that several share.
    *("tests/verify/", "tests/fix_oracle/", "tests/differential/"),
    *("tests/test_programs.py::test_run", "tests/metamorphic/", "tests/placement/overlays/"),
    *("tests/jaxmodel/", "tests/trace/"),
    # The command, in forks of a process that has everything imported.
    *("tests/cli/", "tests/integrations/", "tests/daemon/", "tests/docs/", "tests/hostile/"),
    *("tests/faults/", "tests/bombs/", "tests/test_ci.py", "tests/test_security.py"),
)
"""How the names of those begin that are run first, in this order."""
_LYING_THERE = pytest.StashKey[AbstractSet[str]]()


def pytest_configure() -> None:
    """Collect garbage seldom, and have processes that tests start react to signals, also where we
    were told not to.

    Most of what is parsed is kept: to look through it for garbage takes longer than parsing.

    Under `nohup`, or behind an `&`, these are ignored, and a process hands that on to those that it
    starts. A handler it does not hand on.
    """
    gc.set_threshold(500_000, 50, 100)
    for name in ("SIGINT", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignored)


def _ignored(*_: object) -> None:
    """Go on, as with the signal ignored."""


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Make no items of a function that the run leaves out whole: there are tens of thousands."""
    marks = getattr(obj, "pytestmark", ())
    return [] if sampled.is_left_out(collector.config, marks) else None


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    sampled.make_sample(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Decide what is in the samples before `-m` chooses by it, and what is run first.

    Tests that start the same programs follow one another, so that one of the processes that share
    the tests starts them; those that take seconds are not among the last ones, for which the
    others would wait.
    """
    sampled.leave_out(config, items)
    items.sort(key=lambda item: _turn(item.nodeid))


def pytest_collection_finish() -> None:
    """Have the collector of garbage pass over what is there for as long as the tests are."""
    gc.freeze()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Note what lies in the repository's own folder, to which no test adds anything."""
    session.stash[_LYING_THERE] = lying_in(ROOT)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where tests left something in the repository's own folder."""
    left = lying_in(ROOT) - session.stash[_LYING_THERE]
    if left and not hasattr(session.config, "workerinput"):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(f"the tests left in {ROOT}: {', '.join(sorted(left))}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _turn(nodeid: str) -> int:
    turns = (turn for turn, start in enumerate(_FIRST) if nodeid.startswith(start))
    return next(turns, len(_FIRST))


def lying_in(folder: Path) -> AbstractSet[str]:
    """Give the names in a folder, but for what Python and other tools keep there."""
    return {path.name for path in folder.iterdir() if not path.name.startswith((".", "__"))}


@pytest.fixture(scope="session", autouse=True)
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what is written for a user, by this process and those it starts, out of the user's."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    # Nor does any test depend on what a developer has set for every project.
    os.environ["XDG_CONFIG_HOME"] = str(folder / "no-settings")
    for name in _OPTIONS_BY_ENVIRONMENT & {*os.environ}:
        del os.environ[name]

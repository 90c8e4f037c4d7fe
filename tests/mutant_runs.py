"""Tries mutants: each in a process that has the tests loaded, against those that reach it.

mutmut says what the mutants are; its own way to run them starts pytest for each, and pays at each
call for the choice between them. Here the code of one function is put in the place of another's.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import re
import resource
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import CodeType, FrameType

SURVIVED, KILLED, UNSEEN, TIMEOUT = 0, 1, 33, 36
"""What came of a mutant, as mutmut's exit codes say it."""
_MEMORY = 4 << 30
_PATIENCE = 10
"""How many times as long as without the mistake a test may take, and how many seconds at least."""
_WAITING = 4
"""How many times its processor time it may take by the clock."""
_DEFINITION = re.compile(r" *(?:async )?def (\w+)\(")
_ENDING = re.compile(r"__mutmut_(?:\d+|orig)$")


@dataclass(frozen=True)
class Mutant:
    """A function with one mistake in it."""

    module: str
    function: str
    """As mutmut names it: `x_f__mutmut_1`, `xǁClassǁmethod__mutmut_1`."""
    text: str

    @property
    def name(self) -> str:
        """What mutmut calls it."""
        return f"{self.module}.{self.function}"

    @property
    def path(self) -> tuple[str, ...]:
        """The class, where it is a method, and the name of what it is a mutant of."""
        original = _ENDING.sub("", self.function)
        return tuple(original.split("ǁ")[1:]) if "ǁ" in original else (original[2:],)


def mutants_of(path: Path, module: str) -> list[Mutant]:
    """Give the mutants of a file that mutmut makes."""
    from mutmut.mutation.file_mutation import mutate_file_contents

    made = mutate_file_contents(str(path), path.read_text(encoding="utf-8"))
    texts = definitions(made.code)
    return [Mutant(module, name, texts[name]) for name in made.mutant_names]


def definitions(code: str, owner: Sequence[str] = ()) -> dict[str, str]:
    """Give the text of every function in a module, each to be executed by itself.

    `owner`: the class whose methods are asked for; of others with their names, there is the first.
    """
    lines = code.split("\n")
    found: dict[str, str] = {}
    first = next((i for i, line in enumerate(lines) for c in owner if _begins(line, c)), 0)
    for start, line in enumerate(lines):
        match = _DEFINITION.match(line)
        if match is None or start < first:
            continue
        indent = len(line) - len(line.lstrip())
        end = start + 1
        # A bracket that closes the parameters stands where the definition begins.
        while end < len(lines) and (
            not lines[end].strip()
            or len(lines[end]) - len(lines[end].lstrip()) > indent
            or lines[end].lstrip().startswith(")")
        ):
            end += 1
        found.setdefault(match[1], "\n".join(each[indent:] for each in lines[start:end]))
    return found


def _begins(line: str, owner: str) -> bool:
    return re.match(rf"class {owner}\b", line) is not None


def put(mutant: Mutant) -> None:
    """Let a function do what its mutant does, wherever it is held."""
    module = importlib.import_module(mutant.module)
    names = dict(vars(module))
    # As in a class, so that private names are those of the class.
    text, *owner = mutant.text, *mutant.path[:-1]
    if owner:
        text = f"class {owner[0]}:\n" + "\n".join(f"    {line}" for line in text.split("\n"))
    exec(f"from __future__ import annotations\n{text}", names)  # noqa: S102 - of this repository
    made = vars(names[owner[0]])[mutant.function] if owner else names[mutant.function]
    holder = vars(getattr(module, owner[0]) if owner else module)
    function, new = _inner(holder[mutant.path[-1]]), _inner(made)
    function.__code__ = new.__code__
    function.__defaults__, function.__kwdefaults__ = new.__defaults__, new.__kwdefaults__


def _inner(held: Any) -> Any:
    """Give the function in a property, a method of a class, or a cache."""
    for attribute in ("fget", "func", "__func__", "__wrapped__"):
        held = getattr(held, attribute, held)
    return held


def try_out(mutants: Sequence[Mutant], arguments: Sequence[str]) -> dict[str, int]:
    """Try mutants against the tests that pytest selects by arguments; give what came of each."""
    trial = _Trial(mutants)
    pytest.main(["-q", "-p", "no:xdist", "-o", "addopts=", *arguments], plugins=[trial])
    return trial.outcomes


class _Trial:
    """Runs tests again and again, each time with another mistake."""

    def __init__(self, mutants: Sequence[Mutant]) -> None:
        self._mutants = mutants
        self.outcomes: dict[str, int] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run no test here, but all of them in other processes."""
        sources = {mutant.module: _source_of(mutant.module) for mutant in self._mutants}
        known = _answer(lambda: _watched(session.items, {*sources.values()}))
        assert isinstance(known, dict), "the tests end the process that they run in"
        failed = [name for name, (passed, *_) in known.items() if not passed]
        assert not failed, f"they fail as it is: {failed}"
        for number, mutant in enumerate(self._mutants, 1):
            place = [sources[mutant.module], ".".join(mutant.path)]
            reaching = [item for item in session.items if place in known[item.nodeid][2]]
            # The quickest first: most are seen by many.
            reaching.sort(key=lambda item: known[item.nodeid][1])
            limits = {item.nodeid: _PATIENCE * (1 + known[item.nodeid][1]) for item in reaching}
            question = functools.partial(_outcome, mutant, reaching, limits)
            outcome = _answer(question) if reaching else UNSEEN
            self.outcomes[mutant.name] = outcome if isinstance(outcome, int) else KILLED
            if sys.__stderr__ is not None:
                print(f"\r{number} of {len(self._mutants)}", end="", file=sys.__stderr__)
        return True


def _source_of(module: str) -> str:
    return str(importlib.import_module(module).__file__)


def _answer(question: Callable[[], object]) -> object:
    """Ask something in a process of its own; None where that ends without an answer."""
    # Not by a pipe, which has no end as long as a process that a test has left behind holds it.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            try:
                json.dump(question(), file)
                file.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        file.seek(0)
        said = file.read()
    return json.loads(said) if said else None


def _watched(
    items: Iterable[pytest.Item], sources: set[str]
) -> Mapping[str, tuple[bool, float, list[list[str]]]]:
    """Run tests; give for each whether it passes, how long it takes, and which functions it calls.

    A function is known by its file and its name.
    """
    found = {}
    for item in items:
        called: set[CodeType] = set()
        begun = time.process_time()
        with _watching(called):
            passed = _passes(item)
        reached = {
            # New in Python 3.11.
            (code.co_filename, getattr(code, "co_qualname").split(".<locals>")[0])  # noqa: B009
            for code in called
            if code.co_filename in sources
        }
        found[item.nodeid] = passed, time.process_time() - begun, sorted(map(list, reached))
    return found


@contextlib.contextmanager
def _watching(called: set[CodeType]) -> Iterator[None]:
    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            called.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _outcome(mutant: Mutant, items: Iterable[pytest.Item], limits: Mapping[str, float]) -> int:
    """Run tests until one sees the mistake."""
    late: list[bool] = []

    def too_long(*_: object) -> None:
        late.append(True)
        raise _TooLongError

    put(mutant)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGVTALRM, too_long)
    # Its default is to end the process, which also ends what waits or never comes out of C.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for item in items:
        signal.setitimer(signal.ITIMER_VIRTUAL, limits[item.nodeid])
        signal.setitimer(signal.ITIMER_REAL, _WAITING * limits[item.nodeid])
        if not _passes(item):
            return TIMEOUT if late else KILLED
    return SURVIVED


class _TooLongError(BaseException):
    """A test takes far longer than it did: there may be no end."""


def _passes(item: pytest.Item) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False))

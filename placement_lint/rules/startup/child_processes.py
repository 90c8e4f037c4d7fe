"""Whether a file starts other processes, which inherit what it sets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.callbacks import DATA_LOADER
from placement_lint.semantic.given_functions import has_workers
from placement_lint.syntax.calls import Arguments, elements_or_self, string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.model import ModuleFacts

_STARTERS = re.compile(
    r"(concurrent\.futures\.(process|ProcessPoolExecutor)|dask(_\w+)?|joblib|loky"
    r"|multiprocess|multiprocessing|os\.(exec|popen|posix_spawn|spawn|system)\w*|pexpect|ray"
    r"|submitit|subprocess|torch\.multiprocessing)\b"
)
"""Whole names: a module `rays` of the program is not Ray."""


_SUBPROCESS = "subprocess"
_CONSTANTS = frozenset({
    "CalledProcessError", "DEVNULL", "PIPE", "STDOUT", "SubprocessError", "TimeoutExpired",
})  # fmt: skip
_TOOLS = frozenset({
    "cp", "curl", "df", "ffmpeg", "free", "gcloud", "git", "gsutil", "hostname", "ls", "lscpu",
    "mkdir", "mv", "nvidia-smi", "rm", "rsync", "scontrol", "tar", "uname", "unzip", "wget",
})  # fmt: skip
"""Programs that do not run Python."""


_MULTIPROCESSING = "multiprocessing"
_THREADS = re.compile(
    r"multiprocessing\.(pool\.(ThreadPool|AsyncResult|MapResult)\b|dummy\b|cpu_count\b"
    r"|current_process\b|parent_process\b|\w*Error\b)"
)
"""What of `multiprocessing` starts no process."""


def starts_processes(facts: ModuleFacts) -> bool:
    """Return whether a file imports or calls what starts processes: these read variables again.

    To import `subprocess` or `multiprocessing` is not enough, nor to run a program such as git by
    the one, or a pool of threads of the other.
    """
    imported = [
        binding.target
        for scope in facts.names.scopes()
        for bindings in scope.bindings.values()
        for binding in bindings
    ]
    called = [facts.names.qualified(node.func) for node in facts.tree.every(cst.Call)]
    asked = {_SUBPROCESS: _runs_more_than_tools, _MULTIPROCESSING: _uses_more_than_threads}
    return (
        any(
            name is not None and _STARTERS.match(name) and name.partition(".")[0] not in asked
            for name in (*imported, *called)
        )
        or any(_STARTERS.match(name) for name in facts.names.star_imports)
        or any(
            any(_is_of(module, name) for name in imported) and uses(facts)
            for module, uses in asked.items()
        )
    )


def starts_data_workers(facts: ModuleFacts) -> bool:
    """Return whether a file makes a loader of PyTorch that reads data in other processes.

    Or may do so: it derives from one, or gives one to something else.
    """
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.file_view import FileView

    view = FileView(facts)
    for node in facts.tree.every(cst.Name, cst.Attribute):
        parent = facts.tree.parent(node)
        if isinstance(parent, cst.Attribute | cst.ImportAlias) or view.name(node) != DATA_LOADER:
            continue
        if not isinstance(parent, cst.Call | cst.Annotation) or (
            isinstance(parent, cst.Call) and parent.func is node and has_workers(parent, view)
        ):
            return True
    return False


def _is_of(module: str, name: str | None) -> bool:
    return name is not None and name.partition(".")[0] == module


def _uses(module: str, facts: ModuleFacts) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield each use of a module, as a whole name with what it stands for."""
    for node in facts.tree.every(cst.Name, cst.Attribute):
        if isinstance(facts.tree.parent(node), cst.Attribute | cst.ImportAlias):
            continue
        name = facts.names.qualified(node)
        if name is not None and _is_of(module, name):
            yield node, name


def _runs_more_than_tools(facts: ModuleFacts) -> bool:
    """Return whether a file uses `subprocess` for anything but to run certain programs."""
    for node, name in _uses(_SUBPROCESS, facts):
        parent = facts.tree.parent(node)
        if name.rpartition(".")[2] in _CONSTANTS:
            continue
        if not isinstance(parent, cst.Call) or parent.func is not node or not _is_tool(parent):
            return True
    return False


def _uses_more_than_threads(facts: ModuleFacts) -> bool:
    """Return whether a file uses `multiprocessing` for anything but pools of threads."""
    return any(_THREADS.match(name) is None for _, name in _uses(_MULTIPROCESSING, facts))


def _is_tool(call: cst.Call) -> bool:
    """Return whether a call runs a program that is none of Python, as its text says."""
    given = Arguments(call).get(0, "args")
    command = elements_or_self(given)[0] if given is not None and elements_or_self(given) else None
    text = string_value(command)
    return text is not None and text.split(" ")[0] in _TOOLS

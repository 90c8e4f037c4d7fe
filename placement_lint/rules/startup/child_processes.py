"""Whether a file starts other processes, which inherit what it sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.semantic.model import ModuleFacts

_STARTERS = (
    "concurrent.futures.process", "concurrent.futures.ProcessPoolExecutor", "dask", "joblib",
    "loky", "multiprocess", "multiprocessing", "os.exec", "os.popen", "os.posix_spawn", "os.spawn",
    "os.system", "pexpect", "ray", "submitit", "subprocess", "torch.multiprocessing",
    "torch.utils.data",
)  # fmt: skip


def starts_processes(facts: ModuleFacts) -> bool:
    """Return whether a file imports or calls what starts processes: these read variables again."""
    imported = [
        binding.target
        for scope in facts.names.scopes()
        for bindings in scope.bindings.values()
        for binding in bindings
    ]
    called = [facts.names.qualified(node.func) for node in facts.tree.every(cst.Call)]
    return any(name is not None and name.startswith(_STARTERS) for name in (*imported, *called))

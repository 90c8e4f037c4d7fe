"""Runs the transfer table on a JAX, in a process of its own, and reads what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.jaxmodel.transfer import Row

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Execution:
    """What came of one row."""

    name: str
    effect: str
    calls: int
    absent: str
    """Why it was not executed; empty: it was."""
    wrong: tuple[str, ...]
    """Where JAX disagrees with it."""


@dataclass(frozen=True)
class Report:
    """What came of one run."""

    python: str
    packages: dict[str, str]
    """The versions of what is installed, of JAX and what the table speaks of."""
    rows: tuple[Execution, ...]
    """In the order of the table."""

    @property
    def disagreements(self) -> list[str]:
        """What JAX disagrees with, one a line."""
        return [f"{row.name} ({row.effect}): {text}" for row in self.rows for text in row.wrong]

    @property
    def unexecuted(self) -> list[str]:
        """The rows that were neither executed nor have a reason for that."""
        return [row.name for row in self.rows if not row.calls and not row.absent]

    def summary(self) -> str:
        """Give the figures of the run, and each reason why rows were not executed."""
        executed = [row for row in self.rows if row.calls]
        packages = ", ".join(f"{name} {version}" for name, version in self.packages.items())
        lines = [
            f"Python {self.python}, {packages}: {len(self.rows)} rows, {len(executed)} executed by "
            f"{sum(row.calls for row in executed)} calls, "
            f"{len(self.disagreements)} disagreements"
        ]
        lines += [f"  {reason}: {', '.join(names)}" for reason, names in self.reasons().items()]
        return "\n".join(lines)

    def reasons(self) -> dict[str, list[str]]:
        """Give the rows that were not executed, by the reason."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if not row.calls:
                found.setdefault(row.absent, []).append(row.name)
        return dict(sorted(found.items()))


def is_selected(name: str, words: tuple[str, ...]) -> bool:
    """Tell whether a row is among those that begin with one of the words, or with none of `-word`.

    `=name` selects the rows of this name alone. Without words, all are.
    """
    named = {word[1:] for word in words if word.startswith("=")}
    without = tuple(word[1:] for word in words if word.startswith("-"))
    only = tuple(word for word in words if not word.startswith(("-", "=")))
    if named and not only:
        return name in named
    return (name in named or name.startswith(only or "")) and not name.startswith(without)


_SLOW = frozenset(
    """
    jax.hessian.of_quadratic jax.lax.linalg.cholesky jax.lax.random_gamma_grad jax.numpy.choose
    jax.numpy.unique_inverse jax.random.ball jax.scipy.cluster.vq.vq jax.scipy.signal.csd
    jax.scipy.special.bernoulli
""".split()
)
"""What takes half a second or longer to compile: for a sample, others of its kind will do."""


def sample(rows: Iterable[Row], every: int) -> list[str]:
    """Give the words for some rows: one of each kind and of each module, then one in so many.

    The modules of `jax.scipy`, which are of one kind and take long to compile, count as one.
    """
    kinds: dict[tuple[object, ...], dict[str, None]] = {}
    for row in rows:
        module = row.name.rpartition(".")[0]
        if module.startswith("jax.scipy."):
            module = "jax.scipy"
        kind = (row.effect, row.gives, row.certain, row.device is None)
        for group in ((module,), kind):
            kinds.setdefault(group, {})[row.name] = None
    names: set[str] = set()
    for found in kinds.values():
        for start in range(0, len(found), every):
            some = [*found][start : start + every]
            if names.isdisjoint(some):
                names.add(next((name for name in some if name not in _SLOW), some[0]))
    return [f"={name}" for name in sorted(names)]


def run(python: Path | str, *words: str, time_limit: float) -> Report:
    """Execute the rows that words select.

    Raises CalledProcessError where the process fails, TimeoutExpired where it takes longer.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "report.json"
        subprocess.run(
            [str(python), "-m", "tests.jaxmodel.transfer_child", str(target), *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
            check=True,
            timeout=time_limit,
        )
        found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return Report(
        found["python"],
        {name: version for name, version in found["packages"].items() if version},
        tuple(
            Execution(
                row["name"],
                row["effect"],
                sum(len(call) - 1 for call in row["calls"]),
                row["absent"],
                tuple(row["wrong"]),
            )
            for row in found["rows"]
        ),
    )

"""The dated record of which proof held on which JAX, as it ships with the package.

`placement-lint verify` on several versions of JAX writes it (`nox -s verify`), and
`placement-lint rule` reads it. It names each proof by a digest of its text, so that a record says
nothing of a proof that has been changed since.
"""

from __future__ import annotations

import functools
import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeAlias

RECORD_VERSION = 1
PROVED, FAILED, SKIPPED = "proved", "failed", "skipped"

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SUFFIX = "-verify.json"


VIRTUAL = "virtual"


class Proved:
    """What a record says of one rule: the versions of JAX, oldest first, by what came of it.

    `devices`: "virtual", or the name of the accelerator that it ran on.
    """

    def __init__(
        self,
        date: str,
        devices: str,
        proved: tuple[str, ...],
        failed: tuple[str, ...],
        skipped: tuple[str, ...],
    ) -> None:
        self.date = date
        self.devices = devices
        self.proved = proved
        self.failed = failed
        self.skipped = skipped

    def sentence(self) -> str:
        parts = []
        if self.proved:
            parts.append(f"reproduced on JAX {', '.join(self.proved)}")
        if self.failed:
            parts.append(f"NOT reproduced on JAX {', '.join(self.failed)}")
        if self.skipped:
            parts.append(f"makes no claim about JAX {', '.join(self.skipped)}")
        return f"{'; '.join(parts)} ({self.on}, {self.date})"

    @property
    def on(self) -> str:
        return "virtual devices" if self.devices == VIRTUAL else self.devices

    def as_json(self) -> dict[str, Any]:
        return {
            "jax": list(self.proved),
            "not_proved": list(self.failed),
            "no_claim": list(self.skipped),
            "devices": self.devices,
            "date": self.date,
        }


def proof_folder() -> str:
    """Return the folder of the proofs: in the package when installed, else `fixtures`."""
    installed = os.path.join(_PACKAGE, "proofs")
    if os.path.isdir(installed):
        return installed
    return os.path.join(os.path.dirname(_PACKAGE), "fixtures")


def proof_path(code: str) -> str:
    return os.path.join(proof_folder(), code, "proof.py")


def digest(source: str) -> str:
    """Return the digest that identifies a proof's text: 16 hexadecimal digits."""
    import hashlib

    return hashlib.sha256(source.encode("utf-8")).hexdigest()[:16]


Runs: TypeAlias = "list[tuple[str, list[dict[str, Any]]]]"
"""Dates, each with the runs of its record."""


@functools.cache
def runs_by_devices(folder: str) -> Mapping[str, Runs]:
    """Return the runs of a folder's records for each kind of devices, virtual first.

    Kinds are "virtual" and the names of accelerators. The newest record comes first; those that
    cannot be read count for none.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIX))
    except OSError:
        return {}
    found: dict[str, Runs] = {}
    for name in reversed(names):
        record = read_record(os.path.join(folder, name)) or {"date": "", "runs": []}
        runs: dict[str, list[dict[str, Any]]] = {}
        for run in record["runs"]:
            runs.setdefault(run.get("accelerator", run["devices"]), []).append(run)
        for kind, of_kind in runs.items():
            found.setdefault(kind, []).append((record["date"], of_kind))
    return {kind: found[kind] for kind in sorted(found, key=lambda kind: (kind != VIRTUAL, kind))}


def read_record(path: str) -> dict[str, Any] | None:
    """Read a record; None for what is not there, or is no record of this version."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return None
    known = isinstance(record, dict) and record.get("version") == RECORD_VERSION
    return record if known else None


def record_name(date: str) -> str:
    return date + _SUFFIX


def proved_on(code: str) -> tuple[Proved, ...]:
    """Return where a rule's proof, as it ships, was run last: for each kind of devices.

    Empty when no record knows that text.
    """
    try:
        with open(proof_path(code), encoding="utf-8") as file:
            wanted = digest(file.read())
    except (OSError, UnicodeDecodeError):
        return ()
    every = []
    for kind, records in runs_by_devices(os.path.join(proof_folder(), "records")).items():
        for date, runs in records:
            found: dict[str, list[str]] = {PROVED: [], FAILED: [], SKIPPED: []}
            for run in runs:
                cell = run["rules"].get(code)
                if cell is not None and cell["digest"] == wanted:
                    found[cell["result"]].append(run["jax"])
            if any(found.values()):
                results = (tuple(found[result]) for result in (PROVED, FAILED, SKIPPED))
                every.append(Proved(date, kind, *results))
                break
    return tuple(every)


def sentence(proved: Iterable[Proved]) -> str:
    """Return in a sentence what came of a proof, on each kind of devices."""
    return "; ".join(each.sentence() for each in proved)

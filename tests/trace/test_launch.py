"""How a command line is split, and what JAX and which devices there are."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.trace import launch
from placement_lint.trace.emulation import expected_devices, virtual_environment
from placement_lint.trace.launch import CannotTraceError, TraceTarget, arguments_of, choose_devices

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("words", "ours", "target"),
    [
        ("a.py", [], TraceTarget("a.py", False, ())),
        (
            "a.py --devices gpu -m b",
            [],
            TraceTarget("a.py", False, ("--devices", "gpu", "-m", "b")),
        ),
        ("--devices gpu a.py x", ["--devices", "gpu"], TraceTarget("a.py", False, ("x",))),
        ("--devices=gpu a.py", ["--devices=gpu"], TraceTarget("a.py", False, ())),
        ("--color always -m b.c -x", ["--color", "always"], TraceTarget("b.c", True, ("-x",))),
        ("-mb.c -x", [], TraceTarget("b.c", True, ("-x",))),
        ("-- -odd.py -- x", [], TraceTarget("-odd.py", False, ("--", "x"))),
        ("--devices", ["--devices"], None),
        ("--help", ["--help"], None),
        ("-m", [], None),
        ("", [], None),
    ],
)
def test_arguments(words: str, ours: list[str], target: TraceTarget | None) -> None:
    assert arguments_of(words.split()) == (ours, target)


def test_every_option_with_a_value_is_known_as_one() -> None:
    from placement_lint.cli.trace import _parser

    taking = {
        name for action in _parser()._actions if action.nargs != 0 for name in action.option_strings
    }
    assert taking == launch.WITH_VALUE


@pytest.mark.parametrize(
    ("flags", "made", "expected"),
    [
        (None, "--xla_force_host_platform_device_count=2", 1),
        ("--xla_a=1", "--xla_a=1 --xla_force_host_platform_device_count=2", 1),
        ("--xla_force_host_platform_device_count=4 --xla_a=1",
         "--xla_force_host_platform_device_count=8 --xla_a=1", 4),
    ],
)  # fmt: skip
def test_virtual_devices(flags: str | None, made: str, expected: int) -> None:
    given = {"PATH": "/bin", "JAX_PLATFORMS": "cuda", "JAX_PLATFORM_NAME": "gpu"}
    if flags is not None:
        given["XLA_FLAGS"] = flags
    environment = virtual_environment(given)
    assert environment == {"PATH": "/bin", "XLA_FLAGS": made}
    assert expected_devices(environment) == expected


class Installed:
    """Answers what is installed, and what a process of JAX says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.versions = {"jax": "0.10.2", "jaxlib": "0.10.2"}
        self.plugins: list[str] = []
        self.answer = (0, "cpu\n", "")
        self.asked: list[Sequence[str]] = []
        monkeypatch.setattr(metadata, "version", self.version)
        monkeypatch.setattr(metadata, "entry_points", lambda **_: self.plugins)
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
        monkeypatch.setattr(subprocess, "run", self.run)

    def version(self, name: str) -> str:
        if name not in self.versions:
            raise metadata.PackageNotFoundError(name)
        return self.versions[name]

    def run(self, command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        self.asked.append(command)
        return subprocess.CompletedProcess(command, *self.answer)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Installed:
    return Installed(monkeypatch)


def test_jax_is_asked_only_where_there_may_be_an_accelerator(installed: Installed) -> None:
    assert choose_devices("auto", {}) == choose_devices("virtual", {}) == "virtual"
    assert installed.asked == []
    installed.plugins = ["cuda"]
    assert choose_devices("virtual", {}) == "virtual"
    assert installed.asked == []
    assert choose_devices("auto", {}) == "virtual"
    installed.answer = (0, "hello\ngpu\n", "")
    assert choose_devices("auto", {}) == choose_devices("gpu", {}) == "gpu"
    installed.plugins = []
    installed.versions["jaxlib"] = "0.4.30+cuda12"
    assert choose_devices("auto", {}) == "gpu"
    assert len(installed.asked) == 4


@pytest.mark.parametrize(
    ("asked", "answer", "message"),
    [
        ("gpu", (0, "cpu\n", ""), "JAX sees no accelerator here: use --devices virtual"),
        ("gpu", (1, "", "x\nRuntimeError: no\n"), "JAX does not start: RuntimeError: no"),
        ("gpu", (-6, "", ""), "JAX does not start: it says nothing"),
    ],
)
def test_no_accelerator(
    asked: str, answer: tuple[int, str, str], message: str, installed: Installed
) -> None:
    installed.answer = answer
    with pytest.raises(CannotTraceError) as raised:
        choose_devices(asked, {})
    assert str(raised.value) == message


def test_no_jax_or_an_old_one(installed: Installed) -> None:
    installed.versions["jax"] = "0.4.29"
    with pytest.raises(CannotTraceError, match=r"JAX 0\.4\.29 is too old .* 0\.4\.30 or newer"):
        choose_devices("virtual", {})
    del installed.versions["jax"]
    with pytest.raises(CannotTraceError, match=r"JAX is not installed for .*: pip install"):
        choose_devices("virtual", {})


def test_a_new_jax_has_to_show_that_it_is_seen(installed: Installed) -> None:
    installed.versions["jax"] = "0.13.0"
    installed.answer = (0, "", "")
    assert choose_devices("virtual", {}) == "virtual"
    ((python, control),) = installed.asked
    assert (python, control.endswith("control.py")) == (sys.executable, True)
    installed.answer = (1, "", "of 3 copies of 35 bytes it shows []\n")
    with pytest.raises(CannotTraceError, match=r"does not show its copies \(of 3 .*upgrade"):
        choose_devices("virtual", {})


def test_the_control_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    launch._check_hooks("0.0")
    monkeypatch.setattr(launch, "virtual_environment", lambda e: {**e, "JAX_DISABLE_JIT": "oops"})
    with pytest.raises(CannotTraceError, match="does not show its copies"):
        launch._check_hooks("0.0")

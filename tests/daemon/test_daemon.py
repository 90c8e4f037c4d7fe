"""`--daemon` does what the command does without it, in a fork of a process that was there."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.daemon import client
from placement_lint.daemon.address import NoAddressError, is_supported, socket_path
from tests import warm

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not is_supported(), reason="needs fork")

HAZARD = """\
import jax
import jax.numpy as jnp

with jax.default_device(jax.devices("cpu")[0]):
    table = jnp.ones((8, 8))
for row in range(8):
    print(table[row])
"""
LONG = 60
"""Seconds after which what should have happened has not."""


class User:
    """Somebody with a directory for sockets, and a project."""

    def __init__(self, top: Path) -> None:
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(top)}
        self.project = top / "project"
        self.project.mkdir()
        (self.project / "hazard.py").write_text(HAZARD, encoding="utf-8")
        (self.project / "clean.py").write_text("import jax\n", encoding="utf-8")

    def started(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        options = {"cwd": self.project, "env": self.environment, **options}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-m", "placement_lint", *arguments]
        return subprocess.Popen(command, **{**streams, **options})

    def run(self, *arguments: str, stdin: bytes = b"", **options: Any) -> tuple[int, bytes, bytes]:
        process = self.started(*arguments, **options)
        output, errors = process.communicate(stdin, timeout=LONG)
        return process.returncode, output, errors

    def status(self) -> dict[str, Any] | None:
        """Return what the process says of itself; None where there is none."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", self.environment["XDG_RUNTIME_DIR"])
            try:
                return client.ask("status")
            except client.NoDaemonError:
                return None

    def socket(self) -> str:
        """Return where its process listens."""
        return socket_path({"XDG_RUNTIME_DIR": self.environment["XDG_RUNTIME_DIR"]})

    def process(self) -> int:
        status = self.status()
        assert status is not None
        return int(status["process"])


@pytest.fixture(scope="module")
def users() -> Iterator[User]:
    """Give somebody for whom a process runs."""
    with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as top:
        Path(top).chmod(0o700)
        user = User(Path(top))
        assert user.run("daemon", "start")[0] == 0
        yield user
        user.run("daemon", "stop")
        assert user.status() is None


@pytest.fixture
def user(users: User) -> User:
    """Give somebody for whom a process runs: again, if a test has ended it."""
    if users.status() is None:
        assert users.run("daemon", "start")[0] == 0
    return users


def until(holds: Any) -> bool:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


class TestSameAsWithout:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("hazard.py",),
            ("--output-format", "full", "."),
            ("--output-format", "sarif", "-j", "2", "."),
            ("clean.py",),
            ("nowhere.py",),
            ("--output-fromat", "json"),
            ("--select", "JDP9999", "."),
            ("--diff", "hazard.py"),
            ("--exit-zero", "-q", "--", "hazard.py"),
            ("check", "--show-files"),
            ("--help",),
        ],
        ids=" ".join,
    )
    def test_output_and_exit_code(self, user: User, arguments: tuple[str, ...]) -> None:
        before = user.status()
        command = [word for word in arguments[:1] if word == "check"]
        rest = arguments[len(command) :]
        found = user.run(*command, "--daemon", "--no-cache", *rest)
        after = user.status()
        assert before is not None
        assert after is not None
        assert after["process"] == before["process"]
        assert after["runs"] == before["runs"] + 1
        without = subprocess.run(
            warm.command("placement_lint", *command, "--no-cache", *rest),
            cwd=user.project, env=user.environment, capture_output=True, check=False, timeout=LONG,
        )  # fmt: skip
        assert found == (without.returncode, without.stdout, without.stderr)

    def test_standard_input(self, user: User) -> None:
        code, output, _ = user.run("--daemon", "-", stdin=HAZARD.encode())
        assert code == 1
        assert b"stdin:7:11: JDP201" in output

    def test_environment(self, user: User) -> None:
        environment = {**user.environment, "PLACEMENT_LINT_OUTPUT_FORMAT": "json"}
        code, output, _ = user.run("--daemon", "hazard.py", env=environment)
        assert code == 1
        assert "JDP201" in json.dumps(json.loads(output))

    def test_directory(self, user: User) -> None:
        folder = user.project / "below"
        folder.mkdir()
        shutil.copy(user.project / "hazard.py", folder / "other.py")
        assert b"\nother.py" in b"\n" + user.run("--daemon", "other.py", cwd=folder)[1]
        shutil.rmtree(folder)

    def test_encoding_of_the_streams(self, user: User) -> None:
        environment = {**user.environment, "PYTHONIOENCODING": "latin-1"}
        path = user.project / "é.py"
        shutil.copy(user.project / "hazard.py", path)
        output = user.run("--daemon", path.name, env=environment)[1]
        path.unlink()
        assert output.startswith("é.py:7".encode("latin-1"))

    def test_permissions_of_what_is_written(self, user: User) -> None:
        target = user.project / "report.json"
        user.run("--daemon", "--output-file", f"json:{target}", ".", umask=0o027)
        assert target.stat().st_mode & 0o777 == 0o640
        target.unlink()

    def test_a_name_that_is_no_option(self, user: User) -> None:
        before = user.status()
        code, _, errors = user.run("--", "--daemon")
        assert code == 2
        assert b"--daemon" in errors
        assert user.status() is not None
        assert before is not None
        assert user.status()["runs"] == before["runs"]  # type: ignore[index]


class TestOneRun:
    def test_nothing_is_left_for_the_next(self, user: User) -> None:
        path = user.project / "changing.py"
        path.write_text(HAZARD, encoding="utf-8")
        first = user.run("--daemon", "--no-cache", path.name)
        path.write_text(HAZARD.replace("print(table[row])", "print(row)"), encoding="utf-8")
        second = user.run("--daemon", "--no-cache", path.name)
        path.unlink()
        assert (first[0], second[0]) == (1, 0)

    def test_interrupted(self, user: User) -> None:
        # It reads its standard input until somebody closes it.
        process = user.started("--daemon", "-")
        before = user.process()
        assert until(lambda: children_of(before))
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == 130
        process.communicate()
        assert until(lambda: not children_of(before))

    @pytest.mark.parametrize("times", [1, 5])
    def test_interrupted_before_the_command_begins(self, times: int) -> None:
        """A command that no interrupt finds prepared: each one comes while it is being started."""
        with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as top:
            user = User(Path(top))
            serving = (
                "import time; from placement_lint.daemon.server import serve;"
                f"serve({user.socket()!r}, lambda _: time.sleep({LONG}), lambda: None)"
            )
            server = subprocess.Popen([sys.executable, "-c", serving])
            try:
                assert until(user.status)
                process = user.started("--daemon", "clean.py")
                assert until(lambda: children_of(server.pid))
                for _ in range(times):
                    process.send_signal(signal.SIGINT)
                    time.sleep(0.01)
                process.communicate(timeout=LONG)
                assert process.returncode == 130
                assert until(lambda: not children_of(server.pid))
            finally:
                server.kill()
                server.wait()

    def test_the_caller_is_killed(self, user: User) -> None:
        process = user.started("--daemon", "-")
        before = user.process()
        assert until(lambda: children_of(before))
        process.kill()
        process.wait(LONG)
        # Its input is still open here: only the end of the caller tells the run.
        assert until(lambda: not children_of(before))
        process.communicate()

    def test_the_run_is_killed(self, user: User) -> None:
        process = user.started("--daemon", "-")
        before = user.process()
        assert until(lambda: children_of(before))
        for child in children_of(before):
            os.kill(child, signal.SIGKILL)
        _, errors = process.communicate(timeout=LONG)
        assert process.returncode == 2
        assert b"error: the background process ended the run" in errors
        assert user.run("--daemon", "clean.py")[0] == 0

    def test_two_at_once(self, user: User) -> None:
        waiting = user.started("--daemon", "-")
        assert user.run("--daemon", "hazard.py")[0] == 1
        output, _ = waiting.communicate(HAZARD.encode(), timeout=LONG)
        assert (waiting.returncode, output.count(b"JDP201")) == (1, 1)


class TestTheProcess:
    def test_the_first_run_starts_it(self, user: User) -> None:
        user.run("daemon", "stop")
        code, output, _ = user.run("--daemon", "hazard.py")
        assert (code, output.count(b"JDP201")) == (1, 1)
        assert until(user.status)

    def test_killed(self, user: User) -> None:
        os.kill(user.process(), signal.SIGKILL)
        assert until(lambda: user.status() is None)
        assert user.run("--daemon", "hazard.py")[0] == 1
        assert until(user.status)

    def test_only_one(self, user: User) -> None:
        before = user.process()
        assert user.run("daemon", "start")[0] == 0
        assert user.process() == before

    def test_told_to_stop(self, user: User) -> None:
        before = user.process()
        assert user.run("daemon", "stop") == (0, f"Stopped process {before}.\n".encode(), b"")
        assert user.status() is None
        assert user.run("daemon", "stop") == (0, b"No background process runs.\n", b"")
        assert user.run("daemon") == (1, b"No background process runs.\n", b"")

    def test_code_that_is_replaced(self, tmp_path: Path) -> None:
        """A copy of the package, of which a file is written anew while the process runs."""
        with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as top:
            user = User(Path(top))
            package = Path(client.__file__).parents[1]
            copy = tmp_path / package.name
            shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
            user.environment["PYTHONPATH"] = str(tmp_path)
            line = "import sys; from placement_lint.cli import main; sys.exit(main(sys.argv[1:]))"

            def run(*arguments: str) -> tuple[int, str]:
                done = subprocess.run(
                    [sys.executable, "-c", line, *arguments],
                    cwd=user.project, env=user.environment, capture_output=True, text=True,
                    check=False, timeout=LONG,
                )  # fmt: skip
                return done.returncode, done.stdout

            assert run("daemon", "start")[0] == 0
            assert run("--daemon", "hazard.py")[0] == 1
            first = run("daemon")[1].split()[1]
            (copy / "version.py").touch()
            assert run("--daemon", "hazard.py")[0] == 1
            assert until(lambda: run("daemon")[0] == 0)
            assert run("daemon")[1].split()[1] != first
            assert run("daemon", "stop")[0] == 0

    def test_whoever_speaks_otherwise(self, user: User) -> None:
        path = user.socket()
        for text in (b"", b"\x00\x00\x00\x05hello", b"\xff\xff\xff\xff", b"\x00\x00\x00\x02[]"):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
                connection.sendall(text)
        assert user.run("--daemon", "clean.py")[0] == 0

    def test_unused_for_long(self) -> None:
        from placement_lint.daemon.server import serve

        with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as top:
            path = f"{top}/socket"
            prepared: list[int] = []
            assert serve(path, lambda _: 0, lambda: prepared.append(1), idle=0.05)
            gc.unfreeze()
            assert prepared == [1]
            assert not os.path.lexists(path)


class TestWhereItListens:
    def test_a_directory_of_others(self, user: User, tmp_path: Path) -> None:
        (tmp_path / "placement-lint").mkdir(mode=0o755)
        (tmp_path / "placement-lint").chmod(0o755)
        environment = {**user.environment, "XDG_RUNTIME_DIR": str(tmp_path)}
        code, output, errors = user.run("--daemon", "hazard.py", env=environment)
        assert (code, output.count(b"JDP201")) == (1, 1)
        assert b"warning: --daemon: " in errors
        assert b"checking without it" in errors

    def test_a_long_name(self, tmp_path: Path) -> None:
        folder = tmp_path / ("x" * 100)
        folder.mkdir()
        with pytest.raises(NoAddressError, match="too long"):
            socket_path({"XDG_RUNTIME_DIR": str(folder)})

    def test_a_file_in_its_place(self) -> None:
        with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as top:
            Path(top, "placement-lint").touch()
            with pytest.raises(NoAddressError, match="is no directory"):
                socket_path({"XDG_RUNTIME_DIR": top})

    def test_only_the_user_can_reach_it(self, user: User) -> None:
        folder = Path(user.environment["XDG_RUNTIME_DIR"], "placement-lint")
        assert folder.stat().st_mode & 0o777 == 0o700


def children_of(process: int) -> list[int]:
    """Return the processes that another has started and that have not ended."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [
        int(pid) for pid, parent, state in rows
        if int(parent) == process and not state.startswith("Z")
    ]  # fmt: skip

"""What the system refuses or takes away costs what it is needed for, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import warm
from tests.faults.injection import LEAK, Fault, within
from tests.faults.program import PUT, TEXTS, Said, run, texts_in, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERY = pytest.mark.every
MENDED = PUT.replace("    jax.device_put", "    x = jax.device_put")
NOT_THERE = "JDP900"


def but(said: Said, file: str) -> list[object]:
    return [place for place in said.places() if place[0] != file]


class TestProcesses:
    @pytest.mark.parametrize(
        "kind", ["killed", pytest.param("crashed", marks=EVERY), pytest.param("left", marks=EVERY)]
    )
    @pytest.mark.parametrize(
        "part",
        [
            "placement_lint.syntax.parse:parse",
            pytest.param("placement_lint.lint.check_file:Analysis._visit", marks=EVERY),
        ],
    )
    def test_that_die_of_a_file(self, folder: Path, well: Said, kind: str, part: str) -> None:
        said = run(folder, "--no-cache", faults=(Fault(part, kind, "z_last.py"),), jobs=2)
        assert said.code == 2
        assert [*said.failed] == ["z_last.py"]
        assert "died" in said.failed["z_last.py"][0]
        assert but(said, "z_last.py") == but(well, "z_last.py")

    @EVERY
    def test_that_die_while_fixing(self, folder: Path) -> None:
        fault = Fault("placement_lint.lint.fixes.apply:_try_to_compile", "killed", "z_last.py")
        said = run(folder, "--no-cache", "--fix", faults=(fault,), jobs=2)
        assert [*said.failed] == ["z_last.py"]
        after = texts_in(folder)
        assert after["z_last.py"] == PUT
        assert MENDED[20:] in after["main.py"]

    @pytest.mark.parametrize("after", [pytest.param(0, marks=EVERY), 1])
    def test_that_are_not_to_be_had(self, folder: Path, well: Said, after: int) -> None:
        """None at all, or no more than one: then the work is done by those that there are."""
        fault = Fault("multiprocessing.context:SpawnProcess.start", "again", after=after)
        said = run(folder, "--no-cache", faults=(fault,), jobs=3)
        assert (said.code, said.places()) == (well.code, well.places())

    @EVERY
    def test_without_a_thread_to_look_after_them(self, folder: Path, well: Said) -> None:
        fault = Fault("concurrent.futures.process:_ExecutorManagerThread.start", "thread")
        said = run(folder, "--no-cache", faults=(fault,), jobs=2)
        assert (said.code, said.places()) == (well.code, well.places())

    @EVERY
    def test_without_a_big_stack(self, folder: Path) -> None:
        """Nothing is parsed; each file that should have been says so."""
        fault = Fault("placement_lint.syntax.deep_stack:_start", "thread")
        said = run(folder, "--no-cache", faults=(fault,))
        assert said.code == 2
        assert {"alone.py", "names.py", "main.py", "z_last.py"} <= set(said.failed)


class TestReading:
    @pytest.mark.parametrize(
        ("kind", "after"),
        [("io", 0), ("gone", 1)]
        + [
            pytest.param(kind, after, marks=EVERY)
            for kind in ("io", "gone", "forbidden", "memory")
            for after in (0, 1, 2, 3)
        ],
    )
    def test_that_fails(self, folder: Path, well: Said, kind: str, after: int) -> None:
        fault = Fault("pathlib:Path.read_bytes", kind, "z_last.py", after)
        said = run(folder, "--no-cache", faults=(fault,))
        assert but(said, "z_last.py") == but(well, "z_last.py")
        own = [place[3] for place in said.places() if place[0] == "z_last.py"]
        assert own in (["JDP900"], ["JDP204"])
        assert (said.code, said.failed) == (1, {})

    @EVERY
    @pytest.mark.parametrize("kind", ["io", "forbidden", "gone"])
    def test_of_a_folder(self, folder: Path, well: Said, kind: str) -> None:
        (folder / "below").mkdir()
        (folder / "below" / "inner.py").write_text(PUT, encoding="utf-8")
        said = run(folder, "--no-cache", faults=(Fault("os:scandir", kind, "below"),))
        assert said.places() == well.places()
        assert "below" in said.errors


class TestWriting:
    @pytest.mark.parametrize(
        ("part", "kind"),
        [("placement_lint.files.write:_beside", "full"), ("pathlib:Path.replace", "io")]
        + [
            pytest.param(part, kind, marks=EVERY)
            for part in (
                "placement_lint.files.write:_beside",
                "placement_lint.files.write:_writable",
                "placement_lint.files.write:_keep_attributes",
                "placement_lint.files.write:_Staged.demand_unchanged",
                "pathlib:Path.replace",
            )
            for kind in ("full", "readonly", "io", "memory", "unexpected")
        ],
    )
    def test_of_one_file(self, folder: Path, part: str, kind: str) -> None:
        said = run(folder, "--no-cache", "--fix", faults=(Fault(part, kind, "z_last.py"),))
        assert said.code == (2 if kind in {"memory", "unexpected"} else 1)
        after = texts_in(folder)
        assert after["z_last.py"] == PUT, "as it was"
        assert MENDED[20:] in after["main.py"]
        assert after["alone.py"] != TEXTS["alone.py"]
        assert set(after) == set(TEXTS), "nothing is left beside them"
        told = [each["code"] for each in said.findings if each["path"] == "z_last.py"]
        assert told in (["JDP900", "JDP204"], ["JDP903", "JDP204"])

    @EVERY
    @pytest.mark.parametrize("part", ["os:fsync", "os:fdopen", "placement_lint.files.write:create"])
    @pytest.mark.parametrize("after", [0, 1, 3])
    def test_midway(self, folder: Path, part: str, after: int) -> None:
        """Each file is what it was or what it is to be; what is not written is said."""
        other = write(folder.parent / "other", TEXTS)
        run(other, "--no-cache", "--fix")
        mended = texts_in(other)
        said = run(folder, "--no-cache", "--fix", faults=(Fault(part, "full", after=after),))
        after_texts = texts_in(folder)
        assert set(after_texts) == set(TEXTS)
        told = {each["path"] for each in said.findings if each["code"] == NOT_THERE}
        for name, text in after_texts.items():
            assert text in {TEXTS[name], mended[name]}
            if text != mended[name]:
                assert name in told
        assert said.code == 1

    @EVERY
    def test_that_cannot_be_cleaned_up(self, folder: Path) -> None:
        """What went wrong first is what is told."""
        faults = (
            Fault("placement_lint.files.write:_keep_owner", "full"),
            Fault("pathlib:Path.unlink", "io"),
        )
        said = run(folder, "--no-cache", "--fix", faults=faults)
        assert {name: texts_in(folder)[name] for name in TEXTS} == TEXTS
        told = [each["message"] for each in said.findings if each["code"] == NOT_THERE]
        assert told
        assert all("No space left" in message for message in told)


class TestReports:
    @pytest.mark.parametrize("kind", ["unexpected", pytest.param("memory", marks=EVERY)])
    def test_one_that_fails_keeps_no_other_away(self, folder: Path, kind: str) -> None:
        done = subprocess.run(
            warm.command(
                *("placement_lint", ".", "--isolated", "--select", "ALL"),
                *("--target-jax", "0.12", "--no-cache", "--output-format", "flake8", "--fix"),
                *("--output-file", "sarif:one.sarif", "--output-file", "json:two.json"),
            ),
            cwd=folder,
            env=within(folder.parent / "site", Fault("placement_lint.report.sarif:render", kind)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "please report this" in done.stderr
        assert "Traceback" not in done.stderr
        assert "JDP" in done.stdout
        assert json.loads((folder / "two.json").read_text("utf-8"))["findings"]
        assert not (folder / "one.sarif").exists()
        assert texts_in(folder)["z_last.py"] == MENDED

    @pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
    @pytest.mark.parametrize(
        "output", ["/dev/full", pytest.param("-", marks=EVERY), pytest.param("gone", marks=EVERY)]
    )
    def test_standard_output_that_takes_nothing(self, folder: Path, output: str) -> None:
        """What was to be mended is mended."""
        redirected = {"/dev/full": "> /dev/full", "-": ">&-", "gone": "| true"}[output]
        command = f'"$0" -m placement_lint . --isolated --no-cache --fix {redirected}'
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command}", sys.executable],
            cwd=folder,
            env=within(folder.parent / "site"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (2 if output == "/dev/full" else 1), done.stderr
        assert ("No space left" in done.stderr) == (output == "/dev/full")
        assert "Traceback" not in done.stderr
        assert texts_in(folder)["z_last.py"] == MENDED


class TestCache:
    @pytest.mark.parametrize(
        ("part", "kind"),
        [("cache_folder:CacheFolder.write", "full"), ("cache_folder:CacheFolder.read", "memory")]
        + [
            pytest.param(part, kind, marks=EVERY)
            for part in (
                *(
                    f"cache_folder:CacheFolder.{name}"
                    for name in ("read", "write", "prune", "make")
                ),
                *("cache:Cache._identity", "codec:Codec.decode"),
            )
            for kind in ("full", "readonly", "forbidden", "unexpected", "memory", "recursion")
        ],
    )
    def test_that_fails(self, folder: Path, well: Said, part: str, kind: str) -> None:
        fault = Fault(f"placement_lint.lint.incremental.{part}", kind)
        for faults in ((fault,), (), (fault,)):
            said = run(folder, faults=faults)
            assert (said.code, said.places()) == (well.code, well.places())
            assert LEAK not in said.errors

    @EVERY
    def test_a_bit_flipped_anywhere(self, folder: Path, well: Said) -> None:
        self.damage(folder, well, 211, lambda data, at: data[:at] + flipped(data, at))

    @EVERY
    def test_an_end_anywhere(self, folder: Path, well: Said) -> None:
        self.damage(folder, well, 499, lambda data, at: data[:at])

    def damage(
        self, folder: Path, well: Said, step: int, worsen: Callable[[bytes, int], bytes]
    ) -> None:
        run(folder)
        kept = {path: path.read_bytes() for path in folder.glob(".placement_lint_cache/*.json")}
        assert len(kept) == 2
        for path, data in kept.items():
            for at in range(0, len(data), step):
                path.write_bytes(worsen(data, at))
                said = run(folder)
                assert (said.code, said.places()) == (well.code, well.places()), (path, at)
                for each, before in kept.items():
                    each.write_bytes(before)


def flipped(data: bytes, at: int) -> bytes:
    return bytes([data[at] ^ 1]) + data[at + 1 :]

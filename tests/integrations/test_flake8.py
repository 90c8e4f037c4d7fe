"""The plugin, in a real flake8."""

from __future__ import annotations

import ast
import multiprocessing
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import placement_lint
from placement_lint.integrations.flake8 import _encoded
from tests import warm
from tests.fixture_cases import all_cases

pytest.importorskip("flake8", reason="flake8 is not installed; the dev extra brings it")

ExecutionError = pytest.importorskip("flake8.exceptions").ExecutionError
TOP = Path(placement_lint.__file__).parents[1]
HAZARD = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
FOUND = "5:5: JDP204 the result of jax.device_put is discarded: nothing moves\n"


def run(folder: Path, module: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    environment = {**os.environ, "PYTHONPATH": str(TOP), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        warm.command(module, *arguments, environment=environment),
        cwd=folder,
        input=stdin.encode(),
        capture_output=True,
        check=False,
        env=environment,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def flake8(folder: Path, *arguments: str, stdin: str = "") -> tuple[int, str]:
    code, out, err = run(folder, "flake8", *arguments, stdin=stdin)
    assert "Traceback" not in out + err
    assert err == ""
    return code, out


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def test_it_is_registered(tmp_path: Path) -> None:
    code, out = flake8(tmp_path, "--version")
    assert code == 0
    assert f"placement-lint: {placement_lint.__version__}" in " ".join(out.split())


def test_a_finding_beside_those_of_flake8(tmp_path: Path) -> None:
    write(tmp_path, hazard="import os\n" + HAZARD)
    code, out = flake8(tmp_path, "hazard.py")
    assert code == 1
    assert out.startswith("hazard.py:1:1: F401 ")
    assert out.endswith("hazard.py:6:5: JDP204 " + FOUND.partition("JDP204 ")[2])
    assert out.count("\n") == 2


class TestSelection:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["--select", "JDP"], ["F8:JDP204"]),
            (["--select", "JDP2"], ["F8:JDP204"]),
            (["--select", "JDP3"], []),
            (["--select", "E,F,W"], ["F8:F401"]),
            (["--extend-ignore", "JDP204"], ["F8:F401"]),
            (["--extend-ignore", "F401"], ["F8:JDP204"]),
            (["--ignore", "JDP"], ["F8:F401"]),
        ],
    )
    def test_by_flake8(self, tmp_path: Path, arguments: list[str], expected: list[str]) -> None:
        write(tmp_path, hazard="import os\n" + HAZARD)
        _, out = flake8(tmp_path, *arguments, "--format", "F8:%(code)s")
        assert out.splitlines() == expected

    def test_a_rule_that_is_off_by_default(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            transfer="import jax.numpy as jnp\nimport numpy as np\n\n"
            "x = jnp.asarray(np.ones((512, 512)))\n",
        )
        _, expected, _ = run(tmp_path, "placement_lint", "--select", "JDP410", ".")
        assert "JDP410" in expected
        assert flake8(tmp_path) == (0, "")
        assert flake8(tmp_path, "--extend-select", "JDP410", "transfer.py") == (1, expected)
        assert flake8(tmp_path, "--select", "JDP410", "transfer.py") == (1, expected)

    def test_a_code_of_no_rule_is_left_to_flake8(self, tmp_path: Path) -> None:
        write(tmp_path, hazard=HAZARD)
        assert flake8(tmp_path, "--select", "JDP999") == (0, "")


class TestSuppression:
    def test_noqa_is_left_to_flake8(self, tmp_path: Path) -> None:
        write(tmp_path, hazard=HAZARD.replace("d)\n    return", "d)  # noqa: JDP204\n    return"))
        assert flake8(tmp_path, "--select", "JDP") == (0, "")
        assert flake8(tmp_path, "--select", "JDP", "--disable-noqa") == (1, "./hazard.py:" + FOUND)

    def test_noqa_of_the_whole_file_is_left_to_flake8(self, tmp_path: Path) -> None:
        write(tmp_path, hazard="# flake8: noqa: JDP204\n" + HAZARD)
        assert flake8(tmp_path, "--select", "JDP") == (0, "")

    def test_an_unused_noqa_is_found_and_a_used_one_is_not(self, tmp_path: Path) -> None:
        text = HAZARD.replace("d)\n    return", "d)  # noqa: JDP204\n    return")
        write(tmp_path, hazard=text.replace("return x", "return x  # noqa: JDP301"))
        code, out = flake8(tmp_path, "--select", "JDP")
        assert (code, out) == (
            1,
            "./hazard.py:6:15: JDP902 unused suppression: JDP301 suppresses nothing here\n",
        )

    @pytest.mark.parametrize("flags", [(), ("--disable-noqa",)])
    def test_our_own_comments_hold(self, tmp_path: Path, flags: tuple[str, ...]) -> None:
        ours = "d)  # placement-lint: ignore[device-put-discarded]\n    return"
        write(tmp_path, hazard=HAZARD.replace("d)\n    return", ours))
        write(tmp_path, whole="# placement-lint: ignore-file[JDP2]\n" + HAZARD)
        assert flake8(tmp_path, "--select", "JDP", *flags) == (0, "")


class TestSettings:
    def test_the_nearest_file_holds(self, tmp_path: Path) -> None:
        (tmp_path / "quiet").mkdir()
        write(tmp_path, hazard=HAZARD)
        write(tmp_path / "quiet", hazard=HAZARD)
        settings = tmp_path / "quiet" / "placement-lint.toml"
        settings.write_text('ignore = ["JDP204"]\n', encoding="utf-8")
        assert flake8(tmp_path) == (1, "./hazard.py:" + FOUND)
        _, out = flake8(tmp_path, "--isolated")
        assert sorted(out.splitlines(keepends=True)) == [
            "./hazard.py:" + FOUND,
            "./quiet/hazard.py:" + FOUND,
        ]

    def test_per_file_ignores(self, tmp_path: Path) -> None:
        write(tmp_path, hazard=HAZARD, other=HAZARD)
        project = '[tool.placement-lint.per-file-ignores]\n"other.py" = ["JDP204"]\n'
        (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
        assert flake8(tmp_path) == (1, "./hazard.py:" + FOUND)

    @pytest.mark.parametrize("jobs", ["1", "2"])
    @pytest.mark.parametrize("paths", [(), (".",), ("hazard.py", "other.py")])
    def test_wrong_ones_end_it_in_one_line(
        self, tmp_path: Path, jobs: str, paths: tuple[str, ...]
    ) -> None:
        write(tmp_path, hazard=HAZARD, other=HAZARD)
        file = tmp_path / "placement-lint.toml"
        file.write_text("slect = []\n", encoding="utf-8")
        code, out = flake8(tmp_path, "-j", jobs, *paths)
        assert code == 1
        assert out.splitlines()[-1] == (
            f"placement-lint: {file}: unknown setting `slect`; did you mean `select`?"
        )
        file.write_text('select = ["JDP998"]\n', encoding="utf-8")
        code, out = flake8(tmp_path, "-j", jobs, *paths)
        assert code == 1
        message = f"placement-lint: {file}: unknown rule `JDP998`; "
        assert out.splitlines()[-1].startswith(message)

    def test_wrong_ones_in_one_of_several_processes_are_a_finding(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from placement_lint.integrations.flake8 import Plugin

        monkeypatch.chdir(tmp_path)
        write(tmp_path, hazard=HAZARD)
        Path("placement-lint.toml").write_text("slect = []\n", encoding="utf-8")
        plugin = Plugin(ast.parse(""), "hazard.py", [])
        with pytest.raises(ExecutionError, match="unknown setting `slect`"):
            list(plugin.run())
        monkeypatch.setattr(multiprocessing, "parent_process", multiprocessing.current_process)
        (found,) = plugin.run()
        assert found[:2] == (1, 0)
        assert found[2].startswith("JDP900 cannot be checked: ")
        assert "unknown setting `slect`" in found[2]

    def test_what_ours_exclude(self, tmp_path: Path) -> None:
        write(tmp_path, hazard=HAZARD, generated=HAZARD)
        file = tmp_path / "placement-lint.toml"
        file.write_text('extend-exclude = ["generated.py"]\n', encoding="utf-8")
        assert flake8(tmp_path) == (1, "./hazard.py:" + FOUND)
        assert flake8(tmp_path, "generated.py") == (1, "generated.py:" + FOUND)
        file.write_text(
            'extend-exclude = ["generated.py"]\nforce-exclude = true\n', encoding="utf-8"
        )
        assert flake8(tmp_path, "generated.py") == (0, "")
        stdin = ("--stdin-display-name", "generated.py", "-")
        assert flake8(tmp_path, *stdin, stdin=HAZARD) == (0, "")

    def test_what_flake8_excludes(self, tmp_path: Path) -> None:
        write(tmp_path, hazard=HAZARD, generated=HAZARD)
        excluded = ("--extend-exclude", "generated.py")
        assert flake8(tmp_path, *excluded) == (1, "./hazard.py:" + FOUND)

    def test_other_names_of_files(self, tmp_path: Path) -> None:
        (tmp_path / "BUILD.pyx").write_text(HAZARD, encoding="utf-8")
        assert flake8(tmp_path, "--filename", "*.pyx") == (1, "./BUILD.pyx:" + FOUND)


class TestFiles:
    def test_stdin(self, tmp_path: Path) -> None:
        assert flake8(tmp_path, "-", stdin=HAZARD) == (1, "stdin:" + FOUND)
        named = ("--stdin-display-name", "src/train.py", "-")
        assert flake8(tmp_path, *named, stdin=HAZARD) == (1, "src/train.py:" + FOUND)
        latin = "# -*- coding: latin-1 -*-\n" + HAZARD
        code, out = flake8(tmp_path, "-", stdin=latin)
        assert (code, out.count("JDP204"), out.count("\n")) == (1, 1, 1)
        code, out = flake8(tmp_path, "--select", "JDP", "-", stdin="# coding: base64\n" + HAZARD)
        assert (code, out.count("\n")) == (1, 1)
        assert "JDP900 cannot be read: cannot be decoded: 'base64' is not a text" in out

    def test_stdin_goes_by_the_settings_of_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "src").mkdir()
        settings = tmp_path / "src" / "placement-lint.toml"
        settings.write_text('ignore = ["JDP204"]\n', encoding="utf-8")
        assert flake8(tmp_path, "-", stdin=HAZARD)[0] == 1
        named = ("--stdin-display-name", "src/train.py", "-")
        assert flake8(tmp_path, *named, stdin=HAZARD) == (0, "")

    def test_what_does_not_parse_is_left_to_flake8(self, tmp_path: Path) -> None:
        write(tmp_path, broken="import jax\njax.device_put(x, d\n", hazard=HAZARD)
        code, out = flake8(tmp_path, "--select", "E9,JDP")
        assert code == 1
        assert sorted(line.split()[1] for line in out.splitlines()) == ["E999", "JDP204"]

    def test_what_only_we_cannot_read_is_said(self, tmp_path: Path) -> None:
        deep = "import jax\nx = " + "(" * 150 + "jax" + ")" * 150 + "\n"
        write(tmp_path, deep=deep)
        (tmp_path / "latin.py").write_bytes(b"import jax\nname = 'Andr\xe9'\n")
        expected = run(tmp_path, "placement_lint", "deep.py", "latin.py")[1]
        assert "JDP900" in expected
        _, out = flake8(tmp_path, "--select", "JDP", "deep.py", "latin.py")
        assert out == expected

    def test_a_notebook_is_none_of_its_files(self, tmp_path: Path) -> None:
        (tmp_path / "n.ipynb").write_text(
            '{"cells": [], "metadata": {}, "nbformat": 4}', encoding="utf-8"
        )
        assert flake8(tmp_path, "--select", "JDP", "n.ipynb") == (0, "")

    def test_columns_count_characters_from_0_for_flake8(self, tmp_path: Path) -> None:
        text = "import jax\n\n\ndef f(x, d):\n    'é😀'; jax.device_put(x, d)\n    return x\n"
        write(tmp_path, wide=text)
        assert run(tmp_path, "placement_lint", "wide.py")[1].startswith("wide.py:5:11: JDP204")
        assert flake8(tmp_path, "--select", "JDP", "wide.py")[1].startswith("wide.py:5:11: JDP204")

    def test_an_error_of_ours_is_a_finding(self, tmp_path: Path) -> None:
        write(tmp_path, hazard=HAZARD, other="import jax\nx = jax.devices()\n")
        (tmp_path / "sitecustomize.py").write_text(
            "import placement_lint.lint.parsing as file\n"
            "real = file.parse\n"
            "def parse(source, store, **how):\n"
            "    if source.path.endswith('other.py'):\n"
            "        raise KeyError('planted')\n"
            "    return real(source, store, **how)\n"
            "file.parse = parse\n",
            encoding="utf-8",
        )
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{TOP}"}
        done = subprocess.run(
            [sys.executable, "-m", "flake8", "--select", "JDP", "hazard.py", "other.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert done.returncode == 1
        assert "Traceback" not in done.stdout + done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == 2
        assert lines[0] == "hazard.py:" + FOUND.rstrip("\n")
        assert lines[1].startswith("other.py:1:1: JDP903 ")


CARRIED = {
    "data": "import jax\nimport jax.numpy as jnp\n\ncpu = jax.devices('cpu')[0]\n\n\n"
    "def load():\n    with jax.default_device(cpu):\n        return jnp.zeros(8)\n",
    "train": "from data import load\n\ntokens = load()\nfirst = tokens[0]\n",
}


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("paths", [(".",), ("data.py", "train.py")])
def test_what_one_file_says_counts_for_another(
    tmp_path: Path, jobs: str, paths: tuple[str, ...]
) -> None:
    write(tmp_path, **CARRIED, hazard=HAZARD, clean="x = 1\n")
    _, expected, _ = run(tmp_path, "placement_lint", "--no-cache", *paths)
    assert "train.py:4:9: JDP201" in expected
    _, out = flake8(tmp_path, "--select", "JDP", "-j", jobs, *paths)
    assert sorted(out.replace("./", "").splitlines()) == sorted(expected.splitlines())


def test_a_file_alone_is_looked_at_alone(tmp_path: Path) -> None:
    write(tmp_path, **CARRIED)
    assert run(tmp_path, "placement_lint", "--no-cache", "train.py")[1] == ""
    assert flake8(tmp_path, "train.py") == (0, "")


def test_fixtures_as_on_the_command_line(tmp_path: Path) -> None:
    for case in all_cases()[::36]:
        name = f"{case.code}_{case.kind}_{case.name}.py"
        (tmp_path / name).write_text(case.before.text, encoding="utf-8")
    _, expected, _ = run(tmp_path, "placement_lint", "--isolated", "--output-format", "flake8", ".")
    _, out = flake8(tmp_path, "--isolated", "--disable-noqa", "--select", "JDP,E9", "-j", "2", ".")
    lines = [line.removeprefix("./") for line in out.splitlines()]
    unparsed = {line.split(":")[0] for line in lines if " E9" in line}
    silenced = {case for case in tmp_path.glob("*.py") if "noqa" in case.read_text("utf-8")}
    left_out = unparsed | {path.name for path in silenced}

    def told(found: list[str]) -> Counter[str]:
        return Counter(line for line in found if line.split(":")[0] not in left_out)

    assert told(lines) == told(expected.splitlines())
    assert len(told(lines)) > 25
    assert len(left_out) < 10


def test_flake8_is_not_needed_and_not_imported(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "sys.modules['flake8'] = None\n"
        "from placement_lint.integrations.flake8 import Plugin\n"
        "import placement_lint\n"
        "assert [f.code for f in placement_lint.lint_source('import jax\\njax.device_put([])')]\n"
        "plugin = Plugin(None, sys.argv[1], [])\n"
        "assert [found[2][:6] for found in plugin.run()] == ['JDP204']\n"
    )
    write(tmp_path, hazard=HAZARD)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "hazard.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TOP)},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_text_with_a_byte_order_mark_gets_no_second_one() -> None:
    for head in ("\ufeff", "\ufeff# coding: utf-8\n"):
        assert _encoded(f"{head}x = 1\n").decode("utf-8") == f"{head}x = 1\n"
    assert _encoded("# coding: latin-1\n# é\n") == b"# coding: latin-1\n# \xe9\n"

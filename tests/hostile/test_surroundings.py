"""What lies around the linted files costs a message, and nobody else's findings.

A repository can hold anything under any name that is read beside the sources: settings, what they
extend, globs, baselines, requirements, records of earlier runs.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.cli import main
from tests.special_files import endless, fifo, link_to_itself, sparse, unix_socket, waiting

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(os.name != "posix", reason="files as POSIX has them"),
]

SENTINEL = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
CLEAN, FINDINGS, FAILED = 0, 1, 2
Lint = "Callable[..., tuple[int, str, str]]"


@pytest.fixture
def lint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Give the command, in a folder with a file in which there is something to be found."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("sentinel.py").write_text(SENTINEL, encoding="utf-8")

    def run(*arguments: str, cache: bool = False) -> tuple[int, str, str]:
        code = main([*arguments, *([] if cache else ["--no-cache"]), "-j", "1"])
        out, err = capsys.readouterr()
        assert "please report" not in err
        assert "Traceback" not in err
        assert len(err) < 4_000
        return code, out, err

    return run


KINDS = (fifo, endless, waiting, unix_socket, sparse, link_to_itself)
of_every_kind = pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)


@of_every_kind
@pytest.mark.parametrize("name", [".gitignore", ".git/info/exclude"])
def test_globs_that_cannot_be_read_ignore_nothing(
    lint: Callable[..., tuple[int, str, str]], make: Callable[[Path], None], name: str
) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    code, out, err = lint()
    assert code == FINDINGS
    assert out.startswith("sentinel.py:5:5: JDP204 ")
    assert f"{name} cannot be read and is ignored: " in err
    assert lint("-q")[2] == ""


@of_every_kind
@pytest.mark.parametrize("name", ["requirements.txt", "setup.cfg", "ruff.toml", "poetry.lock"])
def test_what_says_more_of_the_project(
    lint: Callable[..., tuple[int, str, str]], make: Callable[[Path], None], name: str
) -> None:
    make(Path(name))
    code, out, _ = lint()
    assert (code, out.count("JDP204")) == (FINDINGS, 1)
    code, _, err = lint("-v")
    assert code == FINDINGS
    if name in {"requirements.txt", "setup.cfg"}:
        assert f"note: {name}: not read: " in err


@of_every_kind
@pytest.mark.parametrize("name", ["placement-lint.toml", "pyproject.toml"])
def test_settings_of_the_run(
    lint: Callable[..., tuple[int, str, str]], make: Callable[[Path], None], name: str
) -> None:
    make(Path(name))
    code, out, err = lint()
    if make is link_to_itself:
        # A link to nothing.
        assert (code, out.count("JDP204")) == (FINDINGS, 1)
        return
    assert (code, out) == (FAILED, "")
    assert f"{name}: cannot be read: " in err
    assert lint("--isolated")[0] == FINDINGS


@of_every_kind
@pytest.mark.parametrize("key", ["extend", "baseline"])
@pytest.mark.parametrize("place", [".", "vendored/lib"])
def test_settings_that_name_it(
    lint: Callable[..., tuple[int, str, str]], make: Callable[[Path], None], key: str, place: str
) -> None:
    """Those of the run end it; those of another folder cost that folder only."""
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "other.py").write_text(SENTINEL, encoding="utf-8")
    make(folder / "named")
    (folder / "placement-lint.toml").write_text(f'{key} = "named"\n', encoding="utf-8")
    code, out, err = lint()
    assert code == FAILED
    assert "cannot be read: " in err
    found = [line.split(":")[0] for line in out.splitlines()]
    assert found == ([] if place == "." else ["sentinel.py"])


@of_every_kind
def test_sources(lint: Callable[..., tuple[int, str, str]], make: Callable[[Path], None]) -> None:
    """A walk passes over what is no file; who names one is told."""
    for name in ("other.py", "other.ipynb"):
        make(Path(name))
    code, out, err = lint(".")
    assert code == FINDINGS
    codes = {line.split(":")[0]: line.split()[1] for line in out.splitlines()}
    assert codes.pop("sentinel.py") == "JDP204"
    if make is sparse:
        assert codes == {"other.py": "JDP900", "other.ipynb": "JDP900"}
        assert "larger than 16 MiB" in out
        assert "larger than 128 MiB" in out
    else:
        assert codes == {}
        assert make in {fifo, unix_socket} or "note: other.py: not linted: " in err
    code, out, err = lint("sentinel.py", "other.py")
    assert "JDP204" in out
    assert code == (FINDINGS if make is sparse else FAILED)


@of_every_kind
def test_records_of_earlier_runs(
    lint: Callable[..., tuple[int, str, str]], make: Callable[[Path], None]
) -> None:
    first = lint(cache=True)
    kept = [*Path(".placement_lint_cache").glob("*.json")]
    assert len(kept) == 2
    for path in kept:
        path.unlink()
        make(path)
    assert lint(cache=True) == first
    assert all(stat.S_ISREG(path.lstat().st_mode) for path in kept), "written anew"
    assert lint(cache=True) == first


@of_every_kind
def test_a_file_among_the_arguments(
    lint: Callable[..., tuple[int, str, str]], make: Callable[[Path], None]
) -> None:
    make(Path("named"))
    code, out, err = lint("--baseline", "named")
    assert (code, out) == (FAILED, "")
    assert "named: the baseline cannot be read: " in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r'baseline = "a\u0000b"', "`baseline` is not a path: it holds a null character"),
        (r'extend = "a\u0000b"', "`extend` is not a path: it holds a null character"),
        (f"file-time-limit = 0x{'f' * 100_000}", "`file-time-limit` may be 1,000,000,000 at most"),
        (f"max-findings = 1{'0' * 4_000}", "`max-findings` may be 1,000,000,000 at most"),
        (f"file-time-limit = {'9' * 100_000}", "not valid TOML: "),
        (f"fix = {'9' * 4_000}", "`fix` is not a setting of files"),
        (f'baseline = "{"x" * 100_000}"', "the baseline cannot be read: File name too long"),
        (f'extend = "{"x/" * 100_000}x"', "cannot be read: File name too long"),
        (f"{'x' * 100_000} = 1", "unknown setting `xxx"),
        (f'output-format = "{"x" * 100_000}"', "`output-format` must be one of "),
        (f'target-jax = "{"1" * 100_000}"', ""),
        (f'select = ["{"J" * 100_000}"]', "JJJ"),
        ("a = " + "[" * 100_000, "nested too deeply"),
    ],
    ids=lambda value: value[:25],
)
def test_values_that_nobody_wrote(
    lint: Callable[..., tuple[int, str, str]], text: str, message: str
) -> None:
    Path("placement-lint.toml").write_text(text + "\n", encoding="utf-8")
    code, out, err = lint()
    if message:
        assert (code, out) == (FAILED, "")
        assert err.startswith("error: ")
        assert message in err
        assert err.count("\n") <= 5
        assert err.count("error: ") == 1
    else:
        assert (code, out.count("JDP204")) == (FINDINGS, 1)


@pytest.mark.parametrize("count", [10**9 + 1, 10**4_000, -1, 1.5, True, "1"])
def test_a_baseline_that_nobody_wrote(
    lint: Callable[..., tuple[int, str, str]], count: object
) -> None:
    assert lint("--write-baseline", "b.json")[0] == CLEAN
    table = json.loads(Path("b.json").read_text(encoding="utf-8"))
    table["findings"][0]["count"] = count
    Path("b.json").write_text(json.dumps(table), encoding="utf-8")
    code, out, err = lint("--baseline", "b.json")
    assert (code, out) == (FAILED, "")
    assert err == "error: b.json: a damaged baseline: entry 1 is wrong\n"


def test_a_chain_of_settings_without_an_end(lint: Callable[..., tuple[int, str, str]]) -> None:
    for number in range(200):
        Path(f"{number}.toml").write_text(f'extend = "{number + 1}.toml"\n', encoding="utf-8")
    Path("placement-lint.toml").write_text('extend = "0.toml"\n', encoding="utf-8")
    code, _, err = lint()
    assert code == FAILED
    assert "`extend` leads through more than 50 files" in err


def test_the_root_of_everything(
    lint: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patterns are relative to a folder below it: most of what is there is outside of that."""
    excluded = ("--isolated", "--extend-exclude", "*,!sentinel.py")
    code, out, _ = lint("/", *excluded, "--show-files")
    assert (code, out) == (CLEAN, "")
    monkeypatch.chdir("/")
    assert lint(".", *excluded, "--show-files")[:2] == (CLEAN, "")


def test_a_walk_from_above_the_patterns(
    lint: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path is cut off where the folder of the patterns ends only if it lies in there."""
    for name in ("one/a/gen/x.py", "one/b/c/gen/x.py", "one/gen/x.py", "one/venv/x.py"):
        Path(name).parent.mkdir(parents=True)
        Path(name).write_text("", encoding="utf-8")
    monkeypatch.chdir("one/a")
    show = ("--isolated", "--extend-exclude", "/gen/x.py", "--show-files")
    assert lint("..", *show)[:2] == (CLEAN, "../b/c/gen/x.py\n../gen/x.py\n")
    assert lint(".", *show)[:2] == (CLEAN, "")
    assert lint("../b", *show)[:2] == (CLEAN, "../b/c/gen/x.py\n")


def test_a_baseline_of_paths_that_nobody_has(lint: Callable[..., tuple[int, str, str]]) -> None:
    assert lint("--write-baseline", "b.json")[0] == CLEAN
    table = json.loads(Path("b.json").read_text(encoding="utf-8"))
    (known,) = table["findings"]
    strange = ("a\0b", "x" * 100_000, "\ud800", "../../../etc/passwd", "/dev/zero", ".")
    table["findings"] += [{**known, "path": path} for path in strange]
    Path("b.json").write_text(json.dumps(table), encoding="utf-8")
    for more in ((), ("--update-baseline",)):
        assert lint("--baseline", "b.json", *more)[:2] == (CLEAN, "")
    left = json.loads(Path("b.json").read_text(encoding="utf-8"))["findings"]
    # What exists was not looked at by this run.
    assert {each["path"] for each in left} <= {
        known["path"],
        "../../../etc/passwd",
        "/dev/zero",
        ".",
    }


@pytest.mark.parametrize("pair", ["a=" + "[" * 100_000, "x" * 100_000, "a\udcff=1", "=", "a=\n"])
def test_a_setting_on_the_command_line(
    lint: Callable[..., tuple[int, str, str]], pair: str
) -> None:
    code, out, err = lint("--config", pair)
    assert (code, out) == (FAILED, "")
    assert err.startswith("error: ")


def test_standard_input_without_an_end(
    lint: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/zero").open(encoding="utf-8") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        assert lint("-") == (FAILED, "", "error: standard input: larger than 16 MiB\n")

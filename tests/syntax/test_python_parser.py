"""A file that mentions jax and cannot be parsed is a finding, whatever else is in it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.cli import main
from placement_lint.files.source import Source
from placement_lint.lint import schedule
from placement_lint.syntax import python_parser
from placement_lint.syntax.python_parser import may_be_broken

if TYPE_CHECKING:
    from collections.abc import Callable

    Found = Callable[..., tuple[int, dict[str, str]]]

BROKEN = (
    "import jax\nx = (\n",
    "import jax\ndef f(:\n    pass\n",
    "import jax\n  x = 1\n",
    "import jax\nx = 'a\n",
    'import jax\n"""\n',
    "import jax\nif x:\n",
    "import jax\nx = 1 +\n",
    "import jax\nx = 1 \\",
    "import jax\nprint 'a'\n",
    "import jax\nx = 'a\x00b'\n",
    "# jax\n<<<<<<< ours\n=======\n>>>>>>> theirs\n",
    "import jax\n" + "(" * 300,
    "import jax\n" + "x;" * 151_000,
    "# jax {{ cookiecutter.name }}\nimport {{ cookiecutter.name }}\n",
)
WHOLE = (
    "import jax\n",
    "import jax",
    "import jax\nx = 1  # (",
    "import jax\r\nx = '''\r\n'''\r\n",
    "import jax\rx = 1\r",
    "\ufeffimport jax\n",
    "# coding: latin-1\nimport jax\nx = 'é'\n",
    "import jax\n\x0c\nx = 1\n",
    "import jax\nawait x\n",
    "import jax\nreturn 1\n",
    "import jax\ndef f(a, a): pass\n",
    "import jax\nnonlocal _\n",
    "import jax\ntype A[T] = list[T]\n",
    "import jax\nx = '\\d' is 'd'\n",
    "import jax\n" + "# (\n" * 100_000,
    "import jax\nx = [" + "1, " * 20_000 + "]\n",
)


@pytest.fixture
def found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Found:
    """Give the command in an empty folder: arguments to exit code, and codes by file."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, dict[str, str]]:
        code = main([*arguments, "--isolated", "--output-format", "json", "-q"])
        findings = json.loads(capsys.readouterr().out)["findings"]
        return code, {each["path"]: each["code"] for each in findings}

    return run


def write(name: str, text: str) -> None:
    encoding = "latin-1" if "latin-1" in text else "utf-8"
    Path(name).write_text(text, encoding=encoding, newline="")


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("more", [(), ("-j", "2"), ("--fix",), ("--select", "JDP204")])
def test_every_broken_file_is_a_finding(found: Found, more: tuple[str, ...]) -> None:
    for number, text in enumerate(BROKEN):
        write(f"broken{number}.py", text)
    for number, text in enumerate(WHOLE):
        write(f"whole{number}.py", text)
    names = {f"broken{number}.py" for number in range(len(BROKEN))}
    assert found("--no-cache", *more) == (1, dict.fromkeys(names, "JDP901"))


def test_with_a_cache(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    write("broken.py", BROKEN[0])
    write("whole.py", WHOLE[0])
    write("other.py", "import os\n")
    first = found()
    assert first == (1, {"broken.py": "JDP901"})
    write("other.py", "import sys\n")
    asked = []

    def note(source: Source) -> bool:
        asked.append(source.path)
        return may_be_broken(source)

    monkeypatch.setattr(schedule, "may_be_broken", note)
    assert found() == first
    assert asked == ["broken.py"], "that the other can be parsed is remembered"
    write("whole.py", BROKEN[1])
    write("broken.py", WHOLE[0])
    assert found() == (1, {"whole.py": "JDP901"})


def test_what_does_not_mention_jax_is_passed_over(found: Found) -> None:
    write("other.py", "x = (\n")
    assert found() == (0, {})


def test_a_name_that_another_file_hands_on(found: Found) -> None:
    """A file that is parsed only at first, and by what is imported may hold a finding later."""
    write(
        "user.py", "# jax\nfrom names import put\n\n\ndef f(x, d):\n    put(x, d)\n    return x\n"
    )
    write("names.py", "put = print\n")
    assert found() == (0, {})
    write("names.py", "from jax import device_put as put\n")
    assert found() == (1, {"user.py": "JDP204"})


def test_a_notebook(found: Found) -> None:
    def notebook(*cells: str) -> str:
        whole = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": c} for c in cells]
        return json.dumps({"cells": whole, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    write("whole.ipynb", notebook("import jax\n", "%time x\nawait y\n"))
    write("broken.ipynb", notebook("import jax\n", "x = (\n"))
    assert found() == (1, {"broken.ipynb": "JDP901"})


def test_standard_input(
    found: Found, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io
    import sys

    for text, code in ((BROKEN[0], 1), (WHOLE[0], 0)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert found("-")[0] == code


@pytest.mark.parametrize("text", WHOLE, ids=lambda text: text[:30])
def test_whole_files_are_not_parsed_twice(text: str) -> None:
    """But for what this Python does not take, and another one, or LibCST, does."""
    taken = any(word in text for word in ("f(a, a)", "nonlocal", "type A["))
    assert may_be_broken(Source("x.py", text.removeprefix("\ufeff"))) in {False, taken}


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("unit", ["x\n", "a;", "(", "f(x)\n", "1,", "[[],", "'", '"""\n', "\\\n"])
def test_the_time_is_linear(unit: str) -> None:
    def seconds(size: int) -> float:
        source = Source("x.py", "import jax\n" + unit * (size // len(unit)))
        began = time.process_time()
        may_be_broken(source)
        return time.process_time() - began

    # Below what the guard is for, and beyond. What is slow, for whatever reason, is timed again.
    for size in (40_000, 301_000):
        assert any(seconds(4 * size) < 4 * max(seconds(size), 0.01) * 3 for _ in range(3))


def test_the_mistake_at_the_end_is_the_one_that_is_known() -> None:
    """Else every file would be parsed by LibCST, on a Python that words it in another way."""
    with pytest.raises(SyntaxError) as caught:
        compile(f"x = 1{python_parser._LAST}", "x", "exec")
    assert caught.value.msg == python_parser._REFUSED

"""What reads bytes that anybody wrote, each as a function of bytes that fails where it is wrong.

`tests.fuzz.guided` gives them what atheris makes up, and `tests.fuzz` what is made of seeds.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.config.load import OWN_FILE, SettingsLoader
from placement_lint.config.options import OPTIONS
from placement_lint.config.show import show
from placement_lint.config.values import SettingsError
from placement_lint.files.discovery import find_files
from placement_lint.files.notebook import NotPythonError, read_notebook, with_cell_texts
from placement_lint.files.notebook_json import (
    NotRewritableError,
    demand_rewritable,
    lines_in_file,
    rewrite,
)
from placement_lint.files.opening import decode
from placement_lint.files.source import Source, UnreadableError
from placement_lint.findings import Finding, Severity, Span
from placement_lint.lint.check_file import editor_of
from placement_lint.lint.file_results import FileResult
from placement_lint.lint.suppressions.comments import Suppressions
from placement_lint.project.target import ProjectMetadata
from placement_lint.rules.selection import UnknownSelectorError, select_rules
from placement_lint.syntax.deep_stack import run_deep
from tests.fuzz.seeds import dice_of, notebook, texts

if TYPE_CHECKING:
    from collections.abc import Callable

_LINES = 20
_CELL: dict[str, object] = {
    "cell_type": "code",
    "metadata": {},
    "outputs": [],
    "execution_count": None,
}


def _demand_words(error: Exception) -> None:
    """Demand that a refusal says why."""
    assert str(error), type(error)


def read_source(data: bytes) -> None:
    """Read a Python file: its places and its bytes are given back."""
    try:
        source = decode("fuzzed.py", data)
    except UnreadableError as error:
        _demand_words(error)
        return
    if source.rewritable:
        assert source.to_bytes() == data, "other bytes are given back"
    for offset in {*range(0, len(source.text), max(len(source.text) // _LINES, 1))}:
        line, column = source.position(offset)
        assert source.offset(line, column) == offset, f"{offset} is at {line}:{column}"
        assert column <= len(source.line_text(line)) + 2
    assert len(source.content) == len(source.text), "masking moves what it does not mask"
    for line in range(1, len(source.line_starts) + 1):
        assert len(source.shown_line(line)) == len(source.line_text(line))


def read_suppressions(data: bytes) -> None:
    """Read the comments of a file that silence findings, and put findings to them."""
    try:
        source = decode("fuzzed.py", data)
    except UnreadableError:
        return
    run_deep(_suppressions, source)


def _suppressions(source: Source) -> None:
    editor = editor_of(source)
    if isinstance(editor, FileResult):
        return
    suppressions = Suppressions(editor)
    for directive in suppressions.directives:
        assert source.text[directive.start] == "#"
        assert directive.end <= len(source.text)
        for selector in directive.selectors or ():
            assert source.text[selector.start : selector.end] == selector.text
    count = len(source.line_starts)
    for line in range(1, count + 1, max(count // _LINES, 1)):
        finding = Finding(
            "JDP204", "device-put-discarded", "", source.path, Span(line, 1, line, 1),
            Severity.WARNING,
        )  # fmt: skip
        spoken, silent = suppressions.apply([finding])
        assert len(spoken) + len(silent) == 1
        assert all("\n" not in each.reason for each in silent)


def read_settings(data: bytes) -> None:
    """Read a settings file: what it says can be shown, and what is shown says the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, OWN_FILE)
        path.write_bytes(data)
        Path(folder, "a.py").touch()
        try:
            settings = SettingsLoader().for_folder(folder)
            select_rules(settings, str(Path(folder, "a.py")))
            found = find_files([folder], lambda _: settings)
        except (SettingsError, UnknownSelectorError) as error:
            _demand_words(error)
            return
        assert not found.failed
        path.write_bytes(show(settings).encode())
        again = SettingsLoader().for_folder(folder)
    for option in OPTIONS:
        was, now = getattr(settings, option.field), getattr(again, option.field)
        assert was == now, f"{option.name} is {was!r}, and shown as {now!r}"


def read_cells(data: bytes) -> None:
    """Read a notebook, change its cells, and read what is made of it."""
    try:
        source = read_notebook("fuzzed.ipynb", data)
    except (UnreadableError, NotPythonError) as error:
        _demand_words(error)
        return
    assert len(source.content) == len(source.text), "masking moves what it does not mask"
    for number in range(1, len(source.line_starts)):
        assert source.cell_at(number) is not None
    try:
        demand_rewritable(data)
    except NotRewritableError as error:
        _demand_words(error)
        return
    assert rewrite(data, source.cell_texts) == data, "what is not changed is written otherwise"
    lines = lines_in_file(data)
    for cell in source.cells:
        assert len(lines[cell.number]) == cell.line_count, f"lines of cell {cell.number}"
    changed = with_cell_texts(
        source, {number: f"é = 1\n{text}" for number, text in source.cell_texts.items()}
    )
    again = read_notebook("fuzzed.ipynb", changed.to_bytes())
    assert again.content == changed.content, "a change is written otherwise"
    assert replace(again, document=None) == replace(changed, document=None)


def read_requirements(data: bytes) -> None:
    """Read which JAX a project asks for, in each of the files in which it can say so."""
    for name in ("requirements.txt", "pyproject.toml", "setup.cfg"):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, name).write_bytes(data)
            Path(folder, ".git").touch()
            chosen = ProjectMetadata().target("auto", str(Path(folder, "a.py")))
            assert chosen.target.lowest <= chosen.target.highest
            assert str(chosen)


def read_cells_apart(data: bytes) -> None:
    """Read a notebook of which each cell is what stands between null bytes."""
    cells = [piece.decode("utf-8", "replace") for piece in data.split(b"\0")]
    made: list[object] = [{**_CELL, "source": text} for text in cells[::2]]
    made += [{**_CELL, "source": text.splitlines(keepends=True)} for text in cells[1::2]]
    read_cells(json.dumps({"cells": made}, indent=len(data) % 3 or None).encode())


READERS: dict[str, Callable[[bytes], None]] = {
    "source": read_source,
    "suppressions": read_suppressions,
    "settings": read_settings,
    "notebook": read_cells,
    "cells": read_cells_apart,
    "requirements": read_requirements,
}

_COMMENTS = (
    "x  # noqa", "x  # noqa: JDP204, E501 why", "x  # NOQA:jdp2",
    "x  # placement-lint: ignore[JDP2]",
    "# placement-lint: ignore-file[JDP204, device-put-discarded] because",
    "# placement-lint: ignore", "def f(\n    x,  # noqa: JDP101\n): pass  # noqa",
    "@d  # noqa\nclass C: pass", "x = 1 + \\\n    2  # noqa", "if x:  # noqa: JDP1,JDP2\n    pass",
    "x = '''# noqa\n'''  # placement-lint: ignore[JDP204] é",
    "match x:  # noqa\n    case 1: pass  # placement-lint: ignore[]",
)  # fmt: skip
_SETTINGS = (
    'select = ["JDP2", "ALL"]\nignore = ["JDP204"]\n', "accelerator = false\nfix = true\n",
    'extend-select = ["dataset-on-default-device"]\n', 'target-jax = "0.4.30"\n',
    'extend-exclude = ["a/**", "!b", "[a-z]*.py", "/c/"]\n', "unsafe-fixes = true\n",
    '[per-file-ignores]\n"tests/**" = ["JDP2"]\n"*.py" = []\n', 'baseline = "~/é.json"\n',
    'min-confidence = "definite"\noutput-format = "json"\n', "selct = []\n", "[tool]\n",
    'extend = "placement-lint.toml"\n', 'extend = "missing.toml"\n',
    'exclude = ["\\u007f", "\\U0001F600"]\nexit-zero = true\n',
)  # fmt: skip
_MAGIC = (
    "%matplotlib inline\n!ls\n", "%%bash\nls\n", "x = !ls \\\n  -l\nx?\n%time y = 1\n", "%%time\nx",
    "if x:\n    !ls\n    %timeit -n 1 f(x)\n'%%'\nf(\n%y)\n", "  ?x\r\n;x\n/f x\n,f x", "",
)  # fmt: skip
_REQUIREMENTS = (
    "jax==0.4.30\n", "jax[cuda12]>=0.4,<0.7 ; python_version > '3.9' # why\n", "JAX (>=0.6)\n",
    "-r other.txt\njax @ https://a/b.whl\n", "jax===v0.5.1rc1+a\n", "jax~=0.7.0\njaxlib\n",
    "jax != 0.6.*\n", '[project]\ndependencies = ["jax>=0.4.30,<1"]\n',
    '[tool.poetry.dependencies]\njax = "^0.4.30"\n',
    '[project.optional-dependencies]\na = ["jax<0.9"]\n',
    '[tool.poetry.dependencies]\njax = {version="~0.7"}\n',
    '[tool.poetry.dependencies.jax]\nversion = "0.7.* || >=0.9"\n',
    '[dependency-groups]\ntest = ["jax==0.12.0.1", {include-group = "b"}]\n',
    "[options]\ninstall_requires =\n  jax>=0.5\n  numpy\n", "jax>=0.4.30, <0.5,!=0.4.31,<=0.4.38\n",
)  # fmt: skip


def seeds_of(reader: str) -> list[bytes]:
    """Give what a reader is meant for: the beginning of what is made up."""
    if reader == "settings":
        return [text.encode() for text in _SETTINGS]
    if reader == "suppressions":
        return [f"import jax\n{text}\n".encode() for text in _COMMENTS]
    if reader == "notebook":
        dice = dice_of("notebooks", 0)
        some = [dice.sample(texts(), 2) for _ in range(40)]
        odd = json.dumps({"cells": [], "metadata": {"language_info": {"name": "R"}}}).encode()
        return [odd, notebook([*_MAGIC], dice), *(notebook(cells, dice) for cells in some)]
    if reader == "cells":
        return ["\0".join(_MAGIC).encode(), *(text.encode() for text in texts()[::200])]
    if reader == "requirements":
        return [text.encode() for text in _REQUIREMENTS]
    headers = (
        *("", "# coding: latin-1\n", "#!/usr/bin/env python\n# -*- coding: cp1252 -*-\n", "\ufeff"),
        *("# %%\n!ls\n", "\x0c\r\n", "# vim: set fileencoding=utf-7 :\n"),
    )
    return [(head + text).encode() for head in headers for text in texts()[::200]]

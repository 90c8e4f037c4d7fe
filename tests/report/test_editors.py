"""What is printed, as Vim and Emacs themselves read it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from placement_lint.findings import Finding, Span
from placement_lint.report import text

if TYPE_CHECKING:
    from pathlib import Path

Make = Callable[..., Finding]

VIM = shutil.which("vim")
EMACS = shutil.which("emacs")

_QUICKFIX = """\
set nocompatible
let &errorformat = '%f:%l:%c: %m'
cgetfile found.txt
let found = map(getqflist(), '[bufname(v:val.bufnr), v:val.lnum, v:val.col, v:val.text]')
call writefile([json_encode(found)], 'read.json')
qall!
"""
_COMPILATION = """\
(require 'compile)
(require 'json)
(with-temp-buffer
  (insert-file-contents "found.txt")
  (compilation-mode)
  (compilation--ensure-parse (point-max))
  (goto-char (point-min))
  (let (found)
    (while (not (eobp))
      (let* ((message (get-text-property (point) 'compilation-message))
             (place (and message (compilation--message->loc message))))
        (when place
          (push (list (caar (compilation--loc->file-struct place))
                      (compilation--loc->line place)
                      (compilation--loc->col place))
                found)))
      (forward-line))
    (with-temp-file "read.json"
      (insert (json-encode (vconcat (nreverse found)))))))
"""


@pytest.fixture
def found(make_finding: Make, tmp_path: Path) -> list[Finding]:
    """Write a report of files that are there, and give what is in it."""
    findings = [
        make_finding(),
        make_finding(path="sub/b c.py", span=Span(10, 1, 12, 2), message="a `b`: see x.py:3:4"),
        make_finding(path="ü.py", span=Span(123, 45, 123, 46)),
    ]
    for finding in findings:
        path = tmp_path / finding.path
        path.parent.mkdir(exist_ok=True)
        path.write_text(("x" * 50 + "\n") * 200, encoding="utf-8")
    (tmp_path / "found.txt").write_text(text.render(findings), encoding="utf-8")
    return findings


@pytest.mark.skipif(VIM is None, reason="Vim is not installed")
def test_vim(found: list[Finding], tmp_path: Path) -> None:
    (tmp_path / "read.vim").write_text(_QUICKFIX, encoding="utf-8")
    command = [str(VIM), "-N", "-u", "NONE", "-i", "NONE", "-n", "-e", "-s", "-S", "read.vim"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    read = json.loads((tmp_path / "read.json").read_text(encoding="utf-8"))
    assert read == [
        [each.path, each.span.line, each.span.column, f"{each.code} {each.message}"]
        for each in found
    ]


@pytest.mark.skipif(EMACS is None, reason="Emacs is not installed")
def test_emacs(found: list[Finding], tmp_path: Path) -> None:
    (tmp_path / "read.el").write_text(_COMPILATION, encoding="utf-8")
    command = [str(EMACS), "-Q", "--batch", "-l", "read.el"]
    environment = {"LC_ALL": "C.UTF-8", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, timeout=60, env=environment
    )
    read = json.loads((tmp_path / "read.json").read_text(encoding="utf-8"))
    assert read == [[each.path, each.span.line, each.span.column] for each in found]

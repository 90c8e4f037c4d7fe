"""Real editors, set up with the very lines of `docs/editors.md`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integrations.lsp.editor import TOP

if TYPE_CHECKING:
    from pathlib import Path

PAGE = TOP / "docs" / "editors.md"
SETUP = re.compile(r"<!-- setup: (?P<name>[\w-]+) -->\n```\w+\n(?P<lines>.*?)```\n", re.DOTALL)
DATA = """\
import jax
from safetensors.flax import load_file

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    tokens = load_file("train.safetensors")["tokens"]
"""
TRAIN = "from data import tokens\n\nbatch = tokens[0]\n"
FINDING = "`tokens` is uncommitted on jax.devices"
SECONDS = 120


def setup(name: str) -> str:
    """Give the lines of the page that set up an editor."""
    found = {match["name"]: match["lines"] for match in SETUP.finditer(PAGE.read_text("utf-8"))}
    return found[name]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project, with `placement-lint` on the path."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    (folder / "data.py").write_text(DATA, encoding="utf-8")
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir()
    command = programs / "placement-lint"
    python = f"PYTHONPATH={TOP} exec {sys.executable} -m placement_lint"
    command.write_text(f'#!/bin/sh\n{python} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(folder)
    return folder


def neovims() -> list[str]:
    """Give each Neovim there is: `nvim`, and those that an environment variable names."""
    named = os.environ.get("PLACEMENT_LINT_NEOVIMS", "").split(os.pathsep)
    found = [shutil.which(name) for name in ("nvim", *named) if name]
    return [each for each in found if each is not None]


LUA = """
vim.opt.swapfile = false
local function told()
  local found = vim.diagnostic.get(0)
  return #found > 0 and found[1].code ~= nil
end
local function answer(method, params)
  local replies = vim.lsp.buf_request_sync(0, method, params, 20000) or {}
  for _, reply in pairs(replies) do
    return reply.result
  end
end
vim.api.nvim_create_autocmd("VimEnter", { callback = function() vim.schedule(function()
  local there = vim.wait(SECONDS * 1000, told, 50)
  local document = { uri = vim.uri_from_bufnr(0) }
  local at = { line = 2, character = 9 }
  local hover = answer("textDocument/hover", { textDocument = document, position = at })
  local actions = answer("textDocument/codeAction", {
    textDocument = document,
    range = { start = at, ["end"] = at },
    context = { diagnostics = {} },
  })
  local out = io.open("OUT", "w")
  out:write(vim.fn.json_encode({
    there = there, diagnostics = vim.diagnostic.get(0), hover = hover, actions = actions,
  }))
  out:close()
  vim.cmd("qall!")
end) end })
"""


@pytest.mark.parametrize("nvim", neovims() or [None])
def test_neovim(nvim: str | None, project: Path, tmp_path: Path) -> None:
    if nvim is None:
        pytest.skip("there is no Neovim here (`apt-get install neovim`)")
    version = subprocess.run([nvim, "--version"], capture_output=True, text=True, check=True)
    number = re.search(r"v(\d+)\.(\d+)", version.stdout)
    assert number is not None
    is_new = (int(number[1]), int(number[2])) >= (0, 11)
    out, init = tmp_path / "out.json", tmp_path / "init.lua"
    script = LUA.replace("OUT", str(out)).replace("SECONDS", str(SECONDS))
    lines = setup("neovim" if is_new else "neovim-old")
    init.write_text(f"vim.cmd('filetype on')\n{lines}\n{script}", encoding="utf-8")
    ran = subprocess.run(
        [nvim, "--headless", "-u", str(init), "train.py"],
        capture_output=True,
        text=True,
        timeout=SECONDS * 2,
        cwd=project,
        check=False,
    )
    said = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    assert said.get("there"), ran.stderr
    (found,) = said["diagnostics"]
    assert (found["code"], found["lnum"], found["col"]) == ("JDP201", 2, 8)
    assert found["message"].startswith(FINDING)
    assert "made at [data.py:6]" in said["hover"]["contents"]["value"]
    titles = [action["title"] for action in said["actions"]]
    assert {"Suppress JDP201 here", "Explain JDP201"} <= set(titles)


LISP = """
(setq make-backup-files nil auto-save-default nil create-lockfiles nil
      inhibit-startup-screen t)
(defun told ()
  (with-current-buffer (get-file-buffer "train.py")
    (mapcar (lambda (each)
              (cons (line-number-at-pos (flymake-diagnostic-beg each))
                    (flymake-diagnostic-text each)))
            (flymake-diagnostics))))
(defun look ()
  (when (told)
    (with-current-buffer (get-file-buffer "train.py")
      (goto-char (point-min))
      (forward-line 2)
      (forward-char 9)
      (let ((hover (jsonrpc-request (eglot--current-server-or-lose) :textDocument/hover
                                    (eglot--TextDocumentPositionParams)))
            (told (told)))
        (with-temp-file "OUT"
          (dolist (each told) (insert (format "%d %s\\n" (car each) (cdr each))))
          (insert (plist-get (plist-get hover :contents) :value)))))
    (kill-emacs 0)))
(run-with-timer 1 0.2 #'look)
(run-with-timer SECONDS nil (lambda () (kill-emacs 1)))
(find-file "train.py")
"""


def has_eglot(emacs: str) -> bool:
    asked = [emacs, "--batch", "--eval", "(require 'eglot)"]
    return subprocess.run(asked, capture_output=True, check=False, timeout=60).returncode == 0


def test_emacs(project: Path, tmp_path: Path) -> None:
    emacs = shutil.which("emacs")
    if emacs is None:
        pytest.skip("there is no Emacs here (`apt-get install emacs-nox`)")
    if not has_eglot(emacs):
        pytest.skip("this Emacs is older than 29 and has no eglot (`apt-get install elpa-eglot`)")
    out, init = tmp_path / "out.txt", tmp_path / "init.el"
    script = LISP.replace("OUT", str(out)).replace("SECONDS", str(SECONDS))
    init.write_text(f"{setup('emacs')}\n{script}", encoding="utf-8")
    # On a terminal: eglot starts from the loop of commands, which a batch run does not have.
    command = [emacs, "-nw", "-q", "-l", str(init)]
    spawn = f"import pty, sys; sys.exit(pty.spawn({command!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", spawn],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=project,
        env={**os.environ, "TERM": "vt100"},
    ) as process:
        assert process.stdout is not None
        shown = process.stdout.read()
    assert out.exists(), shown[-2000:]
    first, hover = out.read_text(encoding="utf-8").split("\n", 1)
    assert first.startswith("3 ")
    assert FINDING in first
    assert "made at [data.py:6]" in hover


def test_the_page_names_every_editor_that_is_tried() -> None:
    assert {"neovim", "neovim-old", "emacs"} == {
        match["name"] for match in SETUP.finditer(PAGE.read_text("utf-8"))
    }

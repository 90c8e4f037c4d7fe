"""What git knows of the files: which lines have changed, and what they were.

git is only run where an option asks for it, and told to run nothing that a repository configures.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.config.values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=true", "--no-pager")
_DIFF = (
    *("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all"),
)
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

Lines = tuple[tuple[int, int], ...]
"""First and last lines of stretches of a file."""


class Repository:
    """The repository that a directory is in, and one of its commits."""

    def __init__(self, option: str, ref: str, folder: str = ".") -> None:
        """Raise SettingsError, in the name of an option, where there is none, or no git."""
        self._option = f"{option} {ref}"
        self._folder = folder
        self.top = os.path.realpath(self._text("rev-parse", "--show-toplevel"))
        self.commit = self._text(
            *("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"),
            otherwise="there is no such commit here; in CI, fetch it first (fetch-depth: 0)",
        )

    def changed_lines(self) -> Mapping[str, Lines | None]:
        """Return what is new since the commit, or since this branch left it, by real path.

        None stands for all lines of a file. What is not committed is new too.
        """
        base = self.commit
        # Histories may have nothing in common.
        with contextlib.suppress(SettingsError):
            base = self._text("merge-base", self.commit, "HEAD")
        patch = self._run(*_DIFF, base, "--")
        changed: dict[str, Lines | None] = {}
        for path, lines in _hunks(patch).items():
            changed[self._path(path)] = None if path.endswith(b".ipynb") else lines
        others = self._run("ls-files", "--others", "--exclude-standard", "-z", cwd=self.top)
        changed |= {self._path(path): None for path in others.split(b"\0") if path}
        return changed

    def write_tree(self, folder: str, wanted: Callable[[str], bool]) -> None:
        """Write the files of the commit that are wanted by their path, without any filters."""
        listed = self._run("ls-tree", "-r", "-z", "--full-tree", self.commit)
        for entry in filter(None, listed.split(b"\0")):
            head, _, name = entry.partition(b"\t")
            mode, _, digest = head.decode().split(" ")
            path = os.fsdecode(name)
            # Links would lead out of the directory.
            if mode not in {"100644", "100755"} or not wanted(path):
                continue
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self._run("cat-file", "blob", digest))

    def inside(self, path: str) -> str:
        """Return a path relative to the top of the repository. Raises SettingsError."""
        relative = os.path.relpath(os.path.realpath(path), self.top)
        if relative.startswith(os.pardir):
            message = f"{self._option}: {path} is outside of the repository {self.top}"
            raise SettingsError(message)
        return relative

    def _path(self, name: bytes) -> str:
        return os.path.realpath(os.path.join(self.top, os.fsdecode(name)))

    def _text(self, *arguments: str, otherwise: str = "") -> str:
        return os.fsdecode(self._run(*arguments, otherwise=otherwise)).strip("\n")

    def _run(self, *arguments: str, otherwise: str = "", cwd: str | None = None) -> bytes:
        try:
            done = subprocess.run(
                ["git", *_QUIET, *arguments],
                cwd=cwd or self._folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env={**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
            )
        except OSError as error:
            message = f"{self._option}: git cannot be run: {error.strerror or error}"
            raise SettingsError(message) from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
            reason = otherwise or said.removeprefix("fatal: ") or "git failed"
            message = f"{self._option}: {reason}"
            raise SettingsError(message)
        return done.stdout


def _hunks(patch: bytes) -> dict[bytes, Lines]:
    """Return the stretches of lines that a patch without context adds or changes, by path."""
    found: dict[bytes, Lines] = {}
    path = b""
    lines = iter(patch.split(b"\n"))
    for line in lines:
        if line.startswith(b"+++ "):
            path = _name(line[4:])
            continue
        hunk = _HUNK.match(line)
        if hunk is None:
            continue
        removed, first, added = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
        if added and path:
            found[path] = (*found.get(path, ()), (first, first + added - 1))
        # A line of the text may look like a header.
        left = removed + added
        while left:
            left -= not next(lines, b"").startswith(b"\\")
    return found


def _name(text: bytes) -> bytes:
    """Return the path behind `+++ `; empty for a file that is gone."""
    text = text.rstrip(b"\t")
    if text.startswith(b'"'):
        text, _ = codecs.escape_decode(text[1:-1])
    return text.removeprefix(b"b/") if text.startswith(b"b/") else b""

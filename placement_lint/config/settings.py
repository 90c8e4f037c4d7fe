"""The settings of a run, after every file and option has been read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT_EXCLUDES = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "buck-out",
    "node_modules",
    "site-packages",
    "venv",
)
"""Names of folders that a directory walk leaves out. Neither `build` nor `dist` is among them: a
default exclude that hides a project's own folder hides its findings."""


@dataclass(frozen=True)
class Settings:
    """Everything that a user can set. Selectors are codes, prefixes of codes, names or `ALL`."""

    select: tuple[str, ...] | None = None
    """None: every rule that is not pedantic."""
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Glob (gitignore syntax, relative to `root`) to selectors; `!glob`: in all other files."""
    extend_per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    fix: bool = False
    unsafe_fixes: bool = False
    fixable: tuple[str, ...] | None = None
    """None: every rule that has a fix."""
    unfixable: tuple[str, ...] = ()
    extend_safe_fixes: tuple[str, ...] = ()
    extend_unsafe_fixes: tuple[str, ...] = ()
    severity: Mapping[str, str] = field(default_factory=dict)
    """Selectors to the severity of their findings."""
    required_version: str | None = None
    """None: any version of the tool will do."""
    accelerator: bool = True
    """False: the program only ever runs on the CPU, so that the host is the default device."""
    target_jax: str = "auto"
    """A version of JAX; auto: what the project asks for, else the newest that is known."""
    models: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Qualified names of functions of other packages to `effect`, and perhaps `gives` and
    `example`."""
    min_confidence: str = "likely"
    baseline: str | None = None
    """The file of findings that are known; in a settings file, relative to that."""
    output_format: str | None = None
    """None: `full` on a terminal, `flake8` otherwise."""
    fail_on: str = "info"
    """The mildest severity of a finding that makes the exit code 1."""
    max_findings: int | None = None
    """None: all are written."""
    file_time_limit: int = 60
    """Seconds of CPU time; 0: no limit."""
    time_limit: int = 3600
    """Seconds of CPU time; 0: no limit."""
    memory_limit: int | None = None
    """Megabytes; 0: no limit; None: half of the machine's memory, shared by the processes."""
    root: Path | None = None
    """The folder of the settings file, against which its globs are read; None: the current one."""
    source: Path | None = None
    """The settings file, if there is one."""
    project: Path | None = field(default=None, compare=False)
    """The folder of the settings file that was found, which `root` may lie above: what is written
    without being named goes there. None: the current one."""

    @property
    def names_rules(self) -> bool:
        """Whether a word in them names rules, or is meant to, or they say that none is meant."""
        if self.select is not None or self.fixable is not None:
            return True
        lists = (
            *(self.extend_select, self.ignore, self.extend_ignore),
            *(self.unfixable, self.extend_safe_fixes, self.extend_unsafe_fixes),
        )
        tables = (self.per_file_ignores, self.extend_per_file_ignores, self.severity)
        return any(lists) or any(tables)

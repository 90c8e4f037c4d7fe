"""The table of the settings: each described once.

The reader of settings files, the option parser, `--show-settings` and the JSON schema all read it.
"""

from __future__ import annotations

import enum

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping


class OptionKind(enum.Enum):
    """What a setting may hold; the value is how a message names it."""

    STRINGS = "a list of strings"
    MAP = "a table of lists of strings"
    BOOLEAN = "true or false"
    CHOICE = "a string"
    PATH = "a path, as a string"
    VERSION = "`auto` or a version such as `0.7.2`"
    NUMBER = "a whole number, 0 or more"
    LEVELS = "a table of severities: error, warning or info"
    VERSIONS = "versions, such as `>=0.1,<0.2`, as a string"
    MODELS = 'a table of models, such as `{ effect = "load" }`, by qualified name'


class Option:
    """One setting: its name in a file (and, with two dashes, on the command line) and its kind."""

    # No dataclass: to import those takes longer than to print the help that is made of these.
    def __init__(
        self,
        name: str,
        kind: OptionKind,
        help: str,  # noqa: A002
        *,
        metavar: str = "",
        choices: tuple[str, ...] = (),
        aliases: Mapping[str, str] | None = None,
        on_command_line: bool = True,
        in_files: bool = True,
        is_path: bool = False,
    ) -> None:
        """`aliases`: other names of choices, as other linters call them. `in_files`: a settings
        file may set it. `is_path`: its strings, or its table's keys, are globs.
        """
        self.name = name
        self.kind = kind
        self.help = help
        self.metavar = metavar
        self.choices = choices
        self.aliases = aliases or {}
        self.on_command_line = on_command_line
        self.in_files = in_files
        self.is_path = is_path

    @property
    def field(self) -> str:
        """The name of its field in `Settings`."""
        return self.name.replace("-", "_")

    @property
    def default(self) -> object:
        """Its value where nobody sets it."""
        from placement_lint.config.settings import Settings

        return getattr(Settings(), self.field)


SEVERITIES = ("error", "warning", "info")
"""The worst comes first."""

EFFECTS = (
    *("compute", "convert", "copy", "create", "host", "identity", "key", "load", "plain"),
    "sample",
)
"""What a model in the settings can say that a function does."""

GIVES = ("array", "arrays", "nothing")
"""What a model in the settings can say that a function returns; the first is the default."""

FORMATS = (
    *("flake8", "full", "json", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson"),
    "markdown",
)

FORMAT_ALIASES = {"concise": "flake8", "json-lines": "jsonl"}
"""The names that ruff has for formats which are the same here."""

EXTEND = Option(
    "extend",
    OptionKind.PATH,
    "path of a settings file to inherit from, relative to this one",
    on_command_line=False,
)
"""The one key that is about files, and that nothing but a settings file can have."""

OPTIONS: tuple[Option, ...] = (
    Option(
        "select",
        OptionKind.STRINGS,
        "rules to run, replacing the defaults",
        metavar="CODES",
    ),
    Option(
        "extend-select",
        OptionKind.STRINGS,
        "rules to run in addition to those selected",
        metavar="CODES",
    ),
    Option("ignore", OptionKind.STRINGS, "rules to ignore", metavar="CODES"),
    Option(
        "extend-ignore",
        OptionKind.STRINGS,
        "more rules to ignore",
        metavar="CODES",
    ),
    Option(
        "per-file-ignores",
        OptionKind.MAP,
        "rules to ignore in files that match a pattern",
        metavar="PATTERN:CODES",
        is_path=True,
    ),
    Option(
        "extend-per-file-ignores",
        OptionKind.MAP,
        "more rules to ignore in files that match a pattern",
        metavar="PATTERN:CODES",
        is_path=True,
    ),
    Option(
        "exclude",
        OptionKind.STRINGS,
        "files and directories to exclude, replacing the defaults",
        metavar="PATTERNS",
        is_path=True,
    ),
    Option(
        "extend-exclude",
        OptionKind.STRINGS,
        "more files and directories to exclude",
        metavar="PATTERNS",
        is_path=True,
    ),
    Option(
        "force-exclude",
        OptionKind.BOOLEAN,
        "exclude files even if they are named as arguments",
    ),
    Option("respect-gitignore", OptionKind.BOOLEAN, "exclude what git ignores (the default)"),
    # No repository may have it: who lints one has not asked for anything to be written.
    Option("fix", OptionKind.BOOLEAN, "apply the safe fixes", in_files=False),
    Option("unsafe-fixes", OptionKind.BOOLEAN, "also apply and show unsafe fixes"),
    Option(
        "fixable",
        OptionKind.STRINGS,
        "rules whose fixes may be applied (default: ALL)",
        metavar="CODES",
    ),
    Option(
        "unfixable",
        OptionKind.STRINGS,
        "rules whose fixes are shown and never applied",
        metavar="CODES",
    ),
    Option(
        "extend-safe-fixes",
        OptionKind.STRINGS,
        "rules whose unsafe fixes count as safe",
        metavar="CODES",
        on_command_line=False,
    ),
    Option(
        "extend-unsafe-fixes",
        OptionKind.STRINGS,
        "rules whose safe fixes count as unsafe",
        metavar="CODES",
        on_command_line=False,
    ),
    Option(
        "severity",
        OptionKind.LEVELS,
        "severity of the findings of rules, replacing that of the rule",
        on_command_line=False,
    ),
    Option(
        "required-version",
        OptionKind.VERSIONS,
        "versions of placement-lint that the settings are for; others end the run",
        on_command_line=False,
    ),
    Option(
        "accelerator",
        OptionKind.BOOLEAN,
        "whether the program may run on an accelerator; false: the CPU is the default device",
        on_command_line=False,
    ),
    Option(
        "target-jax",
        OptionKind.VERSION,
        "the JAX that the code is meant for; auto: what the project's dependencies ask for",
        metavar="VERSION",
    ),
    Option(
        "models",
        OptionKind.MODELS,
        "what functions of other packages do with arrays, by qualified name",
        on_command_line=False,
    ),
    Option(
        "min-confidence",
        OptionKind.CHOICE,
        "report only findings of at least this confidence",
        metavar="LEVEL",
        choices=("definite", "likely", "possible"),
    ),
    Option(
        "baseline",
        OptionKind.PATH,
        "a file of known findings, which are not reported",
        metavar="FILE",
    ),
    Option(
        "output-format",
        OptionKind.CHOICE,
        "how findings are written; by default full on a terminal, flake8 elsewhere",
        metavar="FORMAT",
        choices=FORMATS,
        aliases=FORMAT_ALIASES,
    ),
    Option(
        "fail-on",
        OptionKind.CHOICE,
        "exit with 1 only for findings of at least this severity",
        metavar="LEVEL",
        choices=SEVERITIES,
    ),
    Option(
        "max-findings",
        OptionKind.NUMBER,
        "report at most this many findings; the exit code counts all of them",
        metavar="N",
    ),
    Option(
        "file-time-limit",
        OptionKind.NUMBER,
        "CPU seconds that one file may take; 0: no limit",
        metavar="SECONDS",
    ),
    Option(
        "time-limit",
        OptionKind.NUMBER,
        "CPU seconds that the whole run may take; 0: no limit",
        metavar="SECONDS",
    ),
    Option(
        "memory-limit",
        OptionKind.NUMBER,
        "megabytes of memory that each process may take; 0: no limit (default: half of the"
        " machine's memory, shared by the processes)",
        metavar="MB",
    ),
)

BY_NAME = {option.name: option for option in OPTIONS}

"""What the commands' option parsers share."""

from __future__ import annotations

import argparse
import sys

from placement_lint.cli import streams
from placement_lint.config.options import FORMAT_ALIASES, OPTIONS, Option, OptionKind

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

USAGE_ERROR = 2
_NARROWEST = 40


class _DescribedError(Exception):
    """Raised in place of parsing, with the parser that was about to."""

    def __init__(self, parser: Parser) -> None:
        super().__init__()
        self.parser = parser


_describing: list[bool] = []


def described(run: Callable[[], object]) -> Parser:
    """Return the first parser that a command parses its arguments with; it gets no further."""
    _describing.append(True)
    try:
        run()
    except _DescribedError as error:
        return error.parser
    finally:
        _describing.pop()
    raise ValueError("a command without a parser of options")


class Parser(argparse.ArgumentParser):
    """An option parser that names what was probably meant, and exits with 2."""

    def __init__(self, prog: str, **kwargs: Any) -> None:
        """Take the name of the command, and what argparse takes."""
        super().__init__(prog=prog, formatter_class=_Formatter, allow_abbrev=False, **kwargs)
        self.color = False  # from 3.14 on argparse has colours, whatever `--color` says

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments, unless a description is all that is asked for."""
        if _describing:
            raise _DescribedError(self)
        return super().parse_known_args(args, namespace)

    def parse_mixed(self, arguments: Sequence[str], positional: str) -> argparse.Namespace:
        """Parse options and positional arguments in any order; behind `--` all are positional."""
        words = [f"{word}=" if word in self._alone else word for word in arguments]
        if _describing:
            raise _DescribedError(self)
        end = words.index("--") if "--" in words else len(words)
        args = self.parse_intermixed_args(words[:end])
        getattr(args, positional).extend(words[end + 1 :])
        return args

    @property
    def _alone(self) -> set[str]:
        """The options whose value, if they have one, follows `=`: what stands behind is a path."""
        return {
            name
            for action in self._actions
            if action.nargs == "?"
            for name in action.option_strings
        }

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the arguments in one or two lines, and exit."""
        from placement_lint.report.escape import escape, shortened

        shown = escape(shortened(self._said_in_our_words(message)))
        self.exit(USAGE_ERROR, f"error: {shown}\nSee `{self.prog} --help` for the options.\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from placement_lint.config.suggest import value_hint

            choices = [*map(str, action.choices)]
            *others, last = (f"`{each}`" for each in choices)
            hint = value_hint(str(value), choices) or f"use {', '.join(others)} or {last}"
            raise argparse.ArgumentError(action, f"unknown value `{value}`; {hint}")

    def _said_in_our_words(self, message: str) -> str:
        """Return a message of argparse in the style of all others."""
        message = message.removeprefix("argument ").replace(": expected one argument", ": no value")
        message = message.replace(": ignored explicit argument", ": takes no value, such as")
        _, found, words = message.partition("unrecognized arguments: ")
        if not found:
            return message
        word = next(iter(words.split()), "").split("=")[0]
        if not word.startswith("-"):
            return f"unexpected argument `{word}`"
        from placement_lint.cli.hints import option_hint

        known = [name for action in self._actions for name in action.option_strings]
        hint = option_hint(word, known)
        return f"unknown option `{word}`" + ("" if hint is None else f"; {hint}")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Short and aligned help, the same on every terminal that is wide enough."""

    def __init__(self, prog: str, **kwargs: Any) -> None:
        width = min(streams.HELP_WIDTH, max(streams.columns(sys.stdout), _NARROWEST))
        position = 32 if width == streams.HELP_WIDTH else 8
        super().__init__(prog, **{**kwargs, "max_help_position": position, "width": width})

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if isinstance(action, argparse.BooleanOptionalAction):
            return action.option_strings[0].replace("--", "--[no-]", 1)
        if action.option_strings and action.nargs == "?":
            return f"{', '.join(action.option_strings)}[={action.metavar}]"
        if action.option_strings and action.nargs != 0:
            # As Python 3.13 does, and those before it do not.
            default = self._get_default_metavar_for_optional(action)
            value = self._format_args(action, default)
            return f"{', '.join(action.option_strings)} {value}"
        return super()._format_action_invocation(action)


def add_setting(group: argparse._ArgumentGroup, name: str) -> None:
    """Declare the option of a setting from the settings' table."""
    option = next(option for option in OPTIONS if option.name == name)
    flag = f"--{option.name}"
    if option.kind is OptionKind.BOOLEAN:
        group.add_argument(
            flag, action=argparse.BooleanOptionalAction, default=None, help=option.help
        )
    elif option.kind is OptionKind.CHOICE:
        text = f"{option.help}: {', '.join(option.choices)}"
        group.add_argument(
            flag,
            metavar=option.metavar,
            choices=option.choices,
            type=_alias_reader(option.aliases),
            help=text,
        )
    elif option.kind is OptionKind.NUMBER:
        group.add_argument(flag, metavar=option.metavar, type=_number, help=option.help)
    elif option.kind is OptionKind.PATH:
        group.add_argument(flag, metavar=option.metavar, type=_path, help=option.help)
    elif option.kind is OptionKind.VERSION:
        group.add_argument(flag, metavar=option.metavar, type=_version(option), help=option.help)
    else:
        group.add_argument(
            flag,
            metavar=option.metavar,
            action="append",
            type=_pair if option.kind is OptionKind.MAP else _reader(option),
            help=option.help,
        )


def add_format(group: argparse._ActionsContainer, formats: Sequence[str], text: str) -> None:
    """Declare the option that says how the result of a command is written."""
    group.add_argument(
        "--output-format", choices=formats, type=_alias_reader(FORMAT_ALIASES), help=text
    )


def add_color(group: argparse._ActionsContainer) -> None:
    """Declare the option that says when to colour what is printed."""
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        metavar="WHEN",
        help="auto, always or never; NO_COLOR and FORCE_COLOR are obeyed",
    )


def add_devices(group: argparse._ActionsContainer) -> None:
    """Declare the option that says which devices a program is run on."""
    group.add_argument(
        "--devices",
        choices=("auto", "virtual", "gpu"),
        default="auto",
        help="the accelerator there is, or virtual CPU devices (default: auto)",
    )


def settings_in(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of `Settings` that the options set."""
    given: dict[str, Any] = {}
    for option in OPTIONS:
        value = getattr(args, option.field, None) if option.on_command_line else None
        if value is not None:
            given[option.field] = _joined(option, value)
    return given


def _joined(option: Option, value: Any) -> Any:
    if option.kind is OptionKind.STRINGS:
        return tuple(word for words in value for word in words)
    if option.kind is OptionKind.MAP:
        table: Mapping[str, tuple[str, ...]] = {}
        for pattern, codes in value:
            table = {**table, pattern: (*table.get(pattern, ()), *codes)}
        return table
    return value


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        message = f"{text!r} is not {OptionKind.NUMBER.value}"
        raise argparse.ArgumentTypeError(message)
    from placement_lint.config.values import MOST

    if len(text) > len(str(MOST)) or int(text) > MOST:
        message = f"it may be {MOST:,} at most"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _alias_reader(aliases: Mapping[str, str]) -> Callable[[str], str]:
    return lambda word: aliases.get(word, word)


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("no path")
    return text


def _version(option: Option) -> Callable[[str], str]:
    def read(text: str) -> str:
        from placement_lint.config.values import SettingsError, check_table, version_hint

        try:
            check_table({option.name: text}, "here")
        except SettingsError as error:
            message = f"{text!r} is not {option.kind.value}{version_hint(text)}"
            raise argparse.ArgumentTypeError(message) from error
        return text

    return read


def _reader(option: Option) -> Callable[[str], tuple[str, ...]]:
    def codes(text: str) -> tuple[str, ...]:
        if not _words(text):
            # A variable of a script that is empty: no rule would run, and all would seem well.
            raise argparse.ArgumentTypeError("no codes")
        return _words(text)

    return codes if option.metavar == "CODES" else _words


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in map(str.strip, text.split(",")) if word)


def _pair(text: str) -> tuple[str, tuple[str, ...]]:
    pattern, colon, codes = text.rpartition(":")
    if not (colon and pattern.strip() and _words(codes)):
        message = f"{text!r} is not PATTERN:CODES, such as tests/*:JDP401"
        raise argparse.ArgumentTypeError(message)
    return pattern.strip(), _words(codes)

"""`placement-lint generate-shell-completion SHELL`: what a shell needs to complete our options.

The scripts are made of the commands' own option parsers and of the rules there are, and of nothing
else, so that they say what this version takes.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.cli import streams
from placement_lint.cli.parser import Parser, described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

NAME = "generate-shell-completion"
_PROGRAM = "placement-lint"
_DEFAULT = "check"
_SCRIPT = "SCRIPT"
_CODES = re.compile(r"CODE|CODES|RULE")
_PATHS = re.compile(r"FILE|PATH|DIR|SCRIPT")

_EPILOG = """\
bash, in ~/.bashrc:                   eval "$(placement-lint generate-shell-completion bash)"
zsh, in ~/.zshrc, behind compinit:    eval "$(placement-lint generate-shell-completion zsh)"
fish, once:  placement-lint generate-shell-completion fish \\
                 > ~/.config/fish/completions/placement-lint.fish"""


@dataclass(frozen=True)
class Taken:
    """What an option or an argument takes: words of a list, rules, paths, or anything."""

    words: tuple[str, ...] = ()
    is_rule: bool = False
    is_path: bool = False
    metavar: str = ""


@dataclass(frozen=True)
class Flag:
    """One option: its names, what it does, and what it takes, if anything."""

    names: tuple[str, ...]
    help: str
    taken: Taken | None
    repeatable: bool
    joined: bool
    """Its value, if it has one, can only follow an equals sign."""


@dataclass(frozen=True)
class Command:
    """One command of the program."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    argument: Taken | None


def main(arguments: Sequence[str], commands: Mapping[str, Callable[[list[str]], int]]) -> int:
    """Run the command and give its exit code. `commands` are all there are."""
    parser = Parser(
        f"{_PROGRAM} {NAME}",
        description="Print a script that completes commands and options in a shell.",
        epilog=_EPILOG,
    )
    parser.add_argument("shell", metavar="SHELL", choices=tuple(_SHELLS), help=", ".join(_SHELLS))
    args = parser.parse_args(arguments)
    streams.write(_SHELLS[args.shell]([_command(name, run) for name, run in commands.items()]))
    return 0


def _command(name: str, run: Callable[[list[str]], int]) -> Command:
    parser = described(lambda: run([]))
    flags, argument = [], None
    for action in parser._actions:
        if action.option_strings:
            flags.append(_flag(action))
        elif argument is None:
            argument = _taken(action)
    if argument is None and _SCRIPT in (parser.usage or ""):
        # What follows is another program's, and not for our parser.
        argument = Taken(is_path=True, metavar=_SCRIPT)
    about = (parser.description or "").replace("\n", " ").split(". ")[0].rstrip(".")
    if name == _DEFAULT:
        about = f"{about} (what runs when no command is named)"
    return Command(name, about, tuple(flags), argument)


def _flag(action: argparse.Action) -> Flag:
    return Flag(
        tuple(action.option_strings),
        # argparse asks for a percent sign to be doubled.
        " ".join((action.help or "").replace("%%", "%").split()),
        None if action.nargs == 0 else _taken(action),
        repeatable=isinstance(action, argparse._AppendAction),
        joined=action.nargs == "?",
    )


def _taken(action: argparse.Action) -> Taken:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return Taken(
        tuple(map(str, action.choices or ())),
        is_rule=_CODES.fullmatch(metavar) is not None or "CODE" in metavar.split("|"),
        is_path=_PATHS.search(metavar) is not None,
        metavar=metavar,
    )


def _rules() -> list[tuple[str, str]]:
    from placement_lint.rules.registry import all_rules

    return [(rule.code, rule.name) for rule in all_rules()]


# -- bash -----------------------------------------------------------------------------------------


def _bash(commands: Sequence[Command]) -> str:
    names = " ".join(command.name for command in commands)
    cases = [line for command in commands for line in _bash_command(command)]
    body = "\n".join(f"        {line}" for line in cases)
    codes = " ".join(["ALL", *(code for code, _ in _rules())])
    return f"""\
# Completion of {_PROGRAM} for bash, made by `{_PROGRAM} {NAME} bash`.
_placement_lint() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="" command={_DEFAULT} word
    local commands="{names}"
    local rules="{codes}"
    local options="" argument="" values=""
    (( COMP_CWORD > 0 )) && prev="${{COMP_WORDS[COMP_CWORD-1]}}"
    # An equals sign is a word of its own.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]] && (( COMP_CWORD > 1 )); then
        prev="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    if (( COMP_CWORD > 1 )); then
        for word in $commands; do
            [[ ${{COMP_WORDS[1]}} == "$word" ]] && command=$word
        done
    fi
    case "$command" in
{body}
    esac
    case "$values" in
        :path) COMPREPLY=(); return ;;
        :any) COMPREPLY=(); return ;;
        :rule) values=$rules ;;
    esac
    COMPREPLY=()
    if [[ -n $values ]]; then
        local head=""
        [[ $cur == *,* ]] && head="${{cur%,*}},"
        while IFS="" read -r word; do
            COMPREPLY+=("$word")
        done < <(compgen -P "$head" -W "$values" -- "${{cur##*,}}")
        return
    fi
    if [[ $cur == -* ]]; then
        while IFS="" read -r word; do
            COMPREPLY+=("$word")
        done < <(compgen -W "$options" -- "$cur")
        return
    fi
    local more=""
    (( COMP_CWORD == 1 )) && more=$commands
    [[ $argument == :rule ]] && more="$more $rules"
    [[ $argument != : && $argument != :rule ]] && more="$more $argument"
    while IFS="" read -r word; do
        COMPREPLY+=("$word")
    done < <(
        compgen -W "$more" -- "$cur"
        [[ $argument == : ]] && compgen -f -- "$cur"
    )
    [[ $argument == : ]] && compopt -o filenames 2>/dev/null
    return 0
}}
complete -o default -F _placement_lint {_PROGRAM}
"""


def _bash_command(command: Command) -> Iterable[str]:
    names = [name for flag in command.flags for name in flag.names]
    argument = command.argument
    kind = ""
    if argument is not None:
        kind = ":rule" if argument.is_rule else ":" if argument.is_path else ""
        kind = " ".join(argument.words) or kind
    yield f"{command.name})"
    yield f'    options="{" ".join(names)}"'
    yield f'    argument="{kind}"'
    yield '    case "$prev" in'
    for flag in command.flags:
        if flag.taken is not None and not flag.joined:
            taken = flag.taken
            words = " ".join(taken.words)
            what = words or (":rule" if taken.is_rule else ":path" if taken.is_path else ":any")
            yield f'        {" | ".join(flag.names)}) values="{what}" ;;'
    yield "        *) ;;"
    yield "    esac"
    yield "    ;;"


# -- zsh ------------------------------------------------------------------------------------------


def _zsh(commands: Sequence[Command]) -> str:
    listed = "\n".join(f"        {_quoted(f'{c.name}:{c.help}')}" for c in commands)
    cases = "\n".join(line for command in commands for line in _zsh_command(command))
    rules = "\n".join(f"        {_quoted(f'{code}:{name}')}" for code, name in _rules())
    return f"""\
#compdef {_PROGRAM}
# Completion of {_PROGRAM} for zsh, made by `{_PROGRAM} {NAME} zsh`.

_placement_lint_rules() {{
    local -a rules
    rules=(
        'ALL:every rule'
{rules}
    )
    compset -P '*,'
    _describe -t rules rule rules -S ''
}}

_placement_lint() {{
    local curcontext="$curcontext" command={_DEFAULT}
    local -a commands
    commands=(
{listed}
    )
    if (( CURRENT > 2 )) && (( ${{commands[(I)${{words[2]}}:*]}} )); then
        command=$words[2]
        shift words
        (( CURRENT-- ))
    elif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _describe -t commands command commands
    fi
    case $command in
{cases}
    esac
}}

if [ "$funcstack[1]" = "_placement_lint" ]; then
    _placement_lint "$@"
else
    compdef _placement_lint {_PROGRAM}
fi
"""


def _zsh_command(command: Command) -> Iterable[str]:
    yield f"        {command.name})"
    yield "            _arguments -S \\"
    for flag in command.flags:
        for spec in _zsh_flag(flag):
            yield f"                {_quoted(spec)} \\"
    if command.argument is not None:
        yield f"                {_quoted(f'*:{_zsh_taken(command.argument)}')} \\"
    yield "                && return 0"
    yield "            ;;"


def _zsh_flag(flag: Flag) -> Iterable[str]:
    text = flag.help
    for character in "\\[]:":
        text = text.replace(character, "\\" + character)
    others = "" if flag.repeatable else f"({' '.join(flag.names)})"
    for name in flag.names:
        star = "*" if flag.repeatable else others
        if flag.taken is None:
            yield f"{star}{name}[{text}]"
        elif flag.joined:
            yield f"{star}{name}=-[{text}]::{_zsh_taken(flag.taken)}"
        else:
            sign = "=" if name.startswith("--") else "+"
            yield f"{star}{name}{sign}[{text}]:{_zsh_taken(flag.taken)}"


def _zsh_taken(taken: Taken) -> str:
    what = taken.metavar.replace(":", "\\:")
    if taken.words:
        return f"{what}:({' '.join(taken.words)})"
    if taken.is_rule:
        return f"{what}:_placement_lint_rules"
    return f"{what}:_files" if taken.is_path else f"{what}: "


def _quoted(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


# -- fish -----------------------------------------------------------------------------------------


def _fish(commands: Sequence[Command]) -> str:
    others = " ".join(command.name for command in commands if command.name != _DEFAULT)
    lines = [
        f"# Completion of {_PROGRAM} for fish, made by `{_PROGRAM} {NAME} fish`.",
        "function __placement_lint_rules",
        "    set -l token (commandline -ct | string replace -r '^--[a-z-]+=' '')",
        "    set -l head (string match -r '.*,' -- $token)",
        *(f'    printf "%s%s\\t%s\\n" "$head" {code} {name!r}' for code, name in _all_rules()),
        "end",
        "function __placement_lint_command",
        "    set -l words (commandline -opc)",
        f"    set -l command {_DEFAULT}",
        "    if test (count $words) -gt 1",
        f"        contains -- $words[2] {_DEFAULT} {others}; and set command $words[2]",
        "    end",
        '    test "$command" = "$argv[1]"',
        "end",
        "function __placement_lint_first",
        "    test (count (commandline -opc)) -eq 1",
        "end",
        f"complete -c {_PROGRAM} -f",
    ]
    lines += [
        f"complete -c {_PROGRAM} -n __placement_lint_first -a {command.name} "
        f"-d {_fish_quoted(command.help)}"
        for command in commands
    ]
    for command in commands:
        condition = f"-n '__placement_lint_command {command.name}'"
        lines += [f"complete -c {_PROGRAM} {condition}{_fish_flag(flag)}" for flag in command.flags]
        argument = command.argument
        if argument is not None:
            lines.append(f"complete -c {_PROGRAM} {condition}{_fish_taken(argument)}")
    return "\n".join(lines) + "\n"


def _all_rules() -> list[tuple[str, str]]:
    return [("ALL", "every rule"), *_rules()]


def _fish_flag(flag: Flag) -> str:
    names = "".join(
        f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in flag.names
    )
    taken = ""
    if flag.taken is not None and not flag.joined:
        taken = " -r" + _fish_taken(flag.taken)
    return f"{names} -d {_fish_quoted(flag.help)}{taken}"


def _fish_taken(taken: Taken) -> str:
    if taken.words:
        return f" -f -a {_fish_quoted(' '.join(taken.words))}"
    if taken.is_rule:
        return " -f -a '(__placement_lint_rules)'"
    return " -F" if taken.is_path else " -f"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_SHELLS: dict[str, Callable[[Sequence[Command]], str]] = {"bash": _bash, "fish": _fish, "zsh": _zsh}

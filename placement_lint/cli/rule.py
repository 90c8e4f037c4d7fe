"""`placement-lint rule [CODE|NAME|--all]`: what a rule says, why, and what it does not flag."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from placement_lint.cli import streams
from placement_lint.cli.parser import USAGE_ERROR, Parser, add_color
from placement_lint.report.colour import Colours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.rules.base import Rule


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code."""
    parser = Parser(
        "placement-lint rule",
        description="Explain rules. Without an argument: list them.",
    )
    parser.add_argument("rules", nargs="*", metavar="CODE|NAME", help="the rules to explain")
    parser.add_argument("--all", action="store_true", help="explain every rule")
    parser.add_argument(
        "--output-format",
        choices=("text", "markdown", "json"),
        default="text",
        metavar="FORMAT",
        help="text, markdown or json",
    )
    add_color(parser)
    args = parser.parse_mixed(arguments, "rules")
    if args.all and args.rules:
        parser.error("--all explains every rule: name none beside it")

    from placement_lint.rules.registry import all_rules

    known = all_rules()
    rules = [_find(word, known, parser) for word in args.rules] or list(known)
    colours = Colours(streams.use_colour(args.color, sys.stdout, os.environ))
    try:
        streams.write(_rendered(rules, args.output_format, colours, pages=args.all or args.rules))
    except streams.OutputError as error:
        streams.complain(f"error: {error}")
        return USAGE_ERROR
    return 0


def _find(word: str, known: Sequence[type[Rule]], parser: Parser) -> type[Rule]:
    from placement_lint.config.values import nearest

    for rule in known:
        if word.upper() == rule.code or word.lower() == rule.name:
            return rule
    near = nearest(word.upper(), [rule.code for rule in known]) or nearest(
        word.lower(), [rule.name for rule in known]
    )
    hint = f"; did you mean `{near}`?" if near else ""
    return parser.error(f"unknown rule `{word}`{hint}")


def _rendered(rules: list[type[Rule]], form: str, colours: Colours, *, pages: bool) -> str:
    if form == "json":
        import json

        return json.dumps([_as_json(rule) for rule in rules], indent=2) + "\n"
    if not pages:
        return _table(rules, colours) if form == "text" else _markdown_table(rules)
    if form == "markdown":
        return "\n".join(_markdown(rule) for rule in rules)
    rule_off = "\n" + "-" * 72 + "\n\n"
    return rule_off.join(_text(rule, colours) for rule in rules)


def _as_json(rule: type[Rule]) -> dict[str, Any]:
    from placement_lint.files.records import proved_on
    from placement_lint.report.json import RULE_URL

    found = proved_on(rule.code)
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": _summary(rule),
        "severity": rule.severity.value,
        "fix": None if rule.fix is None else rule.fix.value,
        "pedantic": rule.pedantic,
        "documentation": _page(rule),
        "url": RULE_URL + rule.name,
        "proved": None if found is None else found.as_json(),
    }


def _table(rules: list[type[Rule]], colours: Colours) -> str:
    width = max(len(rule.name) for rule in rules)
    return "".join(
        f"{colours.bad(rule.code)}  {rule.name:<{width}}  {_fix_mark(rule):<7}  {_summary(rule)}\n"
        for rule in rules
    )


def _markdown_table(rules: list[type[Rule]]) -> str:
    rows = [
        f"| {rule.code} | {rule.name} | {_fix_mark(rule)} | {_summary(rule)} |" for rule in rules
    ]
    return "\n".join(["| code | name | fix | what |", "|---|---|---|---|", *rows]) + "\n"


def _markdown(rule: type[Rule]) -> str:
    return f"# {rule.name} ({rule.code})\n\n{_facts(rule)}\n\n{_page(rule)}\n{_proved(rule)}"


def _text(rule: type[Rule], colours: Colours) -> str:
    lines = [colours.bold(f"{rule.name} ({rule.code})"), _facts(rule), ""]
    in_code = False
    for line in _page(rule).split("\n"):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif in_code:
            lines.append(f"    {line}".rstrip())
        elif line.startswith("## "):
            lines.append(colours.help(line[3:]))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n" + _proved(rule)


def _proved(rule: type[Rule]) -> str:
    """Say on which JAX its proof held; nothing where no record knows the proof as it is."""
    from placement_lint.files.records import proved_on

    found = proved_on(rule.code)
    if found is None:
        return ""
    sentence = found.sentence()
    return f"\n{sentence[0].upper()}{sentence[1:]}.\n"


def _facts(rule: type[Rule]) -> str:
    how = {
        None: "no fix",
        "safe": "fixed by --fix",
        "unsafe": "fixed by --fix --unsafe-fixes",
        "display": "its fix is shown, never applied",
    }
    facts = [rule.severity.value, how[None if rule.fix is None else rule.fix.value]]
    if rule.pedantic:
        facts.append("off unless selected")
    return ", ".join(facts)


def _fix_mark(rule: type[Rule]) -> str:
    return "" if rule.fix is None else rule.fix.value


def _summary(rule: type[Rule]) -> str:
    return " ".join(_page(rule).split("\n\n")[0].split())


def _page(rule: type[Rule]) -> str:
    """Give a rule's docstring without the indentation that the class gives it."""
    first, _, rest = (rule.__doc__ or "").strip("\n").partition("\n")
    return f"{first.strip()}\n{textwrap.dedent(rest)}".strip()

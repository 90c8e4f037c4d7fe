"""`placement-lint rule [RULE ...]`: what a rule says, why, and what it does not flag."""

from __future__ import annotations

import os
import sys

from placement_lint.cli import streams
from placement_lint.report.colour import Colours
from placement_lint.rules.pages import all_pages, find_page

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from placement_lint.cli.parser import Parser
    from placement_lint.rules.pages import Page

_USAGE_ERROR = 2


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code."""
    if len(arguments) == 1 and not arguments[0].startswith("-"):
        # What people ask for: it needs no parser of options, which takes longer than all of it.
        return _show(_find(arguments[0]), "text", "auto", pages=True)
    parser = _parser()
    args = parser.parse_mixed(arguments, "rules")
    if args.all and args.rules:
        parser.error("--all explains every rule: it cannot be combined with others")
    pages = [page for word in args.rules for page in _find(word)] or all_pages()
    return _show(pages, args.output_format, args.color, pages=args.all or bool(args.rules))


def _show(rules: list[Page], form: str, color: str, *, pages: bool) -> int:
    colours = Colours(streams.use_colour(color, sys.stdout, os.environ))
    try:
        streams.write(_rendered(rules, form, colours, pages=pages))
    except streams.OutputError as error:
        streams.fail(str(error))
        return _USAGE_ERROR
    return 0


def _parser() -> Parser:
    from placement_lint.cli.parser import Parser, add_color

    parser = Parser(
        "placement-lint rule",
        description="Explain rules. Without an argument: list them.",
    )
    parser.add_argument(
        "rules", nargs="*", metavar="RULE", help="codes, prefixes of codes, names or ALL"
    )
    parser.add_argument("--all", action="store_true", help="explain every rule")
    parser.add_argument(
        "--output-format",
        choices=("text", "markdown", "json"),
        default="text",
        metavar="FORMAT",
        help="text, markdown or json",
    )
    add_color(parser)
    return parser


def _find(word: str) -> list[Page]:
    """Return the rules of a code, the beginning of one, a name or ALL; end the run for others."""
    page = find_page(word)
    if page is not None:
        return [page]
    known = all_pages()
    upper = word.upper()
    is_prefix = upper.startswith("JDP")
    return (
        [page for page in known if page.is_called(word)]
        or [page for page in known if upper == "ALL" or (is_prefix and page.code.startswith(upper))]
        or _fail(word, known)
    )


def _fail(word: str, known: list[Page]) -> NoReturn:
    from placement_lint.config.suggest import nearest, nearest_code

    near = nearest_code(word.upper(), [page.code for page in known]) or nearest(
        word.lower(), [page.name for page in known]
    )
    hint = f"did you mean `{near}`?" if near else "`placement-lint rule` lists the rules"
    _parser().error(f"unknown rule `{word}`; {hint}")


def _rendered(rules: list[Page], form: str, colours: Colours, *, pages: bool) -> str:
    if form == "json":
        import json

        return json.dumps([_as_json(rule) for rule in rules], indent=2) + "\n"
    if not pages:
        return _table(rules, colours) if form == "text" else _markdown_table(rules)
    if form == "markdown":
        return "\n".join(_markdown(rule) for rule in rules)
    rule_off = "\n" + "-" * 72 + "\n\n"
    return rule_off.join(_text(rule, colours) for rule in rules)


def _as_json(rule: Page) -> dict[str, Any]:
    from placement_lint.report.site import rule_url
    from placement_lint.rules.proof_records import VIRTUAL, proved_on

    found = [proved.as_json() for proved in proved_on(rule.code)]
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "severity": rule.severity,
        "fix": rule.fix,
        "pedantic": rule.pedantic,
        "documentation": rule.text,
        "url": rule_url(rule.code),
        "proved": next((each for each in found if each["devices"] == VIRTUAL), None),
        "proved_on_accelerators": [each for each in found if each["devices"] != VIRTUAL],
    }


def _table(rules: list[Page], colours: Colours) -> str:
    width = max(len(rule.name) for rule in rules)
    return "".join(
        f"{colours.bad(rule.code)}  {rule.name:<{width}}  {_fix_mark(rule):<7}  {rule.summary}\n"
        for rule in rules
    )


def _markdown_table(rules: list[Page]) -> str:
    rows = [f"| {rule.code} | {rule.name} | {_fix_mark(rule)} | {rule.summary} |" for rule in rules]
    return "\n".join(["| code | name | fix | what |", "|---|---|---|---|", *rows]) + "\n"


def _markdown(rule: Page) -> str:
    return f"# {rule.name} ({rule.code})\n\n{_facts(rule)}\n\n{rule.text}\n{_proved(rule)}"


def _text(rule: Page, colours: Colours) -> str:
    lines = [colours.bold(f"{rule.name} ({rule.code})"), _facts(rule), ""]
    in_code = False
    for line in rule.text.split("\n"):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif in_code:
            lines.append(f"    {line}".rstrip())
        elif line.startswith("## "):
            lines.append(colours.help(line[3:]))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n" + _proved(rule)


def _proved(rule: Page) -> str:
    """Return on which JAX its proof held; empty if no record has the proof as it is now."""
    from placement_lint.rules.proved import kept_sentence

    sentence = kept_sentence(rule.code)
    return "" if sentence is None else f"\n{sentence[0].upper()}{sentence[1:]}.\n"


def _facts(rule: Page) -> str:
    how = {
        None: "no fix",
        "safe": "fixed by --fix",
        "unsafe": "fixed by --fix --unsafe-fixes",
        "display": "display-only fix",
    }
    facts = [rule.severity, how[rule.fix]]
    if rule.pedantic:
        facts.append("off unless selected")
    return ", ".join(facts)


def _fix_mark(rule: Page) -> str:
    return rule.fix or ""

"""What the README and the changelog say of the rules: `python -m tests.readme` writes it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from placement_lint.rules.registry import all_rules

README = Path(__file__).parents[1] / "README.md"
CHANGELOG = README.with_name("CHANGELOG.md")
_RULES = re.compile(r"^- Rules: [^.]*\.\n", re.MULTILINE)
BEGIN, END = "<!-- rules: begin -->\n", "<!-- rules: end -->\n"


def table() -> str:
    """Give the rows, by code: what a rule finds is the first paragraph of its page."""
    rows = ["| code | name | what | fix |", "|---|---|---|---|"]
    for rule in all_rules():
        summary = " ".join((rule.__doc__ or "").split("\n\n")[0].split()).rstrip(".")
        level = "none" if rule.fix is None else rule.fix.value
        fix = "display-only" if level == "display" else level
        name = f"{rule.name} *" if rule.pedantic else rule.name
        rows.append(f"| {rule.code} | {name} | {summary} | {fix} |")
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """Give the README's text with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def with_rules(text: str) -> str:
    """Give the changelog's text with the rules of the version that is not yet released.

    Once it is, its list is history: the text is given as it is.
    """
    if "(unreleased)" not in text.partition("\n## ")[2].partition("\n")[0]:
        return text
    names = "Rules: " + ", ".join(rule.code for rule in all_rules()) + "."
    lines = textwrap.wrap(names, 100, initial_indent="- ", subsequent_indent="  ")
    return _RULES.sub("\n".join(lines) + "\n", text, count=1)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    CHANGELOG.write_text(with_rules(CHANGELOG.read_text(encoding="utf-8")), encoding="utf-8")

"""The README's table of rules, made from the rules: `python -m tests.readme` writes it."""

from __future__ import annotations

from pathlib import Path

from placement_lint.rules.registry import all_rules

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- rules: begin -->\n", "<!-- rules: end -->\n"


def table() -> str:
    """Give the rows, by code: what a rule finds is the first paragraph of its page."""
    rows = ["| code | name | what | fix |", "|---|---|---|---|"]
    for rule in all_rules():
        summary = " ".join((rule.__doc__ or "").split("\n\n")[0].split()).rstrip(".")
        fix = "none" if rule.fix is None else rule.fix.value
        rows.append(f"| {rule.code} | {rule.name} | {summary} | {fix} |")
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """Give the README's text with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")

"""What each rule needs of a file, kept in `prefilter/needed.txt`.

`python -m placement_lint.rules.needed` writes it again, after a change of what a rule needs.
"""

from __future__ import annotations

from placement_lint.prefilter import NEEDED_FILE
from placement_lint.prefilter.conditions import Never
from placement_lint.prefilter.written_needs import write_needs
from placement_lint.rules.registry import all_rules


def lines() -> str:
    """Return what the file is to hold: for each rule that is on by default, what it needs."""
    rules = [
        rule for rule in all_rules() if not rule.pedantic and not isinstance(rule.needs, Never)
    ]
    written = write_needs(rule.needs for rule in rules)
    return "".join(
        f"{rule.code}\t{rule.__module__}\t{need}\n"
        for rule, need in zip(rules, written, strict=True)
    )


if __name__ == "__main__":
    with open(NEEDED_FILE, "w", encoding="utf-8", newline="\n") as kept:
        kept.write(lines())

"""The rules' pages: the docstring, on which JAX it was reproduced, and the proof."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import placement_lint.rules
from placement_lint.config.options import BY_NAME
from placement_lint.lint.suppressions.comments import NEVER_SILENT
from placement_lint.rules.proof_records import proof_path, proved_on, sentence

if TYPE_CHECKING:
    from placement_lint.rules.pages import Page
    from placement_lint.rules.proof_records import Proved

_SETTING = re.compile(r"`(?:--)?([a-z]+(?:-[a-z]+)*)(?: = \w+)?`")
_FIXES = {
    None: "none",
    "safe": "safe: made by `--fix`",
    "unsafe": "unsafe: made by `--fix --unsafe-fixes`",
    "display": "display-only: shown, never made",
}


def address(code: str) -> str:
    """Give the place of a rule's page among the sources of the site."""
    return f"rules/{code}.md"


def page(rule: Page) -> str:
    """Give the Markdown of one rule's page."""
    runs = "only when selected" if rule.pedantic else "by default"
    facts = [
        "| severity | fix | runs | since |",
        "|---|---|---|---|",
        f"| {rule.severity} | {_FIXES[rule.fix]} | {runs} | {_since(rule.code)} |",
    ]
    parts = [f"# {rule.name} ({rule.code})", "\n".join(facts), rule.text]
    parts += [
        "## How to suppress it",
        _suppression(rule),
        "## Settings that matter",
        _settings(rule),
    ]
    proved = proved_on(rule.code)
    if proved:
        said = sentence(proved)
        parts += ["## Reproduced on", f"{said[0].upper()}{said[1:]}.", *map(_matrix, proved)]
    parts += ["## The proof", _proof(rule.code)]
    return "\n\n".join(parts) + "\n"


@functools.cache
def _changes() -> str:
    return (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")


def _since(code: str) -> str:
    """Return the version whose changes name a rule first."""
    versions = re.split(r"^## (\S+)", _changes(), flags=re.MULTILINE)
    naming = [
        name for name, text in zip(versions[1::2], versions[2::2], strict=True) if code in text
    ]
    return naming[-1]


def _suppression(rule: Page) -> str:
    if rule.code in NEVER_SILENT:
        return (
            "No comment suppresses it: what was not checked must be seen. Files that need not be "
            "checked are excluded by [`extend-exclude`](../settings.md#extend-exclude)."
        )
    return (
        "On one line, in one file, or in files that match a pattern; "
        "[Suppressions](../suppressions.md) has the other ways.\n\n"
        f"```text\n# noqa: {rule.code}\n# placement-lint: ignore[{rule.name}] a reason\n"
        f"# placement-lint: ignore-file[{rule.name}] a reason\n```\n\n"
        f'```toml title="pyproject.toml"\n[tool.placement-lint.per-file-ignores]\n'
        f'"tests/**" = ["{rule.code}"]\n```'
    )


def _settings(rule: Page) -> str:
    names = ["extend-select" if rule.pedantic else "ignore", "severity"]
    if rule.fix in {"safe", "unsafe"}:
        names.append("unfixable")
    if rule.fix == "safe":
        names.append("extend-unsafe-fixes")
    if rule.fix == "unsafe":
        names += ["unsafe-fixes", "extend-safe-fixes"]
    names += [name for name in ("target-jax", "accelerator") if name in _SETTING.findall(rule.text)]
    lines = [f"- [`{name}`](../settings.md#{name}): {BY_NAME[name].help}" for name in names]
    return "\n".join(lines)


def _matrix(proved: Proved) -> str:
    said = {
        **dict.fromkeys(proved.proved, "reproduced"),
        **dict.fromkeys(proved.failed, "**not reproduced**"),
        **dict.fromkeys(proved.skipped, "no claim"),
    }
    versions = sorted(said, key=lambda version: [int(part) for part in version.split(".")])
    return "\n".join(
        [
            "| JAX | " + " | ".join(versions) + " |",
            "|---|" + "---|" * len(versions),
            f"| {proved.on} | " + " | ".join(said[version] for version in versions) + " |",
        ]
    )


def _proof(code: str) -> str:
    text = Path(proof_path(code)).read_text(encoding="utf-8").rstrip("\n")
    return (
        f"`placement-lint verify {code}` runs this: what `observe` looks for must be seen in "
        "`hazard`, and be gone in `fixed`.\n\n"
        f'````python title="fixtures/{code}/proof.py"\n{text}\n````'
    )


def families(rules: list[Page]) -> dict[str, list[Page]]:
    """Give the rules by what their family is about: the first sentence of its folder."""
    about = dict(_families())
    found: dict[str, list[Page]] = {}
    for rule in rules:
        found.setdefault(about[rule.code[:4]], []).append(rule)
    return found


def _families() -> list[tuple[str, str]]:
    """Read `JDP2: commitment.` in each folder."""
    said = []
    for path in Path(placement_lint.rules.__file__).parent.glob("*/__init__.py"):
        first = path.read_text(encoding="utf-8").split('"""')[1]
        prefix, _, about = " ".join(first.split()).partition(": ")
        said.append((prefix, f"{prefix}: {about.rstrip('.')}"))
    return said


def index(rules: list[Page]) -> str:
    """Give the tables of all rules, one for each family."""
    parts = []
    for about, members in families(rules).items():
        rows = ["| code | name, and what is found | severity | fix |", "|---|---|---|---|"]
        for rule in members:
            name = f"**{rule.name}**" + " \\*" * rule.pedantic
            link = f"[{rule.code}]({rule.code}.md)"
            what = f"{name}<br>{rule.summary.rstrip('.')}"
            rows.append(f"| {link} | {what} | {rule.severity} | {rule.fix or 'none'} |")
        parts += [f"## {about}", "\n".join(rows)]
    return "\n\n".join(parts)

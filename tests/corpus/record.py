"""What was accepted for each package, and how what is found now differs from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.corpus.packages import FIXTURES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.corpus.look import Looked

RECORD = FIXTURES / "records" / "corpus.json"


def read_record(path: Path = RECORD) -> dict[str, Any]:
    """Give what was accepted, by package and version; nothing where there is no record yet."""
    if not path.exists():
        return {}
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def write_record(accepted: Mapping[str, Any], path: Path = RECORD) -> None:
    """Replace what was accepted."""
    text = json.dumps(accepted, indent=1, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")


def differences(
    accepted: Mapping[str, Any] | None, now: Looked, messages: Mapping[str, str]
) -> Iterator[str]:
    """Say in a line each what is found now and was not, what was and is not, and which fixes
    give something else.
    """
    if accepted is None:
        yield "! nothing was accepted for this version yet"
        accepted = {"files": now.files, "findings": {}, "fixes": {}, "left": 0}
    if accepted["files"] != now.files:
        yield f"! {now.files} files, and {accepted['files']} when it was accepted"
    before = accepted["findings"]
    yield from sorted(f"+ {messages[mark]}" for mark in now.findings if mark not in before)
    yield from sorted(f"- {before[mark]}" for mark in before if mark not in now.findings)
    for path in sorted({*now.fixes, *accepted["fixes"]}):
        if now.fixes.get(path) != accepted["fixes"].get(path):
            how = "is fixed otherwise" if path in accepted["fixes"] else "is fixed now"
            yield f"~ {path} {how if path in now.fixes else 'is not fixed any more'}"
    if now.left != accepted["left"]:
        yield f"~ {now.left} findings are left after fixing, and {accepted['left']} were"

"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import copy
import pickle
import re
import types
from typing import Any

from placement_lint.syntax.late_patterns import LatePattern, patterns_compiled_late


def compiled_by(module: str, text: str = r"(a)|b", flags: int = re.IGNORECASE) -> Any:
    """Give what a module gets that compiles a pattern."""
    scope = vars(types.ModuleType(module)) | {"re": re}
    with patterns_compiled_late():
        exec(f"found = re.compile({text!r}, {flags})", scope)  # noqa: S102
    return scope["found"]


def test_a_late_pattern_does_what_a_pattern_does() -> None:
    late, pattern = compiled_by("placement_lint.x"), re.compile(r"(a)|b", re.IGNORECASE)
    assert isinstance(late, LatePattern)
    assert late.flags == pattern.flags
    assert late.pattern == pattern.pattern
    assert late.sub("-", "xAbc") == pattern.sub("-", "xAbc") == "x--c"
    assert [each.span() for each in late.finditer("cab")] == [(1, 2), (2, 3)]
    assert vars(late)["sub"] == late.sub
    for same in (copy.deepcopy(late), pickle.loads(pickle.dumps(late))):  # noqa: S301
        assert same == pattern


def test_patterns_of_others_are_compiled_at_once() -> None:
    assert type(compiled_by("placement_linter")) is re.Pattern
    assert type(compiled_by("libcst")) is re.Pattern


def test_nothing_is_left_of_a_block() -> None:
    before = re.compile
    with patterns_compiled_late(), patterns_compiled_late():
        assert re.compile is not before
    assert re.compile is before

"""What rules need is kept as text: it is what the rules say, and is evaluated like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from placement_lint.files.test_paths import is_module_path
from placement_lint.prefilter import NEEDED_FILE, conditions
from placement_lint.prefilter.conditions import (
    AllOf,
    AnyOf,
    FileText,
    Needs,
    Never,
    Pattern,
    Placed,
    Says,
    Uses,
    Word,
)
from placement_lint.prefilter.written_needs import read_needs, write_needs
from placement_lint.rules.needed import lines
from placement_lint.rules.registry import all_rules
from tests.fixture_cases import all_cases

BY_DEFAULT = [r for r in all_rules() if not (r.pedantic or isinstance(r.needs, Never))]


def test_what_is_kept_is_what_the_rules_need() -> None:
    kept = Path(NEEDED_FILE).read_text(encoding="utf-8")
    assert kept == lines(), "run: python -m placement_lint.rules.needed"
    assert [line[:6] for line in kept.splitlines()] == [rule.code for rule in BY_DEFAULT]


def write_need(need: Needs) -> str:
    return write_needs([need])[0]


def read_need(line: str) -> Needs:
    return read_needs([line])[0]


@pytest.mark.parametrize("rule", BY_DEFAULT, ids=lambda rule: rule.code)
def test_what_is_read_is_what_was_written(rule: type) -> None:
    written = write_need(rule.needs)  # type: ignore[attr-defined]
    assert write_need(read_need(written)) == written


def test_what_is_read_together_is_what_was_written_together() -> None:
    written = write_needs(rule.needs for rule in BY_DEFAULT)
    assert write_needs(read_needs(written)) == written
    assert sum(map(len, written)) < sum(len(write_need(rule.needs)) for rule in BY_DEFAULT) / 1.5


def test_the_texts_of_each_rule_meet_what_is_read() -> None:
    """So they do the condition that it was written of, whatever was worked out in that before."""
    needs = read_needs(write_needs(rule.needs for rule in BY_DEFAULT))
    read = {rule.code: need for rule, need in zip(BY_DEFAULT, needs, strict=True)}
    checked = 0
    for case in all_cases():
        data = case.before.text.encode()
        text = FileText(data, jax=b"jax" in data)
        for number, rule in enumerate(BY_DEFAULT):
            if rule.code == case.code or number % 16 == checked % 16:
                assert read[rule.code].met_by(text) == rule.needs.met_by(text), case.name
        checked += 1
    assert checked > 1_000


def test_what_asks_for_a_path_is_asked_with_it() -> None:
    need = read_need(write_need(AllOf(b"x", Placed(is_module_path))))
    assert need.met_by(FileText(b"x", jax=False, path="a.py"))
    assert not need.met_by(FileText(b"x", jax=False, path="tests/a.py"))
    with pytest.raises(TypeError, match="no condition can have a function"):
        write_need(Placed(lambda _: False))


def test_what_comes_again_is_written_once() -> None:
    many = Uses(*(f"jax.numpy.name{number}" for number in range(100)))
    once, twice = write_need(AnyOf(many, Says("a"))), write_need(AnyOf(many, AllOf(many, b"x")))
    assert len(twice) < len(once) + 200
    again = read_need(twice)
    assert isinstance(again, AnyOf)
    assert isinstance(again.needs[1], AllOf)
    assert again.needs[1].needs[0] is again.needs[0]
    both = read_needs(write_needs([many, AnyOf(many, b"x")]))
    assert isinstance(both[1], AnyOf)
    assert both[1].needs[0] is both[0]


def test_what_cannot_be_written_is_said() -> None:
    class Odd(Needs):
        def __init__(self) -> None:
            self.kind = object()

        def met_by(self, text: FileText) -> bool:
            return bool(text.data)

    with pytest.raises(TypeError, match="no condition can have a object"):
        write_need(Odd())
    with pytest.raises(TypeError):
        read_need('"text"')


def test_every_attribute_is_kept() -> None:
    need = Pattern(rb"a\xff|b", word=b"ab", ignore_case=True)
    assert isinstance(need, Pattern)
    read = read_need(write_need(need))
    for text in (b"xAB\n", b"b\n", b"aB"):
        said = FileText(text, jax=False)
        assert read.met_by(said) == need.met_by(said)
    assert read_need(write_need(Word(b"\xff"))) == Word(b"\xff")
    assert {*vars(conditions)} >= {"AllOf", "Uses"}

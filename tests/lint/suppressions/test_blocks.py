"""Comments that silence from one line to another."""

from __future__ import annotations

import pytest

from placement_lint import lint_source

PUT = "jax.device_put(x, d)\n"
HEAD = "import jax\n\nx, d = jax.numpy.zeros(8), jax.devices('cpu')[0]\n"
OFF, ON = "# placement-lint: off[JDP204]\n", "# placement-lint: on\n"


def found(text: str) -> list[tuple[str, int]]:
    return [(each.code, each.span.line) for each in lint_source(HEAD + text)]


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        (f"{OFF}{PUT}{PUT}{ON}{PUT}", [("JDP204", 8)]),
        (f"{PUT}{OFF}{PUT}{PUT}", [("JDP204", 4)]),
        (f"# placement-lint: off[device-put-discarded] why\n{PUT}", []),
        (f"# placement-lint: off[JDP2]\n{PUT}{ON}{OFF}{PUT}", []),
        (f"{OFF}# placement-lint: off[JDP205, JDP204]\n{PUT}", []),
        (f"# placement-lint: off[JDP301]\n{PUT}", [("JDP204", 5)]),
        # Not alone on its line, in a string, or without saying what.
        (f"y = 1  {OFF}{PUT}", [("JDP204", 5)]),
        (f'"""\n{OFF}"""\n{PUT}', [("JDP204", 7)]),
        (f"# placement-lint: off\n{PUT}", [("JDP904", 4), ("JDP204", 5)]),
        (f"{ON}{PUT}", [("JDP204", 5)]),
        (f"{OFF}def f():\n    {PUT}    {ON}    {PUT}", [("JDP204", 8)]),
    ],
)
def test_from_off_to_on(text: str, findings: list[tuple[str, int]]) -> None:
    assert [each for each in found(text) if each[0] != "JDP902"] == findings


def test_one_of_no_rule_is_said() -> None:
    assert ("JDP904", 4) in found(f"# placement-lint: off[JDP999]\n{ON}")


def test_many_blocks_take_no_longer() -> None:
    assert found(OFF * 3000 + PUT + ON + PUT)[-1] == ("JDP204", 3000 + 6)

"""Which comments silence which findings."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest

from placement_lint.files.source import Cell, Source
from placement_lint.lint.check_file import editor_of, lint_source
from placement_lint.lint.suppressions.comments import Suppressions
from placement_lint.syntax.edits import Editor
from tests.lint.helpers import DevicesFlagged, PutFlagged, options, source

HEAD = "from jax import device_put, devices\n"


def codes(text: str) -> list[str]:
    """Give the codes of what is still found, in order."""
    text = HEAD + textwrap.dedent(text)
    result = lint_source(source(text), options(PutFlagged, DevicesFlagged))
    assert result.parsed
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NoQA",
        "# noqa: JDP801",
        "# noqa:JDP801,E501",
        "#noqa:JDP801,E501",
        "# noqa: E501, JDP801",
        "# noqa: E501 JDP801",
        "# noqa: jdp801",
        "# noqa: JDP8",
        "# noqa: because",
        "# type: ignore # noqa: JDP801",
        "# noqa: JDP801 a reason",
        "# placement-lint: ignore[JDP801]",
        "# placement-lint: ignore[jdp801] reason",
        "# placement-lint: ignore[put-flagged]",
        "# placement-lint: ignore[E501, put-flagged]",
        "# placement-lint: ignore[JDP]",
        "# placement-lint: ignore[JDP8]",
        "# placement-lint: ignore[JDP80]",
        "#placement-lint:ignore[JDP801]",
        "# noqa: E501  # placement-lint: ignore[JDP801]",
    ],
)
def test_comment_at_the_end_of_the_line(comment: str) -> None:
    assert codes("device_put(1)") == ["JDP801"]
    assert codes(f"device_put(1)  {comment}") == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: JDP812",
        "# noqa: JDP9",
        "# placement-lint: ignore",
        "# placement-lint: ignore[]",
        "# placement-lint: ignore[JDP812]",
        "# placement-lint: ignore[devices-flagged]",
        "# placement-lint: ignore[put]",
        "# placement-lint: ignore[J]",
        "# placement-lint: ignored[JDP801]",
        "# placement-lint: ignore-file[JDP801]",
        "# no qa",
    ],
)
def test_comment_that_does_not_name_the_rule(comment: str) -> None:
    assert codes(f"device_put(1)  {comment}") == ["JDP801"]


def test_only_what_is_named_is_silenced() -> None:
    assert codes("device_put(devices())  # noqa: JDP801") == ["JDP812"]
    assert codes("device_put(devices())  # placement-lint: ignore[devices-flagged]") == ["JDP801"]
    assert codes("device_put(devices())  # noqa") == []


@pytest.mark.parametrize("quote", ['"', "'''"])
def test_a_string_is_no_comment(quote: str) -> None:
    assert codes(f"device_put({quote}# noqa{quote})") == ["JDP801"]
    assert codes(f"device_put(1); x = {quote}# placement-lint: ignore[JDP801]{quote}") == ["JDP801"]


def test_string_over_several_lines_is_no_comment() -> None:
    text = '''
        device_put("""
        # noqa
        """)
        x = """
        # placement-lint: ignore-file[JDP801]
        """
    '''
    assert codes(text) == ["JDP801"]


MULTI_LINE = """
    x = [  {first}
        1,
        device_put(1),  {own}
        2,  {middle}
    ]  {last}
    y = 1  {after}
"""


@pytest.mark.parametrize(
    ("place", "silent"),
    [("first", True), ("own", True), ("middle", False), ("last", True), ("after", False)],
)
@pytest.mark.parametrize("comment", ["# noqa: JDP801", "# placement-lint: ignore[JDP801]"])
def test_lines_of_a_long_statement(place: str, silent: bool, comment: str) -> None:
    comments = {**dict.fromkeys(("first", "own", "middle", "last", "after"), ""), place: comment}
    assert codes(MULTI_LINE.format(**comments)) == ([] if silent else ["JDP801"])


def test_own_line_above() -> None:
    assert codes("# placement-lint: ignore[JDP801]\ndevice_put(1)") == []
    assert codes("# placement-lint: ignore[JDP801]\nx = (\n    device_put(1)\n)") == []
    # A comment of flake8's holds for its own line only.
    assert codes("# noqa\ndevice_put(1)") == ["JDP801"]


def test_several_comment_lines_above() -> None:
    text = """
        # placement-lint: ignore[JDP801] the loader is slow
        # placement-lint: ignore[JDP812]
        # and so is this
        device_put(devices())
    """
    assert codes(text) == []


def test_own_line_above_does_not_reach_over_a_blank_line_or_code() -> None:
    assert codes("# placement-lint: ignore[JDP801]\n\ndevice_put(1)") == ["JDP801"]
    assert codes("# placement-lint: ignore[JDP801]\nx = 1\ndevice_put(1)") == ["JDP801"]


def test_own_line_inside_a_statement_says_nothing_of_the_next() -> None:
    text = """
        x = (
            1
            # placement-lint: ignore[JDP801]
        )
        device_put(1)
    """
    assert codes(text) == ["JDP801"]


def test_comment_in_an_indented_block() -> None:
    text = """
        def f():
            if True:
                # placement-lint: ignore[JDP801]
                device_put(1)
            device_put(2)
    """
    assert codes(text) == ["JDP801"]


def test_header_of_a_compound_statement() -> None:
    text = """
        with open(
            device_put(1)
        ) as f:  # noqa: JDP801
            device_put(2)
    """
    assert codes(text) == ["JDP801"]
    assert codes("if device_put(1):  # noqa\n    device_put(2)") == ["JDP801"]
    assert codes("if device_put(1):\n    pass  # noqa") == ["JDP801"]
    assert codes("# placement-lint: ignore[JDP801]\nfor x in device_put(1):\n    pass") == []


@pytest.mark.parametrize(
    "text",
    [
        "if x:\n    pass\nelif (\n    device_put(1)\n):  # noqa\n    pass",
        "while (\n    device_put(1)\n):  # noqa\n    pass\nelse:\n    pass",
        "try:\n    pass\nexcept (\n    device_put(1)\n):  # noqa\n    pass",
        "match (\n    device_put(1)\n):  # noqa\n    case 1:\n        pass",
        "match x:\n    case y if (\n        device_put(1)\n    ):  # noqa\n        pass",
        "def f(\n    x=device_put(1),\n):  # noqa\n    pass",
        "class C(\n    device_put(1),\n):  # noqa\n    pass",
        "async def f():\n    async with (\n        device_put(1)\n    ):  # noqa\n        pass",
    ],
)
def test_last_line_of_every_kind_of_header(text: str) -> None:
    assert codes(text) == []
    assert codes(text.replace("  # noqa", "")) == ["JDP801"]


def test_one_line_body() -> None:
    assert codes("if x: device_put(1)  # noqa") == []
    assert codes("if device_put(0): device_put(1)  # noqa") == []


def test_decorators() -> None:
    text = """
        # placement-lint: ignore[JDP801]
        @wraps
        @other(device_put(1)){}
        # placement-lint: ignore[JDP801]
        def f(x=device_put(2)):
            device_put(3)
    """
    assert codes(text.format("  # noqa")) == ["JDP801"]
    # The first comment is above the statement, the second above the line of its `def`; neither
    # is above the second decorator, which is a line of its own.
    assert codes(text.format("")) == ["JDP801", "JDP801"]


def test_comment_above_the_decorators_is_above_the_statement() -> None:
    text = """
        # placement-lint: ignore[JDP801]
        @wraps
        def f(x=device_put(2)):
            device_put(3)
    """
    assert codes(text) == ["JDP801"]


def test_semicolons() -> None:
    assert codes("device_put(1); device_put(2)  # noqa") == []
    # The first statement ends on the line on which the second one begins.
    assert codes("device_put(\n1); device_put(\n2)  # noqa") == ["JDP801"]


def test_backslashes() -> None:
    assert codes("x = 1 + \\\n    device_put(1) + \\\n    2  # noqa") == []
    assert codes("# placement-lint: ignore[JDP801]\nx = 1 + \\\n    device_put(1)") == []


def test_nested_functions_and_lambdas() -> None:
    text = """
        def outer():  # noqa
            def inner():
                return lambda: (
                    device_put(1)
                )  # noqa
            return device_put(2)
    """
    assert codes(text) == ["JDP801"]


def test_whole_file() -> None:
    assert codes("device_put(devices())\n# placement-lint: ignore-file[JDP801]\n") == ["JDP812"]
    assert codes("if x:\n    # placement-lint: ignore-file[put-flagged]\n    device_put(1)") == []
    assert codes("device_put(1)\nx = 1  # placement-lint: ignore-file[JDP801]\n") == ["JDP801"]


def test_crlf_and_tabs() -> None:
    text = HEAD + "if x:\n\tdevice_put(\n\t\t1)  # noqa\n\tdevice_put(2)\n"
    result = lint_source(source(text.replace("\n", "\r\n")), options(PutFlagged))
    assert [finding.span.line for finding in result.findings] == [5]


def test_cells_of_a_notebook() -> None:
    text = "from jax import device_put\ndevice_put(1)\ndevice_put(2)  # noqa\n"
    cells = (Cell(2, 1, 1), Cell(5, 2, 2))
    result = lint_source(Source("a.ipynb", text, cells=cells), options(PutFlagged))
    assert [(finding.cell, finding.span.line) for finding in result.findings] == [(5, 1)]


@pytest.mark.parametrize("comment", ["# noqa", "# placement-lint: ignore-file[JDP9]"])
def test_what_was_not_analysed_is_said_whatever_the_file_says(comment: str) -> None:
    result = lint_source(source(f"{comment}\nx = (  {comment}\n"), options(PutFlagged))
    assert [finding.code for finding in result.findings] == ["JDP901"]


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("# noqa", ""),
        ("# noqa: JDP801", ""),
        ("# noqa: JDP801 warms up", "warms up"),
        ("# noqa: because", "because"),
        ("# placement-lint: ignore[JDP801] warms up # type: ignore", "warms up"),
        ("# placement-lint: ignore[JDP801]: warms up", "warms up"),
        ("# noqa: JDP801  # placement-lint: ignore[JDP801] warms up", "warms up"),
    ],
)
def test_what_is_silenced_is_kept_with_the_reason(comment: str, reason: str) -> None:
    text = HEAD + f"device_put(1)  {comment}\ndevice_put(2)\n"
    result = lint_source(source(text), options(PutFlagged, DevicesFlagged))
    assert [finding.span.line for finding in result.findings] == [3]
    (silent,) = result.suppressed
    assert (silent.finding.code, silent.finding.span.line) == ("JDP801", 2)
    assert silent.reason == reason


def test_nothing_is_kept_that_would_not_have_been_said() -> None:
    text = source(HEAD + "device_put(1)  # noqa\n")
    asked = options(PutFlagged, DevicesFlagged)
    assert lint_source(text, replace(asked, respect_suppressions=False)).suppressed == ()
    assert lint_source(text, asked).suppressed != ()


def test_what_may_not_be_silenced_is_not() -> None:
    """Whoever asks about a finding of the tool itself is told that no comment covers it."""
    opened = editor_of(source(HEAD + "device_put(1)  # noqa\n"))
    assert isinstance(opened, Editor)
    (finding,) = lint_source(source(HEAD + "device_put(1)\n"), options(PutFlagged)).findings
    suppressions = Suppressions(opened)
    assert suppressions.covers(finding)
    failed = replace(finding, code="JDP903")
    assert not suppressions.covers(failed)
    spoken, silent = suppressions.apply([finding, failed])
    assert (spoken, [each.finding for each in silent]) == ([failed], [finding])

"""Comments that are added for what is found: the next run is clean, and nothing else changes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from placement_lint.files.opening import decode, open_source
from placement_lint.files.store import FileStore
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.lint.suppressions.add_noqa import (
    ReasonError,
    checked_reason,
    silence,
    silence_files,
)
from placement_lint.lint.suppressions.comments import NEVER_SILENT
from placement_lint.rules.registry import all_rules
from tests.fixture_cases import all_cases
from tests.lint.fixes.test_notebook_cells import notebook

if TYPE_CHECKING:
    from pathlib import Path

    from placement_lint.findings import Finding

OPTIONS = FileOptions(tuple(rule for rule in all_rules() if not rule.pedantic), sight=Sight.WHOLE)
HEAD = "import jax\nd = jax.devices()[0]\n"


def found(data: bytes, path: str = "s.py") -> tuple[Finding, ...]:
    return lint_source(open_source(path, data), OPTIONS).findings


def silenced(data: bytes, path: str = "s.py", reason: str = "") -> bytes:
    """Silence what is found; check that nothing is found afterwards, whatever is added then."""
    findings = [each for each in found(data, path) if each.code not in NEVER_SILENT]
    result = silence(path, FileStore({path: data}), findings, reason)
    after = data if result is None else result.after
    store = FileStore({path: after})
    assert [each.code for each in found(after, path) if each.code not in NEVER_SILENT] == []
    assert silence(path, store, [], reason) is None
    again = silence(path, store, findings, reason) if findings and after == data else None
    assert again is None
    return after


def text(lines: str, reason: str = "") -> str:
    return silenced((HEAD + lines).encode(), reason=reason).decode().removeprefix(HEAD)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("jax.device_put([], d)\n", "jax.device_put([], d)  # noqa: JDP204\n"),
        ("jax.device_put([], d)", "jax.device_put([], d)  # noqa: JDP204"),
        ("jax.device_put([], d)  \n", "jax.device_put([], d)  # noqa: JDP204\n"),
        ("jax.device_put([], d)  # why\n", "jax.device_put([], d)  # why  # noqa: JDP204\n"),
        (
            "jax.device_put([], d)  # type: ignore\n",
            "jax.device_put([], d)  # type: ignore  # noqa: JDP204\n",
        ),
        ("jax.device_put([], d)  # noqa: E501\n", "jax.device_put([], d)  # noqa: E501, JDP204\n"),
        (
            "jax.device_put([], d)  # noqa:E501,W291 because\n",
            "jax.device_put([], d)  # noqa:E501,W291, JDP204 because\n",
        ),
        # This one silences everything, for flake8 and ruff too.
        ("jax.device_put([], d)  # NoQA : E501\n", "jax.device_put([], d)  # NoQA : E501\n"),
        (
            "jax.device_put([], d); jax.device_put([], d)\n",
            "jax.device_put([], d); jax.device_put([], d)  # noqa: JDP204\n",
        ),
        (
            "jax.device_put(\n    [],\n    d,\n)\n",
            "jax.device_put(  # noqa: JDP204\n    [],\n    d,\n)\n",
        ),
        (
            "jax.device_put('''a\nb''', d)\n",
            "jax.device_put('''a\nb''', d)  # noqa: JDP204\n",
        ),
        (
            "jax.device_put('''# noqa\nb\nc''',\n  d)\n",
            "jax.device_put('''# noqa\nb\nc''',  # noqa: JDP204\n  d)\n",
        ),
        (
            "jax \\\n  .device_put([], \\\n   d)\n",
            "jax \\\n  .device_put([], \\\n   d)  # noqa: JDP204\n",
        ),
        (
            "jax.device_put(f'''{d}\n{1}''' \\\n + '''\n''', d)\n",
            "jax.device_put(f'''{d}\n{1}''' \\\n + '''\n''', d)  # noqa: JDP204\n",
        ),
        (
            "x = 1 ; \\\njax.device_put(x, d)\n",
            "x = 1 ; \\\njax.device_put(x, d)  # noqa: JDP204\n",
        ),
        (
            "if d:\n\tjax.device_put([], d)\n",
            "if d:\n\tjax.device_put([], d)  # noqa: JDP204\n",
        ),
    ],
)
def test_where_a_comment_goes(before: str, after: str) -> None:
    assert text(before) == after


def test_codes_of_one_line_are_one_comment() -> None:
    lines = "jax.default_device = jax.device_put([], d); jax.device_put([], d)\n"
    codes = sorted({each.code for each in found((HEAD + lines).encode())})
    assert len(codes) > 1
    assert text(lines) == f"{lines[:-1]}  # noqa: {', '.join(codes)}\n"


@pytest.mark.parametrize(
    ("reason", "written"),
    [
        ("", "# noqa: JDP204"),
        ("  known ", "# noqa: JDP204 known"),
        ("see JAX-12", "# noqa: JDP204 see JAX-12"),
        # flake8 and ruff would take these for codes.
        ("v2 mends it", "# noqa: JDP204 (v2 mends it)"),
        (", E1", "# noqa: JDP204 (, E1)"),
        ("später", "# noqa: JDP204 später"),
    ],
)
def test_reasons(reason: str, written: str) -> None:
    call = "jax.device_put([], d)"
    assert text(f"{call}\n", checked_reason(reason)) == f"{call}  {written}\n"
    more = text(f"{call}  # noqa: E501\n", checked_reason(reason))
    assert more == f"{call}  {written.replace('JDP204', 'E501, JDP204')}\n"
    kept = text(f"{call}  # noqa: E501 long\n", checked_reason(reason))
    assert kept == f"{call}  # noqa: E501, JDP204 long\n"


@pytest.mark.parametrize("reason", ["two\nlines", "a # b", "bell\a"])
def test_what_is_no_reason(reason: str) -> None:
    with pytest.raises(ReasonError, match="one line of text"):
        checked_reason(reason)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_bytes(newline: str, encoding: str) -> None:
    cookie = "# -*- coding: latin-1 -*-\n" if encoding == "latin-1" else ""
    before = f"{cookie}{HEAD}x = 'é'\njax.device_put('é', d)\ny = 1\n".replace("\n", newline)
    after = before.replace("d)", "d)  # noqa: JDP204")
    assert silenced(before.encode(encoding)) == after.encode(encoding)


def test_a_reason_that_the_encoding_does_not_have(tmp_path: Path) -> None:
    data = f"# -*- coding: latin-1 -*-\n{HEAD}jax.device_put([], d)\n".encode("latin-1")
    path = tmp_path / "s.py"
    path.write_bytes(data)
    done, skipped = silence_files(found(data, str(path)), FileStore(), "ō")
    assert done == []
    assert [each.reason for each in skipped] == [
        "not silenced: its encoding (iso-8859-1) cannot hold the reason"
    ]


PUT = HEAD + "jax.device_put([], d)\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (PUT.replace("\n", "\r").encode(), "its line ends (carriage returns) or form feeds"),
        # Another spelling of the same sign, which encoding it does not give.
        (b"# coding: cp932\n# \xee\xf9\n" + PUT.encode(), "cp932 does not give its bytes back"),
    ],
)
def test_bytes_that_would_be_lost(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "s.py"
    path.write_bytes(data)
    findings = found(data, str(path))
    assert [each.code for each in findings] == ["JDP204"]
    done, skipped = silence_files(findings, FileStore())
    assert done == []
    assert [each.path for each in skipped] == [str(path)]
    assert skipped[0].reason.startswith(f"not silenced: {reason}")


def test_a_file_that_has_become_something_else(tmp_path: Path) -> None:
    path = tmp_path / "s.py"
    findings = found(PUT.encode(), str(path))
    done, skipped = silence_files(findings, FileStore())
    assert (done, [each.path for each in skipped]) == ([], [str(path)])
    path.write_text(PUT + ")\n")
    done, skipped = silence_files(findings, FileStore())
    assert done == []
    assert skipped[0].reason.startswith("not silenced: invalid syntax")
    # Whoever is there already, and silences all rules, needs no help.
    path.write_text(PUT.replace("[], d)", "[], d)  # noqa"))
    assert silence_files(findings, FileStore()) == ([], [])


def test_notebooks() -> None:
    before = notebook(
        HEAD, "%matplotlib inline\njax.device_put([], d)\n!ls", "%time jax.default_device(d)"
    )
    after = silenced(before, "n.ipynb")
    cells = [
        "".join(cell["source"])
        for cell in json.loads(after)["cells"]
        if cell["cell_type"] == "code"
    ]
    assert cells == [
        HEAD,
        "%matplotlib inline\njax.device_put([], d)  # noqa: JDP204\n!ls",
        "%time jax.default_device(d)  # noqa: JDP102",
    ]
    # The outputs hold the same text, and stay.
    assert json.loads(after)["cells"][3]["outputs"] == json.loads(before)["cells"][3]["outputs"]
    assert len(after) - len(before) == 2 * len("  # noqa: JDP204")


def test_scripts_in_cells() -> None:
    before = f"# %%\n!ls\n{HEAD}# %%\n%time jax.default_device(d)\njax.device_put([], d)\n!ls\n"
    after = silenced(before.encode()).decode()
    expected = before.replace("t([], d)", "t([], d)  # noqa: JDP204")
    assert after == expected.replace("ce(d)", "ce(d)  # noqa: JDP102")


def test_what_was_not_analysed_is_not_silenced() -> None:
    data = b"import jax\njax.device_put([], d\n"
    findings = found(data)
    assert [each.code for each in findings] == ["JDP901"]
    assert silence_files(findings, FileStore()) == ([], [])


def without_comments(text: str) -> str:
    """Take out what silencing adds."""
    text = re.sub(r"  # noqa: JDP\d{3}(?:, JDP\d{3})*$", "", text, flags=re.MULTILINE)
    return re.sub(r"(# noqa:[^\n]*?)(?:, JDP\d{3})+", r"\1", text)


@pytest.mark.parametrize(
    ("newline", "first", "step"),
    [
        ("\n", 0, 90),
        ("\r\n", 2, 100),
        pytest.param("\n", 0, 1, marks=pytest.mark.every),
        pytest.param("\r\n", 0, 1, marks=pytest.mark.every),
    ],
)
def test_every_fixture_is_clean_afterwards(
    subtests: pytest.Subtests, newline: str, first: int, step: int
) -> None:
    """A share of them; `pytest -m every tests/lint/suppressions/test_add_noqa.py` takes all."""
    counted = 0
    cases = [case for case in all_cases() if case.kind == "hazards"][first::step]
    for case in cases:
        before = case.before.text.replace("\n", newline)
        with subtests.test(case.id):
            after = silenced(before.encode()).decode()
            if before != after:
                counted += 1
                assert len(after.split(newline)) == len(before.split(newline))
            if "noqa" not in before.lower():
                stripped = [line.rstrip() for line in before.split("\n")]
                told = without_comments(after.replace("\r", "")).split("\n")
                assert [line.rstrip() for line in told] == stripped
    assert counted > 0.8 * len(cases)


@pytest.mark.every
def test_files_are_as_they_were_for_the_tokenizer() -> None:
    from tests.variants import Layout

    checked = 0
    for case in [case for case in all_cases() if case.kind == "hazards"][::9]:
        after = decode("s.py", silenced(case.before.text.encode())).text
        try:
            before_lines = Layout(case.before.text).logical_lines
        except (SyntaxError, ValueError):
            continue
        assert Layout(after).logical_lines == before_lines
        checked += 1
    assert checked > 50

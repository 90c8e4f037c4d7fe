"""Scripts in cells (`# %%`), with the real rules."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from placement_lint import lint_source
from placement_lint.config.settings import Settings
from placement_lint.files.opening import decode
from placement_lint.lint.file_results import FileOptions, FileResult, Sight
from placement_lint.lint.fixes.apply import fix_source
from placement_lint.lint.linter import Linter
from placement_lint.rules.registry import all_rules

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = FileOptions(tuple(rule for rule in all_rules() if not rule.pedantic), sight=Sight.WHOLE)

DISCARDED = """\
# %% [markdown]
# # Training
# Never write `jax.device_put(x, d)` alone.

# %%
%matplotlib inline
!pip install -U jax
import jax
d = choose()

# %%
%time jax.default_device(d)
x = jax.numpy.ones(3)
jax.device_put(x, d)
x += 1
"""


def found(text: str, path: str = "s.py") -> list[tuple[int, int, str]]:
    return [(f.span.line, f.span.column, f.code) for f in lint_source(text, path)]


def fixed(text: str, *, unsafe: bool = False) -> tuple[str, FileResult]:
    source = decode("s.py", text.encode())
    result = fix_source(source, OPTIONS, unsafe=unsafe)
    after = result.source.to_bytes().decode()
    again = fix_source(decode("s.py", after.encode()), OPTIONS, unsafe=unsafe)
    assert again.source.to_bytes().decode() == after
    return after, result.result


def test_findings_stand_where_they_are() -> None:
    assert found(DISCARDED) == [(12, 7, "JDP102"), (14, 1, "JDP204")]


def test_without_cells_it_is_no_python() -> None:
    assert [code for *_, code in found(DISCARDED.replace("# %%", "# --"))] == ["JDP901"]


def test_fixes_leave_what_only_ipython_understands() -> None:
    after, result = fixed(DISCARDED)
    assert after == DISCARDED.replace("\njax.device_put(x, d)", "\nx = jax.device_put(x, d)")
    assert [f.span.line for f in result.findings] == [12]


def test_as_the_command_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from placement_lint.cli import main

    monkeypatch.chdir(tmp_path)
    data = DISCARDED.replace("\n", "\r\n").encode()
    (tmp_path / "s.py").write_bytes(data)
    assert main(["s.py", "--fix", "-q"]) == 1
    expected = data.replace(b"\njax.device_put(x, d)", b"\nx = jax.device_put(x, d)")
    assert (tmp_path / "s.py").read_bytes() == expected


def test_a_diff_shows_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from placement_lint.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.py").write_text(DISCARDED, encoding="utf-8")
    assert main(["s.py", "--diff", "-q"]) == 1
    diff = capsys.readouterr().out
    assert " %time jax.default_device(d)\n x = jax.numpy.ones(3)\n-jax.device_put(x, d)\n" in diff
    subprocess.run(["git", "apply", "-"], input=diff.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "s.py").read_text(encoding="utf-8") == fixed(DISCARDED)[0]


def test_standard_input() -> None:
    outcome, _ = Linter(lambda _: Settings()).check_text("s.py", DISCARDED.encode())
    assert [f.span.line for f in outcome.findings] == [12, 14]


def test_cells_are_one_module_in_order() -> None:
    text = (
        "# %%\nimport jax\nimport jax.numpy as jnp\ncpu = jax.devices('cpu')[0]\n"
        "# %%\nwith jax.default_device(cpu):\n    tokens = jnp.zeros(8)\n"
        "# %%\n%time first = tokens[0]\n"
    )
    assert found(text) == [(9, 15, "JDP201")]
    # What is commented out is not run, here as in any script.
    assert found(text.replace("%time first", "# %time first")) == []


def test_markdown_cells_and_docstrings_are_text() -> None:
    code = "import jax\njax.device_put(x, d)\n"
    quoted = "".join(f"# {line}\n" for line in code.splitlines())
    assert found(f"# %% [markdown]\n{quoted}# ```python\n{quoted}# ```\n# %%\nimport jax\n") == []
    assert found(f'# %% [markdown]\n"""\n{code}"""\n# %%\nimport jax\n') == []
    assert found(f'"""Docs.\n\n>>> import jax\n>>> jax.device_put(x, d)\n\n{code}"""\n') == []
    assert found(f'import jax\n\ndef f():\n    """\n{code}    """\n') == []


BLOCK = """\
# %%
import jax
cpu = jax.devices("cpu")[0]
# %%
jax.default_device = cpu
x = jax.numpy.zeros(3)
# %%
y = x + 1
jax.default_device = None
"""


@pytest.mark.parametrize("marker", ["# %%", "#%% next", "# In[2]:"])
def test_no_block_goes_over_the_beginning_of_a_cell(marker: str) -> None:
    text = BLOCK.replace("# %%", marker)
    after, _ = fixed(text, unsafe=True)
    assert after.count(f"\n{marker}\n") == text.count(f"\n{marker}\n")
    assert after.startswith(marker)
    for cell in after.split(marker):
        compile(cell, "cell", "exec")


def test_the_same_block_where_there_are_no_cells() -> None:
    # That the test above has something to see.
    after, _ = fixed(BLOCK.replace("# %%", "# --"), unsafe=True)
    assert "with jax.default_device(cpu):\n" in after
    assert "\n    # --\n" in after


def test_a_module_that_nobody_imports(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("", encoding="utf-8")
    text = "import jax.numpy as jnp\n\n# %%\nMASK = jnp.ones(8)\n"
    path = str(tmp_path / "explore.py")
    assert found(text, path) == []
    assert [code for *_, code in found(text.replace("# %%", "# --"), path)] == ["JDP503"]


@pytest.mark.parametrize(
    "needless", ["x = 1  # noqa: JDP204", "x = 1  # placement-lint: ignore[JDP204]"]
)
def test_comments_are_taken_out_and_magics_stay(needless: str) -> None:
    text = f"# %%\n!ls\nimport jax\n# %%\n{needless}\n"
    after, result = fixed(text)
    assert after == "# %%\n!ls\nimport jax\n# %%\nx = 1\n"
    assert result.findings == ()


def test_frames_show_what_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from placement_lint.cli import main

    path = tmp_path / "s.py"
    path.write_text(DISCARDED, encoding="utf-8")
    main([str(path), "--output-format", "full", "-q"])
    assert "12 | %time jax.default_device(d)" in capsys.readouterr().out

"""By what code anything can be known to be an array of JAX."""

from placement_lint.files.source import Source
from placement_lint.jaxmodel.transfer import ROWS
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.prefilter.array_names import MAKES_ARRAYS
from placement_lint.prefilter.conditions import FileText
from placement_lint.rules.registry import rule_by_code

OPTIONS = FileOptions((rule_by_code("JDP303"), rule_by_code("JDP601")), sight=Sight.WHOLE)
HEAD = "import jax\nimport jax.numpy as jnp\nimport numpy\n\n"
USES = """\
made = {name}(given)
print(made.layout, {name}([1.0, 2.0], 1).layout, {name}(numpy.load(path)).layout)
print(made.device == "cpu")
"""


def found(text: str) -> list[str]:
    source = Source("case.py", HEAD + text)
    return [finding.code for finding in lint_source(source, OPTIONS).findings]


def test_no_function_of_numpy_makes_one() -> None:
    """Whatever the transfer table says of it, and whether or not the filter lets the file pass."""
    names = sorted(row.name for row in ROWS if row.name.startswith("numpy."))
    assert len(names) > 100
    assert found("".join(USES.format(name=name) for name in names)) == []
    assert found(USES.format(name="jnp.squeeze")) == ["JDP601", "JDP601", "JDP601", "JDP303"]
    words = FileText("\n".join(["import numpy", *names]).encode(), jax=True)
    assert not MAKES_ARRAYS.met_by(words)
    assert MAKES_ARRAYS.met_by(FileText(b"import jax\njax.numpy.squeeze(x)\n", jax=True))

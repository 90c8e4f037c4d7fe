"""What every rule has: a page in fixed sections, a name that reads well, fixtures, a proof."""

import ast
import inspect
import re
import sys

import pytest

from placement_lint.files.source import Source
from placement_lint.findings import Applicability, Finding, Severity
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.prefilter.conditions import FileText, Needs
from placement_lint.rules.base import SECTIONS, Rule
from placement_lint.rules.registry import all_rules, rule_by_code
from placement_lint.rules.selection import matching_codes
from tests.fixture_cases import FIXTURES, all_cases
from tests.new_rule import FAMILIES

RULES = all_rules()
CODE_RULES = [rule for rule in RULES if not rule.code.startswith("JDP9")]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
every_code_rule = pytest.mark.parametrize("rule", CODE_RULES, ids=lambda rule: rule.code)

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def page(rule: type[Rule]) -> str:
    return inspect.cleandoc(rule.__doc__ or "")


def section(rule: type[Rule], name: str) -> str:
    parts = _HEADING.split(page(rule))
    return dict(zip(parts[1::2], parts[2::2], strict=True))[name].strip()


def blocks(rule: type[Rule], name: str) -> list[tuple[str, str]]:
    return [(m["language"], m["text"]) for m in _BLOCK.finditer(section(rule, name))]


def lint(text: str, rules: tuple[type[Rule], ...] = RULES) -> list[Finding]:
    chosen = tuple(rule for rule in rules if not rule.pedantic or len(rules) == 1)
    return list(lint_source(Source("example.py", text), FileOptions(chosen)).findings)


def test_there_are_rules() -> None:
    assert len(CODE_RULES) >= 10
    assert [rule.code for rule in RULES] == sorted({rule.code for rule in RULES})
    assert len({rule.name for rule in RULES}) == len(RULES)


# -- the page -----------------------------------------------------------------------------------


def the_page_has_its_sections_in_order(rule: type[Rule]) -> None:
    assert tuple(_HEADING.findall(page(rule))) == SECTIONS
    for name in SECTIONS:
        assert len(section(rule, name)) > 8, name
    claim = page(rule).split("\n\n")[0]
    assert claim.endswith(".")
    assert claim[0].isupper() or claim.startswith("`")
    assert max(map(len, page(rule).split("\n"))) <= 100


@every_code_rule
def test_the_example_is_flagged(rule: type[Rule]) -> None:
    examples = blocks(rule, "Example")
    assert examples
    for language, text in examples:
        assert language == "python"
        rules = (rule,) if rule.pedantic else RULES
        assert rule.code in {finding.code for finding in lint(text, rules)}, text


@every_rule
def test_what_to_use_instead_is_silent(rule: type[Rule]) -> None:
    cures = blocks(rule, "Use instead")
    assert cures or rule.code.startswith("JDP9")
    for language, text in cures:
        if language == "python":
            assert lint(text) == [], text


@every_code_rule
def test_the_example_becomes_what_to_use_instead(rule: type[Rule]) -> None:
    """Where there is a fix for the example at all, it leads out of the finding."""
    (_, text), *_ = blocks(rule, "Example")
    fixes = [f.fix for f in lint(text, (rule,)) if f.fix is not None]
    if rule.fix is None:
        assert fixes == []
    else:
        assert {fix.applicability for fix in fixes} <= {rule.fix, *_weaker(rule.fix)}


def _weaker(level: Applicability) -> list[Applicability]:
    order = [Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY]
    return order[order.index(level) + 1 :]


# -- the rule -----------------------------------------------------------------------------------


def the_name_reads_after_allow(rule: type[Rule]) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert not re.match(r"(use|no|not|do-not|dont|avoid|prefer|missing|check)-", rule.name)
    assert rule.__name__ == "".join(part.capitalize() for part in rule.name.split("-"))


def the_rule_is_where_its_code_says(rule: type[Rule]) -> None:
    *_, family, module = rule.__module__.split(".")
    assert family == FAMILIES[rule.code[3]]
    assert module == rule.name.replace("-", "_")
    assert re.fullmatch(r"JDP\d{3}", rule.code)
    assert matching_codes(rule.code) == matching_codes(rule.name) == {rule.code}
    assert rule_by_code(rule.code) is rule


def the_rule_declares_its_filter_and_severity(rule: type[Rule]) -> None:
    assert isinstance(rule.needs, Needs)
    assert isinstance(rule.severity, Severity)
    assert not rule.needs.met_by(FileText(b"print('hello, world')\n", jax=False))


def the_rule_has_a_fix_or_says_why_not(rule: type[Rule]) -> None:
    text = section(rule, "Fix safety")
    if rule.fix is None:
        assert text.startswith("No fix")
    elif rule.fix is Applicability.DISPLAY:
        assert "shown" in text.lower() or "display" in text.lower()
    else:
        assert rule.fix.value in text.lower()


# -- the fixtures -------------------------------------------------------------------------------


def the_rule_has_fixtures_and_a_proof(rule: type[Rule]) -> None:
    folder = FIXTURES / rule.code
    wanted = {"proof.py"} if rule.code.startswith("JDP9") else {
        "clean.py", "hazards.py", "proof.py",
    }  # fmt: skip
    assert wanted <= {path.name for path in folder.glob("*.py")}


def test_there_are_no_fixtures_without_a_rule() -> None:
    folders = {path.name for path in FIXTURES.glob("JDP*")}
    assert folders == {rule.code for rule in RULES}


def shape(text: str) -> str:
    """Give the structure of a program: what is left without names, numbers and texts.

    Calls keep what they call, so that each creator, loader or context counts as a shape.
    """
    tree = ast.parse(text)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    parts: list[str] = []

    def walk(node: ast.AST) -> None:
        parts.append(type(node).__name__)
        if id(node) in called and isinstance(node, ast.Attribute):
            parts.append(node.attr)
        parts.append("(")
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context | ast.Import | ast.ImportFrom):
                walk(child)
        parts.append(")")

    walk(tree)
    return "".join(parts)


def test_shapes_see_structure_only() -> None:
    assert shape("import jax\nx = jax.f(1)") == shape("from a import b\ny = b.f('z')")
    assert shape("x = jax.f(1)") != shape("x = jax.g(1)")
    assert shape("x = jax.f(1)") != shape("if a:\n    x = jax.f(1)")


@every_code_rule
def test_there_are_many_cases_of_different_shapes(rule: type[Rule]) -> None:
    """At least eight hazards and twelve near-misses, half of that for a pedantic rule."""
    for kind, enough in (("hazards", 8), ("clean", 12)):
        wanted = enough // 2 if rule.pedantic else enough
        shapes = {
            shape(case.before.text)
            for case in all_cases()
            if (case.code, case.kind) == (rule.code, kind) and sys.version_info >= case.needs_python
        }
        assert len(shapes) >= wanted, kind


def the_rule_with_a_fix_has_a_case_in_which_it_is_applied(rule: type[Rule]) -> None:
    fixed = [
        case
        for case in all_cases()
        if case.code == rule.code
        for section in (case.becomes, case.becomes_unsafe)
        if section is not None and section.text != case.before.text
    ]
    can_be_applied = rule.fix in {Applicability.SAFE, Applicability.UNSAFE}
    assert bool(fixed) or not can_be_applied


def a_rule_that_asks_for_placements_says_that_it_follows_callers(rule: type[Rule]) -> None:
    # What is known of a parameter depends on files that import this one.
    module = sys.modules[rule.__module__]
    asks = ".flow" in inspect.getsource(module) or "rules.commitment.uncommitted_use" in "".join(
        getattr(value, "__module__", "") or "" for value in vars(module).values()
    )
    assert rule.follows_callers or not asks


# -- all of what takes no time -------------------------------------------------------------------

_OF_ALL = (
    the_page_has_its_sections_in_order,
    the_name_reads_after_allow,
    the_rule_is_where_its_code_says,
    the_rule_declares_its_filter_and_severity,
    the_rule_has_a_fix_or_says_why_not,
    the_rule_has_fixtures_and_a_proof,
)
_OF_CODE_RULES = (
    the_rule_with_a_fix_has_a_case_in_which_it_is_applied,
    a_rule_that_asks_for_placements_says_that_it_follows_callers,
)


@every_rule
def test_the_rule_is_whole(rule: type[Rule]) -> None:
    for aspect in (*_OF_ALL, *(_OF_CODE_RULES if rule in CODE_RULES else ())):
        aspect(rule)

"""Every case of the fixtures: as it stands, written in other ways, suppressed, and fixed.

`pytest -k JDP201` checks the cases of a rule; `pytest -m every -k JDP201` writes each of them in
every way, one at a time; by default a third of them are written in some ways at once.
"""

import ast
import functools
import io
import re
import runpy
import sys
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from placement_lint.files.source import Source
from placement_lint.files.store import FileStore
from placement_lint.findings import Applicability, Finding
from placement_lint.lint.check_file import lint_source, passes_filter
from placement_lint.lint.file_results import FileOptions, FileResult, Sight
from placement_lint.lint.fixes.apply import FixResult, fix_sources
from placement_lint.placement.flow import Flow
from placement_lint.prefilter.conditions import FileText, Never
from placement_lint.project.roots import mentions_roots
from placement_lint.rules.base import Rule
from placement_lint.rules.registry import all_rules, rule_by_code
from placement_lint.semantic.model import ModuleFacts
from placement_lint.syntax.deep_stack import run_deep
from tests.fixture_cases import FIXTURES, Annotated, Case, Expected, all_cases
from tests.import_styles import STYLES
from tests.share import Share
from tests.variants import Layout, Variant, is_whole_in_a_class, with_comment, with_crlf, wrapped

CASES = all_cases()
HAZARDS = [case for case in CASES if case.kind == "hazards"]
FIXABLE = [case for case in HAZARDS if case.becomes or case.becomes_unsafe]
PROOFS = sorted(path.parent.name for path in FIXTURES.glob("JDP*/proof.py"))

LINE_LENGTH = 100
"""What this project's own settings say, which hold for the cases too."""

FOLDERS: dict[str, list[Case]] = {}
for _case in CASES:
    FOLDERS.setdefault(f"{_case.code}/{_case.kind}", []).append(_case)
AT_ONCE = 40
"""So many cases are one test, unless they are asked for by name."""
every_case = pytest.mark.parametrize(
    ("number", "case"),
    [
        pytest.param(number, case, id=case.id)
        for cases in FOLDERS.values()
        for number, case in enumerate(cases)
    ],
)


@functools.cache
def default_rules() -> tuple[type[Rule], ...]:
    return tuple(rule for rule in all_rules() if not rule.pedantic)


def rules_for(code: str) -> tuple[type[Rule], ...]:
    """Give the default rules, and with them the rule that a text is about if it is pedantic."""
    rule = rule_by_code(code)
    return (*default_rules(), rule) if rule.pedantic else default_rules()


STORE = FileStore()
"""One for all texts, as in a run: the settings of the project are read once."""


@functools.lru_cache(maxsize=64)
def linted(source: Source, rules: tuple[type[Rule], ...]) -> FileResult:
    """Lint a text once for all that look at what is found in it."""
    return lint_source(source, FileOptions(rules, sight=Sight.WHOLE), store=STORE)


def lint(text: str, code: str) -> list[Finding]:
    """Lint a text, and see that each rule that finds something in it is let to look at it."""
    findings = list(linted(Source("case.py", text), rules_for(code)).findings)
    said = FileText(text.encode(), jax=mentions_roots(text.encode()), path="case.py")
    for rule in {rule_by_code(found.code) for found in findings}:
        assert isinstance(rule.needs, Never) or said.meets(rule.needs), (rule.code, text)
    return findings


@functools.lru_cache(maxsize=16)
def fix(
    text: str, code: str, *, unsafe: bool, rules: tuple[type[Rule], ...] | None = None
) -> FixResult:
    chosen = rules if rules is not None else rules_for(code)

    def each(sources: Mapping[str, Source]) -> dict[str, FileResult]:
        return {path: linted(source, chosen) for path, source in sources.items()}

    source = Source("case.py", text)
    return fix_sources({source.path: source}, each, unsafe={source.path: unsafe})[source.path]


def check(findings: list[Finding], expected: Annotated, variant: Variant | None = None) -> None:
    """Compare what was found with what is expected, leaving out what is known to be wrong."""
    move = variant.move if variant else lambda line, column: (line, column)
    undecided = {(move(line, None)[0], code) for line, code in expected.undecided}
    wanted = [(each, *move(each.line, each.column)) for each in expected.findings]
    got = Counter((each.span.line, each.code) for each in findings)
    due = Counter((line, each.code) for each, line, _ in wanted)
    places = sorted((got | due).keys() - undecided)
    assert {place: got[place] for place in places} == {place: due[place] for place in places}, (
        describe(findings, variant.text if variant else expected.text)
    )
    for each, line, column in wanted:
        here = [f for f in findings if (f.span.line, f.code) == (line, each.code)]
        if column is not None:
            assert column in {f.span.column for f in here}, (line, column, here)
        if each.text is not None:
            assert any(each.text in f.message for f in here), (line, each.text, here)


def describe(findings: Iterable[Finding], text: str) -> str:
    found = [f"{f.span.line}:{f.span.column} {f.code} {f.message}" for f in findings]
    lines = [f"{number:3} {line}" for number, line in enumerate(text.split("\n"), 1)]
    return "\n".join(["found:", *found, "in:", *lines])


# -- as it stands -------------------------------------------------------------------------------


def test_there_are_cases() -> None:
    assert len(HAZARDS) > 200
    assert len(CASES) - len(HAZARDS) > 200


def as_it_stands(case: Case, share: Share) -> None:
    findings = lint(case.before.text, case.code)
    check(findings, case.before)
    got = {(f.span.line, f.code) for f in findings}
    for each in case.before.missed:
        assert (each.line, each.code) not in got, f"no longer missed: {each}"
    for each in case.before.false_alarms:
        assert (each.line, each.code) in got, f"no longer a false alarm: {each}"
    assert [each for each in findings if not says_what_to_do(each)] == []


def says_what_to_do(finding: Finding) -> bool:
    return (finding.fix is None) == bool(finding.advice)


def it_is_a_program(case: Case, share: Share) -> None:
    if sys.version_info >= case.needs_python:
        for section in (case.before, case.becomes, case.becomes_unsafe):
            if section is not None:
                assert compiles(section.text)


# -- written another way ------------------------------------------------------------------------


_IN_A_CLASS, _IN_A_FUNCTION, _IN_A_BLOCK = "class Wrapped:", "def wrapped():", "if True:"
WRAPPINGS = {
    _IN_A_CLASS: "not in class",
    _IN_A_FUNCTION: "not in function",
    _IN_A_BLOCK: "not in block",
}
"""Each header, and the option of a case that is not to be put below it."""


def wrappings(case: Case, share: Share) -> list[str]:
    """Give the headers below which a case is put: those below which it means the same.

    By default it is put below the one whose turn it is, or the next one, in four cases of twelve.
    """
    if not share.every and _turn(share) > len(WRAPPINGS):
        return []

    def applies(header: str) -> bool:
        if WRAPPINGS[header] in case.options:
            return False
        # A star import is allowed at module level only.
        is_allowed = header == _IN_A_BLOCK or "import *" not in case.before.text
        return is_allowed and (header != _IN_A_CLASS or is_whole_in_a_class(case.before.text))

    return Share(_turn(share), every=share.every).of([*WRAPPINGS], applies)


def _turn(share: Share) -> int:
    """Give which of twelve a case is: all ways of a rule are among its first cases."""
    return share.number % 12


def restyled(case: Case, share: Share) -> Iterator[tuple[str, Variant]]:
    """Give the case with its imports written in other ways, of those that apply to it.

    By default one case in twelve has one.
    """
    if "not restyled" in case.options or not share.one_in(12):
        return
    for name in share.of([*STYLES], lambda name: styled(case.before.text, name) is not None):
        variant = styled(case.before.text, name)
        assert variant is not None
        yield name, variant


@functools.lru_cache(maxsize=16)
def styled(text: str, name: str) -> Variant | None:
    return STYLES[name](text)


def rewritten(case: Case, share: Share) -> Iterator[Variant]:
    """Give the case written in the ways whose turn it is: by default all of these in one text."""
    text = case.before.text
    variants = [variant for _, variant in restyled(case, share)]
    headers = wrappings(case, share)
    if share.every:
        yield from [*variants, *(wrapped(text, header) for header in headers), with_crlf(text)]
    elif variants or headers:
        variant = variants[0] if variants else Variant(text, lambda line, column: (line, column))
        for header in headers:
            variant = variant.then(wrapped(variant.text, header))
        yield variant.then(with_crlf(variant.text.rstrip("\n")))


def written_otherwise_it_is_found_too(case: Case, share: Share) -> None:
    for variant in rewritten(case, share):
        assert variant.text != case.before.text
        check(lint(variant.text, case.code), case.before, variant)


def the_file_filter_lets_it_through(case: Case, share: Share) -> None:
    texts = [case.before.text, with_crlf(case.before.text).text]
    texts += [wrapped(case.before.text, _IN_A_BLOCK).text]
    texts += [variant.text for _, variant in restyled(case, share)]
    for code in {expected.code for expected in case.before.findings}:
        rules = (rule_by_code(code),)
        for text in texts:
            data = text.encode()
            said = FileText(data, jax=mentions_roots(data))
            assert passes_filter(said, rules), (code, text)


# -- suppressed ---------------------------------------------------------------------------------


FORMS = ["# noqa: {code}", "# placement-lint: ignore[{code}] known"]


def each_finding_is_suppressed(case: Case, share: Share) -> None:
    if not share.one_in(3):
        return
    layout = Layout(case.before.text)
    targets = sorted({(each.line, each.code) for each in case.before.findings})
    tried = targets if share.every else targets[share.number % max(len(targets), 1) :][:1]
    for number, target in enumerate(tried, share.number):
        line, code = target
        same_statement = layout.logical_line(line)
        for form in Share(number, every=share.every).of(FORMS):
            text = with_comment(case.before.text, line, form.format(code=code))
            got = Counter((f.span.line, f.code) for f in lint(text, case.code))
            assert got[target] == 0, text
            for other in case.before.findings:
                is_beside = other.code == code and other.line in same_statement
                if not is_beside:
                    assert got[other.line, other.code] > 0, (target, other, text)


# -- fixed --------------------------------------------------------------------------------------


def fixing_gives_the_text_that_is_expected(case: Case, share: Share) -> None:
    for section, unsafe in ((case.becomes, False), (case.becomes_unsafe, True)):
        if section is not None:
            fixed = fix(case.before.text, case.code, unsafe=unsafe)
            assert fixed.text == section.text
            check(list(fixed.result.findings), section)
            assert all(map(says_what_to_do, fixed.result.findings))


def fixing_ends_keeps_comments_and_compiles(case: Case, share: Share) -> None:
    for unsafe in (False, True):
        check_fix(case, unsafe=unsafe)


def check_fix(case: Case, *, unsafe: bool) -> None:
    text = case.before.text
    first = fix(text, case.code, unsafe=unsafe)
    codes = {finding.code for finding in first.result.findings}
    assert "JDP903" not in codes, first.result.findings
    applied = {Applicability.SAFE} | ({Applicability.UNSAFE} if unsafe else set())
    left = [f for f in first.result.findings if f.fix and f.fix.applicability in applied]
    assert left == []
    if first.text != text:
        assert fix(first.text, case.code, unsafe=unsafe).text == first.text
        assert said(first.text) == said(text)
    assert compiles(first.text) or not compiles(text)
    if case.kind == "clean" and not case.before.false_alarms:
        assert first.text == text


_DIRECTIVE = re.compile(r"#\s*(noqa:\s?([A-Z]+[0-9]+[, ]*)+|placement-lint: .*)", re.IGNORECASE)


def said(text: str) -> list[str]:
    """Give what the comments say beside silencing rules."""
    comments = (_DIRECTIVE.sub("", comment).strip("# ") for comment in Layout(text).comments)
    return [comment for comment in comments if comment]


def fixed_written_otherwise_it_is_the_fixed_text_written_so(case: Case, share: Share) -> None:
    """In a block, without a line end, with CRLF: by default in all three at once, one in twelve."""
    ways = [_in_a_block, _without_a_line_end, _with_crlf]
    if _IN_A_BLOCK not in wrappings(case, share):
        ways.remove(_in_a_block)
    if share.every:
        for way in ways:
            check_fix_of(case, way)
    elif _turn(share) == _turn_of(_IN_A_BLOCK):
        check_fix_of(case, *ways)


def check_fix_of(case: Case, *ways: Callable[[str], str]) -> None:
    text, expected = case.before.text, fix(case.before.text, case.code, unsafe=True).text
    for way in ways:
        text, expected = way(text), way(expected)
    got = fix(text, case.code, unsafe=True).text
    if got != expected:
        # The block may have made a line of the fix too long, which is then split.
        assert _in_a_block in ways
        assert any(len(line) > LINE_LENGTH for line in expected.splitlines()), got
        assert ast.dump(ast.parse(got)) == ast.dump(ast.parse(expected))


def _in_a_block(text: str) -> str:
    return wrapped(text, _IN_A_BLOCK).text


def _without_a_line_end(text: str) -> str:
    return text.rstrip("\n")


def _with_crlf(text: str) -> str:
    return with_crlf(text).text


def _turn_of(header: str) -> int:
    return [*WRAPPINGS].index(header)


@functools.lru_cache(maxsize=16)
def compiles(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "case.py", "exec", dont_inherit=True)
        except SyntaxError:
            return False
    return True


# -- all of that --------------------------------------------------------------------------------

_OF_ALL = (
    as_it_stands,
    it_is_a_program,
    written_otherwise_it_is_found_too,
    fixing_gives_the_text_that_is_expected,
    fixing_ends_keeps_comments_and_compiles,
)
_OF_HAZARDS = (
    the_file_filter_lets_it_through,
    each_finding_is_suppressed,
    fixed_written_otherwise_it_is_the_fixed_text_written_so,
)


def check_all(case: Case, share: Share) -> None:
    # One after another: what is found in one text is looked at by several.
    for aspect in (*_OF_ALL, *(_OF_HAZARDS if case.kind == "hazards" else ())):
        aspect(case, share)


@pytest.mark.asked_for(by_name=True)
@every_case
def test_case(number: int, case: Case) -> None:
    """What every case gives and becomes; written otherwise in the ways whose turn it is, at once.

    `pytest -m every tests/test_fixtures.py` writes every case in every way.
    """
    run_deep(check_all, case, Share(number, every=False))


@pytest.mark.asked_for(by_name=False)
@pytest.mark.parametrize(
    ("folder", "first"),
    [
        pytest.param(folder, first, id=f"{folder}, from {first}")
        for folder, cases in FOLDERS.items()
        for first in range(0, len(cases), AT_ONCE)
    ],
)
def test_cases(subtests: pytest.Subtests, folder: str, first: int) -> None:
    """The same of some cases, of which only those that fail are reported one by one.

    A test for each of them takes a third longer; `-k` with a part of its name runs `test_case`.
    """
    for number, case in enumerate(FOLDERS[folder][first : first + AT_ONCE], first):
        try:
            test_case(number, case)
        except Exception:
            with subtests.test(case.id):
                raise


@pytest.mark.every
@every_case
def test_case_written_in_every_way(number: int, case: Case) -> None:
    check_all(case, Share(number, every=True))


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_sample_has_every_way_of_every_rule_in_it(folder: str) -> None:
    """What the default suite leaves out of a rule's cases, it does not leave out of the rule."""
    cases = FOLDERS[folder]
    shares = [Share(number, every=False) for number in range(len(cases))]
    every = {way for case in cases for way in wrappings(case, Share(0, every=True))}
    tried = {
        way for case, share in zip(cases, shares, strict=True) for way in wrappings(case, share)
    }
    # Few cases mean the same in a class: in small folders it may be the turn of none of them.
    assert every - tried <= {_IN_A_CLASS}


def test_the_sample_has_most_rules_in_a_class() -> None:
    tried = {
        case.code
        for cases in FOLDERS.values()
        for number, case in enumerate(cases)
        if _IN_A_CLASS in wrappings(case, Share(number, every=False))
    }
    assert len(tried) > len(PROOFS) * 0.8


def test_the_sample_has_every_import_style_in_it() -> None:
    cases = FOLDERS["JDP201/hazards"]
    tried = {
        name
        for number, case in enumerate(cases)
        for name, _ in restyled(case, Share(number, every=False))
    }
    assert tried == STYLES.keys()


# -- the proofs ---------------------------------------------------------------------------------


@functools.cache
def proof_text(code: str) -> str:
    return (FIXTURES / code / "proof.py").read_text(encoding="utf-8")


def function_lines(text: str, name: str) -> range:
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    pytest.fail(f"no function {name}")


def module_written_by(text: str, name: str) -> str | None:
    """Give the module that a function of a proof does nothing but return the text of."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name and len(node.body) == 1:
            (statement,) = node.body
            if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Constant):
                value = statement.value.value
                return value if isinstance(value, str) else None
    return None


def function_tokens(text: str, name: str) -> list[str]:
    """Give the tokens of a function without its name, comments and line breaks."""
    lines = function_lines(text, name)
    source = "\n".join(text.split("\n")[lines[0] - 1 : lines[-1]]) + "\n"
    blank = {tokenize.COMMENT, tokenize.NL}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    kept = [
        tokenize.tok_name[token.type] if not token.string.strip() else token.string
        for token in tokens
        if token.type not in blank
    ]
    assert kept[1] == name
    return [kept[0], *kept[2:]]


def linted_proofs() -> list[str]:
    """Give the proofs of the rules that read code; those of JDP9 lint programs of their own."""
    return [code for code in PROOFS if not code.startswith("JDP9")]


@pytest.mark.parametrize("code", linted_proofs())
def test_the_hazard_of_the_proof_is_flagged_and_its_fix_is_not(code: str) -> None:
    text = proof_text(code)
    written = {name: module_written_by(text, name) for name in ("hazard", "fixed")}
    if written["hazard"] is not None:
        # What the code under proof is a module for others to import.
        assert written["fixed"] is not None
        found = {
            name: {f.code for f in lint(module, code)} for name, module in written.items() if module
        }
        assert code in found["hazard"]
        assert code not in found["fixed"]
        return
    lines = {finding.span.line for finding in lint(text, code) if finding.code == code}
    assert lines & set(function_lines(text, "hazard"))
    assert not lines & set(function_lines(text, "fixed"))


@pytest.mark.parametrize("code", linted_proofs())
def test_fixing_the_hazard_of_the_proof_gives_its_fixed_text(code: str) -> None:
    rule = rule_by_code(code)
    if rule.fix not in {Applicability.SAFE, Applicability.UNSAFE}:
        pytest.skip(f"{code} has no fix that could be applied")
    text = proof_text(code)
    # A rule that has safe fixes may have none for what its proof shows.
    levels = {finding.fix.applicability for finding in lint(text, code) if finding.fix is not None}
    result = fix(text, code, unsafe=Applicability.UNSAFE in levels, rules=(rule,))
    assert function_tokens(result.text, "hazard") == function_tokens(result.text, "fixed")
    assert function_tokens(result.text, "fixed") == function_tokens(proof_text(code), "fixed")


def proofs_that_write() -> list[str]:
    """Give the rules about our own work whose findings have fixes."""
    levels = {Applicability.SAFE, Applicability.UNSAFE}
    return [code for code in PROOFS if code.startswith("JDP9") and rule_by_code(code).fix in levels]


@pytest.mark.parametrize("code", proofs_that_write())
def test_fixing_what_the_hazard_of_the_proof_writes_gives_what_its_fixed_writes(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = runpy.run_path(str(FIXTURES / code / "proof.py"))
    monkeypatch.chdir(tmp_path)
    texts = []
    for side in ("hazard", "fixed"):
        proof[side](None, None)
        texts.append(Path("train.py").read_text(encoding="utf-8"))
    before, after = texts
    assert before != after
    result = fix(before, code, unsafe=rule_by_code(code).fix is Applicability.UNSAFE)
    assert result.counts.keys() >= {code}
    assert result.text == after


def test_every_rule_that_mends_has_a_proof_of_it() -> None:
    levels = {Applicability.SAFE, Applicability.UNSAFE}
    mending = {rule.code for rule in all_rules() if rule.fix in levels}
    assert mending <= {*linted_proofs(), *proofs_that_write()}
    assert len(mending) > 20


# -- the reader of the format -------------------------------------------------------------------


def write(folder: Path, text: str, name: str = "hazards.py") -> Path:
    path = folder / "JDP204" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return folder


def test_the_format_is_read(tmp_path: Path) -> None:
    text = (
        "# For the reader.\n\n# case: one [not in class: because] [python 3.12: newer]\n"
        'f(x)  # error: JDP204:1 "moves", JDP201\n'
        "g()  # type: ignore  # todo-missed: JDP202\n\n"
        "# becomes (unsafe):\nx = f(x)\n# left\n\n# case: two\nf(x)  # error: JDP204, JDP204\n"
    )
    one, two = all_cases(write(tmp_path, text))
    assert one.before.text == "f(x)\ng()  # type: ignore\n"
    assert one.before.findings == (Expected(1, "JDP201"), Expected(1, "JDP204"))
    assert (one.before.findings[1].column, one.before.findings[1].text) == (1, "moves")
    assert one.before.missed == (Expected(2, "JDP202"),)
    assert one.options == {"not in class": "because", "python 3.12": "newer"}
    assert one.needs_python == (3, 12)
    assert one.becomes is None
    assert one.becomes_unsafe == Annotated("x = f(x)\n# left\n", ())
    assert two.before.findings == (Expected(1, "JDP204"), Expected(1, "JDP204"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hazards.py", "# case: Bad Name\nf()  # error: JDP204\n"),
        ("hazards.py", "# case: one\nf()\n"),
        ("hazards.py", "# case: one [never: no]\nf()  # error: JDP204\n"),
        ("hazards.py", "# case: one\nf()  # error: JDP204\n# case: one\nf()  # error: JDP204\n"),
        ("clean.py", "# case: one\nf()  # error: JDP204\n"),
    ],
    ids=["name", "nothing-expected", "option", "twice", "clean-with-finding"],
)
def test_what_the_format_does_not_allow_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ValueError, match="case"):
        all_cases(write(tmp_path, text, name))


@pytest.mark.sampled(one_in=16)
@pytest.mark.parametrize(
    "case",
    # Which comments silence nothing depends on the rules that are selected.
    [each for each in HAZARDS if each.code != "JDP902"],
    ids=lambda case: case.id,
)
def test_each_rule_finds_alone_what_it_finds_beside_others(case: Case) -> None:
    """A rule that asks for an execution must not rely on another one that has asked before.

    By default for one case in eight; for all with `pytest -m every -k finds_alone tests`.
    """
    together = lint(case.before.text, case.code)
    only = (rule_by_code(case.code),)
    alone = linted(Source("case.py", case.before.text), only).findings
    found = {(f.span.line, f.span.column) for f in alone if f.code == case.code}
    assert {(f.span.line, f.span.column) for f in together if f.code == case.code} <= found


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if not rule.follows_arrays])
def test_a_rule_that_follows_no_arrays_has_nothing_executed(
    rule: type[Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then files need not be executed together for it. Of other rules' cases it sees a sample."""

    def executed(facts: ModuleFacts) -> Flow:
        raise AssertionError("it asks where arrays are")

    monkeypatch.setattr(ModuleFacts, "flow", property(executed))
    cases = [case for case in CASES if case.code == rule.code] + CASES[::100]
    for case in cases:
        found = linted(Source("case.py", case.before.text), (rule,)).findings
        assert not [each for each in found if each.code == "JDP903"]

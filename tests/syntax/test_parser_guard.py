"""What the guard lets through is parsed, what it refuses is named, and nothing makes it fail."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_lint.syntax.parser_guard import (
    DEFAULT_LIMITS,
    Excess,
    Extent,
    ParserLimits,
    TooDeep,
    measure,
    too_deep,
)

if TYPE_CHECKING:
    from collections.abc import Callable

BOUNDLESS = ParserLimits(*[10**15] * 7)


def nested(opening: str, closing: str) -> Callable[[int], str]:
    return lambda size: f"x = {opening * size}a{closing * size}\n"


def chain(separator: str, term: str = "a") -> Callable[[int], str]:
    return lambda size: f"x = {separator.join([term] * (size + 1))}\n"


def patterns(opening: str, closing: str) -> Callable[[int], str]:
    return lambda size: f"match a:\n    case {opening * size}b{closing * size}:\n        pass\n"


def elifs(size: int) -> str:
    return "if a:\n    pass\n" + "elif a:\n    pass\n" * size


def blocks(head: str) -> Callable[[int], str]:
    return lambda size: (
        "".join(" " * level + head + "\n" for level in range(size)) + " " * size + "pass\n"
    )


BRACKETS: dict[str, Callable[[int], str]] = {
    "parentheses": nested("(", ")"),
    "lists": nested("[", "]"),
    "sets": nested("{", "}"),
    "mappings": nested("{a: ", "}"),
    "tuples": nested("(", ",)"),
    "calls": nested("f(", ")"),
    "keyword calls": nested("f(a=", ")"),
    "subscripts": nested("a[", "]"),
    "slices": nested("a[a:", "]"),
    "comprehensions": nested("[", " for a in b]"),
    "generators in calls": nested("f(a for a in ", ")"),
    "lambdas in parentheses": nested("(lambda: ", ")"),
    "lambda defaults": lambda size: f"x = {'lambda a=(' * size}a{'): a' * size}\n",
    "f-strings": nested("f'{", "}'"),
    "format specifications": lambda size: f"x = f'{'{a:' * size}{'}' * size}'\n",
    "targets": lambda size: f"{'[' * size}a{']' * size} = b\n",
    "deletions": lambda size: f"del {'(' * size}a{')' * size}\n",
    "decorator": lambda size: f"@{'f(' * size}{')' * size}\ndef f(): pass\n",
    "over lines": nested("(\n", "\n)"),
}
# The construct, the largest size that is let through, and what is named one beyond.
LINEAR_CHAINS: dict[str, tuple[Callable[[int], str], int, Excess]] = {
    "and": (chain(" and "), 12_000, Excess.CHAIN),
    "or": (chain(" or "), 12_000, Excess.CHAIN),
    "comparison": (chain(" < "), 12_000, Excess.CHAIN),
    "dotted import": (lambda size: f"import a{'.b' * size}\n", 2_551, Excess.REWORK),
    "elif": (elifs, 4_500, Excess.ELIFS),
    "not": (lambda size: f"x = {'not ' * size}a\n", 2_827, Excess.WEIGHT),
    "minus": (lambda size: f"x = {'- ' * size}a\n", 2_551, Excess.REWORK),
    "run of signs": (lambda size: f"x = {'~' * size}a\n", 2_828, Excess.WEIGHT),
    "power": (chain("**"), 1_413, Excess.WEIGHT),
    "lambda": (lambda size: f"x = {'lambda: ' * size}a\n", 1_999, Excess.WEIGHT),
    "conditional": (lambda size: f"x = {'a if b else ' * size}a\n", 1_999, Excess.WEIGHT),
    "parenthesised pattern": (patterns("(", ")"), 16, Excess.PATTERN),
    "class pattern": (patterns("A(a=", ")"), 16, Excess.PATTERN),
    "mapping pattern": (patterns('{"a": ', "}"), 8, Excess.PATTERN),
}
SLOW = {"not", "minus", "run of signs", "lambda", "conditional"}
SQUARE_CHAINS: dict[str, tuple[Callable[[int], str], int, Excess]] = {
    "sum": (chain("+"), 2_551, Excess.REWORK),
    "attribute": (chain("."), 2_551, Excess.REWORK),
    "call": (lambda size: f"x = a{'()' * size}\n", 784, Excess.REWORK),
    "subscript": (lambda size: f"x = a{'[0]' * size}\n", 557, Excess.REWORK),
    "method": (lambda size: f"x = a{'.b()' * size}\n", 530, Excess.REWORK),
}
FLAT: dict[str, Callable[[int], str]] = {
    "list": lambda size: f"x = [{'1, ' * size}]\n",
    "mapping": lambda size: f"x = {{{'1: 2, ' * size}}}\n",
    "call": lambda size: f"x = f({'a=1, ' * size})\n",
    "decorators": lambda size: "@a\n" * size + "def f(): pass\n",
    "deletion": lambda size: f"del {', '.join(['a'] * size)}\n",
    "assignment": lambda size: "a = " * size + "b\n",
    "with": lambda size: f"with {', '.join(['a as b'] * size)}: pass\n",
    "walrus": lambda size: f"x = [{'(a := 1), ' * size}]\n",
}

PARSER = """
import json, sys
import libcst
from placement_lint.syntax.deep_stack import run_deep

def round_trip(source):
    module = libcst.parse_module(source)
    try:
        return module.bytes == source
    except RecursionError:
        # These count the recursion through C code against a limit that nothing can raise.
        return sys.version_info[:2] in {(3, 12), (3, 13)}

for line in sys.stdin:
    try:
        said = "" if run_deep(round_trip, json.loads(line).encode()) else "another text"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps(said), flush=True)
"""


def parsed(sources: list[str], program: str = PARSER) -> list[str]:
    """Parse sources in a process beside this one; say of each what is wrong, "" for nothing.

    One that kills the process is said to, and the next ones are parsed in another.
    """
    found: list[str] = []
    while len(found) < len(sources):
        left = sources[len(found) :]
        outcome = subprocess.run(
            [sys.executable, "-c", program],
            input="".join(f"{json.dumps(source)}\n" for source in left),
            capture_output=True,
            text=True,
            check=False,
        )
        found += [str(json.loads(line)) for line in outcome.stdout.splitlines()]
        if outcome.returncode != 0 or len(found) < len(sources):
            assert len(found) < len(sources), outcome.stderr[-2000:]
            found.append(f"ended with {outcome.returncode}: {outcome.stderr[-2000:]}")
    return found


def assert_parse(subtests: pytest.Subtests, sources: dict[str, str]) -> None:
    for name, said in zip(sources, parsed([*sources.values()]), strict=True):
        with subtests.test(name):
            assert too_deep(sources[name]) is None
            assert said == ""


def test_a_parser_that_is_killed_is_seen_and_the_next_source_is_parsed() -> None:
    mortal = PARSER.replace(
        "import libcst\n",
        "import libcst, os\nparse = libcst.parse_module\n"
        "libcst.parse_module = lambda text: os.abort() if b'deadly' in text else parse(text)\n",
    )
    first, second, third, fourth = parsed(["x = 1\n", "deadly\n", "x = (\n", "y\n"], mortal)
    assert (first, fourth) == ("", "")
    assert second.startswith("ended with ")
    assert third.startswith("ParserSyntaxError")


@pytest.mark.every
def test_brackets_at_the_limit_parse(subtests: pytest.Subtests) -> None:
    limit = DEFAULT_LIMITS.brackets
    assert_parse(subtests, {construct: source(limit) for construct, source in BRACKETS.items()})


@pytest.mark.parametrize("construct", BRACKETS)
def test_one_bracket_more_is_refused(construct: str) -> None:
    limit = DEFAULT_LIMITS.brackets
    refused = too_deep(BRACKETS[construct](limit + 1))
    assert refused is not None
    assert (refused.excess, refused.size, refused.limit) == (Excess.BRACKETS, limit + 1, limit)
    assert refused.message == "201 nested brackets, at most 200"


@pytest.mark.every
def test_chains_at_the_limit_parse(subtests: pytest.Subtests) -> None:
    """But for those that take LibCST a second each: these at a fifth of it.

    At the limit itself with `pytest -m every tests/files`.
    """
    assert_parse(
        subtests,
        {
            construct: source(largest // 5 if construct in SLOW else largest)
            for construct, (source, largest, _) in LINEAR_CHAINS.items()
        },
    )


@pytest.mark.every
def test_every_chain_at_the_limit_parses(subtests: pytest.Subtests) -> None:
    assert_parse(
        subtests,
        {construct: source(largest) for construct, (source, largest, _) in LINEAR_CHAINS.items()},
    )


@pytest.mark.parametrize("construct", LINEAR_CHAINS)
def test_one_link_more_is_refused(construct: str) -> None:
    source, largest, excess = LINEAR_CHAINS[construct]
    refused = too_deep(source(largest + 1))
    assert refused is not None
    assert refused.excess is excess


@pytest.mark.every
def test_chains_that_parse_slowly_parse(subtests: pytest.Subtests) -> None:
    """At a part of the limit; at the limit itself with `pytest -m every tests/files`."""
    assert_parse(
        subtests,
        {
            construct: source(min(largest, 600))
            for construct, (source, largest, _) in SQUARE_CHAINS.items()
        },
    )


@pytest.mark.parametrize("construct", SQUARE_CHAINS)
def test_chains_that_parse_slowly_are_refused_beyond_the_limit(construct: str) -> None:
    source, largest, excess = SQUARE_CHAINS[construct]
    assert too_deep(source(largest)) is None
    refused = too_deep(source(largest + 1))
    assert refused is not None
    assert refused.excess is excess


@pytest.mark.every
@pytest.mark.parametrize("construct", SQUARE_CHAINS)
def test_chains_that_parse_slowly_parse_at_the_limit(
    subtests: pytest.Subtests, construct: str
) -> None:
    source, largest, _ = SQUARE_CHAINS[construct]
    assert_parse(subtests, {construct: source(largest)})


@pytest.mark.parametrize("construct", FLAT)
def test_flat_code_is_bounded_by_its_size_alone(construct: str) -> None:
    assert too_deep(FLAT[construct](40_000)) is None
    refused = too_deep(FLAT[construct](400_000))
    assert refused is not None
    assert refused.excess is Excess.TOKENS
    assert refused.message == "more than 300,000 tokens in one file"


@pytest.mark.parametrize(
    "source",
    [
        "x = '" + "a b " * 500_000 + "'\n",
        'x = rb"' + "a+b " * 500_000 + '"\n',
        '"""' + "a b\n" * 500_000 + '"""\n',
        "# " + "a b " * 500_000 + "\n",
        "x = [" + "'a b c d e f g h', " * 100_000 + "]\n",
    ],
    ids=["string", "raw", "docstring", "comment", "strings"],
)
def test_what_is_in_strings_and_comments_is_no_token(source: str) -> None:
    assert too_deep(source) is None


@pytest.mark.parametrize("prefix", ["f", "F", "fr", "Rf", "t"])
def test_what_is_in_fields_of_strings_is(prefix: str) -> None:
    refused = too_deep(f"x = {prefix}'" + "{a}" * 200_000 + "'\n")
    assert refused is not None
    assert refused.excess is Excess.TOKENS


def test_where_there_are_too_many_tokens_is_said() -> None:
    found = too_deep("a\r\nb = c\n" * 40, ParserLimits(tokens=20))
    assert found is not None
    assert (found.line, found.column, found.limit) == (8, 1, 20)


@pytest.mark.parametrize(
    ("text", "column"),
    [("a b 'c d'", 5), ("a 'b c' d", 9), ("a f'b{c}' d", 4), ("a b 'c d' 'e f' g", 5)],
)
def test_a_string_may_be_the_token_that_is_one_too_many(text: str, column: int) -> None:
    found = too_deep(text, ParserLimits(tokens=2))
    assert found is not None
    assert (found.line, found.column) == (1, column)


def test_indentation_parses_as_deep_as_python_takes_it(subtests: pytest.Subtests) -> None:
    heads = ["if a:", "def f():", "class A:", "while a:", "with a:"]
    assert_parse(subtests, {head: blocks(head)(98) for head in heads})


def test_much_code_far_to_the_right_is_refused() -> None:
    refused = too_deep(blocks("if a:")(98) + (" " * 98 + "pass\n") * 6_000)
    assert refused is not None
    assert refused.excess is Excess.INDENTATION


def test_a_long_body_inside_many_brackets_is_refused() -> None:
    refused = too_deep(f"x = {'[' * 100}{'a, ' * 10_000}{']' * 100}\n")
    assert refused is not None
    assert refused.excess is Excess.WEIGHT


def test_the_place_is_where_the_limit_is_passed() -> None:
    found = too_deep("é = 1\r\ny = (" + "[" * 250, ParserLimits(brackets=3))
    assert found == TooDeep(Excess.BRACKETS, 4, 3, 2, 8)


def test_chains_of_enclosing_expressions_add_up() -> None:
    inner = " or ".join(["a"] * 7_000)
    assert too_deep(f"x = ({inner})\n") is None
    refused = too_deep(f"x = ({inner}) or {' or '.join(['b'] * 6_000)}\n")
    assert refused is not None
    assert refused.excess is Excess.CHAIN


def test_separate_expressions_do_not_add_up() -> None:
    term = " or ".join(["a"] * 3_000)
    assert too_deep(f"x = [{', '.join([term] * 8)}]\n") is None
    assert too_deep(f"x = {term}\n" * 8) is None


def test_elifs_of_separate_ifs_do_not_add_up_and_nested_ones_do() -> None:
    limits = ParserLimits(elifs=10)
    assert too_deep(elifs(8) * 3, limits) is None
    inner = "".join("    " + line + "\n" for line in elifs(8).splitlines())
    refused = too_deep(elifs(8) + "else:\n" + inner, limits)
    assert refused is not None
    assert (refused.excess, refused.size) == (Excess.ELIFS, 11)


def test_strings_and_comments_hold_no_brackets(subtests: pytest.Subtests) -> None:
    texts = [
        "x = '" + "(" * 300 + "'\n",
        'x = "' + "[" * 300 + '"\n',
        "x = '''\n" + "(" * 300 + "\n'''\n",
        'x = rb"""' + "{" * 300 + ' \\""" """\n',
        "x = 'it\\'s " + "(" * 300 + "'\n",
        "x = '\\\n" + "(" * 300 + "'\n",
        "# " + "(" * 300 + "\n",
        "x = 1  # it's " + "(" * 300 + "\n",
        "x = f'" + "(" * 300 + "{{" * 300 + "'\n",
        "x = f'{a:" + "(" * 300 + "}'\n",
        "x = f'''{a!r:>{b}}" + "(" * 300 + "'''\n",
        "x = f'{\"" + "(" * 300 + "\"}'\n",
        "x = (f'{{', '" + "(" * 300 + "')\n",
        "x = rf'\\{a}" + "(" * 300 + "'\n",
        "x = f'\\N{" + "(" * 300 + "}'\n",
        "x = f'\\N{{b}" + "(" * 300 + "'\n",
        "if'" + "{" * 300 + "':\n    pass\n",
    ]
    assert_parse(subtests, {f"{number}: {text[:40]!r}": text for number, text in enumerate(texts)})


@pytest.mark.parametrize(
    "text",
    [
        "x = f'{" + "(" * 300,
        "x = f'''{a:{" + "(" * 300,
        "x = rf'\\{" + "[" * 300,
        "x = rf'\\N{" + "(" * 300,
        "x = f'\\N{(}' + " + "(" * 300,
        "x = f'\\\\N{" + "(" * 300,
        "x = f'{a:\\N{" + "(" * 300,
        "x = Rb'\\\\' + " + "(" * 300,
        "x = '' + " + "(" * 300,
        "x = '''a\\\\''' + " + "(" * 300,
        "x = f'{{{" + "(" * 300,
        "x = f'{a}{" + "(" * 300,
        "x = f'{f'{a}'}' + " + "(" * 300,
        "x = 'a' \\\n" + "(" * 300,
        "# it's\rx = " + "(" * 300,
        "\x0cx = " + "(" * 300,
    ],
)
def test_code_behind_and_inside_strings_counts(text: str) -> None:
    refused = too_deep(text)
    assert refused is not None
    assert refused.excess is Excess.BRACKETS


MARKS = [*"()[]{}'\"\\\n\r\x0c\0#,:;=.!~a é", "'''", '"""', "f'", 'rf"', "{{", "}}", "**", "\r\n"]
WORDS = ["lambda ", " for ", " in ", " if ", "elif ", "\nmatch a:\n case ", "not ", "\ud800"]
SCRAPS = st.lists(st.sampled_from(MARKS + WORDS), max_size=80).map("".join)


@given(st.one_of(st.text(), SCRAPS, st.binary().map(lambda data: data.decode("latin-1"))))
def test_nothing_makes_it_fail(text: str) -> None:
    found = measure(text, ParserLimits(2, 5, 1, 2, 20, 50, 2))
    assert isinstance(found, TooDeep | Extent)
    if isinstance(found, TooDeep):
        assert found.size > found.limit
        assert 1 <= found.line <= text.count("\n") + text.count("\r") + 1
        assert found.column >= 1


@st.composite
def nested_expressions(draw: st.DrawFn, depth: int = 6) -> tuple[str, int]:
    """Draw an expression, and how deep its brackets are."""
    if depth == 0 or draw(st.booleans()):
        leaf = draw(st.sampled_from(["a", "'('", '"]"', "1.5", "'''\n{'''", "f'{{'", "a.b"]))
        return leaf, 0
    parts = [draw(nested_expressions(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
    shape = draw(st.sampled_from(["({})", "[{}]", "f({})", "{{{}}}", "(\n{} # )\n)", "a[{}]"]))
    joiner = draw(st.sampled_from([", ", " + ", " and ", ",\n", " if a else "]))
    return shape.format(joiner.join(text for text, _ in parts)), 1 + max(d for _, d in parts)


@given(st.lists(nested_expressions(), min_size=1, max_size=4))
def test_the_depth_is_the_true_depth(expressions: list[tuple[str, int]]) -> None:
    text = "".join(f"x = {expression}\n" for expression, _ in expressions)
    found = measure(text, BOUNDLESS)
    assert isinstance(found, Extent)
    true_depth = max(depth for _, depth in expressions)
    # One bracket without another inside may be passed over with its line.
    assert found.brackets == true_depth or (true_depth == 1 and found.brackets == 0)


@pytest.mark.parametrize(
    "unit",
    [
        "a = b.c(d, e)\n",
        "a = f(g(h('x'), \"y\"), [1, 2, {3: 4}])\n",
        "'" * 7,
        '"""\\',
        "f'{a:{b}}{",
        "f'''\\N{{",
        "f'{a:{b:",
        "(",
        "[a, ",
        ")",
        "\\",
        "\\\n",
        "lambda a=",
        "~",
        "a.b",
        "elif a:\n",
        " \n",
        "a" * 81 + "(" + "b" * 81 + ")",
        "case {",
        "# (\r",
        "'a\\",
        "\"'\\",
        "'\n\\''",
        "'''\n\\",
    ],
)
def test_the_work_grows_with_the_length_only(unit: str) -> None:
    small, large = measure(unit * 300, BOUNDLESS), measure(unit * 3_000, BOUNDLESS)
    assert isinstance(small, Extent)
    assert isinstance(large, Extent)
    assert large.steps <= 10 * small.steps + 10
    assert large.steps <= 2 * 3_000 * len(unit) + 10


@pytest.mark.parametrize(
    "text",
    ["f\"'''\" + ", 'f\'{x}"""\' + ', "f'{a[\"'''\"]}' + ", "'\\'' + ", '"\'" + '],
    ids=ascii,
)
def test_quotes_in_strings_hide_no_tokens(text: str) -> None:
    many = f"x = ({text * 3}\n{'a + ' * 200})\n"
    found = too_deep(many, ParserLimits(tokens=200))
    assert found is not None
    assert found.excess is Excess.TOKENS
    assert found.line == 2


def test_elifs_and_indentation_end_with_their_block() -> None:
    limits = ParserLimits(elifs=10)
    nested_ifs = "if a:\n" + "".join(f"    {line}\n" for line in elifs(8).splitlines())
    # Both hang together only where one is inside of the other.
    assert too_deep(nested_ifs + "elif b:\n    pass\n" * 8, limits) is None
    refused = too_deep(nested_ifs + "elif b:\n    pass\n" * 11, limits)
    assert refused is not None
    assert (refused.excess, refused.size) == (Excess.ELIFS, 11)


@pytest.mark.parametrize("text", ['f"abc', 'f"""abc\n', 'f"{a:b', "x = f'{a}b", 'f"', "rf'a{b}\\"])
def test_an_f_string_that_does_not_end(text: str) -> None:
    assert too_deep(text) is None

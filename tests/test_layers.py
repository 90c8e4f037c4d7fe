"""The layers of the package: a module imports only from layers below its own, and in no circle."""

import ast
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "placement_lint"
MODULES = sorted(PACKAGE.rglob("*.py"))

Layers = tuple[frozenset[str], ...]


def layers(table: str) -> Layers:
    """Read a table of layers, one a line, the highest first."""
    return tuple(frozenset(line.split()) for line in table.strip().splitlines())


LAYERS = layers("""
    cli
    daemon integrations
    report trace verify
    lint
    project rules
    semantic
    placement
    prefilter
    fingerprint syntax
    config files jaxmodel
    findings html_page isolation limits quantities regular simulated_devices timing version
""")
"""The packages and top-level modules. Those of one layer do not import one another."""

INSIDE: dict[str, Layers] = {
    "lint": layers("""
        linter
        file_queries run
        suppressions.add_noqa suppressions.baseline
        schedule
        select_files
        check_program incremental
        fixes.apply fixes.write_back
        tasks
        uncalled
        check_file
        fixes parsing suppressions
        file_results
        results
        gc_pause lookup pool progress
    """),
    "placement": layers("""
        flow
        interpreter
        lifetimes
        counterfactual journeys uncalled
        overlays
        engine
        provenance
        facts
        domain
    """),
}
"""The layers inside of a package. A name stands for all modules that begin with it, but for those
that have a line of their own; the modules of a subpackage may import one another."""

SUBPROCESSES = {"simulated_devices", "trace", "verify"}
"""What runs JAX: only `cli/trace.py` and `cli/verify.py` import these, inside of functions."""
FACADE = {"__init__", "__main__"}
"""The package's public names and its entry point may import anything, lazily."""
HEAVY = {"PIL", "flax", "jax", "jaxlib", "matplotlib", "numpy", "safetensors", "torch"}
SLOW_LIBCST = {"libcst.codemod", "libcst.matchers", "libcst.metadata", "libcst.helpers"}
LISTS = {PACKAGE, *(PACKAGE / name for name in ("cli", "jaxmodel", "rules", "report"))}
"""Packages of modules that are alike, as those in them are: a command, a rule, a format each."""
MOST_LINES = 700
"""Of one module: what is longer has more than one concept in it."""


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of everything that a module imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


@functools.cache
def imports_of(path: Path) -> tuple[tuple[int, str], ...]:
    """Return the imports of a module: its whole tree is walked once for all that ask."""
    return tuple(imports(tree_of(path)))


def dotted_name(path: Path) -> str:
    """Return the name of a module below the package; `__init__` for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


NAMES = {dotted_name(path): path for path in MODULES}


def package_of(module: str) -> str:
    return module.partition(".")[0]


def inward(path: Path) -> list[tuple[int, str]]:
    """Return the lines and names of the modules of the package that a module imports."""
    found = []
    for line, name in imports_of(path):
        top, _, module = name.partition(".")
        if top == PACKAGE.name:
            while module not in NAMES:
                module = module.rpartition(".")[0] if module else "__init__"
            found.append((line, module))
    return found


def outward(path: Path) -> list[tuple[int, str]]:
    """Return the imports of a module from other packages."""
    return [(line, name) for line, name in imports_of(path) if name.split(".")[0] != PACKAGE.name]


def layer_of(name: str, table: Layers) -> tuple[int, str]:
    """Return the number of a module's layer, counted from the top, and the name it stands under."""
    while name:
        for number, layer in enumerate(table):
            if name in layer:
                return number, name
        name = name.rpartition(".")[0]
    raise KeyError(name)


def may_import(module: str, other: str) -> bool:
    """Check one import against the tables."""
    package, other_package = package_of(module), package_of(other)
    if package in FACADE:
        return True
    if other_package in FACADE:
        return False
    if package != other_package:
        return layer_of(package, LAYERS)[0] < layer_of(other_package, LAYERS)[0]
    if package not in INSIDE or package in {module, other}:
        return True
    inside, other_inside = module.partition(".")[2], other.partition(".")[2]
    (number, part), (other_number, other_part) = (
        layer_of(name, INSIDE[package]) for name in (inside, other_inside)
    )
    return number < other_number or part == other_part


def circles(graph: Mapping[str, Iterable[str]]) -> list[frozenset[str]]:
    """Return the strongly connected components of more than one node, by Tarjan's algorithm."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[frozenset[str]] = []

    def visit(node: str) -> None:
        numbers[node] = lowest[node] = len(numbers)
        stack.append(node)
        for other in graph[node]:
            if other not in numbers:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], numbers[other])
        if lowest[node] == numbers[node]:
            place = stack.index(node)
            component = frozenset(stack[place:])
            del stack[place:]
            if len(component) > 1 or node in graph[node]:
                found.append(component)

    for node in graph:
        if node not in numbers:
            visit(node)
    return found


def of_every_module(check: Callable[[Path], None]) -> Callable[[], None]:
    """Make one test of what holds for each module."""

    @functools.wraps(check)
    def test() -> None:
        wrong: list[str] = []
        for path in MODULES:
            try:
                check(path)
            except AssertionError as error:
                wrong.append(f"{path.relative_to(PACKAGE)}: {error}")
        assert not wrong, "\n".join(wrong)

    # Pytest must not see the parameter of what is wrapped.
    del test.__wrapped__
    return test


def test_every_folder_of_tests_is_a_package() -> None:
    # Two files of one name in folders that are none would be one module, and pytest stops there.
    folders = {path.parent for path in Path(__file__).parent.rglob("test_*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_module_has_a_layer() -> None:
    listed = {name for layer in LAYERS for name in layer}
    assert {package_of(name) for name in NAMES} == listed | FACADE
    for package, table in INSIDE.items():
        names = [name for layer in table for name in layer]
        assert len(set(names)) == len(names)
        assert {f"{package}.{name}" for name in names} <= NAMES.keys()
        for name in NAMES:
            if package_of(name) == package != name:
                layer_of(name.partition(".")[2], table)


@of_every_module
def test_imports_lead_downward(path: Path) -> None:
    module = dotted_name(path)
    wrong = [(line, other) for line, other in inward(path) if not may_import(module, other)]
    assert wrong == []


def test_there_are_no_circles() -> None:
    """Imports in functions and those for types only count, too: they tie modules all the same."""
    graph = {name: {other for _, other in inward(path)} for name, path in NAMES.items()}
    assert circles(graph) == []


def test_circles_are_found() -> None:
    graph = {"a": "b", "b": "cd", "c": "ab", "d": "e", "e": "", "f": "f", "g": "de"}
    assert circles(graph) == [{*"abc"}, {"f"}]
    assert circles({"a": "b", "b": "c", "c": "", "d": "abc"}) == []
    assert circles({"a": "b", "b": "a", "c": "d", "d": "c", "e": "ac"}) == [{*"ab"}, {*"cd"}]


@of_every_module
def test_what_runs_jax_is_imported_by_its_own_command_only(path: Path) -> None:
    module = dotted_name(path)
    if package_of(module) in SUBPROCESSES:
        return
    found = {package_of(other) for _, other in inward(path)} & SUBPROCESSES
    if module in {"cli.verify", "cli.trace"}:
        assert found <= {path.stem}
        tree = tree_of(path)
        at_import_time = [name for node in tree.body for _, name in imports_of_statement(node)]
        assert not [n for n in at_import_time if n.startswith(f"{PACKAGE.name}.{path.stem}")]
    else:
        assert not found


def imports_of_statement(node: ast.stmt) -> Iterator[tuple[int, str]]:
    """Yield what a statement imports when the module is imported."""
    for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    runs_now = isinstance(node, ast.Import | ast.ImportFrom | ast.If | ast.Try | ast.With)
    if runs_now and not for_types:
        yield from imports(node)


@of_every_module
def test_no_module_is_too_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


MOST_UNNAMED = 11
"""A package of more modules names each of them in its docstring, by what it is about."""


def test_large_packages_name_their_modules() -> None:
    wrong: dict[str, set[str]] = {}
    for package in sorted({path.parent for path in MODULES}):
        modules = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
        if len(modules) <= MOST_UNNAMED or package in LISTS or package.parent in LISTS - {PACKAGE}:
            continue
        parts = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}
        named = re.findall(r"`(\w+)`", ast.get_docstring(tree_of(package / "__init__.py")) or "")
        known = modules | parts
        wrong[package.name] = {name for name in named if named.count(name) > 1} ^ (
            modules - {*named} | {*named} - known
        )
    assert len(wrong) > 10
    assert not any(wrong.values()), wrong


@of_every_module
def test_heavy_packages_only_where_they_run(path: Path) -> None:
    wrong = [(line, name) for line, name in outward(path) if name.split(".")[0] in HEAVY]
    assert package_of(dotted_name(path)) in SUBPROCESSES or wrong == []


@of_every_module
def test_nothing_slow_or_recursive_of_libcst(path: Path) -> None:
    for line, name in outward(path):
        assert not any(name == slow or name.startswith(f"{slow}.") for slow in SLOW_LIBCST), (
            f"line {line}: {name}"
        )
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"CSTVisitor", "CSTTransformer"}, f"line {node.lineno}"
            is_module = isinstance(node.value, ast.Name) and node.value.id == "cst"
            assert not (is_module and node.attr in {"codemod", "matchers", "metadata"})
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr not in {"visit", "visit_batched"}, f"line {node.lineno}"


@pytest.mark.parametrize(
    ("module", "other", "expected"),
    [
        ("rules.base", "syntax.tree", True),
        ("syntax.tree", "rules.base", False),
        ("placement.flow", "syntax.tree", True),
        ("syntax.tree", "placement.flow", False),
        ("files.source", "config.load", False),
        ("config.load", "files.source", False),
        ("rules.base", "project.modules", False),
        ("project.modules", "rules.base", False),
        ("lint.run", "rules.base", True),
        ("report.text", "cli.check", False),
        ("integrations.flake8", "cli.check", False),
        ("verify.command", "lint.run", True),
        ("verify.command", "report.text", False),
        ("lint.run", "verify.command", False),
        ("cli.verify", "verify.command", True),
        ("cli.check", "cli.parser", True),
        ("__init__", "lint.run", True),
        ("lint.run", "__init__", False),
        ("placement.engine.statements", "placement.engine.expressions", True),
        ("placement.engine.statements", "placement.interpreter", False),
        ("placement.interpreter", "placement.engine.statements", True),
        ("placement.domain.values", "placement.facts.module", False),
        ("lint.linter", "lint.run", True),
        ("lint.incremental.cache", "lint.run", False),
        ("lint.file_queries", "lint.run", False),
        ("lint.run", "lint.incremental.cache", True),
    ],
)
def test_the_tables_themselves(module: str, other: str, expected: bool) -> None:
    assert may_import(module, other) is expected


def test_imports_are_seen_wherever_they_stand() -> None:
    text = (
        "import a.b\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import c\n"
        "def f():\n    from d import e\n"
    )
    assert [name for _, name in imports(ast.parse(text))] == [
        "a.b", "typing.TYPE_CHECKING", "c", "d.e",
    ]  # fmt: skip

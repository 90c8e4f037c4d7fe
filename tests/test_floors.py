"""The house has floors: a folder imports only from folders below it, and from itself."""

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.trials import Trials

PACKAGE = Path(__file__).parent.parent / "placement_lint"
MODULES = sorted(PACKAGE.rglob("*.py"))

FLOORS = {
    "timing": -1, "regular": -1, "limits": -1, "quantities": -1,
    "findings": 0, "files": 0, "config": 0, "jaxmodel": 0,
    "syntax": 1, "placement": 1, "fingerprint": 1,
    "rules": 2,
    "lint": 3,
    "report": 4,
    "cli": 5, "integrations": 5,
}  # fmt: skip
BESIDE = {"verify", "trace"}
"""These stand beside the house: they may import from up to floor 3, and only `cli/verify.py` and
`cli/trace.py` import them, inside of functions."""
FACADE = {"__init__", "__main__"}
"""The package's own face may import anything, lazily."""
HEAVY = {"PIL", "flax", "jax", "jaxlib", "matplotlib", "numpy", "safetensors", "torch"}
SLOW_LIBCST = {"libcst.codemod", "libcst.matchers", "libcst.metadata", "libcst.helpers"}


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Give the line and the dotted name of everything that a module imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def room_of(path: Path) -> str:
    """Give the folder (or the module of its own) that a file of the package belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def allowed(room: str, other: str) -> bool:
    """Tell whether one room may import from another."""
    if room == other or room in FACADE:
        return True
    if room in BESIDE:
        return other in FACADE or (other in FLOORS and FLOORS[other] <= 3)
    if other in FACADE:
        return True
    if other in BESIDE:
        return room == "cli"
    if {room, other} == {"placement", "syntax"}:
        return room == "placement"
    if {room, other} == {"cli", "integrations"}:
        # The command line starts the language server.
        return room == "cli"
    return FLOORS[other] < FLOORS[room]


def outward(path: Path) -> list[tuple[int, str]]:
    """Give the imports of a module from other packages."""
    tree = tree_of(path)
    return [(line, name) for line, name in imports(tree) if name.split(".")[0] != PACKAGE.name]


def inward(path: Path) -> list[tuple[int, str]]:
    """Give the rooms that a module imports from."""
    found = []
    for line, name in imports(tree_of(path)):
        top, *rest = name.split(".")
        if top == PACKAGE.name:
            is_room = rest and rest[0] in ROOMS
            found.append((line, rest[0] if is_room else "__init__"))
    return found


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


ROOMS = {room_of(path) for path in MODULES}


def of_every_module(check: Callable[[Path], None]) -> Callable[[], None]:
    """Make one test of what holds for each module."""

    @functools.wraps(check)
    def test() -> None:
        with Trials() as trials:
            for path in MODULES:
                with trials.of(name_of(path)):
                    check(path)

    # Pytest must not see the parameter of what is wrapped.
    del test.__wrapped__
    return test


def test_every_room_has_a_floor() -> None:
    assert ROOMS - FLOORS.keys() - BESIDE - FACADE == set()
    assert {"findings", "files", "jaxmodel", "rules", "syntax"} <= ROOMS


@of_every_module
def test_imports_lead_downward(path: Path) -> None:
    room = room_of(path)
    wrong = [(line, other) for line, other in inward(path) if not allowed(room, other)]
    assert wrong == []


@of_every_module
def test_what_runs_jax_is_imported_by_its_own_command_only(path: Path) -> None:
    room = room_of(path)
    if room in BESIDE:
        return
    found = {other for _, other in inward(path)} & BESIDE
    if name_of(path) in {"cli/verify.py", "cli/trace.py"}:
        assert found <= {path.stem}
        tree = tree_of(path)
        at_import_time = [name for node in tree.body for _, name in imports_of_statement(node)]
        assert not [n for n in at_import_time if n.startswith(f"{PACKAGE.name}.{path.stem}")]
    else:
        assert not found


def imports_of_statement(node: ast.stmt) -> Iterator[tuple[int, str]]:
    """Give what a statement imports when the module is imported."""
    for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    runs_now = isinstance(node, ast.Import | ast.ImportFrom | ast.If | ast.Try | ast.With)
    if runs_now and not for_types:
        yield from imports(node)


@of_every_module
def test_heavy_packages_only_where_they_run(path: Path) -> None:
    wrong = [(line, name) for line, name in outward(path) if name.split(".")[0] in HEAVY]
    assert room_of(path) in BESIDE or wrong == []


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
    ("room", "other", "expected"),
    [
        ("rules", "syntax", True),
        ("syntax", "rules", False),
        ("placement", "syntax", True),
        ("syntax", "placement", False),
        ("files", "config", False),
        ("config", "files", False),
        ("lint", "rules", True),
        ("report", "cli", False),
        ("integrations", "cli", False),
        ("verify", "lint", True),
        ("verify", "report", False),
        ("lint", "verify", False),
        ("cli", "verify", True),
        ("cli", "cli", True),
    ],
)
def test_the_floors_themselves(room: str, other: str, expected: bool) -> None:
    assert allowed(room, other) is expected


def test_imports_are_seen_wherever_they_stand() -> None:
    text = (
        "import a.b\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import c\n"
        "def f():\n    from d import e\n"
    )
    assert [name for _, name in imports(ast.parse(text))] == [
        "a.b", "typing.TYPE_CHECKING", "c", "d.e",
    ]  # fmt: skip

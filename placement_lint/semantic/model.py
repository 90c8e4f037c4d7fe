"""The facts of one file that all rules share, each worked out once and only when asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import libcst as cst

from placement_lint.files.script_cells import has_cells
from placement_lint.files.source import Source
from placement_lint.files.test_paths import is_test_path
from placement_lint.jaxmodel.own_models import table_with
from placement_lint.jaxmodel.versions import TargetVersions
from placement_lint.limits.budget import (
    LimitError,
    RunOverError,
    bar,
    free,
    interpreting,
)
from placement_lint.semantic.program_queries import Alone
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.names import Names
from placement_lint.syntax.programs import has_main_guard, runs_at_top
from placement_lint.syntax.tree import Tree
from placement_lint.timing import INTERPRETATION, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.jaxmodel.effects import Row
    from placement_lint.placement.flow import Flow
    from placement_lint.semantic.program_queries import RunView
    from placement_lint.syntax.names import ExportResolver
    from placement_lint.syntax.parse import ParsedFile
    from placement_lint.syntax.positions import Spans

T = TypeVar("T")

_Imports = (cst.Import, cst.ImportFrom, cst.LazyImport, cst.LazyImportFrom)


_FEW_LINES = 4
"""Each costs what stands above it in the file, and all of them together cost the whole file."""


class UnfollowedError(Exception):
    """It is not known where the arrays of a file live: to find out takes more than it may."""


ARRAY_LIBRARIES = frozenset({
    "equinox", "flax", "haiku", "jax", "optax", "orbax", "safetensors", "tensorflow_datasets",
    "transformers",
})  # fmt: skip
"""The packages of which a function is known to make arrays of JAX."""


class _Lines:
    """The lines of nodes, for a file without an editor of its own."""

    def __init__(self, tree: Tree, path: str, file: ParsedFile | None) -> None:
        self._tree = tree
        self._module = tree.module
        self._path = path
        self._file = file
        self._asked = 0

    def line(self, node: cst.CSTNode) -> int:
        from placement_lint.syntax.positions import text_before

        if self._file is not None and self._file.is_lean:
            places = self._file.places
            if places is not None and self._tree.contains(node):
                line = places.line(self._tree.index(node), self._tree)
                if line is not None:
                    return line
            self._file.add_punctuation()
        self._asked += 1
        if self._asked <= _FEW_LINES:
            above = text_before(self._module, node)
            return Source(self._path, above).position(len(above))[0]
        return self._source.position(self._spans.inner(node)[0])[0]

    @cached_property
    def _source(self) -> Source:
        return Source(self._path, self._module.code)

    @cached_property
    def _spans(self) -> Spans:
        from placement_lint.syntax.positions import Spans

        return Spans(self._module, self._source)


class ModuleFacts:
    """One parsed file: tree, names, placements, and what the program as a whole pins."""

    def __init__(
        self,
        module: cst.Module,
        path: str,
        *,
        file: ParsedFile | None = None,
        accelerator: bool = True,
        exports: ExportResolver | None = None,
        models: tuple[Row, ...] = (),
        target: TargetVersions | None = None,
        run: RunView | None = None,
        source: Source | None = None,
        is_whole: bool = False,
        is_imported_beside: Callable[[str], bool] | None = None,
        find_pins: Callable[[ModuleFacts], bool] | None = None,
    ) -> None:
        """`file` is what the module is of, where its nodes may lack whitespace and punctuation.

        `accelerator` False: the CPU is the default. `models` are what settings say that functions
        of other packages do. `is_whole`: the run sees every file that may
        import this one, as far as anyone can tell. `is_imported_beside` returns whether a file
        beside one, of the run or not, may import it: each may, if that cannot be asked. `find_pins`
        finds out whether it pins the program to the CPU: by its text, if there is nothing better.
        """
        self.path = path
        self.source = source
        """The text that was parsed, with the cells of a notebook."""
        self.accelerator = accelerator
        self.target = target or TargetVersions()
        """The versions of JAX that the file is meant for."""
        self.run = run or Alone()
        """What is known of the other files of the run."""
        self._is_whole = is_whole
        self._is_imported_beside = is_imported_beside
        self.asks_beside = False
        """Whether it decides something what the files beside it import."""
        self._find_pins = find_pins or _pins_by_text
        self._file = file
        self.tree = Tree(module)
        self.models = models
        self.names = Names(self.tree, exports, table_with(models))
        self.siblings: dict[str, ModuleFacts] = {path: self}
        """The files that are interpreted together with this one, itself among them, by path."""
        self.locate: Callable[[str, str], tuple[str, str] | None] | None = None
        """Return the file that a name in another one leads into, and the rest of the name there;
        None in a file that is checked alone."""
        self.said: dict[bytes, bool] = {}
        """Words that were looked for in its text, and whether they are there."""
        self._facts: dict[Callable[..., Any], Any] = {}
        self._failed: Exception | None = None
        """What interpreting it raised."""
        self.unfollowed: LimitError | None = None
        """What interpreting it ran out of."""

    def fact(self, work: Callable[[ModuleFacts], T]) -> T:
        """Return what a function returns for this file; it is called once, whoever asks first."""
        if work not in self._facts:
            self._facts[work] = work(self)
        found: T = self._facts[work]
        return found

    def says(self, *words: bytes) -> bool:
        """Return whether the text has one of these words, in code or elsewhere."""
        for word in words:
            if word not in self.said:
                self.said[word] = word in self.fact(_encoded)
        return any(self.said[word] for word in words)

    def begin_again(self, run: RunView) -> None:
        """Forget what was worked out but for the tree and its names, and ask of the run by this."""
        self.run = run
        self._facts = {}

    def trim(self) -> None:
        """Free what is quickly found out again: memory is wanted for other files."""
        self.tree.trim()
        self.names.trim()

    def free(self) -> None:
        """Free the tree and all that was worked out: nothing can be asked any longer.

        Reference cycles lead through these three. Without them what they hold is freed at once, and
        not after a search through all of it, which takes a tenth of a run.
        """
        if self.is_executed:
            self.flow.free()
        for each in (self.tree, self.names, self):
            vars(each).clear()

    @property
    def text(self) -> str:
        """The text that was parsed, comments included."""
        return self.tree.module.code if self.source is None else self.source.text

    def line_of(self, node: cst.CSTNode) -> int:
        """Return the line on which a node begins, in the text as LibCST writes it."""
        return self._line_spans.line(node)

    @cached_property
    def _line_spans(self) -> _Lines:
        return _Lines(self.tree, self.path, self._file)

    def add_punctuation(self) -> None:
        """Fill in whitespace and punctuation, for whoever reads these: it takes LibCST's parser."""
        if self._file is not None:
            self._file.add_punctuation()

    @cached_property
    def flow(self) -> Flow:
        """Where the arrays of this file live. Raises UnfollowedError where that takes too long."""
        if self._failed is not None:
            raise self._failed
        try:
            with timed(INTERPRETATION), interpreting(self.path):
                return self._interpreted()
        except RunOverError:
            raise
        except LimitError as error:
            self.unfollowed = error.with_traceback(None)
        except Exception as error:
            # Each rule that asks is to say so, and none is to wait for it once more.
            self._failed = error
            raise
        bar(self.unfollowed)
        # Now that nothing holds what was found out by then.
        free()
        self._failed = UnfollowedError()
        raise self._failed

    def _interpreted(self) -> Flow:
        from placement_lint.placement.flow import interpret_alone

        return interpret_alone(
            self.path,
            self.tree,
            self.names,
            accelerator=self.accelerator,
            is_open=self.is_open,
            pins=self.pins_cpu,
        )

    @property
    def pins_cpu(self) -> bool:
        """Whether the file pins the program to the CPU, in time."""
        return self.fact(self._find_pins)

    @property
    def has_siblings(self) -> bool:
        """Whether the file is executed as one program with others."""
        return len(self.siblings) > 1

    @property
    def is_executed(self) -> bool:
        """Whether `flow` is there already, as it is where files are executed as one program."""
        return "flow" in vars(self)

    @property
    def array_flow(self) -> Flow:
        """What `flow` says of arrays and devices, in place of NumPy's arrays and all else.

        Nothing is executed for it in a file that is a program of its own and names no library
        that makes arrays: what it is given is unknown there.
        """
        if self.is_executed or self.fact(_names_array_libraries):
            return self.flow
        return self.fact(_without_execution)

    @cached_property
    def has_relative_import(self) -> bool:
        return any(node.relative for node in self.tree.every(cst.ImportFrom))

    @cached_property
    def is_open(self) -> bool:
        """Whether code that is not of the run may import what is in the file.

        A module of a package is there for others, unless it is a program, as scripts in cells are;
        any other file may be
        imported by one beside it that the run does not see, unless it loops at its top, and none of
        those that are there mentions it in an import.
        """
        if self.is_test or not self.path.endswith(".py") or has_main_guard(self.tree.module):
            return False
        if self.source is not None and has_cells(self.source.content):
            return False
        package = Path(self.path).with_name("__init__.py")
        if self.has_relative_import or package.exists() or Path(self.path) == package:
            return True
        if self._is_whole:
            return False
        if not runs_at_top(self.tree.module) or self._is_imported_beside is None:
            return True
        self.asks_beside = True
        return self._is_imported_beside(self.path)

    @cached_property
    def is_test(self) -> bool:
        """Whether the file is a test by its name or its folder, as pytest finds them."""
        return is_test_path(self.path)

    @cached_property
    def may_replace_names(self) -> bool:
        """Whether something in it may replace functions of JAX, as tests do."""
        return self.says(b"patch", b"setattr")

    @cached_property
    def stored(self) -> dict[str, list[cst.BaseExpression]]:
        """What assignments bind, tuples by element, by name, in source order."""
        found: dict[str, list[cst.BaseExpression]] = {}
        for statement in self.tree.every(cst.AssignTarget, cst.AugAssign, cst.AnnAssign):
            if not isinstance(statement, cst.AssignTarget | cst.AugAssign | cst.AnnAssign):
                raise TypeError(statement)
            pending: list[cst.BaseExpression] = [statement.target]
            while pending:
                target = pending.pop()
                if isinstance(target, cst.Tuple | cst.List):
                    pending += [element.value for element in reversed(target.elements)]
                elif name := dotted(target):
                    found.setdefault(name, []).append(target)
        return found

    @cached_property
    def _import_statements(self) -> dict[int, cst.CSTNode]:
        return {
            id(alias): node
            for node in self.tree.every(*_Imports)
            if not isinstance(node.names, cst.ImportStar)
            for alias in node.names
        }

    def import_statement(self, alias: cst.CSTNode) -> cst.CSTNode:
        """Return the import statement of one of its aliases (or of a parameter, its own node)."""
        return self._import_statements.get(id(alias), self.tree.module)


def _names_array_libraries(facts: ModuleFacts) -> bool:
    """Return whether a name in a file stands for one of the libraries, or may."""
    libraries = ARRAY_LIBRARIES | {row.name.partition(".")[0] for row in facts.models}
    if any(libraries & {*_imported_packages(node)} for node in facts.names.import_statements):
        return True
    # By way of other files of the run, or by a text: `importlib.import_module("jax")`.
    return any(
        (name := facts.names.qualified(node)) is not None and name.partition(".")[0] in libraries
        for node in facts.tree.every(cst.Name, cst.Call)
    )


def _imported_packages(node: cst.Import | cst.ImportFrom) -> Iterator[str]:
    if isinstance(node, cst.Import):
        for alias in node.names:
            yield dotted(alias.name).partition(".")[0]
    elif not node.relative and node.module is not None:
        yield dotted(node.module).partition(".")[0]


def _pins_by_text(facts: ModuleFacts) -> bool:
    from placement_lint.placement.facts.cpu_pin import pins_cpu

    return pins_cpu(facts.tree, facts.names)


def _without_execution(facts: ModuleFacts) -> Flow:
    from placement_lint.placement.facts.module import Module
    from placement_lint.placement.flow import Flow
    from placement_lint.placement.interpreter import Program

    module = Module(
        facts.path,
        facts.tree,
        facts.names,
        accelerator=facts.accelerator,
        pins=facts.pins_cpu,
        is_open=facts.is_open,
    )
    return Flow(Program([module]), module)


def _encoded(facts: ModuleFacts) -> bytes:
    return facts.text.encode("utf-8", "surrogatepass")

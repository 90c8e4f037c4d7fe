"""Reads `known/*.txt`: small programs, and what the interpreter has to know of them.

A case begins with `# case: name`; `# file: name` begins another module of it, which is read once it
is needed, `# given: name` one that the program is made of from the start. What is known of a line
stands at its end, after `# = `: the value of what it assigns, gives or binds; after semicolons, the
uses of arrays on it that copy them. A line without such a comment copies nothing. Last, after
`# - `, stands what else is known: which arrays escape, or meet others, or are replaced.

How it is written: `h`, `k` and `c` are the arrays of `HEAD`; `def@3` an uncommitted array on the
system default that line 3 made, `cpu@3<2` one under the default device that line 2 names, `^` that
it is bound where it was made; `gpu!` one that is committed; `?` what is not known, `-` no array.

`python -m tests.placement.known_cases FILE…` replaces `# ?` by what the interpreter says now: for
whoever writes a case to judge whether it is right.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, Device
from placement_lint.placement.domain.keys import Member
from placement_lint.placement.domain.library_values import DeviceList, Optimizer
from placement_lint.placement.domain.mesh_devices import EVERY
from placement_lint.placement.domain.program_values import Class, External, Function, Instance
from placement_lint.placement.domain.record import UseKind
from placement_lint.placement.domain.values import (
    NOTHING,
    Anything,
    AnyTree,
    Array,
    Computation,
    Coroutine,
    DefaultDeviceContext,
    Future,
    Generator,
    Host,
    Lazy,
    LibraryMethod,
    Mapping,
    Method,
    Partial,
    Plain,
    PlainContext,
    Sequence,
    TheDevice,
    join,
)
from placement_lint.placement.facts.module import Module
from placement_lint.placement.flow import Flow, interpret
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.record import Seat, Use
    from placement_lint.placement.domain.values import Atom, Value

FOLDER = Path(__file__).parent / "known"
HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
cpu = jax.devices("cpu")[0]
gpu = jax.devices("gpu")[1]
with jax.default_device(cpu):
    h = jnp.zeros((8, 8))
    k = jnp.ones((8, 8))
c = jax.device_put(np.ones(3), gpu)
n = np.ones(3)
"""
_LINES = HEAD.count("\n")
_OF_HEAD = frozenset({"c", "cpu", "gpu", "h", "k"})
_NAMED = {7: "h", 8: "k"}
_CASE = re.compile(r"^# case: (.+)\n", re.MULTILINE)
_FILE = re.compile(r"^# (file|given): (\S+)\n", re.MULTILINE)
_SAID = re.compile(r"  # (?:=(?P<said>[ ;].*)|\?)$")
_PINNED = "[no accelerator]"


@dataclass
class Case:
    """A program, and what is said of it."""

    name: str
    files: dict[str, str]
    """The text of each module, of `main` first, without what is said of it."""
    given: frozenset[str]
    said: list[str]
    """All lines, as they are to be."""


def read_cases(path: Path) -> list[Case]:
    """Read a file of cases."""
    parts = _CASE.split(path.read_text(encoding="utf-8"))[1:]
    bodies = dict(zip(parts[::2], parts[1::2], strict=True))
    assert len(bodies) == len(parts) // 2, f"{path}: a case is there twice"
    return [_read(f"{path.stem}/{name}", body) for name, body in bodies.items()]


def _read(name: str, body: str) -> Case:
    said = body.rstrip("\n").split("\n")
    code = [_SAID.sub("", line) for line in said if not line.startswith("# - ")]
    parts = _FILE.split("\n".join(code) + "\n")
    files = {"main": HEAD + parts[0], **dict(zip(parts[2::3], parts[3::3], strict=True))}
    kinds = zip(parts[1::3], parts[2::3], strict=True)
    given = frozenset(name_of for kind, name_of in kinds if kind == "given")
    return Case(name, files, given | {"main"}, said)


class _Files:
    """The modules of a case, as a program asks for them."""

    def __init__(self, case: Case) -> None:
        self._texts = case.files
        self._accelerator = _PINNED not in case.name

    def find(self, importer: str, qualified: str) -> tuple[str, str] | None:  # noqa: ARG002 - the protocol's
        name, rest = qualified.lstrip("."), ""
        while name and name not in self._texts:
            name, _, last = name.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return (name, rest) if name else None

    def load(self, name: str) -> Module | None:
        text = self._texts[name]
        if text.startswith("# unreadable"):
            return None
        tree = Tree(cst.parse_module(text))
        return Module(name, tree, Names(tree), accelerator=self._accelerator)


class Known:
    """What the interpreter knows of a case, in words."""

    def __init__(self, case: Case) -> None:
        """Interpret it."""
        self._case = case
        files = _Files(case)
        given = [files.load(name) for name in case.files if name in case.given]
        self._program = interpret([module for module in given if module is not None], files)
        self._lines: dict[str, dict[cst.CSTNode, int]] = {}
        for name, module in self._program.modules.items():
            wrapper = MetadataWrapper(module.tree.module, unsafe_skip_copy=True)
            ranges = wrapper.resolve(PositionProvider)
            first = _LINES if name == "main" else 0
            self._lines[name] = {node: at.start.line - first for node, at in ranges.items()}

    def lines(self) -> list[str]:
        """Give all lines of the case, with what is known of them."""
        found: list[str] = []
        name, number = "main", 0
        asked, uses = self._asked(name), self._uses(name)
        for line in self._case.said:
            if line.startswith("# - "):
                continue
            number += 1
            if header := _FILE.match(line + "\n"):
                assert not uses, uses
                name, number = header[2], 0
                asked, uses = self._asked(name), self._uses(name)
            match = _SAID.search(line)
            said = ""
            if match is not None and (match["said"] or " ")[0] == " " and number in asked:
                held = Flow(self._program, self._program.modules[name]).value(asked[number])
                said = " " + self._value(held)
            said += "".join(f"; {use}" for use in uses.pop(number, []))
            code = line if match is None else line[: match.start()]
            found.append(f"{code}  # ={said}" if said else code)
        assert not uses, uses
        return [*found, *(f"# - {fact}" for fact in sorted(self._facts()))]

    def _asked(self, name: str) -> dict[int, cst.CSTNode]:
        """Give, by its line, the expression of which a value may be asked."""
        if name not in self._program.modules:
            return {}
        found: dict[int, cst.CSTNode] = {}
        for node in self._program.modules[name].tree.nodes:
            part: cst.CSTNode | None = None
            if isinstance(node, cst.Assign):
                part = node.targets[0].target
            elif isinstance(node, cst.AnnAssign | cst.For | cst.CompFor):
                part = node.target
            elif isinstance(node, cst.Expr | cst.Return):
                part = node.value
            elif isinstance(node, cst.WithItem) and node.asname is not None:
                part = node.asname.name
            if part is not None:
                found.setdefault(self._lines[name][node], part)
        return found

    def _uses(self, name: str) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        if name in self._program.modules:
            module = self._program.modules[name]
            for use in Flow(self._program, module).uses():
                line = self._lines[name][module.tree.nodes[use.node]]
                text = module.tree.module.code_for_node(module.tree.nodes[use.node])
                found.setdefault(line, []).append(self._use(use, text))
        return found

    def _use(self, use: Use, operand: str) -> str:
        said = "moves " if use.always else "may move "
        array = self._value(frozenset(use.moved))
        said += array
        said += "" if operand == array else f" ({operand})"
        said += " by its parts" if use.kind is UseKind.INDEXED else ""
        return said + (" in a loop" if use.in_loop else "")

    def _facts(self) -> Iterator[str]:
        program = self._program
        for name, module in program.modules.items() if len(self._case.files) > 1 else ():
            for names, kind in zip(program.reach.carried_by(module), ("", " devices"), strict=True):
                if shown := ", ".join(sorted({*names} - _OF_HEAD)):
                    yield f"{name} carries{kind}: {shown}"
        for name, module in program.modules.items():
            for node, mixture in module.record.mixtures.items():
                of = " and ".join(sorted({_device(device) for _, device in mixture.operands}))
                line = self._lines[name][module.tree.nodes[node]]
                yield f"refused at {line}{'' if mixture.always else ', perhaps'}: {of}"
            yield from (f"put {self._made(place)}" for place in module.record.put)
            for opened, calls in module.record.reads.items():
                at = ", ".join(sorted(self._at(call) for call in calls))
                yield f"file of {self._at(opened)} is read at {at}"
            for use in module.record.uses.values():
                for array, places in program.provenance.replacements.of(use, module).items():
                    results = ", ".join(sorted(self._at(place) for place in places))
                    yield f"{self._atom(array)} is replaced by {results}"

    def _at(self, place: Place) -> str:
        line = self._lines[place.module][self._program.node(place)]
        return str(line) if place.module == "main" else f"{place.module}:{line}"

    def _made(self, place: Place) -> str:
        line = self._at(place)
        head = _LINES + int(line) if line.lstrip("-").isdigit() else 0
        return _NAMED.get(head, f"@{line}")

    def _value(self, held: Value) -> str:
        return " or ".join(sorted(map(self._atom, held))) or "nothing"

    def _atom(self, atom: Atom) -> str:
        match atom:
            case Anything():
                return "~" if atom.is_doubt else "?"
            case Array():
                return self._array(atom)
            case Plain():
                return _plain(atom)
            case Host():
                read = "" if atom.read is None else f" of {self._at(atom.read)}"
                return "np" + " file" * atom.from_file + read
            case Sequence():
                return self._sequence(atom)
            case Mapping():
                return self._mapping(atom)
            case Class() | Function():
                return f"{type(atom).__name__.lower()}@{self._at(atom.place)}"
            case Computation():
                return self._computation(atom)
            case PlainContext():
                return f"context({self._value(atom.gives)})"
            case Coroutine() | Future():
                return f"{type(atom).__name__.lower()}({self._value(atom.result)})"
            case DefaultDeviceContext():
                return self._context(atom)
            case DeviceList():
                bounds = ":".join("" if each is None else str(each) for each in atom.part)
                part = "" if atom.part == EVERY else f"[{bounds}]"
                return f"devices({atom.platform or ''}){part}"
            case External():
                return f"{atom.module}:{atom.name}"
            case Generator() | Method():
                return f"{type(atom).__name__.lower()}@{self._at(atom.function)}"
            case Instance():
                through = "" if atom.through is None else f">{self._at(atom.through)}"
                return f"object@{self._at(atom.site)}{through}"
            case Lazy():
                return f"iterator@{self._at(atom.place)}"
            case LibraryMethod():
                return atom.name
            case Optimizer():
                return atom.name + ".init" * atom.is_init
            case Partial():
                return self._partial(atom)
            case TheDevice():
                return f"device {_device(atom.device)}"
            case AnyTree():
                return f"tree of ({self._value(atom.leaf)})"
            case _:
                return type(atom).__name__

    def _array(self, array: Array) -> str:
        said = _device(array.device) + ("!" if array.committed else "")
        origin = array.origin
        if origin is not None:
            made = self._made(origin.created)
            said = made if made[0] != "@" and not array.committed else said + made.rjust(2, "@")
            if origin.device is not None and made[0] == "@":
                said += "<" + self._at(origin.device)
            if origin.commit_at != origin.created:
                said += "^"
        return said + " small" * array.is_small + " weak" * array.is_weak

    def _sequence(self, atom: Sequence) -> str:
        if atom.items is None:
            said = f"[{self._value(atom.element)}…]"
        else:
            said = f"[{', '.join(map(self._value, atom.items))}]"
            if atom.element != (join(*atom.items) if atom.items else NOTHING):
                said += f" of {self._value(atom.element)}"
        return said + (" of a named tuple" if atom.names else "")

    def _mapping(self, atom: Mapping) -> str:
        items = [
            f"{key.name if isinstance(key, Member) else key}: {self._value(held)}"
            for key, held in atom.items
        ]
        items += [f"…: {self._value(atom.element)}"] if atom.element else []
        return "{" + ", ".join(items) + "}"

    def _context(self, atom: DefaultDeviceContext) -> str:
        named = "" if atom.expression is None else f"<{self._at(atom.expression)}"
        devices = " or ".join(sorted(map(_device, atom.devices)))
        return f"block of {devices}{named}" + " inherited" * atom.inherited

    def _computation(self, atom: Computation) -> str:
        said = [
            *(["places"] if atom.places_arguments else []),
            *([] if atom.is_known else ["unknown"]),
            *(["donates"] if atom.donates else []),
            *([f"leaves {left}"] if (left := _left(atom)) else []),
            *(["gives array"] if atom.gives_array else []),
            *([f"closes over {self._value(atom.closure)}"] if atom.closure else []),
            *(["fills"] if atom.fills else []),
            *([f"moments of {atom.moments}"] if atom.moments else []),
            *([f"of {self._at(atom.function)}"] if atom.function else []),
        ]
        return f"computation({', '.join(said)})"

    def _partial(self, atom: Partial) -> str:
        given = [*map(self._value, atom.positional)]
        given += [f"{key}={self._value(held)}" for key, held in atom.keywords]
        return f"partial({', '.join([self._atom(atom.function), *given])})"


def _device(device: Seat | None) -> str:
    if device is None:
        return "any"
    if not isinstance(device, Device):
        return str(device)
    if device == SYSTEM_DEFAULT:
        return "def"
    if device in {Device("cpu", 0), Device("gpu", 1)}:
        return str(device.platform)
    return f"{device.platform or 'def'}[{'' if device.index is None else device.index}]"


def _plain(atom: Plain) -> str:
    if atom.text is not None:
        return repr(atom.text)
    if atom.member is not None:
        return "member " + atom.member.name.rpartition(".")[2]
    return {None: "-", True: "true", False: "false"}[atom.truth]


def main(paths: Iterable[str]) -> None:
    """Fill in what is asked for."""
    for path in map(Path, paths):
        found = [f"# case: {case.name.partition('/')[2]}" for case in read_cases(path)]
        for number, case in enumerate(read_cases(path)):
            is_asked = any(line.endswith("  # ?") for line in case.said)
            lines = Known(case).lines() if is_asked else case.said
            found[number] += "\n" + "\n".join(lines)
        path.write_text("\n\n".join(found) + "\n", encoding="utf-8")


def _left(computation: Computation) -> list[int]:
    """Give the positions of what it leaves where it is."""
    usage = computation.usage
    return [] if usage is None else [i for i, used in enumerate(usage.positions) if used is False]


if __name__ == "__main__":
    main(sys.argv[1:])

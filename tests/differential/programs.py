"""Random programs, in five levels: straight lines, control flow, functions, classes, modules.

A program is a dict of module names to texts, of which `main` is the one that is started. All arrays
are small matrices, vectors and scalars, of a few shapes, so that XLA compiles little. What a
program cannot know beforehand it asks of the module `inputs` (see `oracle.Inputs`), so that it goes
another way at every run. The writer keeps the kind of each variable, so that most programs run to
their end; it does not know where arrays live: that is what is tested.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tests.differential.expressions import CONTEXT, DEVICE, ITERATOR, KINDS, LETTERS, MATRIX
from tests.differential.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.expressions import Choose, Class, Signature

LEVELS = (1, 2, 3, 4, 5)

HEADER = """\
import asyncio
import contextlib
import dataclasses
import functools
import jax
import jax.numpy as jnp
import numpy as np
from safetensors.flax import load_file
import inputs
"""


def _module(writer: Trees, *, at_most: int, at_least: int) -> None:
    for line in HEADER.splitlines():
        writer.lines.append(line)
    writer.prologue()
    if writer.chance(85):
        writer.line('cpu = jax.devices("cpu")[0]')
        writer.bind("cpu", DEVICE)
    if writer.chance(25):
        writer.line("accelerator = jax.devices()[0]")
        writer.bind("accelerator", DEVICE)
    for default in writer.pick([("host",), ("host",), ("host",), ("host", ""), ("", "host"), ()]):
        if default:
            writer.line(f"with jax.default_device({writer.default_device()}):")
            writer.indent += 1
        for kind in (MATRIX, *[writer.pick(KINDS) for _ in range(writer.number(0, 2))]):
            name = writer.new(kind)
            writer.line(f"{name} = {writer.expression(kind, writer.number(0, 1))}")
            writer.scope.variables[name] = kind
            writer.module_names.add(name)
        if default:
            writer.indent -= 1
    writer.statements(at_most, at_least=at_least)


def _import(writer: Trees, other: Trees, module: str, source: str) -> None:
    """Import what another module has, in one of the ways that Python knows."""
    variables, functions, classes = _offered(other)
    own = [*variables, *(each.name for each in functions), *(each.name for each in classes)]
    if not own:
        writer.lines.append(f"import {module}")
        return
    form = writer.number(0, 3)
    if form < 2:
        prefix = ""
        writer.lines.append(f"from {source} import {', '.join(own)}")
    elif form == 2 and not source.startswith("."):
        prefix = f"{module}."
        writer.lines.append(f"import {module}")
    else:
        prefix = f"{module.rpartition('.')[2]}_module."
        parent, _, last = source.rpartition(".")
        if source.startswith("."):
            writer.lines.append(f"from . import {last} as {prefix[:-1]}")
        elif parent:
            writer.lines.append(f"from {parent} import {last} as {prefix[:-1]}")
        else:
            writer.lines.append(f"import {source} as {prefix[:-1]}")
    for name, kind in variables.items():
        writer.scope.variables[prefix + name] = kind
    writer.scope.functions += [replace(each, name=prefix + each.name) for each in functions]
    writer.scope.classes += [replace(each, name=prefix + each.name) for each in classes]


def _finished(writer: Trees) -> str:
    return "\n".join(writer.lines) + "\n"


def _several(choose: Choose, kind: type[Trees]) -> dict[str, str]:
    """Write a program of two to four modules."""

    def writer(offset: int) -> Trees:
        made = kind(choose, 4)
        made.numbers = dict.fromkeys(
            [
                *LETTERS.values(),
                "f",
                "a",
                "g",
                "C",
                "Dataset",
                "Batch",
                "step",
                "make",
                "t",
                "o",
                "co",
                "ag",
                "configure",
                "on_host",
                "OnHost",
                "logged",
                "method",
                "stack",
                "got",
                "State",
                "load",
                "Kind",
                "either",
                *kind.prefixes,
            ],
            offset - 1,
        )
        made.budget = 18
        return made

    modules: dict[str, str] = {}
    main, data = writer(0), writer(100)
    shape = main.number(0, 2)
    if shape == 0:
        _module(data, at_most=5, at_least=2)
        modules["data"] = _finished(data)
        _import(main, data, "data", "data")
    else:
        base = writer(200)
        _module(base, at_most=4, at_least=1)
        modules["pkg.base"] = _finished(base)
        _import(data, base, "pkg.base", main.pick([".base", "pkg.base"]))
        _module(data, at_most=4, at_least=1)
        modules["pkg.data"] = _finished(data)
        if shape == 1:
            modules["pkg"] = ""
            _import(main, data, "pkg.data", "pkg.data")
        else:
            modules["pkg"] = "from .data import *\n"
            _import(main, data, "pkg", "pkg")
            modules["pkg"] = _reexport(data)
    _module(main, at_most=6, at_least=2)
    modules["main"] = _finished(main)
    return modules


def _reexport(data: Trees) -> str:
    variables, functions, classes = _offered(data)
    own = [*variables, *(each.name for each in functions), *(each.name for each in classes)]
    return f"from .data import {', '.join(own)}\n" if own else ""


def _offered(other: Trees) -> tuple[dict[str, str], list[Signature], list[Class]]:
    """Give what a module has for others: variables with their kinds, functions, classes."""
    scope = other.scope
    variables = {
        name: kind
        for name, kind in scope.variables.items()
        if "." not in name
        and kind not in {CONTEXT, ITERATOR}
        and name not in {"cpu", "accelerator"}
    }
    return (
        variables,
        [each for each in scope.functions if "." not in each.name],
        [each for each in scope.classes if "." not in each.name],
    )


def write_program(choose: Choose, level: int, kind: type[Trees] = Trees) -> dict[str, str]:
    """Give a program of a level, module names to texts, as `choose(low, high)` chooses it."""
    if level >= 5:
        return _several(choose, kind)
    writer = kind(choose, level)
    _module(writer, at_most=12, at_least=4)
    return {"main": _finished(writer)}


@st.composite
def programs(draw: Callable[[st.SearchStrategy[int]], int], level: int) -> dict[str, str]:
    """Give programs of a level, for Hypothesis to choose and to shrink."""
    return write_program(lambda low, high: draw(st.integers(low, high)), level)


def random_program(seed: int, level: int) -> dict[str, str]:
    """Give the program of a level with a number: always the same one."""
    return write_program(random.Random(f"{level}/{seed}").randint, level)  # noqa: S311

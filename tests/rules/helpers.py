"""A text as the rules see it."""

from __future__ import annotations

import json
import textwrap

import libcst as cst

from placement_lint.rules.context import Context
from placement_lint.rules.registry import rule_by_code
from placement_lint.semantic.model import ModuleFacts

HEAD = """\
import contextlib, functools, os, typing
from functools import partial
import jax
import jax.numpy as jnp
"""


def context(text: str, *, path: str = "code.py", head: str = HEAD) -> Context:
    """Return a text, behind some imports, as a rule sees it."""
    module = cst.parse_module(head + textwrap.dedent(text))
    return Context(ModuleFacts(module, path), rule_by_code("JDP204"), [])


def notebook(*texts: str) -> bytes:
    """Return a notebook with these cells of code."""
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": text,
        }
        for text in texts
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def marked(ctx: Context, name: str = "here") -> cst.Call:
    """Return the last call of a function of this name."""
    calls = [
        call
        for call in ctx.tree.every(cst.Call)
        if isinstance(call.func, cst.Name) and call.func.value == name
    ]
    return calls[-1]


def code(node: cst.CSTNode | None) -> str | None:
    """Write a node as it stands."""
    return None if node is None else cst.Module([]).code_for_node(node).strip()

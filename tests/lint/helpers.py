"""Small rules that stand in for real ones, so that these tests are about the machinery alone."""

# ruff: noqa: N802 - visit_Call is named after the node type

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from placement_lint.files.source import Source
from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.lint.file import FileOptions
from placement_lint.lint.run import FixMode, Outcome, Request, check_files
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.needs import AllOf, AnyOf, Jax

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor


class PutFlagged(Rule):
    """Flags every call of `jax.device_put`."""

    code, name = "JDP801", "put-flagged"
    severity = Severity.WARNING
    needs = AnyOf(b"device_put")

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if ctx.is_call(node, "jax.device_put"):
            ctx.report(node, "a put")


class DevicesFlagged(Rule):
    """Flags every call of `jax.devices`, as likely."""

    code, name = "JDP812", "devices-flagged"
    severity = Severity.INFO
    needs = AllOf(Jax(), b"devices")

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if ctx.is_call(node, "jax.devices"):
            ctx.report(node, "devices", confidence=Confidence.LIKELY)


class Crashing(Rule):
    """Fails at every `del`."""

    code, name = "JDP803", "crashing"
    severity = Severity.ERROR
    needs = AnyOf(b"del")

    def visit_Del(self, _node: cst.Del, _ctx: Context) -> None:
        message = "the user's secret"
        raise KeyError(message)


class Renames(Rule):
    """Flags the names `old` and `risky` and renames them; `looping` becomes itself again and so on.

    `old(...)` goes before what is nested in it: their edits do not touch. `wide` wants its whole
    call, with all that is in it.
    """

    code, name = "JDP804", "renames"
    severity = Severity.WARNING
    fix = Applicability.SAFE
    needs = AnyOf(b"old", b"risky", b"ping", b"pong", b"grow", b"broken", b"refused", b"wide")

    replacements: ClassVar[dict[str, str]] = {
        "old": "new",
        "risky": "bold",
        "shown": "hidden",
        "ping": "pong",
        "pong": "ping",
        "grow": "grow_grow",
        "broken": "(",
        "refused": "lambda: (yield) or 1 + await x",
        "wrong": "1 = 2",
        "accented": "é",
        "greek": "λ",
        "noop": "noop",
        "chain1": "chain2",
        "chain2": "chain3",
    }

    def visit_Name(self, node: cst.Name, ctx: Context) -> None:
        text = self.replacements.get(node.value.split("_")[0])
        if text is None:
            return
        if node.value.startswith("grow"):
            text = node.value + "_grow"
        levels = {"risky": Applicability.UNSAFE, "shown": Applicability.DISPLAY}
        applicability = levels.get(node.value, Applicability.SAFE)
        plan = FixPlan(applicability, "Rename it", lambda editor: [editor.replace(node, text)])
        ctx.report(node, f"{node.value} is out", fix=plan)


class Wide(Rule):
    """Flags calls of `wide`, and replaces each by its argument in one edit."""

    code, name = "JDP805", "wide-call"
    severity = Severity.WARNING
    fix = Applicability.SAFE
    needs = AnyOf(b"wide")

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if isinstance(node.func, cst.Name) and node.func.value == "wide":
            inner = node.args[0].value

            def build(editor: Editor) -> list[Edit]:
                return [editor.replace(node, editor.text(inner))]

            ctx.report(node, "wide", fix=FixPlan(Applicability.SAFE, "Unwrap it", build))


class Pair(Rule):
    """Flags each `first` and `last`; the fix of each renames both, with the same two edits."""

    code, name = "JDP806", "pair"
    severity = Severity.WARNING
    fix = Applicability.SAFE
    needs = AnyOf(b"first")

    def visit_Module(self, _: cst.Module, ctx: Context) -> None:
        named = [
            each
            for each in ctx.tree.nodes
            if isinstance(each, cst.Name) and each.value in {"first", "last"}
        ]

        def build(editor: Editor) -> list[Edit]:
            return [editor.replace(each, each.value.upper()) for each in named]

        for each in named:
            ctx.report(each, "paired", fix=FixPlan(Applicability.SAFE, "Rename both", build))


class Overlapping(Rule):
    """Flags `muddled` with a fix whose own edits overlap."""

    code, name = "JDP807", "overlapping"
    severity = Severity.WARNING
    fix = Applicability.SAFE
    needs = AnyOf(b"muddled")

    def visit_Name(self, node: cst.Name, ctx: Context) -> None:
        if node.value == "muddled":

            def build(editor: Editor) -> list[Edit]:
                start, end = editor.spans.inner(node)
                return [
                    editor.replace_offsets(start, end, "a"),
                    editor.replace_offsets(start + 1, end, "b"),
                ]

            ctx.report(node, "muddled", fix=FixPlan(Applicability.SAFE, "Muddle on", build))


def options(*rules: type[Rule], **others: object) -> FileOptions:
    return FileOptions(rules, **others)  # type: ignore[arg-type]


def source(text: str, path: str = "code.py") -> Source:
    return Source(path, text)


def check(
    files: Iterable[Path | str],
    *rules: type[Rule],
    jobs: int = 1,
    fix: FixMode = FixMode.NONE,
    unsafe: bool = False,
    parallel_bytes: int = 0,
) -> Outcome:
    request = Request(FileOptions(rules), unsafe)
    return check_files(
        map(str, files), lambda _: request, jobs=jobs, fix=fix, parallel_bytes=parallel_bytes
    )


def places(outcome: Outcome) -> list[tuple[str, int, str]]:
    return [
        (finding.path.rsplit("/", 1)[-1], finding.span.line, finding.code)
        for finding in outcome.findings
    ]

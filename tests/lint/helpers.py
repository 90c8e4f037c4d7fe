"""Small rules that stand in for real ones, so that these tests are about the machinery alone."""

# ruff: noqa: N802 - visit_Call is named after the node type

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from placement_lint.files.source import Source
from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.lint.results import FixMode, Outcome
from placement_lint.lint.run import check_files
from placement_lint.lint.tasks import Request
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses
from placement_lint.rules.base import FixPlan, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor


class PutFlagged(Rule):
    """Flags every call of `jax.device_put`."""

    code, name = "JDP801", "put-flagged"
    severity = Severity.WARNING
    needs = Uses("jax.device_put")

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
    needs = AnyOf(
        b"old", b"risky", b"ping", b"pong", b"grow", b"broken", b"refused", b"wide", b"shown"
    )

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


class Around(Rule):
    """Flags calls of `near`, and puts a call around each that is not in one yet.

    The fixes of `near()` and `near()()` begin with one and the same edit.
    """

    code, name = "JDP813", "around"
    severity = Severity.WARNING
    fix = Applicability.SAFE
    needs = AnyOf(b"near")

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not _is_near(node.func):
            return
        parent = ctx.parent(node)
        if isinstance(parent, cst.Arg):
            return
        plan = FixPlan(Applicability.SAFE, "Wrap it", lambda editor: editor.wrap(node, "f(", ")"))
        ctx.report(node, "bare", fix=plan)


def _is_near(node: cst.BaseExpression) -> bool:
    while isinstance(node, cst.Call):
        node = node.func
    return isinstance(node, cst.Name) and node.value == "near"


class Importing(Rule):
    """Flags `path` where it is not imported, and imports what is named after it beside it."""

    code, name = "JDP814", "importing"
    severity = Severity.WARNING
    fix = Applicability.SAFE
    needs = AnyOf(b"path")

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not isinstance(node.func, cst.Name) or node.func.value != "path":
            return

        def build(editor: Editor) -> list[Edit]:
            return [editor.insert(0, "import os\n"), editor.replace(node.func, "os.path")]

        ctx.report(node, "path", fix=FixPlan(Applicability.SAFE, "Import it", build))


class Grouped(Rule):
    """Flags `left` where there is a `right`, and so the other way round: one of them has to go."""

    code, name = "JDP815", "grouped"
    severity = Severity.WARNING
    fix = Applicability.SAFE
    needs = AllOf(AnyOf(b"left"), AnyOf(b"right"))

    def visit_Module(self, _: cst.Module, ctx: Context) -> None:
        named = {
            each.value: each
            for each in ctx.tree.nodes
            if isinstance(each, cst.Name) and each.value in {"left", "right"}
        }
        for each in named.values() if len(named) == 2 else ():

            def build(editor: Editor, node: cst.Name = each) -> list[Edit]:
                return [editor.replace(node, "gone")]

            plan = FixPlan(Applicability.SAFE, "Take it away", build, group="sides")
            ctx.report(each, "one too many", fix=plan)


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
    sight: Sight = Sight.IMPORTS,
) -> Outcome:
    request = Request(FileOptions(rules, sight=sight), unsafe)
    return check_files(
        map(str, files), lambda _: request, jobs=jobs, fix=fix, parallel_bytes=parallel_bytes
    )


def places(outcome: Outcome) -> list[tuple[str, int, str]]:
    return [
        (finding.path.rsplit("/", 1)[-1], finding.span.line, finding.code)
        for finding in outcome.findings
    ]

"""The fix that moves the statements between an assignment and its reset into a `with` block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.findings import Edit, Span
    from placement_lint.rules.config_state.assignments import Assignment
    from placement_lint.syntax.edits import Editor


def with_block(first: Assignment, last: Assignment, editor: Editor) -> list[Edit] | None:
    """Turn `target = value`, a body and `target = None` into `with target(value):` and the body.

    Where the reset is in a `finally`, the `try` goes if that was all that it was for. None
    where the layout of the text does not allow it.
    """
    opening, closing = first.statement, last.statement
    if opening is None or closing is None:
        return None
    top = editor.span(opening)
    margin = editor.indentation(top.line)
    step = editor.tree.module.default_indent
    if len(set(margin + step)) > 1:
        return None
    guard = first.guard
    if guard is None:
        bottom = editor.span(closing)
        edits: list[Edit] | None = [
            *_header(opening, editor),
            *editor.indent_lines(top.end_line + 1, bottom.line - 1, step),
            _without_statement(closing, editor),
        ]
    elif editor.tree.is_inside(opening, guard):
        edits = _in_place_of_try(opening, guard, editor)
    elif guard.handlers or guard.orelse or len(_final(guard).body.body) > 1:
        edits = _around_try(opening, closing, guard, editor)
    else:
        edits = _without_try(opening, guard, editor)
    if edits is None:
        return None
    return editor.fused([*edits, *_leftover(first, editor)])


def _leftover(first: Assignment, editor: Editor) -> list[Edit]:
    """Delete the line that saves a value for the reset alone, if it says nothing else."""
    if first.leftover is None:
        return []
    span = editor.span(first.leftover)
    line = editor.source.line_starts[span.line - 1]
    if editor.has_comment((line, line + len(editor.source.line_text(span.line)))):
        return []
    return [editor.delete_lines(span.line, span.end_line)]


def _around_try(
    first: cst.Assign, last: cst.Assign, guard: cst.Try, editor: Editor
) -> list[Edit] | None:
    """Put the whole `try` under the block; nothing but the reset goes from its `finally`."""
    step = editor.tree.module.default_indent
    top, whole = editor.span(first), editor.span(guard)
    final = _final(guard)
    if len(final.body.body) > 1:
        gone = _without_statement(last, editor)
    else:
        gone = _deleted(editor.span(final), editor)
    end = editor.span(last).line - 1
    if len(final.body.body) == 1:
        end = editor.span(final).line - 1
    if _is_odd(guard, whole, editor):
        return None
    return [*_header(first, editor), *editor.indent_lines(top.end_line + 1, end, step), gone]


def _without_try(first: cst.Assign, guard: cst.Try, editor: Editor) -> list[Edit] | None:
    """Put what the `try` guards under the block, where it is as deep as it was."""
    step = editor.tree.module.default_indent
    top, whole = editor.span(first), editor.span(guard)
    if _is_odd(guard, whole, editor) or not _is_bare(whole.line, "try:", editor):
        return None
    return [
        *_header(first, editor),
        *editor.indent_lines(top.end_line + 1, whole.line - 1, step),
        editor.delete_lines(whole.line, whole.line),
        _deleted(editor.span(_final(guard)), editor),
    ]


def _in_place_of_try(first: cst.Assign, guard: cst.Try, editor: Editor) -> list[Edit] | None:
    """Put the block in the place of a `try` whose body begins with the assignment."""
    if len(guard.body.body) < 2:
        return None
    span, whole = editor.span(first), editor.span(guard)
    if _is_odd(guard, whole, editor) or not _is_bare(whole.line, "try:", editor):
        return None
    _, end = editor.spans.inner(first)
    source = editor.source
    value_start, value_end = editor.spans.outer(first.value)
    if source.text[end : source.line_starts[span.end_line]].strip():
        return None
    at, _ = editor.spans.inner(guard)
    header = f"with {dotted(first.targets[0].target)}({source.text[value_start:value_end]})"
    return [
        editor.replace_offsets(at, at + len("try"), header),
        editor.delete_lines(span.line, span.end_line),
        _deleted(editor.span(_final(guard)), editor),
    ]


def _header(first: cst.Assign, editor: Editor) -> list[Edit]:
    """Put the head of the block in the place of the assignment."""
    target, value = f"with {dotted(first.targets[0].target)}", first.value
    if len(value.lpar) == 1 and not isinstance(value, cst.Tuple | cst.Yield):
        # Its own brackets become those of the call.
        start, end = editor.spans.outer(value)
        target_start, _ = editor.spans.outer(first.targets[0].target)
        return [editor.replace_offsets(target_start, start, target), editor.insert(end, ":")]
    return call_edits(first, f"{target}(", "):", editor)


def call_edits(statement: cst.Assign, before: str, after: str, editor: Editor) -> list[Edit]:
    """Put a call in the place of `target = `, around the value."""
    value = statement.value
    start, end = editor.spans.outer(value)
    if isinstance(value, cst.Yield) and not value.lpar:
        before, after = f"{before}(", f"){after}"
    target_start, _ = editor.spans.outer(statement.targets[0].target)
    return [editor.replace_offsets(target_start, start, before), editor.insert(end, after)]


def _without_statement(statement: cst.Assign, editor: Editor) -> Edit:
    """Delete the lines of a statement; a comment behind it stays, on a line of its own."""
    start, end = editor.spans.inner(statement)
    span = editor.place((start, end))
    comment = editor.next_comment(end)
    if comment is None or editor.source.position(comment)[0] != span.end_line:
        return editor.delete_lines(span.line, span.end_line)
    return editor.replace_offsets(start, comment, "")


def _deleted(span: Span, editor: Editor) -> Edit:
    """Delete everything from the first line of a place to its last."""
    last = span.end_line if span.end_column > 1 else span.end_line - 1
    return editor.delete_lines(span.line, last)


def _final(guard: cst.Try) -> cst.Finally:
    if guard.finalbody is None:
        message = "a try without a finally"
        raise LookupError(message)
    return guard.finalbody


def _is_odd(guard: cst.Try, whole: Span, editor: Editor) -> bool:
    """Return whether parts of a `try` are on one line, or are indented unlike the file."""
    step = editor.tree.module.default_indent
    margin = editor.indentation(whole.line)
    suites = [guard.body, _final(guard).body]
    suites += [handler.body for handler in guard.handlers]
    suites += [guard.orelse.body] if guard.orelse else []
    return any(
        not isinstance(suite, cst.IndentedBlock)
        or editor.indentation(editor.line_of(suite.body[0])) != margin + step
        for suite in suites
    )


def _is_bare(line: int, text: str, editor: Editor) -> bool:
    """Return whether there is nothing else on a line: no comment would go with it."""
    return editor.source.line_text(line).strip() == text

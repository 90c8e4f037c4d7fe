"""Adding `# noqa` comments for what is found: nothing else of a file changes.

A comment goes to the end of the line that a finding begins on, which is where ruff and flake8 look
for it too. Where that line ends inside of a string, or with a backslash, it goes to the end of the
last line that is joined to it so. One that is there already gets more codes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from placement_lint.files.notebook import NotPythonError
from placement_lint.files.source import UnreadableError
from placement_lint.files.write import WriteError, replace_file
from placement_lint.lint.check_file import editor_of
from placement_lint.lint.file_results import FileResult
from placement_lint.lint.fixes.apply import is_writable
from placement_lint.lint.results import FixedFile, SkipKind, Skipped
from placement_lint.lint.suppressions.comments import NEVER_SILENT, Suppressions
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from placement_lint.files.source import Source
    from placement_lint.files.store import FileStore
    from placement_lint.findings import Edit, Finding
    from placement_lint.syntax.edits import Editor

_LOOKS_LIKE_A_CODE = re.compile(r"[,:\s]*[A-Z]+[0-9]", re.IGNORECASE)


class ReasonError(ValueError):
    """A text that cannot stand in a comment as the reason; the message says why."""


@dataclass(frozen=True)
class Silenced:
    """A file with comments in it for what was found there."""

    file: FixedFile
    before: bytes
    after: bytes


def checked_reason(reason: str) -> str:
    """Return a reason as it is written behind codes. Raises ReasonError."""
    reason = reason.strip()
    if "#" in reason or not reason.isprintable():
        raise ReasonError("a reason is one line of text without a #")
    # flake8 and ruff would take its first word for one more code.
    return f"({reason})" if _LOOKS_LIKE_A_CODE.match(reason) else reason


def silence_files(
    findings: Iterable[Finding], store: FileStore, reason: str = ""
) -> tuple[list[Silenced], list[Skipped]]:
    """Work out the comments for findings, file by file; give the files where that cannot be done.

    Nothing is written. Findings that no comment silences are passed over.
    """
    done: list[Silenced] = []
    skipped: list[Skipped] = []
    wanted = sorted(
        (each for each in findings if each.code not in NEVER_SILENT), key=lambda each: each.sort_key
    )
    for path, group in groupby(wanted, key=lambda each: each.path):
        try:
            silenced = silence(path, store, [*group], reason)
        except (UnreadableError, NotPythonError, _NotSilencedError) as error:
            skipped.append(_not_silenced(path, error))
        else:
            done += [silenced] if silenced is not None else []
    return done, skipped


def _not_silenced(path: str, error: Exception) -> Skipped:
    return Skipped(path, f"not silenced: {error}", SkipKind.NOT_SILENCED)


def write(silenced: Iterable[Silenced]) -> tuple[list[Silenced], list[Skipped]]:
    """Write files, each whole or not at all; give those that were not written with the reason."""
    done: list[Silenced] = []
    skipped: list[Skipped] = []
    for each in silenced:
        try:
            replace_file(each.file.path, each.before, each.after)
        except WriteError as error:
            skipped.append(_not_silenced(each.file.path, error))
        else:
            done.append(each)
    return done, skipped


def silence(
    path: str, store: FileStore, findings: Sequence[Finding], reason: str = ""
) -> Silenced | None:
    """Work out the comments for the findings in one file; None where none is needed.

    Raises UnreadableError, NotPythonError, or another exception that says why it cannot be done.
    """
    source = store.source(path)
    if not is_writable(source):
        message = f"{source.encoding} does not give its bytes back"
        raise _NotSilencedError(message)
    return run_deep(_silence, source, store, findings, reason)


class _NotSilencedError(Exception):
    """A file in which no comment may be put."""


def _silence(
    source: Source, store: FileStore, findings: Sequence[Finding], reason: str
) -> Silenced | None:
    from placement_lint.lint.fixes.notebook_cells import in_cells
    from placement_lint.syntax.edits import edited

    editor = _editor(source, store)
    data = store.read(source.path)
    edits = comments_for(findings, editor, reason)
    if not edits:
        return None
    if source.cells:
        placed = in_cells(source, edits)
        if placed is None:
            raise _NotSilencedError("what only IPython understands is in the way")
        edits = placed
    changed = edited(source, edits)
    try:
        after = changed.to_bytes()
    except UnicodeError as error:
        message = f"its encoding ({source.encoding}) cannot hold the reason"
        raise _NotSilencedError(message) from error
    _demand_only_comments(editor, _editor(changed, store))
    counts = dict(sorted(Counter(finding.code for finding in findings).items()))
    mark = "\ufeff" if source.bom else ""
    texts = (mark + source.content, mark + changed.content)
    if source.cells:
        encoding = json.detect_encoding(data)
        texts = (data.decode(encoding), after.decode(encoding))
    return Silenced(FixedFile(source.path, *texts, counts), data, after)


def _editor(source: Source, store: FileStore) -> Editor:
    editor = editor_of(source, store)
    if isinstance(editor, FileResult):
        raise _NotSilencedError(editor.findings[0].message)
    if not editor.spans.exact:
        raise _NotSilencedError("its line ends (carriage returns) or form feeds would be lost")
    return editor


def comments_for(findings: Iterable[Finding], editor: Editor, reason: str = "") -> list[Edit]:
    """Return an edit for each line that needs a comment, or more codes in the one that it has.

    In a notebook, they count the lines of all its cells together.
    """
    source = editor.source
    codes: dict[int, set[str]] = {}
    for finding in findings:
        line = finding.span.line + source.lines_before(finding.cell)
        codes.setdefault(editor.joined_end(line), set()).add(finding.code)
    there = {
        source.position(directive.start)[0]: directive
        for directive in reversed(Suppressions(editor).directives)
        if directive.is_noqa
    }
    edits = []
    for line, wanted in sorted(codes.items()):
        begin, text = source.line_starts[line - 1], source.line_text(line)
        directive = there.get(line)
        if directive is None:
            end = begin + len(text.rstrip())
            note = f"  # noqa: {', '.join(sorted(wanted))}{reason and ' ' + reason}"
            edits.append(editor.replace_offsets(end, begin + len(text), note))
        elif directive.selectors is not None:
            known = {selector.text.upper() for selector in directive.selectors}
            more = "".join(f", {code}" for code in sorted(wanted) if code not in known)
            is_last = directive.end == begin + len(text.rstrip())
            more += f" {reason}" if more and reason and is_last else ""
            edits += [editor.insert(directive.end, more)] if more else []
    return edits


def _demand_only_comments(before: Editor, after: Editor) -> None:
    """Make sure that the file says the same without its comments."""
    if _without_comments(before) != _without_comments(after):
        raise _NotSilencedError("a comment would become a part of something else; please report it")


def _without_comments(editor: Editor) -> list[str]:
    text, at, pieces = editor.source.text, 0, []
    for start, end in sorted(editor.spans.comments):
        pieces.append(text[at:start])
        at = end
    whole = "".join([*pieces, text[at:]])
    return [line.rstrip() for line in whole.split("\n")]

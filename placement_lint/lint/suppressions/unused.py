"""What is wrong with the comments that silence findings: JDP902 and JDP904."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.config.suggest import nearest
from placement_lint.findings import Applicability, Finding, Fix
from placement_lint.lint.file_results import ABOUT_COMMENTS, Sight
from placement_lint.rules.registry import all_rules
from placement_lint.rules.tool.unknown_code_in_suppression import UnknownCodeInSuppression
from placement_lint.rules.tool.unused_suppression import UnusedSuppression

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.findings import Edit
    from placement_lint.lint.suppressions.comments import Directive, Selector, Suppressions
    from placement_lint.rules.base import Rule
    from placement_lint.syntax.edits import Editor


def complaints(
    suppressions: Suppressions, editor: Editor, checked: tuple[type[Rule], ...], sight: Sight
) -> Iterator[Finding]:
    """Yield a finding for each comment that silences nothing, after all findings were compared.

    `checked` are the rules whose findings these were. Places are those of the text, not of cells.
    """
    judge = _Judge(editor, checked, sight)
    for start, end in suppressions.nameless:
        yield from judge.nameless(start, end)
    for directive in suppressions.directives:
        yield from judge.unknown(directive)
        yield from judge.unused(directive)


class _Judge:
    """What is asked of each comment of one file."""

    def __init__(self, editor: Editor, checked: tuple[type[Rule], ...], sight: Sight) -> None:
        self.editor = editor
        self.checked = frozenset(checked)
        self.sight = sight
        self._heard: dict[str, bool] = {}
        self._rules: dict[str, list[type[Rule]]] = {}
        """By the text of a selector."""

    def nameless(self, start: int, end: int) -> Iterator[Finding]:
        """Complain of a comment that names no rule."""
        if UnknownCodeInSuppression in self.checked:
            message = UnknownCodeInSuppression.describe("", None)
            yield self._finding(UnknownCodeInSuppression, message, start, end, None)

    def unknown(self, directive: Directive) -> Iterator[Finding]:
        """Complain of selectors that no rule answers to."""
        if UnknownCodeInSuppression not in self.checked or directive.selectors is None:
            return
        if not directive.selectors and not directive.of_ruff:
            yield from self.nameless(directive.start, directive.end)
        for selector in directive.selectors:
            if not _is_ours(directive, selector) or self._meant(selector):
                continue
            meant = _nearest(selector)
            message = UnknownCodeInSuppression.describe(selector.text, meant)
            fix = None
            if meant is not None:
                edit = self.editor.replace_offsets(selector.start, selector.end, meant)
                fix = Fix(Applicability.UNSAFE, f"write {meant}", (edit,))
            yield self._finding(
                UnknownCodeInSuppression, message, selector.start, selector.end, fix
            )

    def unused(self, directive: Directive) -> Iterator[Finding]:
        """Complain of selectors that silenced nothing although their rules had their say."""
        if UnusedSuppression not in self.checked or directive.selectors is None:
            return
        unused: list[Selector] = []
        again: list[Selector] = []
        seen: set[str] = set()
        for selector in directive.selectors:
            if _is_ours(directive, selector) and self._was_heard(selector):
                if selector.text.upper() in seen:
                    again.append(selector)
                elif selector not in directive.used:
                    unused.append(selector)
            seen.add(selector.text.upper())
        useless = [*unused, *again]
        if useless:
            message = UnusedSuppression.describe(
                list(dict.fromkeys(selector.text for selector in unused)),
                list(dict.fromkeys(selector.text for selector in again)),
            )
            fix = self._without(directive, useless)
            yield self._finding(UnusedSuppression, message, directive.start, directive.end, fix)

    def _was_heard(self, selector: Selector) -> bool:
        """Return whether everything that a selector names would have been found."""
        text = selector.text
        if text not in self._heard:
            meant = self._meant(selector)
            self._heard[text] = bool(meant) and all(
                rule in self.checked and rule not in ABOUT_COMMENTS and self._sees_enough(rule)
                for rule in meant
            )
        return self._heard[text]

    def _meant(self, selector: Selector) -> list[type[Rule]]:
        """Return the rules that a selector means."""
        text = selector.text
        if text not in self._rules:
            rules = [rule for rule in all_rules() if selector.covers(rule.code, rule.name)]
            self._rules[text] = rules
        return self._rules[text]

    def _sees_enough(self, rule: type[Rule]) -> bool:
        return self.sight >= (Sight.WHOLE if rule.follows_callers else Sight.IMPORTS)

    # -- taking out what is of no use -------------------------------------------------------------

    def _without(self, directive: Directive, useless: list[Selector]) -> Fix:
        gone = {*useless}
        kept = [each.text for each in directive.selectors or () if each not in gone]
        if kept:
            first, last = (directive.selectors or ())[0], (directive.selectors or ())[-1]
            edit = self.editor.replace_offsets(first.start, last.end, ", ".join(kept))
            names = ", ".join(each.text for each in useless)
            edits = [edit]
            if directive.until is not None and directive.until.selectors:
                # The two belong together by what they list.
                there = directive.until.selectors
                start, end = there[0].start, there[-1].end
                edits.append(self.editor.replace_offsets(start, end, ", ".join(kept)))
            return Fix(Applicability.SAFE, f"take {names} out of the comment", tuple(edits))
        removed = [self._whole(directive)]
        if directive.until is not None:
            removed.append(self._whole(directive.until))
        is_safe = all(safe for _, safe in removed)
        applicability = Applicability.SAFE if is_safe else Applicability.UNSAFE
        what = "delete the comment" if len(removed) == 1 else "delete both comments"
        return Fix(applicability, what, tuple(edit for edit, _ in removed))

    def _whole(self, directive: Directive) -> tuple[Edit, bool]:
        """Take out a whole directive; tell whether that loses nothing else."""
        source = self.editor.source
        line, _ = source.position(directive.start)
        begin = source.line_starts[line - 1]
        text = source.line_text(line)
        before, after = text[: directive.start - begin], text[directive.end - begin :]
        if directive.is_noqa:
            # A comma behind the last code separates it from nothing.
            after = after.lstrip(", \t")
        rest = after.strip()
        if rest and (directive.is_noqa or rest.startswith("#")):
            # What follows is a comment of its own: it gets the `#`, if it has none.
            end = begin + len(text) - len(after.lstrip())
            return self.editor.replace_offsets(
                directive.start, end, "" if rest.startswith("#") else "# "
            ), True
        if not before.strip():
            if line > 1 and source.line_text(line - 1).rstrip("\r\n").endswith("\\"):
                # What the line above goes on with stays a line: else it may go on with nothing.
                end = begin + len(text.rstrip())
                return self.editor.replace_offsets(begin, end, ""), not rest
            return self.editor.delete_lines(line, line), not rest
        start = begin + len(before.rstrip())
        return self.editor.replace_offsets(start, begin + len(text.rstrip()), ""), not rest

    def _finding(
        self, rule: type[Rule], message: str, start: int, end: int, fix: Fix | None
    ) -> Finding:
        return Finding(
            code=rule.code,
            name=rule.name,
            message=message,
            path=self.editor.source.path,
            span=self.editor.place((start, end)),
            severity=rule.severity,
            fix=fix,
        )


def _is_ours(directive: Directive, selector: Selector) -> bool:
    """Return whether a selector speaks of our rules, and not of another tool's."""
    is_shared = directive.is_noqa or directive.of_ruff
    return not is_shared or selector.text.upper().startswith("JDP")


def _nearest(selector: Selector) -> str | None:
    """Return the name that was probably meant; of a code nobody can tell."""
    return nearest(selector.text.lower(), [rule.name for rule in all_rules()])

"""One file: its source to its findings."""

from __future__ import annotations

import contextlib
import functools
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from placement_lint.files.store import FileStore
from placement_lint.findings import Finding, Related, Span
from placement_lint.isolation import isolating
from placement_lint.limits.budget import (
    RULES_SHARE,
    LimitError,
    MemoryUpError,
    TimeUpError,
    allow,
    finish,
    give_up,
    spending,
    unmetered,
)
from placement_lint.lint.file_results import (
    ABOUT_COMMENTS,
    FileOptions,
    FileResult,
    Sight,
    internal_error,
    syntax_finding,
    unfinished,
)
from placement_lint.lint.gc_pause import collection_paused
from placement_lint.prefilter.conditions import text_of_source
from placement_lint.timing import IMPORTING, NAMES, PLACES, RULES, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import libcst as cst

    from placement_lint.files.source import Source
    from placement_lint.findings import Fix
    from placement_lint.lint.lookup import Revealed
    from placement_lint.lint.parsing import Parsed
    from placement_lint.lint.results import Suppressed
    from placement_lint.lint.suppressions.comments import Suppressions
    from placement_lint.prefilter.conditions import FileText
    from placement_lint.rules.base import Draft, Rule
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import RunView
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.names import ExportResolver


Visitor: TypeAlias = "Callable[[Any, Any], None]"
Table: TypeAlias = "dict[type[cst.CSTNode], list[tuple[int, Visitor]]]"

_MOST_SUPPOSED = 2
"""Fixes that are tried one upon another: the second gets rid of what the first brings up."""
_ADVICE = {rule.code: rule.advice for rule in ABOUT_COMMENTS}


class NeedsError(Exception):
    """What a rule needs could not be looked up in a file."""

    def __init__(self, rule: type[Rule], error: Exception) -> None:
        """Take the first rule of which that is so, and what was raised."""
        super().__init__(rule.code)
        self.rule = rule
        self.error = error


def passes_filter(text: FileText, rules: tuple[type[Rule], ...]) -> bool:
    """Return whether one of the rules could fire in a file that says this.

    Raises NeedsError where that cannot be told, because of a mistake of ours.
    """
    for rule in rules:
        try:
            if text.meets(rule.needs):
                return True
        except Exception as error:
            raise NeedsError(rule, error) from error
    return False


def rules_that_may_fire(text: FileText, rules: tuple[type[Rule], ...]) -> tuple[type[Rule], ...]:
    """Return those of the rules that could fire in a file that says this.

    Raises NeedsError where that cannot be told, because of a mistake of ours.
    """
    return tuple(rule for rule in rules if passes_filter(text, (rule,)))


def lint_source(
    source: Source,
    options: FileOptions,
    exports: ExportResolver | None = None,
    run: RunView | None = None,
    *,
    may_fire: tuple[type[Rule], ...] | None = None,
    store: FileStore | None = None,
) -> FileResult:
    """Check one source with the rules, whether or not its bytes pass the filter.

    `may_fire` has the rules that can fire, if that is known: the others need not look. `store` has
    the files of the run.
    Never raises for what the source holds: what cannot be parsed is a JDP901 finding, and a rule
    that fails is a JDP903 finding, beside which all other rules' findings stand. Where the file
    runs out of time or memory, there is a JDP900 finding, and what was found by then. Raises
    RunOverError where nothing was found by the time that the run is over.
    """
    from placement_lint.syntax.deep_stack import run_deep

    allow(source.path, options.time_limit)
    try:
        return run_deep(
            _within_limits, source, options, exports, run, may_fire, store or FileStore()
        )
    except Exception as error:  # our fault, and no reason to lose the other files
        return failed(source, error)


def _within_limits(
    source: Source,
    options: FileOptions,
    exports: ExportResolver | None,
    run: RunView | None,
    may_fire: tuple[type[Rule], ...] | None,
    store: FileStore,
) -> FileResult:
    try:
        with spending(source.path):
            return _lint(source, options, exports, run, may_fire, store)
    except (TimeUpError, MemoryUpError) as error:
        give_up(error)
        return FileResult((unfinished(source.path, error, options.time_limit),), parsed=True)


def failed(source: Source, error: Exception) -> FileResult:
    """Return what is to be said of a source whose analysis raised something."""
    from placement_lint.syntax.deep_stack import TooDeepError
    from placement_lint.syntax.parse import Unparsable

    if not isinstance(error, TooDeepError):
        return FileResult((internal_error(source, None, error),), parsed=True)
    message = (
        "cannot be analysed: an expression is nested or chained too deeply for Python "
        f"{sys.version_info[0]}.{sys.version_info[1]}"
    )
    return FileResult((syntax_finding(source, Unparsable(message, 1, 1)),), parsed=True)


@collection_paused()
def _lint(
    source: Source,
    options: FileOptions,
    exports: ExportResolver | None,
    run: RunView | None,
    may_fire: tuple[type[Rule], ...] | None,
    store: FileStore,
) -> FileResult:
    from placement_lint.lint.parsing import parse_what_can_be
    from placement_lint.syntax.parse import IncongruentError

    parsed = parse_what_can_be(source, store)
    if isinstance(parsed, FileResult):
        return parsed
    with contextlib.suppress(IncongruentError):
        result = _analysed(parsed, options, exports, run, may_fire, store)
        # A rule may have failed of it, and nothing else.
        if not parsed.file.is_refuted:
            return result
    parsed = parse_what_can_be(source, store, is_lean=False)
    if isinstance(parsed, FileResult):
        return parsed
    return _analysed(parsed, options, exports, run, may_fire, store)


def _analysed(
    parsed: Parsed,
    options: FileOptions,
    exports: ExportResolver | None,
    run: RunView | None,
    may_fire: tuple[type[Rule], ...] | None,
    store: FileStore,
) -> FileResult:
    analysis = Analysis(parsed, options, exports, run, store)
    analysis.may_fire = may_fire
    try:
        return analysis.run()
    finally:
        analysis.free()


def editor_of(source: Source, store: FileStore | None = None) -> Editor | FileResult:
    """Return where the nodes of a source stand; its JDP901 finding where it cannot be parsed.

    Needs `run_deep`.
    """
    from placement_lint.lint.parsing import parsed_or_reported
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.tree import Tree

    parsed = parsed_or_reported(source, store)
    if isinstance(parsed, FileResult):
        return parsed
    return Editor(source, Tree(parsed.module), parsed.spans)


class Analysis:
    """The rules over one parsed module."""

    def __init__(
        self,
        parsed: Parsed,
        options: FileOptions,
        exports: ExportResolver | None,
        run: RunView | None,
        store: FileStore,
    ) -> None:
        """Work out what all rules need of the module; no rule has seen it yet."""
        with timed(IMPORTING), unmetered():
            from placement_lint.files.neighbours import Neighbours
            from placement_lint.project.target import ProjectMetadata
            from placement_lint.semantic.model import ModuleFacts
            from placement_lint.semantic.platform_pins import pins_in_time

        self.source = source = parsed.source
        self.options = options
        self._parsed = parsed
        self._asked = exports, run
        self._store = store
        self._trial = 0
        """How many fixes were supposed for the text to be what it is: see `fixes.trial`."""
        self._file = parsed.file
        self._metadata = store.shared(ProjectMetadata)
        with timed(NAMES):
            self.facts: ModuleFacts = ModuleFacts(
                parsed.file.module,
                source.path,
                file=parsed.file,
                accelerator=options.accelerator,
                exports=exports,
                models=options.models,
                target=self._metadata.target(options.target_jax, source.path).target,
                run=run,
                source=source,
                is_whole=options.sight is Sight.WHOLE,
                is_imported_beside=lambda path: store.shared(Neighbours).may_import(path, store),
                find_pins=pins_in_time,
            )
        self.siblings: dict[str, Analysis] = {source.path: self}
        """The files that are interpreted together with this one, by path."""
        self.broken = parsed.broken
        """What cannot be parsed of a notebook: it is not in the module."""
        self.failures: list[Finding] = []
        """What failed of the analysis as a whole."""
        self.failed: list[Finding] = []
        """What failed of single rules."""
        self.may_fire: tuple[type[Rule], ...] | None = None
        """The rules that can fire, if that is known. What is said of comments goes by all rules."""
        self._may_offer: Callable[[Fix], bool] | None = None
        """Whether a fix is offered; None: each is."""
        self._drafts: list[Draft] = []
        """What the rules have seen."""

    @functools.cached_property
    def editor(self) -> Editor:
        """Where the nodes of the module stand: worked out for the first finding.

        Who builds fixes with it calls `ModuleFacts.add_punctuation` before.
        """
        from placement_lint.syntax.edits import Editor

        tree = self.facts.tree
        editor = Editor(self.source, tree, self._file.spans_in(tree))
        editor.others = self._editor_of
        return editor

    def _editor_of(self, path: str) -> Editor:
        """Return the editor of another file, for a fix."""
        sibling = self.siblings[path]
        sibling.facts.add_punctuation()
        return sibling.editor

    @functools.cached_property
    def rules(self) -> tuple[type[Rule], ...]:
        """The rules that were asked for, without those of other versions of JAX."""
        target = self.facts.target
        return tuple(rule for rule in self.options.rules if target.meets(*rule.versions))

    @property
    def is_refuted(self) -> bool:
        """Whether LibCST turned out to read the file in another way: then no result counts."""
        return self._file.is_refuted

    def run(self) -> FileResult:
        """Let each rule look at each node, and give what is to be reported."""
        with timed(RULES):
            self._drafts = self._visited()
        with timed(PLACES):
            return self._reported()

    def again(self, store: FileStore) -> Analysis:
        """Return an analysis that executes the file alone, and else knows of the same files."""
        other = Analysis(self._parsed, self.options, *self._asked, store)
        path = self.facts.path
        other.siblings = self.siblings | {path: other}
        other.facts.siblings = self.facts.siblings | {path: other.facts}
        other.facts.locate = self.facts.locate
        return other

    def found_at(
        self,
        counts: Callable[[cst.CSTNode], bool],
        may_offer: Callable[[Fix], bool],
        *,
        on_any_mesh: bool = False,
    ) -> list[Finding]:
        """Return what is found at some nodes by where arrays are, whatever comments silence.

        `on_any_mesh`: only what is so whatever mesh is set.
        """
        self.may_fire = tuple(
            rule
            for rule in self.rules
            if rule.follows_arrays and (rule.holds_on_any_mesh or not on_any_mesh)
        )
        self._may_offer = may_offer
        with timed(RULES):
            drafts = [draft for draft in self._visited() if counts(draft.node)]
        with timed(PLACES):
            return self._all_placed(drafts)

    def with_more(self, more: list[Finding]) -> FileResult:
        """Return what is to be reported now that more was found in the file."""
        with timed(PLACES):
            return self._reported(more)

    def _visited(self) -> list[Draft]:
        """Let each rule look at each node; what was found before something ran out stands."""
        drafts: list[Draft] = []
        ran_out: LimitError | None = None
        try:
            with spending(self.source.path, RULES_SHARE):
                self._visit(drafts)
                self._plan(drafts)
        except LimitError as error:
            # Without what the frames that were left hold.
            ran_out = error.with_traceback(None)
        if ran_out is not None:
            self._note_unfinished(ran_out)
            finish(ran_out)
        elif self.facts.unfollowed is not None:
            self._note_unfinished(self.facts.unfollowed)
        return drafts

    def _note_unfinished(self, error: LimitError) -> None:
        self.failures.append(unfinished(self.source.path, error, self.options.time_limit))

    def free(self) -> None:
        """Free the tree and all that was worked out: nothing can be asked any longer."""
        self.facts.free()
        vars(self).clear()

    def _all_placed(self, drafts: list[Draft]) -> list[Finding]:
        if not drafts:
            return []
        if any(draft.fix is not None for draft in drafts):
            self.facts.add_punctuation()
        editor = self.editor
        placed = [found for draft in drafts if (found := self._placed(draft, editor))]
        taking_effect = {draft.rule.code for draft in drafts if draft.rule.fix_takes_effect}
        if not taking_effect or self._trial >= _MOST_SUPPOSED:
            return placed
        from placement_lint.lint.fixes.trial import not_tried, tried

        codes = frozenset(taking_effect)
        if self.failures:
            # What has run out of time once is not looked at again.
            return not_tried(placed, codes)
        try:
            return tried(placed, codes, self.source, self._found_in)
        except LimitError as error:
            finish(error.with_traceback(None))
            return not_tried(placed, codes)

    def _found_in(self, source: Source, offers_fixes: bool) -> Sequence[Finding]:
        """Return what the rules that are on by default, and those asked for, find in another text
        of the file.
        """
        from placement_lint.lint.parsing import parse_what_can_be
        from placement_lint.prefilter.quick_look import modules_of_rules
        from placement_lint.rules.registry import rules_in

        parsed = parse_what_can_be(source, self._store)
        if isinstance(parsed, FileResult):
            return parsed.findings
        by_default = rules_in(modules_of_rules(text_of_source(source)))
        rules = {rule.code: rule for rule in (*self.options.rules, *by_default)}
        options = replace(
            self.options,
            rules=tuple(rules[code] for code in sorted(rules)),
            offers_fixes=offers_fixes,
            treatment=None,
            reveal=False,
        )
        other = Analysis(parsed, options, *self._asked, self._store)
        other._trial = self._trial + 1
        try:
            return other.run().findings
        finally:
            other.free()

    def _reported(self, more: Sequence[Finding] = ()) -> FileResult:
        """Return what is to be reported of what the rules have seen, and of what else was found."""
        revealed: tuple[Revealed, ...] = ()
        if self.options.reveal:
            from placement_lint.lint.lookup import MARK, reveal

            if MARK in self.source.text and self._is_followed:
                revealed = tuple(reveal(self.facts, self.editor))
        judged = self.options.respect_suppressions and self._has_comments_to_judge()
        if not self._drafts and not more and not judged:
            return self._failed(FileResult((), parsed=True, revealed=revealed))
        findings = [*self._all_placed(self._drafts), *more]
        editor = self.editor
        suppressed: list[Suppressed] = []
        if self.options.respect_suppressions:
            from placement_lint.lint.suppressions.comments import Suppressions

            suppressions = Suppressions(editor, noqa=self.options.respect_noqa)
            findings, suppressed = suppressions.apply(findings)
            if judged and not (self.broken or self.failures or self.failed):
                findings += self._about_comments(suppressions)
        silent = {each for each in suppressed if self._is_sure_enough(each.finding)}
        sure = filter(self._is_sure_enough, findings)
        treatment = self.options.treatment
        result = FileResult(
            tuple(sure if treatment is None else map(treatment.treated, sure)),
            True,
            editor.spans.exact,
            revealed,
            tuple(sorted(silent, key=lambda each: (each.finding.sort_key, each.reason))),
        )
        return self._failed(result)

    @property
    def _is_followed(self) -> bool:
        """Whether it is known, or can be found out, where the arrays of the file live."""
        from placement_lint.semantic.model import UnfollowedError

        try:
            return self.facts.flow is not None
        except UnfollowedError:
            error = self.facts.unfollowed
            if error is not None and not self.failures:
                self._note_unfinished(error)
            return False

    def _has_comments_to_judge(self) -> bool:
        text = text_of_source(self.source)
        asked = tuple(rule for rule in ABOUT_COMMENTS if rule in self.options.rules)
        try:
            return passes_filter(text, asked)
        except NeedsError:
            # Whoever looked for what the rules need has said so; then they look at every file.
            return True

    def _failed(self, result: FileResult) -> FileResult:
        """Add to what was found what failed, in the order of every report."""
        every = dict.fromkeys((*result.findings, *self.broken, *self.failures, *self.failed))
        ordered = sorted(every, key=lambda finding: finding.sort_key)
        return replace(
            result,
            findings=tuple(ordered),
            words=dict(self.facts.said),
            asks_beside=self.facts.asks_beside,
            failed=tuple(dict.fromkeys(self.failed)),
        )

    def _is_sure_enough(self, finding: Finding) -> bool:
        return finding.confidence.reaches(self.options.min_confidence)

    def _about_comments(self, suppressions: Suppressions) -> list[Finding]:
        """Return what is wrong with the comments, now that every finding was put to them."""
        from placement_lint.lint.suppressions.unused import complaints

        found: list[Finding] = []
        every: list[Finding] = []
        with self._isolating(ABOUT_COMMENTS[0]):
            every += complaints(suppressions, self.editor, self.rules, self.options.sight)
        for finding in every:
            span, cell = self.place(finding.span)
            fix = None if finding.fix is None else self._placed_fix(finding.fix)
            advice = "" if fix is not None else _ADVICE.get(finding.code, "")
            placed = replace(finding, span=span, cell=cell, fix=fix, advice=advice)
            if not suppressions.covers(placed):
                found.append(placed)
        return found

    @property
    def _may_be_fixed(self) -> bool:
        return self.editor.spans.exact and not self.broken

    def _visit(self, drafts: list[Draft]) -> None:
        from placement_lint.rules.context import Context
        from placement_lint.semantic.model import UnfollowedError
        from placement_lint.syntax.deep_stack import TooDeepError

        rules = self.rules
        if self.may_fire is not None:
            rules = tuple(rule for rule in rules if rule in self.may_fire)
        contexts = [Context(self.facts, rule, drafts) for rule in rules]
        silent: set[int] = set()
        table = dispatch_table(rules)
        for node in self.facts.tree.nodes:
            visitors = table.get(type(node))
            if visitors is None:
                continue
            for position, visit in visitors:
                if position in silent:
                    continue
                try:
                    visit(node, contexts[position])
                except TooDeepError:
                    raise
                except UnfollowedError:  # it says nothing; the file has a finding for that
                    silent.add(position)
                except Exception as error:  # one rule's failure is its own
                    silent.add(position)
                    self.failed.append(internal_error(self.source, rules[position], error))

    def _isolating(self, rule: type[Rule], *but: type[Exception]) -> isolating:
        """Return a block of work for a rule; what else was found stands where it fails."""

        def note(error: Exception) -> None:
            self.failed.append(internal_error(self.source, rule, error))

        return isolating(note, *but)

    def _plan(self, drafts: list[Draft]) -> None:
        """Work out the fixes that wait for what other findings ask; none, if none is wanted."""
        from placement_lint.syntax.deep_stack import TooDeepError

        if not self.options.offers_fixes:
            drafts[:] = [replace(draft, fix=None) for draft in drafts]
            return
        plans = [draft.fix for draft in drafts]
        waiting = [number for number, plan in enumerate(plans) if callable(plan)]
        for number in waiting:
            drafts[number] = replace(drafts[number], fix=None)
        for number in waiting:
            plan, draft = plans[number], drafts[number]
            # The finding stands without its fix.
            with self._isolating(draft.rule, TooDeepError):
                drafts[number] = replace(draft, fix=plan() if callable(plan) else plan)

    def _placed(self, draft: Draft, editor: Editor) -> Finding | None:
        """Return the finding of a draft; None where it points at what has no place in the text."""
        with self._isolating(draft.rule):
            return self._finding(draft, editor)
        return None

    def _finding(self, draft: Draft, editor: Editor) -> Finding:
        span, cell = self.place(editor.span(draft.node))
        related = tuple(
            Related(message, path, *self.siblings[path].placed_at(node), number < draft.steps)
            for number, (node, path, message) in enumerate(draft.related)
        )
        finding = Finding(
            code=draft.rule.code,
            name=draft.rule.name,
            message=draft.message,
            path=self.source.path,
            span=span,
            severity=draft.severity,
            confidence=draft.confidence,
            related=related,
            cell=cell,
            advice=draft.advice or draft.rule.advice,
        )
        if draft.fix is None or callable(draft.fix) or not self._may_be_fixed:
            return finding
        with self._isolating(draft.rule):  # the finding stands without its fix
            from placement_lint.lint.fixes.finalize import offer

            fix = offer(draft.fix, editor, self._metadata)
            if fix is not None and (self._may_offer is None or self._may_offer(fix)):
                return replace(finding, fix=fix, advice="")
        return finding

    def _placed_fix(self, fix: Fix) -> Fix | None:
        from placement_lint.lint.fixes.finalize import placed

        return placed(fix, self.editor) if self._may_be_fixed else None

    def placed_at(self, node: cst.CSTNode) -> tuple[Span, int | None]:
        """Return where a node of the file stands, in its cell in a notebook."""
        return self.place(self.editor.span(node))

    def place(self, span: Span) -> tuple[Span, int | None]:
        """Turn a place in the text into one in its cell, in a notebook."""
        cell = self.source.cell_at(span.line)
        if cell is None:
            return span, None
        shift = cell.first_line - 1
        moved = Span(span.line - shift, span.column, span.end_line - shift, span.end_column)
        return moved, cell.number


@functools.lru_cache(maxsize=512)
def dispatch_table(rules: tuple[type[Rule], ...]) -> Table:
    """Return the visitors by node type, in the order of the rules, each with its rule's place.

    Raises AttributeError where a rule's method names no LibCST node type.
    """
    table: Table = {}
    for position, rule in enumerate(rules):
        for node_type, visit in _visitors(rule):
            table.setdefault(node_type, []).append((position, visit))
    return table


_VISITORS: dict[type[Rule], list[tuple[type[cst.CSTNode], Visitor]]] = {}
"""The visitors of each rule: the tables of many sets of rules share them."""


def _visitors(rule: type[Rule]) -> list[tuple[type[cst.CSTNode], Visitor]]:
    import libcst as cst

    if rule not in _VISITORS:
        instance = rule()
        _VISITORS[rule] = [
            (getattr(cst, name.removeprefix("visit_")), getattr(instance, name))
            for name in dir(rule)
            if name.startswith("visit_")
        ]
    return _VISITORS[rule]

"""The report: one self-contained page. No script, no font and no picture from elsewhere."""

import datetime as dt
import os
import platform
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from placement_lint.html_page import as_code, document, prose
from placement_lint.verify.datapath_run import LABELS, DataPathResult
from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.figure import captions, svg
from placement_lint.verify.meshpath_run import MeshPathResult
from placement_lint.verify.proofs import ProofError
from placement_lint.verify.report import (
    Done,
    meshpath_row,
    pairs,
    place_of,
    size_or_unknown,
    summary_text,
    title_of,
)
from placement_lint.verify.runner import RuleResult
from placement_lint.verify.sizes import format_seconds, format_size

_FEW_COLUMNS = 4
_VIRTUAL_NOTE = (
    "No accelerator was used. Two virtual CPU devices of JAX stood in for the accelerator and the "
    "host: what is copied, and how the cost grows, is real; the times are those of this machine's "
    "memory."
)


def page(done: Done) -> str:
    """Return the page of a whole run as HTML."""
    body = [
        _head(done),
        _drawing(done),
        _rules(done),
        _numbers(done.datapaths),
        _mesh(done.meshpath),
        _environment(done),
    ]
    title = f"placement-lint verify: {summary_text(done)}"
    return document(title, "\n".join(filter(None, body)), _style())


def _head(done: Done) -> str:
    parts = [f"<h1>placement-lint verify</h1>\n<p class='sum {_mark(done.held)}'>"]
    parts.append(f"{escape(_sentence(summary_text(done)))}.</p>\n")
    where = f"JAX {done.environment.jax}, {done.stage}"
    parts.append(f"<p class='soft'>{escape(where)}</p>")
    return "".join(parts)


def _sentence(text: str) -> str:
    return text.replace("reproduced", "claims reproduced", 1)


def _mark(good: bool) -> str:
    return "ok" if good else "not-ok"


def _drawing(done: Done) -> str:
    if not any(result.ways for result in done.datapaths):
        return ""
    said = captions(done.datapaths)
    lead = ""
    if said:
        lead = (
            f"<p class='lead'>With {said['size']} of tokens a batch takes "
            f"<b class='bad'>{said['slow']}</b> from a dataset that is <b>uncommitted</b> on the "
            f"host, and <b class='good'>{said['good']}</b> from the same one, <b>committed</b>: "
            f"{said['ratio']} times less.</p>"
        )
    problems = [*done.growth_problems]
    for result in done.datapaths:
        problems += [f"{format_size(result.size)}: {problem}" for problem in result.problems]
    note = f"<p class='soft'>{_VIRTUAL_NOTE}</p>" if done.devices == VIRTUAL else ""
    return (
        f"<section>\n<h2>The data path</h2>\n{lead}\n<figure role='img' aria-label='"
        "Two charts on log axes against the size of the dataset: the time to get a batch, and the "
        f"accelerator memory in use, for each way of loading'>"
        f"<div class='wide'>{svg(done.datapaths)}</div>"
        f"<div class='narrow'>{svg(done.datapaths, stacked=True)}</div></figure>\n"
        f"{note}{_problems(problems)}</section>"
    )


def _problems(problems: Sequence[str]) -> str:
    return "".join(f"<p class='problem'>{escape(problem)}</p>" for problem in problems)


def _numbers(results: Sequence[DataPathResult]) -> str:
    """Return the table under the drawing: every number in it, and those that are not."""
    rows = [
        [
            format_size(result.size),
            as_code(LABELS[str(value["way"])]),
            escape(place_of(value)),
            format_seconds(float(value["load_seconds"])),
            format_seconds(float(value["first_item_seconds"])),
            format_seconds(float(value["item_seconds"])),
            f"{float(value['tokens_per_second']):,.0f}",
            size_or_unknown(value["bytes_moved_by_an_item"]),
            size_or_unknown(value["peak_bytes_on_accelerator"]),
            size_or_unknown(value["peak_bytes_of_process"]),
        ]
        for result in results
        for value in result.ways
    ]
    if not rows:
        return ""
    heads = (
        "dataset", "loaded by", "it is on", "load", "first batch", "a batch", "tokens/s",
        "copied by a batch", "accelerator, at most", "process, at most",
    )  # fmt: skip
    return (
        "<section>\n<h2>The numbers</h2>\n"
        f"{_table(heads, rows, numeric_from=3)}"
        "<p class='soft'>A batch: 8 rows of 1,024 tokens (uint16, 16 KiB), put on the accelerator "
        "and awaited; the median of up to 24. Copied: beside the batch itself. Process: growth "
        "of its resident memory, which on virtual devices includes the emulated accelerator."
        "</p></section>"
    )


def _mesh(result: MeshPathResult | None) -> str:
    """Return what one training step on a mesh cost, by how what it was given was placed."""
    if result is None:
        return ""
    rows = [[escape(cell) for cell in meshpath_row(value)] for value in result.ways]
    lead = ""
    if result.ratio is not None:
        lead = (
            "<p class='lead'>A step on a mesh takes "
            f"<b class='bad'>{result.ratio:,.1f} times</b> as long where its parameters are left "
            "on one device: each call copies them to all others.</p>"
        )
    heads = ("way", "what is put", "a call", "copied by it", "devices at work", "bytes by device")
    return (
        f"<section>\n<h2>The mesh path</h2>\n{lead}{_table(heads, rows, numeric_from=len(heads))}"
        "<p class='soft'>The fastest call of one training step, on eight virtual devices, which "
        "share the processor: compare what is copied, not how fast a mesh is.</p>"
        f"{_problems(result.problems)}</section>"
    )


def _rules(done: Done) -> str:
    articles = [_without_proof(code) for code in done.without_proof]
    articles += [_rule(result) for result in done.rules]
    if not articles:
        return ""
    codes = [*done.without_proof, *(result.proof.code for result in done.rules)]
    links = " ".join(f"<a href='#{escape(code)}'>{as_code(code)}</a>" for code in codes)
    return (
        f"<section>\n<h2>The rules</h2>\n<nav>{links}</nav>\n"
        + "\n".join(articles)
        + "\n<p class='soft'>Hazard and fix each ran in their own process, and each instrument "
        "first showed that it works. A rule is reproduced if the hazard shows what the rule "
        "claims, the fix does not, and both were observed in the same way.</p></section>"
    )


def _without_proof(code: str) -> str:
    return _article(code, "no proof", "Nothing shows that this rule is right.", "", failed=True)


def _rule(result: RuleResult) -> str:
    code, title = result.proof.code, title_of(result)
    if result.skipped:
        return _article(code, "skipped", title, f"<p class='soft'>{prose(result.skipped)}</p>")
    rows = []
    for before, after in pairs(result.hazard, result.fixed):
        shown = before or after
        if shown is not None:
            what = f"{prose(shown.what)} <small>{prose(shown.instrument)}</small>"
            sides = [prose(side.text) if side else "not observed" for side in (before, after)]
            rows.append([what, *sides])
    body = _table(("observed", "hazard", "fix"), rows) if rows else ""
    body += "".join(f"<p class='problem'>{prose(text)}</p>" for text in result.verdict.problems)
    is_ok = result.verdict.ok
    verdict = "reproduced" if is_ok else "not reproduced"
    return _article(code, verdict, title, body + _sides(result), failed=not is_ok)


def _article(code: str, verdict: str, title: str, body: str, *, failed: bool = False) -> str:
    kind = "not-ok" if failed else "soft" if verdict == "skipped" else "ok"
    return (
        f"<article id='{escape(code)}'><h3><a href='#{escape(code)}'>{as_code(code)}</a> "
        f"<span class='{kind}'>{verdict}</span></h3>\n<p>{prose(title)}</p>\n{body}</article>"
    )


def _sides(result: RuleResult) -> str:
    """Return the code of the hazard and of the fix, side by side where there is room."""
    figures = []
    for function, name in (("hazard", "hazard"), ("fixed", "fix")):
        try:
            text = result.proof.code_of(function)
        except ProofError:
            continue
        figures.append(
            f"<figure><figcaption>{name}</figcaption><pre>{escape(text.rstrip())}</pre></figure>"
        )
    if not figures:
        return ""
    return (
        f"<details><summary>The code</summary><div class='sides'>{''.join(figures)}</div></details>"
    )


def _environment(done: Done) -> str:
    here = done.environment
    facts = {
        "placement-lint": done.version,
        "JAX": f"{here.jax}, jaxlib {here.jaxlib}",
        "safetensors": here.safetensors or "not installed",
        "Python": here.python,
        "devices that JAX sees": f"{', '.join(here.devices)} ({here.default_backend})",
        "stage": done.stage,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "date": dt.datetime.now(tz=dt.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "took": f"{done.seconds:.0f} s",
    }
    rows = [[escape(name), escape(value)] for name, value in facts.items()]
    return f"<section>\n<h2>The environment</h2>\n{_table((), rows)}</section>"


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric_from: int | None = None,
) -> str:
    """Return a table; on a narrow page each row is a block, and `data-head` names its cells."""

    def cells(tag: str, row: Iterable[Any]) -> str:
        return "".join(
            f"<{tag}{_numeric(column, numeric_from)}{named(column, tag)}>"
            f"{inside(tag, cell)}</{tag}>"
            for column, cell in enumerate(row)
        )

    def named(column: int, tag: str) -> str:
        return f" data-head='{escape(heads[column])}'" if heads and tag == "td" else ""

    def inside(tag: str, cell: str) -> str:
        return f"<span>{cell}</span>" if heads and tag == "td" else cell

    head = f"<thead><tr>{cells('th', map(escape, heads))}</tr></thead>\n" if heads else ""
    kind = "plain" if not heads else "few" if len(heads) <= _FEW_COLUMNS else "many"
    lines = [f"<tr>{cells('td', row)}</tr>" for row in rows]
    return f"<table class='{kind}'>{head}<tbody>\n" + "\n".join(lines) + "\n</tbody></table>"


def _numeric(column: int, first: int | None) -> str:
    return " class='number'" if first is not None and column >= first else ""


def _style() -> str:
    return (
        ".lead{font-size:18px;max-width:60em;margin:8px 0 12px}"
        "svg{display:block;width:100%;height:auto;font-family:inherit}"
        ".narrow{display:none;max-width:520px}"
        "table{border-collapse:collapse;font-size:13.5px;width:100%}article table{margin-top:4px}"
        "th,td{text-align:left;vertical-align:top;padding:5px 12px 5px 0;"
        "border-bottom:1px solid var(--grid);overflow-wrap:break-word}"
        "article td{border:0;width:28%}article td:first-child{width:44%}"
        "article th{border:0;padding:0}"
        "th{color:var(--soft);font-weight:600}"
        ".number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
        "th.number{white-space:normal}"
        "details{margin-top:6px}summary{cursor:pointer;color:var(--soft)}"
        ".sides{display:flex;flex-wrap:wrap;gap:12px;margin-top:6px}"
        ".sides figure{flex:1 1 420px;min-width:0}"
        "@media(max-width:760px){.wide{display:none}.narrow{display:block}"
        f"{_blocks('.few')}article td,article td:first-child{{width:auto}}}}"
        f"@media(max-width:1100px){{{_blocks('.many')}}}"
    )


def _blocks(kind: str) -> str:
    """Return the style of a table whose rows are blocks: there is no room for its columns."""
    return (
        f"{kind} thead{{display:none}}"
        f"{kind} tr{{display:block;padding:6px 0;border-bottom:1px solid var(--grid)}}"
        f"article {kind} tr:last-child{{border:0}}"
        f"{kind} td{{display:grid;grid-template-columns:minmax(5.5em,30%) 1fr;gap:12px;border:0;"
        "padding:2px 0;text-align:left}"
        f"{kind} td::before{{content:attr(data-head);color:var(--soft)}}"
    )

"""The report: one self-contained page. No script, no font and no picture from elsewhere."""

import datetime as dt
import os
import platform
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from placement_lint.verify.datapath_run import LABELS, DataPathResult
from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.figure import PALETTE, captions, svg
from placement_lint.verify.report import (
    Done,
    pairs,
    place_of,
    size_or_unknown,
    summary_text,
    title_of,
)
from placement_lint.verify.runner import RuleResult
from placement_lint.verify.sizes import format_seconds, format_size

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
        _environment(done),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>placement-lint verify: {escape(summary_text(done))}</title>\n"
        f"<style>{_style()}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, body))
        + "\n</main>\n</body>\n</html>\n"
    )


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
        f"accelerator memory in use, for each way of loading'>{svg(done.datapaths)}</figure>\n"
        f"{note}{_problems(problems)}</section>"
    )


def _problems(problems: Sequence[str]) -> str:
    return "".join(f"<p class='problem'>{escape(problem)}</p>" for problem in problems)


def _numbers(results: Sequence[DataPathResult]) -> str:
    """Return the table under the drawing: every number in it, and those that are not."""
    rows = [
        [
            format_size(result.size),
            _code(LABELS[str(value["way"])]),
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
        "<p class='soft'>A batch: 8 rows of 1,024 tokens (uint16, 16 KB), put on the accelerator "
        "and awaited; the median of up to 24. Copied: beside the batch itself. Process: growth "
        "of its resident memory, which on virtual devices includes the emulated accelerator."
        "</p></section>"
    )


def _rules(done: Done) -> str:
    rows = [
        [_code(code), "no proof", "nothing shows that this rule is right", "", "", ""]
        for code in done.without_proof
    ]
    for result in done.rules:
        rows += _rule_rows(result)
    if not rows:
        return ""
    heads = ("rule", "result", "what was observed", "in the hazard", "in the fix", "seen by")
    classes = [
        "failed" if "not reproduced" in row[1] or "no proof" in row[1] else "" for row in rows
    ]
    return (
        f"<section>\n<h2>The rules</h2>\n{_table(heads, rows, classes=classes)}"
        "<p class='soft'>Each side ran in a process of its own, and every instrument first showed "
        "that it sees. A hazard is reproduced when what was looked for is in the hazard, is gone "
        "in the fix, and both were looked at in the same way.</p></section>"
    )


def _rule_rows(result: RuleResult) -> list[list[str]]:
    code, title = _code(result.proof.code), escape(title_of(result))
    if result.skipped:
        return [
            [code, "skipped", f"{title}<br><small>{escape(result.skipped)}</small>", "", "", ""]
        ]
    verdict = "reproduced" if result.verdict.ok else "not reproduced"
    problems = "".join(f"<br><small>{escape(text)}</small>" for text in result.verdict.problems)
    found = pairs(result.hazard, result.fixed)
    rows: list[list[str]] = []
    for before, after in found or [(None, None)]:
        shown = before or after
        rows.append(
            [
                "" if rows else code,
                "" if rows else verdict,
                ("" if rows else f"<b>{title}</b>{problems}<br>")
                + (escape(shown.what) if shown else ""),
                escape(before.text) if before else "not observed",
                escape(after.text) if after else "not observed",
                f"<small>{escape(shown.instrument)}</small>" if shown else "",
            ]
        )
    return rows


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


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric_from: int | None = None,
    classes: Sequence[str] = (),
) -> str:
    def cells(tag: str, row: Iterable[Any]) -> str:
        return "".join(
            f"<{tag}{_numeric(column, numeric_from)}>{cell}</{tag}>"
            for column, cell in enumerate(row)
        )

    head = f"<thead><tr>{cells('th', map(escape, heads))}</tr></thead>\n" if heads else ""
    kinds = classes or [""] * len(rows)
    lines = [
        f"<tr{f' class={kind!r}' if kind else ''}>{cells('td', row)}</tr>"
        for row, kind in zip(rows, kinds, strict=True)
    ]
    return (
        f"<div class='table'><table>{head}<tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>"
    )


def _numeric(column: int, first: int | None) -> str:
    return " class='number'" if first is not None and column >= first else ""


def _style() -> str:
    light, dark = (
        "".join(f"--{role}:{colours[tone]};" for role, colours in PALETTE.items())
        for tone in (0, 1)
    )
    return (
        f":root{{{light}--paper:#ffffff;--band:#f6f8fa}}"
        f"@media(prefers-color-scheme:dark){{:root{{{dark}--paper:#0d1117;--band:#161b22}}}}"
        "*{box-sizing:border-box}"
        "body{margin:0;background:var(--paper);color:var(--ink);"
        "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif}"
        "main{max-width:1160px;margin:0 auto;padding:28px 24px 48px}"
        "h1{font-size:21px;margin:0 0 4px}h2{font-size:17px;margin:36px 0 8px}p{margin:4px 0}"
        ".sum{font-size:17px;font-weight:600}.sum.ok{color:var(--best)}"
        ".sum.not-ok,.problem,.failed td{color:var(--bad)}"
        ".lead{font-size:18px;max-width:60em;margin:8px 0 12px}"
        ".bad{color:var(--bad)}.good{color:var(--good)}.soft,small{color:var(--soft)}"
        ".soft{font-size:13px;max-width:80em}"
        "figure{margin:0;overflow-x:auto}"
        "figure svg{display:block;width:100%;min-width:760px;height:auto;"
        "font-family:inherit}"
        ".table{overflow-x:auto}"
        "table{border-collapse:collapse;font-size:13.5px;width:100%}"
        "th,td{text-align:left;vertical-align:top;padding:5px 12px 5px 0;"
        "border-bottom:1px solid var(--grid)}"
        "th{color:var(--soft);font-weight:600;white-space:nowrap}"
        ".number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
        "code{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:nowrap}"
    )

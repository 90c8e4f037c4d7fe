"""What the HTML reports of `verify` and `trace` share: the page around them, and its style."""

import re
from collections.abc import Mapping
from html import escape

PALETTE: Mapping[str, tuple[str, str]] = {
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9198a1"),
    "grid": ("#d8dee4", "#30363d"),
    "bad": ("#c2410c", "#ff8a4c"),
    "good": ("#0b6bcb", "#58a6ff"),
    "best": ("#0f7b4f", "#3fb950"),
    "plain": ("#7d8590", "#8b949e"),
}
"""Colours by their role: on a light page, on a dark one (the vision-safe orange, blue, green)."""

_BETWEEN_BACKTICKS = re.compile(r"`([^`]+)`")


def document(title: str, body: str, style: str = "") -> str:
    """Return a whole page that needs nothing from elsewhere: no script, font or picture.

    `style` is added to the style that all pages have.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>{_style()}{style}</style>\n</head>\n<body>\n<main>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def as_code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def prose(text: str) -> str:
    """Return text as HTML, with what is between backticks as code."""
    return _BETWEEN_BACKTICKS.sub(r"<code>\1</code>", escape(text))


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
        "h3{font-size:15px;margin:0 0 2px}"
        ".sum{font-size:17px;font-weight:600}.ok{color:var(--best)}"
        ".not-ok,.problem{color:var(--bad)}"
        ".bad{color:var(--bad)}.good{color:var(--good)}.soft,small,figcaption{color:var(--soft)}"
        ".soft{font-size:13px;max-width:80em}"
        "a{color:inherit}nav{line-height:1.9;margin-bottom:14px}figure{margin:0}"
        "article{border-top:1px solid var(--grid);padding:14px 0 12px}"
        "code,pre{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}"
        "pre{background:var(--band);padding:10px 12px;margin:2px 0;overflow-x:auto;"
        "line-height:1.45}"
        "@media(max-width:760px){main{padding:20px 16px 40px}}"
    )

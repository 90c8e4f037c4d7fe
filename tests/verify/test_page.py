"""The page stands alone, says what was measured, and is drawn right in a real browser."""

import itertools
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from placement_lint.verify.datapath_run import WAYS, DataPathResult, ratio_bar, ratio_of
from placement_lint.verify.observation import Observation, SideOutcome, judge
from placement_lint.verify.proofs import Proof
from placement_lint.verify.report import Done
from placement_lint.verify.runner import Environment, RuleResult

if find_spec("matplotlib") is None:
    pytest.skip('needs matplotlib: pip install "placement-lint[report]"', allow_module_level=True)

from placement_lint.html_page import PALETTE
from placement_lint.verify.figure import captions, png, svg
from placement_lint.verify.page import page

WriteProof = Callable[[str], Proof]
MB = 2**20
SIZES = (16 * MB, 64 * MB, 256 * MB, 1024 * MB)
STAGE = "virtual: cpu:0 stands in for the accelerator, cpu:1 for the host"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


def measured(size: int) -> DataPathResult:
    """Return what is measured in theory: 0.1 ns for a byte that is copied, 100 µs for a batch."""
    ways = []
    for way in WAYS:
        copies = size if way.name == "in-block" else 0
        stays = size if way.on == "accelerator" else 0
        value: dict[str, Any] = {
            "way": way.name,
            "on": way.on,
            "committed": way.committed,
            "bytes": size,
            "load_seconds": size * 1e-9,
            "first_item_seconds": 0.1,
            "item_seconds": 1e-4 + copies * 1e-10,
            "fastest_item_seconds": 1e-4 + copies * 1e-10,
            "tokens_per_second": 8192 / (1e-4 + copies * 1e-10),
            "bytes_moved_by_an_item": copies,
            "peak_bytes_on_accelerator": stays + copies + 16384,
            "peak_bytes_of_process": 3 * size,
        }
        ways.append(value)
    ratio = ratio_of(ways)
    return DataPathResult(size, size // 2048, STAGE, tuple(ways), ratio, ratio_bar(size), ())


RESULTS = [measured(size) for size in SIZES]


def rule(proof: Proof, measured: int, *, text: str = "8 <bytes>") -> RuleResult:
    item = Observation("guard", "bytes & copies", measured, text, True, "saw 7 bytes")
    gone = Observation("guard", "bytes & copies", 0, "0 bytes", False, "saw 7 bytes")
    sides = (SideOutcome((item,), stage=STAGE), SideOutcome((gone,), stage=STAGE))
    return RuleResult(proof, *sides, judge(*sides))


def done(*rules: RuleResult, **changes: Any) -> Done:
    whole: dict[str, Any] = {
        "version": "1.2.3",
        "environment": Environment("3.11.7", "0.10.2", "0.10.2", "0.8.0", "cpu", ("cpu:0",)),
        "devices": "virtual",
        "stage": STAGE,
        "rules": rules,
        "datapaths": tuple(RESULTS),
        "seconds": 61.0,
    }
    return Done(**{**whole, **changes})


@pytest.fixture
def good(write_proof: WriteProof) -> RuleResult:
    return rule(write_proof('"""A <title>."""\n'), 8)


class Reader(HTMLParser):
    """Collects tags, what refers to elsewhere, and the text; fails on tags that do not match."""

    VOID = ("meta", "br", "link", "img", "input", "hr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for name, value in attrs if name in {"src", "href", "xlink:href"}]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone(good: RuleResult) -> None:
    text = page(done(good))
    reader = Reader(text)
    assert not {"script", "link", "img", "iframe"} & {*reader.tags}
    assert all(link.startswith("#") for link in reader.links)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_it_says_what_was_measured_and_observed(good: RuleResult) -> None:
    text = " ".join(Reader(page(done(good))).text.split())
    assert "2 of 2 claims reproduced" in text
    assert "With 1 GiB of tokens a batch takes 107 ms from a dataset that is uncommitted" in text
    assert "and 100 µs from the same one, committed: 1,075 times less" in text
    assert "No accelerator was used." in text
    for part in ("A <title>", "bytes & copies", "8 <bytes>", "0 bytes", "guard", "JDP999"):
        assert part in text
    for part in ("0.10.2, jaxlib 0.10.2", "1.2.3", "61 s", "cpu:0 (cpu)"):
        assert part in text


def test_each_rule_has_an_anchor_and_its_code(write_proof: WriteProof) -> None:
    source = (
        '"""Use `jax.default_device`."""\n\n\ndef hazard(a, h):\n    return a < h\n\n\n'
        "def fixed(a, h):\n    return h\n"
    )
    text = page(done(rule(write_proof(source), 8)))
    reader = Reader(text)
    assert "<article id='JDP999'>" in text
    assert "#JDP999" in reader.links
    assert "return a < h" in reader.text
    assert "def fixed(a, h):" in reader.text
    assert "<code>jax.default_device</code>" in text
    assert "`" not in reader.text


def test_ids_are_unique(good: RuleResult) -> None:
    text = page(done(good))
    ids = re.findall(r"""\bid=["']([^"']+)""", text)
    assert len(ids) == len({*ids})
    assert {*re.findall(r"url\(#([^)]+)\)", text)} <= {*ids}


def test_what_does_not_hold_is_said(write_proof: WriteProof, good: RuleResult) -> None:
    bad = rule(write_proof('"""A <title>."""\n'), 0)
    skipped = RuleResult(
        bad.proof, SideOutcome(), SideOutcome(), judge(SideOutcome(), SideOutcome()), "too <old>"
    )
    run = done(good, bad, skipped, without_proof=("JDP998",), growth_problems=("it <grows>",))
    text = page(run)
    said = Reader(text).text
    for part in ("not reproduced", "too <old>", "JDP998", "it <grows>", "the observation is blind"):
        assert part in said
    assert "class='sum not-ok'" in text


def test_a_gpu_is_not_called_virtual(good: RuleResult) -> None:
    assert "No accelerator was used" not in page(
        done(good, devices="gpu", stage="cuda:0 beside cpu")
    )


def test_without_a_data_path_there_is_no_drawing(good: RuleResult) -> None:
    tags = Reader(page(done(good, datapaths=()))).tags
    assert "svg" not in tags
    assert "table" in tags


def points(drawing: ET.Element, gid: str) -> list[tuple[float, float]]:
    """Return the corners of a line, in the drawing's own coordinates (y grows downward)."""
    (path,) = drawing.findall(f".//*[@id='{gid}']/{{*}}path")
    numbers = re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", path.attrib["d"])
    return [(float(x), float(y)) for x, y in numbers]


def test_one_line_rises_with_the_dataset_and_the_others_are_flat() -> None:
    drawing = ET.fromstring(svg(RESULTS))  # noqa: S314  made here
    for key in ("item_seconds", "peak_bytes_on_accelerator"):
        slow = points(drawing, f"{key}-in-block")
        assert len(slow) == len(SIZES)
        heights = [y for _, y in slow]
        assert heights == sorted(heights, reverse=True)
        assert heights[0] - heights[-1] > 60
        for way in ("committed", "mapped"):
            heights = [y for _, y in points(drawing, f"{key}-{way}")]
            assert max(heights) - min(heights) < 1
    steps = [later[0] - sooner[0] for sooner, later in itertools.pairwise(slow)]
    assert max(steps) - min(steps) < 0.1, "sizes four times apart stand equally far apart"


def test_the_axes_are_named_in_units() -> None:
    drawing = ET.fromstring(svg(RESULTS))  # noqa: S314  made here
    said = [
        "".join(text.itertext()).strip()
        for text in drawing.iter("{http://www.w3.org/2000/svg}text")
    ]
    for word in ("16 MiB", "64 MiB", "256 MiB", "1 GiB", "1 ms", "100 µs", "10 ms", "16 KiB"):
        assert word in said
    assert said.count("size of the dataset") == 2
    assert "Time to get the next batch" in said
    assert "Accelerator memory in use, at most" in said
    assert {"107 ms", "uncommitted", "committed", "memory-mapped"} <= {*said}


def test_the_colours_are_the_pages_own_in_light_and_dark() -> None:
    text = svg(RESULTS)
    assert set(re.findall(r"var\(--(\w+)\)", text)) == PALETTE.keys()
    assert not re.findall(r"#[0-9a-f]{6}\b", text)
    style = page(done())
    for light, dark in PALETTE.values():
        assert light in style
        assert dark in style


def test_the_drawing_is_the_same_each_time() -> None:
    assert svg(RESULTS) == svg(RESULTS)


@pytest.mark.parametrize("count", [1, 2])
def test_few_sizes_are_drawn_too(count: int) -> None:
    assert ET.fromstring(svg(RESULTS[:count])) is not None  # noqa: S314  made here


def test_what_is_not_known_is_left_out() -> None:
    ways = tuple({**way, "peak_bytes_on_accelerator": None} for way in RESULTS[0].ways[:4])
    partly = DataPathResult(SIZES[0], 1, STAGE, ways, None, 2.0, ("mapped: not measured",))
    drawing = ET.fromstring(svg([partly]))  # noqa: S314  made here
    assert drawing.findall(".//*[@id='item_seconds-in-block']")
    assert not drawing.findall(".//*[@id='item_seconds-mapped']")
    assert captions([partly]) == {}
    assert "mapped: not measured" in page(done(datapaths=(partly,)))


def test_the_still_is_a_small_picture() -> None:
    picture = png(RESULTS)
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 100_000


FRAME = """\
<iframe id=frame src=report.html height=900></iframe><p id=widths></p>
<script>onload = () => { widths.textContent = [390, 820, 1600].map(width => {
  frame.width = width;
  return frame.contentDocument.documentElement.scrollWidth <= width;
}) }</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium: apt-get install chromium")
def test_the_page_is_as_wide_as_the_window(good: RuleResult, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page(done(good)), encoding="utf-8")
    (tmp_path / "frame.html").write_text(FRAME, encoding="utf-8")
    command = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom",
        "--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=3000", (tmp_path / "frame.html").as_uri(),
    ]  # fmt: skip
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert '<p id="widths">true,true,true</p>' in shown.stdout


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium: apt-get install chromium")
@pytest.mark.parametrize(("scheme", "paper"), [("light", 255), ("dark", 13)])
def test_a_browser_draws_it(good: RuleResult, tmp_path: Path, scheme: str, paper: int) -> None:
    """From a file, without a network; the paper, the lines and the words are where they belong."""
    from PIL import Image

    (tmp_path / "report.html").write_text(page(done(good)), encoding="utf-8")
    shot = tmp_path / "shot.png"
    setting = {"light": [], "dark": ["--blink-settings=preferredColorScheme=0"]}[scheme]
    command = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", *setting,
        f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1200,800",
        "--hide-scrollbars", f"--screenshot={shot}", (tmp_path / "report.html").as_uri(),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    picture = Image.open(shot).convert("RGB")
    assert picture.size == (1200, 800)
    assert picture.getpixel((3, 3))[0] == paper
    tone = {"light": 0, "dark": 1}[scheme]
    counts = {colour: count for count, colour in picture.getcolors(2**20)}
    for role in ("bad", "good", "best"):
        colour = tuple(int(PALETTE[role][tone][at : at + 2], 16) for at in (1, 3, 5))
        assert counts.get(colour, 0) > 200, role

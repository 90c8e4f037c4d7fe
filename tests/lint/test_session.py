"""What is remembered while somebody types makes no difference to what is found."""

from __future__ import annotations

import itertools
import random
import time
from typing import TYPE_CHECKING, Any

import libcst as cst
import pytest

from placement_lint.config.settings import Settings
from placement_lint.files.source import Source
from placement_lint.files.store import FileStore, read_bytes
from placement_lint.lint import check_program, schedule
from placement_lint.lint.incremental import run_cache
from placement_lint.lint.incremental.run_cache import MemoryCache
from placement_lint.lint.linter import Linter
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.parse import ParsedFile, parse
from placement_lint.syntax.positions import Spans
from placement_lint.syntax.tree import Tree
from tests.composed.files import random_file
from tests.composed.programs import random_program
from tests.faults.injection import Fault, injected
from tests.lint.suppressions.test_unused import LOADER as DATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from placement_lint.findings import Finding
    from placement_lint.lint.lookup import NameLookup
    from placement_lint.lint.results import Outcome

SETTINGS = Settings(select=("ALL",))
TRAIN = "from a import load\n\ntokens = load()\ntokens[0]\n"
LINES = [
    *("", "# c", "    # c", "    pass", "x = 1", "x = (", "'''", "@d", "\tpass", "else: pass"),
    *(
        "x = jnp.zeros(3)  # noqa: JDP201",
        "with jax.default_device(cpu):",
        "    x[0]",
        "import jax",
    ),
    *("# placement-lint: ignore-file[JDP204]", "jax.device_put(x, cpu)", "del jax", "x = \\"),
]


def typed(text: str, chance: random.Random) -> str:
    """Do to a text what somebody does who types, or moves a block."""
    lines = text.split("\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    what = chance.randrange(8)
    if what == 0:
        lines.insert(at, chance.choice(LINES))
    elif what == 1:
        del lines[at]
    elif what == 2:
        lines[at:at] = lines[other : other + 12]
    elif what == 3:
        lines[at] = chance.choice([lines[at] + " ", lines[at] + "  # c", " " + lines[at], ""])
    elif what == 4:
        del lines[at : at + chance.randrange(12)]
    elif what in {5, 6}:
        said = [number for number, line in enumerate(lines) if "#" in line or '"""' in line]
        place = chance.choice(said or [at])
        column = max(lines[place].find("#"), lines[place].find('"""') + 2) + 1
        word = chance.choice(
            ["c", " jax", "noqa", "'", '"', "\\N{x}", " # placement-lint: off[JDP201]"]
        )
        lines[place] = lines[place][:column] + word + lines[place][column:]
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


class Session:
    """A linter as the language server keeps it for a directory."""

    def __init__(self, files: Iterable[str] = ()) -> None:
        self.linter = Linter(
            lambda _: SETTINGS,
            folders=True,
            reveal=True,
            offers_fixes=False,
            cache=MemoryCache(),
            store=FileStore(is_lasting=True),
        )
        self.linter.files = sorted(files)

    def lint(self, unsaved: Mapping[str, bytes] | None = None) -> Outcome:
        self.linter.begin(unsaved)
        outcome = self.linter.check()
        self.linter.store.keep_only(self.linter.files)
        return outcome

    def with_fixes(self, outcome: Outcome) -> tuple[Finding, ...]:
        """Give what was found with its fixes, which the server asks for where they are offered."""
        found: list[Finding] = []
        for path, its in itertools.groupby(outcome.findings, key=lambda finding: finding.path):
            found += self.linter.with_fixes(its, path)
        return tuple(found)

    def known(self, path: str, unsaved: Mapping[str, bytes] | None = None) -> NameLookup | None:
        self.linter.begin(unsaved)
        return self.linter.lookup(path)


def same(one: Outcome, other: Outcome) -> bool:
    """Return whether two runs have found the same, whatever the fixes are."""
    return told(one) == told(other)


def told(outcome: Outcome) -> tuple[object, ...]:
    findings = [each.key for each in outcome.findings]
    suppressed = [(each.finding.key, each.reason) for each in outcome.suppressed]
    return findings, suppressed, outcome.revealed, outcome.skipped


def afresh(texts: Mapping[str, bytes]) -> Outcome:
    store = FileStore(texts)
    return Linter(lambda _: SETTINGS, reveal=True, folders=True, store=store).check(sorted(texts))


def type_on(texts: dict[str, str], rounds: int, chance: random.Random) -> int:
    """Compare after each change; give how many different things were found."""
    session = Session(texts)
    seen = set()
    before = dict(texts)
    for _ in range(rounds):
        path = chance.choice(sorted(texts))
        if chance.random() < (0.2 if parses(texts[path]) else 0.8):
            texts[path] = before[path]  # an undo, after which much is as it was once
        else:
            before[path], texts[path] = texts[path], typed(texts[path], chance)
        data = {name: text.encode("utf-8", "surrogatepass") for name, text in texts.items()}
        found, expected = session.lint(data), afresh(data)
        assert same(found, expected), texts[path]
        assert session.with_fixes(found) == expected.findings, texts[path]
        assert same(session.lint(data), found)
        seen.add(found.findings)
    return len(seen)


def long_file(seed: int) -> str:
    """Give a file that is long enough to be cut into its statements."""
    text, number = "", seed * 1000
    while text.count("\n") < 150:
        number += 1
        more = random_file(number).data.decode("utf-8", "replace").lstrip("\ufeff")
        longer = text + more.replace("\r\n", "\n") + "\n"
        if parses(longer) and "\x0c" not in longer:
            text = longer
    return text


def parses(text: str) -> bool:
    try:
        cst.parse_module(text)
    except Exception:  # whatever LibCST says of what is no Python
        return False
    return True


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("seed", range(3))
def test_a_file_in_which_somebody_types(seed: int, tmp_path: Path) -> None:
    """`pytest -m fuzz -k somebody_types` types on."""
    chance = random.Random(seed)  # noqa: S311
    assert type_on({str(tmp_path / "a.py"): long_file(seed)}, 8, chance) > 1


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("seed", range(2))
def test_a_program_in_which_somebody_types(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311
    program = random_program(seed)
    padding = "".join(f"def f{number}(x):\n    return x\n\n\n" for number in range(40))
    texts = {str(tmp_path / name): text + padding for name, text in program.items()}
    assert type_on(texts, 6, chance) > 0


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_files_in_which_somebody_types(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311
    assert type_on({str(tmp_path / "a.py"): long_file(seed)}, 60, chance) > 1


def with_lines(text: str, chance: random.Random) -> str:
    """Insert lines without code somewhere in a text, or take some away."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    if chance.random() < 0.3:
        bare = [number for number, line in enumerate(lines) if line.strip()[:1] in {"", "#"}]
        del lines[chance.choice(bare or [at])]
    else:
        lines[at:at] = chance.choices(["", "# c", "    # c", "   ", "# noqa", "\t"], k=2)
    return "\n".join(lines)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("seed", range(3))
def test_lines_without_code_come_and_go(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)  # noqa: S311
    looked: list[object] = []
    for module, name in ((schedule, "check_alone"), (check_program, "group")):
        real = getattr(module, name)

        def noted(*args: Any, real: Any = real) -> Any:
            looked.append(args)
            return real(*args)

        monkeypatch.setattr(module, name, noted)
    program = random_program(seed)
    texts = {str(tmp_path / name): text for name, text in program.items()}
    texts[str(tmp_path / "alone.py")] = long_file(seed)
    session = Session(texts)
    known = 0
    session.lint({path: text.encode() for path, text in texts.items()})
    for _ in range(10):
        path = chance.choice([*texts])
        texts[path] = with_lines(texts[path], chance)
        data = {path: text.encode() for path, text in texts.items()}
        looked.clear()
        found = session.lint(data)
        known += not looked
        assert same(found, afresh(data)), texts[path]
    assert known


COMMENTED = (
    DATA
    + '''
def first(path):
    """Give the first row."""
    rows = load(path)  # all of them
    # One.
    return rows[0]
'''
)


@pytest.mark.parametrize(
    ("old", "new", "is_known"),
    [
        ("# One.", "# The first one.", True),
        ("# all of them", "# all", True),
        ("Give the first row.", "Give one row.", True),
        ("# One.", "# placement-lint: ignore[JDP201]", False),
        ("# One.\n", "# One.\n    # Or none.\n", True),
        ("# One.\n", "# One.\n    # placement-lint: off\n", False),
        ("def first", "\n    \n# A line.\n\n\ndef first", True),
        ("load(path)", "load(\n    # It.\n    path)", False),
        ("rows[0]", "rows", False),
    ],
)
def test_what_comments_say_is_no_reason_to_look_again(
    old: str, new: str, is_known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of({"a.py": COMMENTED}, tmp_path)
    path = str(tmp_path / "a.py")
    assert [each.code for each in session.lint().findings] == ["JDP201"]
    looked: list[str] = []
    check = schedule.check_alone

    def noted(path: str, *args: Any) -> Any:
        looked.append(path)
        return check(path, *args)

    monkeypatch.setattr(schedule, "check_alone", noted)
    for text in (COMMENTED.replace(old, new), COMMENTED):
        data = {path: text.encode()}
        found = session.lint(data)
        assert looked == ([] if is_known else [path])
        looked.clear()
        expected = afresh(data)
        assert same(found, expected)
        assert session.with_fixes(found) == expected.findings
        looked.clear()


def test_what_comments_say_is_no_reason_to_execute_files_together_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = TRAIN.replace("tokens[0]\n", "# One.\ntokens[0]  # it\n")
    session = session_of({"a.py": DATA, "b.py": train}, tmp_path)
    path, data = str(tmp_path / "b.py"), {str(tmp_path / "a.py"): DATA.encode()}
    assert [each.code for each in session.lint().findings] == ["JDP201"]
    grouped: list[str] = []
    group = check_program.group

    def noted(component: Any, *args: Any) -> Any:
        grouped.append(component.first)
        return group(component, *args)

    monkeypatch.setattr(check_program, "group", noted)
    for old, new, is_known in (
        ("# One.", "# The first one.", True),
        ("# it", "# that", True),
        ("# it", "# noqa: JDP201", False),
        ("# One.", "\n# One.", True),
        ("tokens = load()", "\ntokens = load()", True),
        ("load()", "load(\n\n)", False),
    ):
        for text in (train.replace(old, new), train):
            texts = {**data, path: text.encode()}
            found = session.lint(texts)
            assert bool(grouped) is not is_known
            grouped.clear()
            expected = afresh(texts)
            assert same(found, expected)
            assert session.with_fixes(found) == expected.findings
            grouped.clear()


def session_of(texts: Mapping[str, str], folder: Path) -> Session:
    for name, text in texts.items():
        (folder / name).write_text(text)
    return Session(str(folder / name) for name in texts)


def test_files_that_have_not_changed_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("placement_lint.files.store.SETTLED", 0)
    session = session_of({"a.py": DATA, "b.py": TRAIN}, tmp_path)
    time.sleep(0.05)
    before = session.lint()
    assert [finding.code for finding in before.findings] == ["JDP201"]
    read: list[str] = []

    def read_and_note(path: str) -> bytes:
        read.append(path)
        return read_bytes(path)

    monkeypatch.setattr("placement_lint.files.store.read_bytes", read_and_note)
    assert same(session.lint(), before)
    assert read == []
    (tmp_path / "b.py").write_text(TRAIN.replace("tokens[0]", "tokens"))
    assert session.lint().findings == ()
    assert read == [str(tmp_path / "b.py")]


def test_what_is_known_of_names(tmp_path: Path) -> None:
    text = TRAIN + "one, (two, [*rest]) = load(), (load(), [load()])\nx.y = load()\nn: int = 1\n"
    session = session_of({"a.py": DATA, "b.py": text, "c.py": "def f(:\n"}, tmp_path)
    known = session.known(str(tmp_path / "b.py"))
    assert known is not None
    told = [(each.span.line, each.name) for each in known.bound_to_arrays(1, 99)]
    assert told == [(3, "tokens"), (5, "one"), (5, "two"), (6, "x.y")]
    assert [each.name for each in known.bound_to_arrays(6, 6)] == ["x.y"]
    at = known.at(text.index("tokens[0]"), lambda path, line: f"{path.rpartition('/')[2]}:{line}")
    assert at is not None
    assert (at.name, at.span.line) == ("tokens", 4)
    assert "uncommitted" in at.description
    assert at.description.endswith("a.py:9")
    assert known.at(text.index("int"), lambda *_: "") is None


ON_A_MESH = """\
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))
rows = NamedSharding(mesh, P("data", None))
table = jax.device_put(jnp.zeros((512, 64), jnp.bfloat16), rows)
given = jax.device_put(load(), rows)
print(table)
"""


def test_what_is_known_of_arrays_on_a_mesh(tmp_path: Path) -> None:
    session = session_of({"a.py": ON_A_MESH}, tmp_path)
    known = session.known(str(tmp_path / "a.py"))
    assert known is not None
    told = [(each.name, each.description, each.is_on_mesh) for each in known.bound_to_arrays(1, 99)]
    where = 'on mesh (data=4, model=2), P("data", None)'
    assert told == [("table", f"bf16[512, 64] {where}", True), ("given", where, True)]
    at = known.at(ON_A_MESH.index("table)"), lambda path, line: f"{path[-4:]}:{line}")
    assert at is not None
    assert at.description == f"bf16[512, 64] {where}, made at a.py:7"


@pytest.mark.parametrize("name", ["c.py", "d.py", "e.py"])
def test_nothing_is_known_of_what_cannot_be_parsed_or_is_not_there(
    name: str, tmp_path: Path
) -> None:
    session = session_of({"a.py": DATA, "c.py": "import jax\ndef f(:\n"}, tmp_path)
    session.linter.files = [*session.linter.files, str(tmp_path / "d.py")]
    assert session.known(str(tmp_path / name)) is None
    assert session.known(str(tmp_path / "a.py")) is not None


def test_places_are_those_of_a_file_that_is_seen_for_the_first_time() -> None:
    def compare(text: str) -> bool:
        source = Source("a.py", text)
        parsed = parse(source, store, is_lean=False)
        assert isinstance(parsed, ParsedFile)
        module, kept = parsed.module, parsed.spans
        whole = Spans(module, source)
        assert (kept.exact, kept.comments) == (whole.exact, whole.comments)
        for node in Tree(module).nodes[1:]:
            assert (kept.inner(node), kept.outer(node)) == (whole.inner(node), whole.outer(node))
        return len(kept._stretches) > 1

    chance = random.Random(7)  # noqa: S311
    store = FileStore(is_lasting=True)
    in_parts = 0
    for number in range(2):
        text = long_file(number)
        text = text.rstrip() if number and parses(text.rstrip()) else text
        whole = text
        for round_number in range(25):
            if run_deep(compare, text):
                in_parts += 1
                whole = text
            else:
                text = whole  # an undo of what makes a text one piece
            if round_number == 12 and parses(text.replace("\n", "\r\n")):
                text = text.replace("\n", "\r\n")
            after = typed(text, chance)
            text = after if parses(after) else text
    assert in_parts > 7


STEPS = {
    "the filter": "placement_lint.lint.select_files:Selection._sort",
    "interpretation": "placement_lint.placement.uncalled:UncalledCode.run_functions",
    "a rule": "placement_lint.rules.commitment.device_put_discarded:DevicePutDiscarded.visit_Expr",
    "as one program": "placement_lint.lint.check_program:ComponentCheck._read",
}
PUT = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x[0]\n"


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, id=name, marks=[pytest.mark.every] if number else [])
        for number, (name, step) in enumerate(STEPS.items())
    ],
)
def test_what_takes_too_long_is_not_tried_again_before_it_changes(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what others ask is answered meanwhile.

    In one step; `pytest -m every tests/lint/test_session.py` tries the others.
    """
    monkeypatch.setattr(run_cache, "SECONDS_OF_WAITING", 0.6)
    files = {name: str(tmp_path / name) for name in ("a.py", "bomb.py", "train.py", "put.py")}
    texts = {"a.py": DATA, "bomb.py": PUT, "train.py": TRAIN, "put.py": PUT}
    if "check_program" in step:
        texts["bomb.py"] = DATA + "import a\n"
    session = Session(files.values())

    def found(changed: Mapping[str, str]) -> tuple[dict[str, set[str]], float]:
        started = time.process_time()
        outcome = session.lint({files[name]: text.encode() for name, text in changed.items()})
        codes: dict[str, set[str]] = {}
        for finding in outcome.findings:
            codes.setdefault(finding.path, set()).add(finding.code)
        return codes, time.process_time() - started

    usual, _ = found(texts)
    assert "JDP900" not in set().union(*usual.values())
    session = Session(files.values())
    is_of_module = "_run_functions" in step
    fault = Fault(step, "endless", "*" if is_of_module else "bomb.py")
    if is_of_module:
        # It is told of no file.
        texts |= {
            "train.py": "",
            "a.py": "",
            "put.py": "import jax\nimport numpy as np\njax.device_put(np.ones(3))\n",
        }
        usual = {files["put.py"]: {"JDP204"}, files["bomb.py"]: usual[files["bomb.py"]]}
    with injected(fault):
        first, seconds = found(texts)
        assert "JDP900" in first[files["bomb.py"]]
        assert seconds > 0.4
        assert first[files["put.py"]] >= usual[files["put.py"]]
        second, seconds = found(texts)
        assert second == first
        assert seconds < 0.4
        third, seconds = found(texts | {"put.py": texts["put.py"] + "# more\n"})
        assert third == first
        assert seconds < 0.4
        unsaved = {files[name]: text.encode() for name, text in texts.items()}
        assert session.known(files["bomb.py"], unsaved) is None
        if not is_of_module:
            assert session.known(files["train.py"], unsaved) is not None
        assert (
            "JDP900"
            in found(texts | {"bomb.py": texts["bomb.py"] + "# more\n"})[0][files["bomb.py"]]
        )
    again, _ = found(texts | {"bomb.py": texts["bomb.py"] + "# even more\n"})
    assert "JDP900" not in set().union(*again.values())
    assert again[files["put.py"]] == usual[files["put.py"]]

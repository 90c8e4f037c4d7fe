"""The judge can fail: fixes that are wrong, made by hand, and what is said of each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.fix_oracle.alignment import Alignment
from tests.fix_oracle.fixing import Applied, Fixed, How, findings
from tests.fix_oracle.judge import (
    BROKEN,
    CHANGED,
    COMMITTED,
    COPIED,
    DISPLACED,
    FINDING,
    LEFT,
    MOVED,
    PRINTED,
    RAISED,
    VALUE,
    WHATS,
    Judgement,
    asked,
    judge,
)
from tests.fix_oracle.leftovers import leftovers
from tests.fix_oracle.messages import goes_to
from tests.marks import RUNS_PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fix_oracle.client import WatchClient

    Modules = dict[str, str]
    Edits = list[tuple[str, str]]
    Judge = Callable[[Modules, Fixed], Judgement]

pytestmark = RUNS_PROGRAMS

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    tokens = jnp.ones((8, 4))
"""
STEP = """
params = jnp.ones(4)

@jax.jit
def step(params, x):
    return params + 0.1 * x
"""
MESH = """
mesh = Mesh(np.array(jax.devices()), ("data",))
params = jax.device_put(params, NamedSharding(mesh, P()))
"""
LOOP = """
for i in range(3):
    params = step(params, tokens[i])
"""
COMMIT = ("jnp.ones((8, 4))", "jax.device_put(jnp.ones((8, 4)), cpu)")
BACK = ("tokens[i]", "jax.device_put(np.asarray(tokens[i]))")


def by_hand(
    text: str, edits: Edits, flagged: str = "tokens[i", code: str = "JDP201",
    message: str = "Commit the array where it is made", *, unsafe: bool = False,
) -> Fixed:  # fmt: skip
    """Fix the module `main` by replacing texts. `flagged` is the use, and begins with its name."""
    alignment = Alignment(text)
    for old, new in edits:
        at = alignment.text.index(old)
        alignment = alignment.edited([(at, at + len(old), new)])
    start = text.index(flagged)
    name = re.split(r"\W", flagged)[0]
    place = alignment.original.place(start, start + len(name))
    applied = Applied(code, "main", place, message, unsafe)
    modules = {"main": alignment.text}
    return Fixed(How(unsafe), modules, {"main": alignment}, [applied], findings(modules))


@pytest.fixture
def judged(oracle: WatchClient) -> Callable[[Fixed], Judgement]:
    def run(fixed: Fixed) -> Judgement:
        modules = {name: each.original.text for name, each in fixed.alignments.items()}
        before, after = asked(fixed)
        first, second = oracle.watch(modules, [0], before), oracle.watch(fixed.modules, [0], after)
        return judge(modules, fixed, findings(modules), list(zip(first, second, strict=True)))

    return run


def whats(judgement: Judgement) -> set[str]:
    return {verdict.what for verdict in judgement.verdicts}


# -- fixes that are right -------------------------------------------------------------------------


RIGHT = {
    "put-back": (STEP + LOOP, [COMMIT, BACK]),
    "put-back-beside-a-mesh": (STEP + MESH + LOOP, [COMMIT, BACK]),
    "to-numpy": ("for i in range(3):\n    print(np.asarray(tokens[i]))\n", [COMMIT]),
    "an-element": ("for i in range(3):\n    print(float(tokens[i, 0]))\n", [COMMIT]),
    "taken-twice": ("for i in range(3):\n    row = tokens[i]\n    print(row[0])\n", [COMMIT]),
    "put-explicitly": (
        "i = 0\nfirst = jax.device_put(tokens[i], jax.devices()[1])\nx = first + 1\n", [COMMIT],
    ),
    "arithmetic": (
        "for i in range(3):\n    x = tokens[i] * 2\n    print(x.devices())\n", [COMMIT, BACK],
    ),
    "taken-of-a-part": (
        "base = jnp.ones((4, 8, 4))\nwith jax.default_device(cpu):\n    part = base[0]\n"
        "for i in range(3):\n    print(tokens[i, 0], part[i])\n",
        [COMMIT, ("base[0]", "jax.device_put(base[0], cpu)")],
    ),
    "index-array": ("i = np.array([0, 2])\nprint(tokens[i])\n", [COMMIT]),
    "generator": (
        "def rows():\n    i = 0\n    yield tokens[i]\nx = sum(rows())\n", [COMMIT, BACK],
    ),
}  # fmt: skip


def test_right_fixes_pass(subtests: pytest.Subtests, judged: Callable[[Fixed], Judgement]) -> None:
    for name, (rest, edits) in RIGHT.items():
        with subtests.test(name):
            judgement = judged(by_hand(HEAD + rest, edits))
            assert judgement.verdicts == []
            assert judgement.exempt
            assert judgement.copies
            assert not judgement.cut


def test_rows_may_be_taken_without_jax(judged: Callable[[Fixed], Judgement]) -> None:
    """The flagged use itself may be written as something that JAX does not run."""
    rest = "x = jnp.zeros(4)\nfor row in tokens:\n    x = x + row\n"
    rows = ("in tokens:", "in map(jax.device_put, np.asarray(tokens)):")
    judgement = judged(by_hand(HEAD + rest, [COMMIT, rows], flagged="tokens:"))
    assert judgement.verdicts == []
    assert judgement.copies
    lost = ("x = x + row", "x = np.add(x, row)")
    assert CHANGED in whats(judged(by_hand(HEAD + rest, [COMMIT, rows, lost], flagged="tokens:")))


def test_an_unsafe_fix_may_move_what_it_says(judged: Callable[[Fixed], Judgement]) -> None:
    """Where its message says so, and only to the host."""
    text = HEAD + STEP + LOOP
    said = "Commit the array where it is made; computations may move to the host"
    judgement = judged(by_hand(text, [COMMIT], message=said, unsafe=True))
    assert judgement.verdicts == []
    assert judgement.said
    silent = judged(by_hand(text, [COMMIT], unsafe=True))
    assert {MOVED, DISPLACED} <= whats(silent)
    safe = judged(by_hand(text, [COMMIT], message=said))
    assert {MOVED, DISPLACED} <= whats(safe)
    elsewhere = (COMMIT[0], COMMIT[1].replace("cpu", "jax.devices()[1]"))
    assert MOVED in whats(judged(by_hand(text, [elsewhere], message=said, unsafe=True)))


def test_an_unsafe_fix_may_change_a_type_that_it_speaks_of(
    judged: Callable[[Fixed], Judgement],
) -> None:
    rest = "i = 0\nx = tokens[i]\n"
    narrower = ("tokens[i]", "jax.device_put(np.asarray(tokens[i]).astype(np.float16))")
    said = "Put back what is taken of it: that may have another type than before"
    judgement = judged(by_hand(HEAD + rest, [COMMIT, narrower], message=said, unsafe=True))
    assert (judgement.verdicts, judgement.said) == ([], 1)
    assert whats(judged(by_hand(HEAD + rest, [COMMIT, narrower], unsafe=True))) == {VALUE}
    assert whats(judged(by_hand(HEAD + rest, [COMMIT, narrower], message=said))) == {VALUE}


DONATING = """
import functools

start = jnp.ones(4)

@functools.partial(jax.jit, donate_argnums=0)
def step(params, x):
    return params + 0.1 * x

i = 0
params = step(start, tokens[i])
"""


def test_what_was_donated_may_be_copied_to_where_the_message_says(
    judged: Callable[[Fixed], Judgement],
) -> None:
    said = "Commit the array where it is made; computations may move to the host"
    assert judged(by_hand(HEAD + DONATING, [COMMIT], message=said, unsafe=True)).verdicts == []
    assert VALUE in whats(judged(by_hand(HEAD + DONATING, [COMMIT], unsafe=True)))


def test_what_is_donated_may_depend_on_a_type_that_the_message_speaks_of(
    judged: Callable[[Fixed], Judgement],
) -> None:
    weak, start = "jnp.full((8, 4), 0.5)", "start = jnp.full(4, 0.1)"
    text = (HEAD + DONATING).replace(COMMIT[0], weak).replace("start = jnp.ones(4)", start)
    text = text.replace("params + 0.1 * x", "params * jnp.ones(4, jnp.bfloat16) + x")
    edits = [(weak, f"jax.device_put({weak}, cpu)"), BACK]
    said = "Put back what is taken of it: that may have another type than before"
    judgement = judged(by_hand(text, edits, message=said, unsafe=True))
    assert (judgement.verdicts, judgement.said) == ([], 2)
    assert DISPLACED in whats(judged(by_hand(text, edits, unsafe=True)))


def test_what_is_found_in_a_file_that_a_fix_did_not_see() -> None:
    """Only where the fix says that what is computed there may move."""
    data = HEAD + "print(tokens[0])\n"
    user = "import jax\nfrom data import tokens\n\nbatch = jax.device_put(tokens[0:2])\n"
    said = "Commit it: computations that are not seen here may then run on the host"

    def verdicts(message: str, *, alone: bool = True) -> set[str]:
        modules = {"data": data, "main": user}
        fixed = data.replace(*COMMIT)
        alignments = {
            "data": Alignment(data).edited([(0, len(data), fixed)]),
            "main": Alignment(user),
        }
        applied = [Applied("JDP201", "data", None, message, unsafe=True)]
        after = {"data": fixed, "main": user}
        how = How(unsafe=True, alone=alone)
        made = Fixed(how, after, alignments, applied, findings(after))
        return whats(judge(modules, made, findings(modules), ()))

    assert verdicts(said) == set()
    assert verdicts("Commit it") == {FINDING}
    assert verdicts(said, alone=False) == {FINDING}


def test_what_jax_refuses_in_a_file_that_a_fix_did_not_see(
    judged: Callable[[Fixed], Judgement],
) -> None:
    """Only where the fix says that JAX may do so there."""
    user = "import jax\nfrom data import tokens\n\nhere = jax.device_put(1.0, jax.devices()[0])\n"
    modules = {"data": HEAD, "main": f"{user}print(here + tokens.sum())\n"}
    said = "Commit it: computations that are not seen here may run on the host, or raise where "

    def verdicts(message: str, *, alone: bool = True) -> set[str]:
        after = {**modules, "data": HEAD.replace(*COMMIT)}
        alignments = {name: Alignment(text) for name, text in modules.items()}
        alignments["data"] = Alignment(HEAD).edited([(0, len(HEAD), after["data"])])
        applied = [Applied("JDP201", "data", None, message, unsafe=True)]
        made = Fixed(How(unsafe=True, alone=alone), after, alignments, applied, findings(after))
        return whats(judged(made))

    assert RAISED not in verdicts(said)
    assert RAISED in verdicts(said.replace("or raise where ", ""))
    assert RAISED in verdicts(said, alone=False)


def test_an_unsafe_fix_may_not_raise(judged: Callable[[Fixed], Judgement]) -> None:
    said = "Commit the array where it is made; computations may move to the host"
    fixed = by_hand(HEAD + STEP + MESH + LOOP, [COMMIT], message=said, unsafe=True)
    assert whats(judged(fixed)) == {RAISED, FINDING}


# -- fixes that are wrong -------------------------------------------------------------------------

TO_ACCELERATOR = ("tokens[i]", "jax.device_put(tokens[i], jax.devices()[0])")
WRONG = {
    "commits-alone": (STEP + LOOP, [COMMIT], {MOVED, DISPLACED}),
    "moves-arithmetic": (
        "i = 0\nprint(float((tokens[i] * 2)[0]))\n", [COMMIT], {MOVED},
    ),
    "moves-a-reduction": ("i = 0\nprint(tokens[i].sum())\n", [COMMIT], {MOVED}),
    "moves-a-builtin-sum": (
        "i = slice(2)\nprint(sum(tokens[i]))\n", [COMMIT], {MOVED},
    ),
    "moves-a-global": ("i = 0\nfirst = tokens[i]\n", [COMMIT], {DISPLACED}),
    "moves-an-attribute": (
        "class Held:\n    pass\nheld = Held()\ni = 0\nheld.row = tokens[i]\n", [COMMIT],
        {DISPLACED},
    ),
    "moves-an-item": ("i = 0\nheld = {'rows': [tokens[i]]}\n", [COMMIT], {DISPLACED}),
    "moves-what-a-closure-holds": (
        "def make(row):\n    return lambda: row\ni = 0\nheld = make(tokens[i])\n", [COMMIT],
        {DISPLACED},
    ),
    "raises-on-a-mesh": (STEP + MESH + LOOP, [COMMIT], {RAISED, FINDING}),
    "puts-on-one-of-a-mesh": (
        STEP + MESH + LOOP, [COMMIT, TO_ACCELERATOR], {RAISED, FINDING},
    ),
    "commits-the-parameters": (STEP + LOOP, [COMMIT, TO_ACCELERATOR], {COMMITTED}),
    "leaves-the-copy": (
        STEP + LOOP, [("tokens[i]", "jax.device_put(tokens[i])")], {LEFT},
    ),
    "copies-all-by-itself": (
        STEP + LOOP, [("tokens[i]", "jax.device_put(np.asarray(tokens))[i]")], {LEFT},
    ),
    "copies-another": (
        "i = 0\nprint(np.asarray(tokens[i]))\nmask = jnp.ones(4)\nprint(float((mask + 1)[0]))\n",
        [COMMIT, ("mask = jnp.ones(4)", "with jax.default_device(cpu):\n    mask = jnp.ones(4)")],
        {MOVED, COPIED, FINDING},
    ),
    "prints-something-else": (
        "i = 0\nprint(np.asarray(tokens[i]), tokens.committed)\n", [COMMIT], {PRINTED},
    ),
    "gives-another-value": ("i = 0\nx = tokens[i]\n", [("[i]", "[i] + 1")], {VALUE, LEFT}),
    "gives-another-type": (
        "i = 0\nx = tokens[i]\n",
        [COMMIT, ("tokens[i]", "jax.device_put(np.asarray(tokens[i]).astype(np.int32))")], {VALUE},
    ),
    "takes-an-operation-away": (
        "i = 0\nx = jnp.sin(np.float32(1.0))\nprint(np.asarray(tokens[i]))\nif x > 0:\n"
        "    y = jnp.ones(3) + 1\n",
        [COMMIT, ("if x > 0:", "if x > 2:")], {CHANGED},
    ),
    "is-never-written": ("i = 0\nprint(np.asarray(tokens[i]))\n", [], {LEFT}),
    "makes-a-new-finding": (
        "i = 0\nx = tokens[i]\n",
        [("tokens[i]", "(jax.device_put(tokens[i], cpu), tokens[0])[0]")],
        {FINDING, LEFT, DISPLACED},
    ),
}  # fmt: skip


def test_wrong_fixes_fail(subtests: pytest.Subtests, judged: Callable[[Fixed], Judgement]) -> None:
    for name, (rest, edits, expected) in WRONG.items():
        with subtests.test(name):
            judgement = judged(by_hand(HEAD + rest, edits))
            # What comes of what runs elsewhere is elsewhere too.
            most = expected | ({DISPLACED} if MOVED in expected else set())
            assert expected <= whats(judgement) <= most, [*map(str, judgement.verdicts)]


def test_every_verdict_is_given_by_a_test() -> None:
    given = set().union(*(expected for _, _, expected in WRONG.values()))
    assert given | {BROKEN} == set(WHATS)


def test_a_fix_that_is_taken_back_fails() -> None:
    fixed = by_hand(HEAD + "i = 0\nprint(tokens[i])\n", [])
    fixed.broken.append("main:1: JDP903 fixes of JDP201 are taken back")
    modules = {"main": fixed.alignments["main"].text}
    assert whats(judge(modules, fixed, findings(modules), [])) == {BROKEN}


def test_what_a_fix_loads_on_the_host_is_indexed_there(
    judged: Callable[[Fixed], Judgement],
) -> None:
    """Of a fix that moves the dataset itself, and only it."""
    text = HEAD.replace("with jax.default_device(cpu):\n    ", "") + STEP + LOOP
    there = (
        "tokens = jnp.ones((8, 4))",
        "with jax.default_device(cpu):\n    tokens = jax.device_put(jnp.ones((8, 4)), cpu)",
    )
    made = "jnp.ones((8, 4))"
    put_back = judged(by_hand(text, [there, BACK], made, "JDP401", unsafe=True))
    assert put_back.verdicts == []
    assert put_back.exempt
    alone = judged(by_hand(text, [there], made, "JDP401", unsafe=True))
    assert whats(alone) == {MOVED, DISPLACED}


def test_a_fix_that_never_ends_fails(judged: Callable[[Fixed], Judgement]) -> None:
    """A program that goes on too long by itself is only counted."""
    rest = "i = 0\nprint(np.asarray(tokens[i]))\nwhile i < 3:\n    i = i + 1\n"
    endless = ("i = i + 1", "i = i * 1")
    assert whats(judged(by_hand(HEAD + rest, [COMMIT, endless]))) == {RAISED}
    long = judged(by_hand(HEAD + rest.replace("i + 1", "i * 1"), [COMMIT]))
    assert (long.verdicts, long.cut) == ([], 1)


def test_what_is_not_compared_is_counted(judged: Callable[[Fixed], Judgement]) -> None:
    """A fix that is there to place arrays may place them; it may not raise."""
    edits = [COMMIT]
    placing = judged(by_hand(HEAD + STEP + LOOP, edits, code="JDP204"))
    assert (placing.verdicts, placing.placing, placing.operations) == ([], 1, 0)
    assert whats(judged(by_hand(HEAD + STEP + MESH + LOOP, edits, code="JDP204"))) == {RAISED}


def test_a_program_that_raises_is_compared_up_to_there(
    judged: Callable[[Fixed], Judgement],
) -> None:
    """What raised may go on, and what ran before must have run where it did."""
    raising = "i = 0\nprint(np.asarray(tokens[i]))\nx = 1 / i\ny = jnp.ones(3) + 1\n"
    assert judged(by_hand(HEAD + raising, [COMMIT])).verdicts == []
    assert judged(by_hand(HEAD + raising, [COMMIT, ("1 / i", "1 / (i + 1)")])).verdicts == []
    moving = raising.replace("np.asarray(tokens[i])", "tokens[i].sum()")
    assert whats(judged(by_hand(HEAD + moving, [COMMIT]))) == {MOVED}
    earlier = [COMMIT, ("print(np", "print([][i], np")]
    assert whats(judged(by_hand(HEAD + raising, earlier))) == {RAISED}
    further = [COMMIT, ("1 / i", "1 / (i + 1)"), ("jnp.ones(3) + 1", "[][i]")]
    assert judged(by_hand(HEAD + raising, further)).verdicts == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("for a in xs:\n    b = a + 1\n    print(b)\n", {"a", "b"}),
        ("for a in xs:\n    pass\nprint(a)\n", set()),
        ("a = 1\nfor a in xs:\n    pass\n", set()),
        ("for a in xs:\n    def f():\n        return b\n    b = a\n", {"a"}),
        ("if x:\n    while y:\n        c = next(it)\n", {"c"}),
        ("def f():\n    for a in xs:\n        pass\n", set()),
        ("for i in n:\n    for a in xs:\n        pass\n    print(a)\n", {"i", "a"}),
        ("b = [a for a in xs]\n", set()),
        ("for a in xs:\n    pass\nfor i, a in xs:\n    print(a)\n", {"a", "i"}),
        ("for a in xs:\n    b = a\nfor i in b:\n    pass\n", {"a", "i"}),
        ("for a in xs:\n    pass\nc = [a for a in xs]\n", {"a"}),
        ("for a in xs:\n    pass\nc = [b for b in xs if a]\n", set()),
        ("for a in xs:\n    pass\nc = [a for a in a]\n", set()),
        ("for a in xs:\n    pass\ndef f(a):\n    return a\n", {"a"}),
        ("for a in xs:\n    pass\ndef f(b=a):\n    return b\n", set()),
        ("for a in xs:\n    pass\ndef f():\n    a = 1\n    return a\n", {"a"}),
        ("for a in xs:\n    pass\ndef f():\n    global a\n    a = 1\n", set()),
    ],
)  # fmt: skip
def test_what_belongs_to_a_loop_is_left_over(text: str, names: set[str]) -> None:
    """What is read there and bound nowhere is no matter: no array is found under it."""
    bound = {f"main.{name}" for name in "abci"}
    assert leftovers({"main": text}) & bound == {f"main.{name}" for name in names} & bound


def test_what_another_module_mentions_is_not_left_over() -> None:
    text = "for a in xs:\n    b = a + 1\n"
    assert {"data.a", "data.b"} <= leftovers({"data": text, "main": "import data\n"})
    assert "data.b" not in leftovers({"data": text, "main": "import data\ndata.b\n"})
    assert "data.b" not in leftovers({"data": text, "main": "from data import b\n"})
    assert not leftovers({"data": text, "main": "from data import *\n"})


def test_the_last_value_of_a_loop_is_a_leftover(judged: Callable[[Fixed], Judgement]) -> None:
    loop = "for i in range(2):\n    row = tokens[i]\n    print(np.asarray(row))\n"
    judgement = judged(by_hand(HEAD + loop, [COMMIT]))
    assert (judgement.verdicts, judgement.leftovers) == ([], 1)
    assert whats(judged(by_hand(HEAD + loop + "last = row\n", [COMMIT]))) == {DISPLACED}


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("Commit the array where it is made; computations may move to the host", {True}),
        ("Load it on the host: what is computed from it runs on the host", {True}),
        ("Load it on the host, and compute there", {True}),
        ("Commit it: what is computed with it then runs on jax.devices()[0]", {False}),
        ("Commit it: what is computed with it then runs on gpu0", {True, False}),
        ('Commit it: computations may then run on jax.devices("cpu")[0]', {True}),
        ("Commit the array where it is made", set()),
        ("Load it on the host and commit it there", set()),
        ("Convert it, uncommitted, on the default device", {False}),
    ],
)  # fmt: skip
def test_what_a_message_says_of_computations(message: str, where: set[bool]) -> None:
    assert goes_to(message) == where

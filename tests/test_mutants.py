"""Which mutants are tried, and how what came of them is counted."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

from tests.mutant_runs import Mutant, definitions, put
from tests.mutants import PARTS, ROOT, files_of, judged, module_of, outcome_of, sampled

if TYPE_CHECKING:
    import pytest


def test_each_part_has_files() -> None:
    for beginnings in PARTS.values():
        for beginning in beginnings:
            path = ROOT / "placement_lint" / beginning
            assert path.is_dir() if beginning.endswith("/") else path.is_file(), beginning


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    names = [f"m{number}" for number in range(100)]
    assert sampled(names, 10, 1) == sampled(reversed(names), 10, 1)
    assert sampled(names, 10, 1) != sampled(names, 10, 2)
    assert set(sampled(names, 10, 1)) < set(sampled(names, 20, 1))


def test_a_file_is_of_one_part_at_most() -> None:
    every = [path for part in PARTS for path in files_of(part)]
    assert len(every) == len(set(every)) > 30
    assert module_of(files_of("fixes")[0]) == "placement_lint.files.write"


def test_what_came_of_them_is_counted() -> None:
    result = judged(7, {"a": 1, "b": 0, "c": 33, "d": -9, "f": 36})
    assert (result["mutants"], result["tried"]) == (7, 5)
    assert (result["killed"], result["timeout"], result["share"]) == (2, 1, 0.6)
    assert result["survivors"] == ["b", "c"]


def test_a_process_that_died_has_seen_it() -> None:
    assert outcome_of(-11) == "killed"
    assert outcome_of(0) == "survived"


CODE = """\
def f(
    x,
) -> int:
    def g():
        return x

    return g()


class C:
    def f(self):
        return 1

    async def h(self): return 2
"""


def test_functions_are_cut_out() -> None:
    found = definitions(CODE)
    assert set(found) == {"f", "g", "h"}
    assert found["f"].startswith("def f(\n    x,\n) -> int:\n    def g():")
    assert found["f"].rstrip().endswith("return g()")
    assert found["h"].rstrip() == "async def h(self): return 2"
    assert definitions(CODE, ["C"])["f"].rstrip() == "def f(self):\n    return 1"


def test_a_mutant_is_put_in_the_place_of_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("broken")
    text = "K = 3\ndef f(x=1):\n    return x\nclass C:\n"
    text += "    @property\n    def p(self):\n        return 1\n"
    text += "    @staticmethod\n    def s(x):\n        return x\n"
    exec(text, vars(module))  # noqa: S102 - a text of this test
    monkeypatch.setitem(sys.modules, "broken", module)
    f, one = module.f, module.C()
    put(Mutant("broken", "x_f__mutmut_1", "def x_f__mutmut_1(x=K):\n    return -x"))
    put(Mutant("broken", "xǁCǁp__mutmut_2", "def xǁCǁp__mutmut_2(self):\n    return K"))
    put(Mutant("broken", "xǁCǁs__mutmut_3", "def xǁCǁs__mutmut_3(x):\n    return K + x"))
    assert (f(), one.p, one.s(1)) == (-3, 3, 4)

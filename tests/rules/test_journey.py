"""The way of an array to a finding: created, returned, passed, stored, used."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.load import SettingsLoader
from placement_lint.lint.linter import Linter
from placement_lint.report.json import finding_to_dict
from placement_lint.report.report import Report
from placement_lint.report.sarif import render

if TYPE_CHECKING:
    from pathlib import Path

    from placement_lint.findings import Finding
    from placement_lint.lint.results import Outcome

HOST = """\
    import jax
    import jax.numpy as jnp
    import numpy as np

    CPU = jax.devices("cpu")[0]
"""
LOAD = """
    def load(path):
        with jax.default_device(CPU):
            return jnp.asarray(np.load(path))
"""
MADE = "made here under a default device, uncommitted"
COMMITTED = "committed to the host here"
COMMITTED_TO = 'committed to jax.devices("cpu")[0] here'

Way = list[tuple[str, int, str]]

CASES: dict[str, tuple[dict[str, str], Way]] = {
    "stored in an object of another file": (
        {
            "data.py": HOST + LOAD + """
    def everything(path):
        return {"images": load(path)}

    class Batches:
        def __init__(self, images, size):
            self.images = images
            self.size = size
    """,
            "train.py": """
    from data import Batches, everything

    def run(batches):
        for step in range(100):
            print(batches.images[step])

    def main():
        found = everything("train.npy")
        run(Batches(found["images"], size=32))

    main()
    """,
        },
        [
            ("data.py", 9, MADE),
            ("data.py", 12, "returned here by `load`"),
            ("train.py", 9, "returned here by `everything`"),
            ("train.py", 10, "passed here to `Batches` as `images`"),
            ("data.py", 16, "stored here in `self.images`"),
            ("train.py", 10, "passed here to `run` as `batches`"),
        ],
    ),
    "imported": (
        {
            "data.py": HOST + LOAD + """
    IMAGES = load("x.npy")
    """,
            "names.py": "from data import IMAGES\n",
            "train.py": """
    from names import IMAGES

    for step in range(100):
        print(IMAGES[step])
    """,
        },
        [
            ("data.py", 9, MADE),
            ("data.py", 11, "returned here by `load`"),
            ("train.py", 2, "imported here"),
        ],
    ),
    "kept in a dict and a list": (
        {
            "train.py": HOST + LOAD + """
    def table(names):
        loaded = {}
        for name in names:
            loaded[name] = load(name)
        return loaded

    def first(tables):
        for step in range(100):
            print(tables[0]["a"][step])

    tables = []
    tables.append(table(["a"]))
    first(tables)
    """
        },
        [
            ("train.py", 9, MADE),
            ("train.py", 14, "returned here by `load`, stored in `loaded`"),
            ("train.py", 22, "returned here by `table`, stored in `tables`"),
            ("train.py", 23, "passed here to `first` as `tables`"),
        ],
    ),
    "a generator, a lambda, a property": (
        {
            "train.py": HOST + LOAD + """
    class Store:
        def __init__(self):
            self._rows = load("rows.npy")

        @property
        def rows(self):
            return self._rows

    def parts(store):
        yield store.rows

    def main():
        pick = lambda row: row[3]
        for part in parts(Store()):
            for _ in range(10):
                pick(part)

    main()
    """
        },
        [
            ("train.py", 9, MADE),
            ("train.py", 13, "returned here by `load`"),
            ("train.py", 13, "stored here in `self._rows`"),
            ("train.py", 20, "returned here by `rows`"),
            ("train.py", 24, "returned here by `parts`"),
            ("train.py", 26, "passed here as `row`"),
        ],
    ),
    "fields of a dataclass": (
        {
            "train.py": "    from dataclasses import dataclass\n" + HOST + LOAD + """
    @dataclass
    class Data:
        rows: jax.Array

    def main():
        data = Data(load("rows.npy"))
        for step in range(10):
            print(data.rows[step])

    main()
    """
        },
        [
            ("train.py", 10, MADE),
            ("train.py", 17, "returned here by `load`, passed to `Data` as `rows`"),
        ],
    ),
    "committed, then put without a device": (
        {
            "weights.py": HOST + """
    def read(path):
        return {"kernel": jax.device_put(np.load(path), CPU)}
    """,
            "serve.py": """
    import jax
    from weights import read

    class Server:
        def __init__(self, params):
            self.params = jax.device_put(params)

    Server(params=read("w.npy"))
    """,
        },
        [
            ("weights.py", 8, COMMITTED),
            ("serve.py", 9, "returned here by `read`, passed to `Server` as `params`"),
        ],
    ),
    "committed to two devices": (
        {
            "train.py": HOST + """
    def read(path):
        return jax.device_put(np.load(path), CPU)

    weights = read("w.npy")
    x = jax.device_put(np.ones((8, 8)), jax.devices()[0])
    print(x @ weights)
    """
        },
        [("train.py", 8, COMMITTED), ("train.py", 10, "returned here by `read`")],
    ),
    "committed, and the optimizer told by its shapes": (
        {
            "weights.py": HOST + """
    def read(path):
        return jax.device_put(np.load(path), CPU)
    """,
            "train.py": """
    import jax
    import jax.numpy as jnp
    from weights import read

    params = read("w.npy")
    momentum = jax.jit(jnp.zeros_like)(params)
    print(params - 0.1 * momentum)
    """,
        },
        [("weights.py", 8, COMMITTED_TO), ("train.py", 6, "returned here by `read`")],
    ),
    "committed, and another array made like it": (
        {
            "train.py": HOST + """
    def read(path):
        return jax.device_put(np.load(path), CPU)

    weights = read("w.npy")
    momentum = jnp.zeros_like(weights)
    """
        },
        [("train.py", 8, "committed here"), ("train.py", 10, "returned here by `read`")],
    ),
    "made and used in one function": (
        {
            "train.py": HOST + """
    with jax.default_device(CPU):
        x = jnp.ones((64, 64))
    y = x
    for step in range(10):
        print(y[step])
    """
        },
        [("train.py", 8, MADE)],
    ),
}  # fmt: skip


def lint(folder: Path, files: dict[str, str]) -> Outcome:
    for name, text in files.items():
        (folder / name).write_text(dedent(text), encoding="utf-8")
    return Linter(SettingsLoader().for_file).check([str(folder / name) for name in sorted(files)])


def way(finding: Finding, folder: Path) -> Way:
    return [
        (each.path.removeprefix(f"{folder}/"), each.span.line, each.message)
        for each in finding.related
        if each.is_step
    ]


@pytest.mark.parametrize("name", CASES)
def test_each_step_in_order(name: str, tmp_path: Path) -> None:
    files, expected = CASES[name]
    outcome = lint(tmp_path, files)
    finding = outcome.findings[-1]
    assert way(finding, tmp_path) == expected


def test_the_middle_of_a_long_way_is_left_out(tmp_path: Path) -> None:
    passing = "".join(
        f"""
    def pass{number}(x):
        return pass{number + 1}(x)
    """
        for number in range(12)
    )
    text = f"""{HOST}{LOAD}{passing}
    def pass12(x):
        for step in range(10):
            print(x[step])

    pass0(load("a"))
    """
    (finding,) = lint(tmp_path, {"a.py": text}).findings
    messages = [message for *_, message in way(finding, tmp_path)]
    assert messages == [
        MADE,
        "returned here by `load`, passed to `pass0` as `x`",
        "passed here to `pass1` as `x`",
        "passed here to `pass2` as `x`",
        "passed here to `pass3` as `x`; 6 steps after it left out",
        "passed here to `pass10` as `x`",
        "passed here to `pass11` as `x`",
        "passed here to `pass12` as `x`",
    ]


def test_many_arrays_have_the_way_in_common(tmp_path: Path) -> None:
    text = f"""{HOST}
    def init():
        with jax.default_device(CPU):
            return {{
                "a": jnp.ones((64, 64)),
                "b": jnp.ones((64, 65)),
                "c": jnp.ones((64, 66)),
                "d": jnp.ones((64, 67)),
            }}

    @jax.jit
    def step(params, x):
        return x @ params["a"] @ params["b"], params["c"], params["d"]

    def train(params):
        for _ in range(10):
            step(params, jnp.ones((4, 64)))

    params = init()
    train(params)
    """
    (finding,) = lint(tmp_path, {"a.py": text}).findings
    assert [(line, message) for _, line, message in way(finding, tmp_path)] == [
        (10, MADE),
        (11, MADE),
        (12, f"{MADE}; 1 more is not shown"),
        (24, "returned here by `init`"),
        (25, "passed here to `train` as `params`"),
    ]


def test_the_formats_say_the_steps(tmp_path: Path) -> None:
    files, expected = CASES["stored in an object of another file"]
    outcome = lint(tmp_path, files)
    finding = outcome.findings[-1]
    related = finding_to_dict(finding)["related"]
    assert [each.get("step") for each in related] == [True] * len(expected)
    report = Report(outcome, root=str(tmp_path), exit_code=1)
    (result,) = json.loads(render(report))["runs"][0]["results"]
    ((flow,),) = (each["threadFlows"] for each in result["codeFlows"])
    shown = [each["location"] for each in flow["locations"]]
    assert [each["message"]["text"] for each in shown] == [
        *(message for *_, message in expected),
        "used here",
    ]
    assert shown[-1]["physicalLocation"] == result["locations"][0]["physicalLocation"]

"""What rules are told of the other files of the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter
from placement_lint.project.program_view import WholeRun
from placement_lint.project.project import Project
from placement_lint.project.roots import mentions_roots

CLEAN = "import jax\n\n\ndef put(x, d):\n    return jax.device_put(x, d)\n"


def write(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return sorted(str(folder / name) for name in files)


def view(paths: list[str]) -> WholeRun:
    project = Project(paths, [path for path in paths if mentions_roots(Path(path).read_bytes())])
    assert isinstance(project.view, WholeRun)
    return project.view


def found(paths: list[str], jobs: int = 1) -> list[tuple[str, int, str, str]]:
    settings = Settings(select=("JDP3", "JDP5"))
    outcome = Linter(lambda _: settings, jobs=jobs).check(paths)
    return [(Path(f.path).name, f.span.line, f.code, f.message) for f in outcome.findings]


PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/plain.py": "SIZE = 3\n",
    "pkg/uses.py": "import jax\n\nfrom . import plain\n",
    "pkg/starts.py": "from .uses import jax\n\nCPU = jax.devices('cpu')\n",
    "pkg/sets.py": "import os\n\nos.environ['JAX_PLATFORMS'] = 'cpu'\n",
    "pkg/typed.pyi": "import jax\n\nCPU = jax.devices('cpu')\n",
    "pkg/escaped.py": "import jax\n\nSIGN = '\\x1'\nCPU = jax.devices('cpu')\n",
    "pkg/broken.py": "import jax\n\nCPU = jax.devices('cpu'\n",
    "pkg/large.py": "import jax\n\nx = " + "(" * 300_000 + "1" + ")" * 300_000 + "\n",
    "pkg/circle.py": "from . import other_half\nimport jax\n",
    "pkg/other_half.py": "from . import circle\n",
    "main.py": "",
}


def test_who_imports_a_file(tmp_path: Path) -> None:
    more = {
        "tests/test_uses.py": "from pkg.sets import os\n",
        "main.py": "import pkg.uses as u\n\n\ndef f():\n    from pkg import starts\n",
    }
    paths = write(tmp_path, PACKAGE | more)
    run = view(paths)
    importers = {
        name: importer and Path(importer).name
        for name in PACKAGE
        for importer in [run.importer(str(tmp_path / name))]
    }
    assert importers == {
        **dict.fromkeys(PACKAGE),
        "pkg/plain.py": "uses.py",
        "pkg/uses.py": "main.py",
        "pkg/starts.py": "main.py",
        "pkg/circle.py": "other_half.py",
        "pkg/other_half.py": "circle.py",
    }


@pytest.mark.parametrize(
    ("name", "imports", "starts"),
    [
        ("pkg.plain", None, None),
        ("pkg.uses", "uses.py", None),
        ("pkg.uses.jax", "uses.py", None),
        ("pkg.starts", "uses.py", "starts.py"),
        ("pkg.sets", None, None),
        ("pkg.other_half", "circle.py", None),
        ("pkg.typed", None, None),  # no process executes a stub
        ("pkg.broken", None, None),
        ("pkg.large", None, None),
        ("numpy", None, None),
        ("pkg.absent", None, None),
    ],
)
def test_what_importing_does(
    tmp_path: Path, name: str, imports: str | None, starts: str | None
) -> None:
    paths = write(tmp_path, PACKAGE)
    effects = view(paths).importing(str(tmp_path / "main.py"), name)
    origins = (effects.imports_jax, effects.starts_backend)
    assert [origin and Path(origin.path).name for origin in origins] == [imports, starts]
    if effects.starts_backend is not None:
        assert effects.starts_backend.line == 3
    assert list(effects.sets_variables) == (["JAX_PLATFORMS"] if name == "pkg.sets" else [])


def test_what_python_does_not_parse_and_libcst_does(tmp_path: Path) -> None:
    paths = write(tmp_path, PACKAGE)
    effects = view(paths).importing(str(tmp_path / "main.py"), "pkg.escaped")
    assert effects.imports_jax is not None
    assert effects.starts_backend is not None
    assert (effects.imports_jax.line, effects.starts_backend.line) == (1, 4)


def test_who_calls_what_in_files_that_cannot_be_read_or_parsed(tmp_path: Path) -> None:
    call = "import jax\n\njax.distributed.initialize()\n"
    paths = write(tmp_path, {"a.py": "import b\n", "b.py": call})
    asked = "jax.distributed.initialize"
    assert view(paths).calls(paths[0], asked) is not None
    write(tmp_path, {"b.py": call + ")\n"})
    assert view(paths).calls(paths[0], asked) is None
    (tmp_path / "b.py").write_bytes(call.encode() + b"# \xff\n")
    assert view(paths).calls(paths[0], asked) is None


def test_a_variable_set_after_a_module_that_imports_jax(tmp_path: Path) -> None:
    main = "import os\n\nfrom pkg import uses\n\nos.environ['JAX_PLATFORMS'] = 'cpu'\n"
    paths = write(tmp_path, {**PACKAGE, "main.py": main})
    ((name, line, code, message),) = [
        each for each in found(paths) if each[0] == "main.py" and each[2] != "JDP503"
    ]
    assert (name, line, code) == ("main.py", 5, "JDP501")
    assert "import pkg.uses" in message
    assert "uses.py:1" in message


def test_a_backend_that_another_module_starts(tmp_path: Path) -> None:
    main = "import jax\n\nimport pkg.starts\n\njax.distributed.initialize()\n"
    paths = write(tmp_path, {**PACKAGE, "main.py": main})
    codes = {(name, line, code) for name, line, code, _ in found(paths)}
    assert ("main.py", 5, "JDP504") in codes
    assert ("starts.py", 3, "JDP503") in codes


PUT = "import jax\n\n\ndef put(x):\n    return jax.device_put(x, jax.devices()[0])\n"
START = "import jax\n\nfrom .put import put\n\njax.distributed.initialize()\nput(1)\n"


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_process_among_several_is_a_matter_of_the_program(tmp_path: Path, jobs: int) -> None:
    files = {
        "several/__init__.py": "",
        "several/put.py": PUT,
        "several/train.py": START,
        "single/__init__.py": "",
        "single/put.py": PUT,
    }
    paths = write(tmp_path, files)
    alarms = [
        str(Path(f.path).relative_to(tmp_path))
        for f in Linter(lambda _: Settings(select=("JDP304",)), jobs=jobs).check(paths).findings
    ]
    assert alarms == ["several/put.py"]


def test_a_sibling_below_the_same_script_is_of_the_program(tmp_path: Path) -> None:
    files = {
        "main.py": "import setup_jax\nimport put\n",
        "setup_jax.py": "import jax\n\njax.distributed.initialize()\n",
        "put.py": PUT,
        "test_all.py": "import other\nimport setup_jax\n",
        "other.py": PUT,
    }
    paths = write(tmp_path, files)
    assert [(name, code) for name, _, code, _ in found(paths)] == [("put.py", "JDP304")]


def test_what_another_module_says_of_tensorflow(tmp_path: Path) -> None:
    script = (
        "import jax\nimport tensorflow as tf\nimport devices\n\n"
        "if __name__ == '__main__':\n    print(jax.devices(), tf.range(3))\n"
    )
    hidden = "import tensorflow as tf\n\ntf.config.set_visible_devices([], 'GPU')\nimport jax\n"
    paths = write(tmp_path, {"script.py": script, "devices.py": "import jax\n"})
    assert [code for _, _, code, _ in found(paths)] == ["JDP507"]
    write(tmp_path, {"devices.py": hidden})
    assert found(paths) == []


def test_nothing_is_read_before_a_rule_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the run was looked at")

    for question in ("calls", "mentions", "importing"):
        monkeypatch.setattr(WholeRun, question, refuse)
    monkeypatch.setattr(WholeRun, "_parse", refuse)
    files = {f"module_{n}.py": CLEAN for n in range(3)}
    paths = write(
        tmp_path, {**files, "distributed.py": "import jax\n\njax.distributed.initialize()\n"}
    )
    assert found(paths) == []


def test_only_what_can_call_a_function_is_parsed_for_it(tmp_path: Path) -> None:
    calls = "import jax\n\njax.distributed.initialize()\n"
    paths = write(tmp_path, {
        "apart.py": calls,
        "before.py": "from jax.distributed import initialize as start\n",
        "licence.py": "# distributed on an 'AS IS' basis; initialize first\nimport jax\n",
        "own.py": "import jax\nimport distributed\n\ndistributed.initialize()\n",
        "names.py": "from jax.distributed import initialize as start\n",
        "asks.py": "import before, names, calls, own\n",
        "calls.py": calls,
    })  # fmt: skip
    whole = view(paths)
    origin = whole.calls(str(tmp_path / "asks.py"), "jax.distributed.initialize")
    assert origin is not None
    assert (Path(origin.path).name, origin.line) == ("calls.py", 3)
    assert whole.parsed == 2, "before.py, which could call it, and calls.py; the rest is not asked"


def test_only_what_leads_to_jax_is_parsed(tmp_path: Path) -> None:
    files = {
        "a.py": "import b\nimport c\n",
        "b.py": "import d\n",
        "c.py": "import jax\n",
        "d.py": "X = 1\n",
        "main.py": "",
    }
    whole = view(write(tmp_path, files))
    assert whole.importing(str(tmp_path / "main.py"), "b").imports_jax is None
    assert whole.parsed == 0
    assert whole.importing(str(tmp_path / "main.py"), "a").imports_jax is not None
    assert whole.parsed == 2


def test_compiled_methods_are_known_from_another_file(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    steps = (
        "import functools\n\nimport jax\n\n\nclass Steps:\n"
        "    @functools.partial(jax.jit, static_argnums=0)\n    def step(self, x):\n"
        "        return x + 1\n\n    def eager(self, x):\n        return x\n"
    )
    train = (
        "import jax\nfrom steps import Steps\n\n\nclass Log:\n    pass\n\n\n"
        "class Trainer(Log, Steps):\n    def fit(self, xs):\n"
        "        losses = [float(self.step(x)) for x in xs]\n"
        "        return losses, [float(self.eager(x)) for x in xs]\n\n\n"
        "class Other(Steps):\n    def step(self, x):\n        return x\n\n"
        "    def fit(self, xs):\n        return [float(self.step(x)) for x in xs]\n\n\n"
        "def run(xs):\n    steps = Steps()\n    return [float(steps.step(x)) for x in xs]\n"
    )
    paths = write(tmp_path_factory.mktemp("run"), {"steps.py": steps, "train.py": train})
    found = Linter(lambda _: Settings(select=("JDP405",))).check(paths)
    assert [each.span.line for each in found.findings] == [11, 25]


def test_compiled_functions_that_other_files_pass(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    loops = (
        "import dataclasses\nfrom typing import Any\n\nimport jax\n\n\n"
        "def compiled(step, x):\n    return [float(step(x)) for _ in range(9)]\n\n\n"
        "def either(step, x):\n    return [float(step(x)) for _ in range(9)]\n\n\n"
        "def left_out(x, step=None):\n    return [float(step(x)) for _ in range(9)]\n\n\n"
        "@dataclasses.dataclass\nclass Loop:\n    step: Any\n    other: Any\n\n"
        "    def run(self, x):\n        scores = [float(self.step(x)) for _ in range(9)]\n"
        "        return scores + [float(self.other(x)) for _ in range(9)]\n"
    )
    steps = "import jax\n\n\ndef plain(x):\n    return x + 1\n\n\nfast = jax.jit(plain)\n"
    main = (
        "import functools\n\nimport loops\nfrom loops import Loop, compiled, either\n"
        "from steps import fast, plain\n\n\n"
        "def main(x):\n    compiled(fast, x)\n    functools.partial(compiled, fast)(x)\n"
        "    either(fast, x)\n    either(plain, x)\n    Loop(fast, plain).run(x)\n"
        "    loops.left_out(x, step=fast)\n    loops.left_out(x)\n"
    )
    files = {"loops.py": loops, "steps.py": steps, "main.py": main}
    paths = write(tmp_path_factory.mktemp("run"), files)
    found = Linter(lambda _: Settings(select=("JDP405",))).check(paths)
    assert [each.span.line for each in found.findings] == [8, 16, 25]


def test_what_only_fetches_is_known_from_another_file(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    utils = (
        "import jax\n\n\ndef fetched(tree):\n    return jax.device_get(tree)\n\n\n"
        "def averaged(tree):\n    return jax.numpy.mean(jax.device_get(tree))\n"
    )
    evaluate = (
        "import jax\n\nimport train_utils\n\n\ndef evaluate(step, state, batches):\n"
        "    mapped = jax.pmap(step)\n    scores, means = [], []\n    for batch in batches:\n"
        "        score, other = mapped(state, batch)\n"
        "        means.append(train_utils.averaged(other))\n"
        "        scores.append(train_utils.fetched(score))\n    return scores, means\n"
    )
    files = {"train_utils.py": utils, "evaluate.py": evaluate}
    # In a folder whose name is not that of a test.
    paths = write(tmp_path_factory.mktemp("run"), files)
    settings = Settings(select=("JDP405",))
    outcome = Linter(lambda _: settings).check(paths)
    assert [(Path(f.path).name, f.span.line) for f in outcome.findings] == [("evaluate.py", 12)]

"""What one run leaves for the next: the same findings, for less; and never a wrong one."""

from __future__ import annotations

import inspect
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.config.settings import Settings
from placement_lint.files import store as stores
from placement_lint.files.folders import OWN as FOLDER
from placement_lint.files.store import FileStore
from placement_lint.lint import check_file, run, schedule
from placement_lint.lint.incremental import cache_folder, cache_key, tool_identity
from placement_lint.lint.incremental.cache import Cache, cache_for
from placement_lint.lint.incremental.cache_folder import clean
from placement_lint.lint.incremental.cache_key import key_for
from placement_lint.lint.incremental.tool_identity import code_of
from placement_lint.lint.linter import Linter
from placement_lint.project.dependencies import Dependencies
from placement_lint.project.queries import still_hold
from tests import warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from placement_lint.files.source import Source
    from placement_lint.lint.check_program import ComponentCheck
    from placement_lint.lint.file_results import FileResult
    from placement_lint.lint.results import Outcome

DATA = """\
import jax
import jax.numpy as jnp

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    table = jnp.ones((8, 4))
"""
TRAIN = "from data import table\n\nfor i in range(8):\n    table[i]\n"
SETTINGS = Settings(target_jax="0.10")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Collect the files that are parsed to be checked."""
    found: set[str] = set()
    alone, together = check_file.lint_source, schedule._check_together

    def lint_source(source: Source, *rest: Any, **more: Any) -> FileResult:
        found.add(source.path)
        return alone(source, *rest, **more)

    def examine_together(program: ComponentCheck, *rest: Any, **more: Any) -> Any:
        found.update(program.sources)
        return together(program, *rest, **more)

    monkeypatch.setattr(schedule, "lint_source", lint_source)
    monkeypatch.setattr(schedule, "_check_together", examine_together)
    return found


def write(texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def files() -> list[str]:
    return sorted(path.as_posix() for path in Path().rglob("*.py"))


def check(cache: Cache | None = None, settings: Settings = SETTINGS, jobs: int = 1) -> Outcome:
    cache = cache_for(".", ["."]) if cache is None else cache
    linter = Linter(lambda _: settings, cache=cache, here=settings, jobs=jobs, folders=True)
    return linter.check(files())


def afresh(settings: Settings = SETTINGS) -> Outcome:
    return Linter(lambda _: settings, folders=True).check(files())


def same(one: Outcome, other: Outcome) -> bool:
    return (one.findings, one.skipped, one.files) == (other.findings, other.skipped, other.files)


def signed(text: bytes) -> bytes:
    """Give a record as a run writes it, of whatever is in it."""
    return cache_for(".", ["."]).folder._signature(text).encode() + b"\n" + text


def moved(folder: str) -> None:
    """Put a folder in the place of itself, as from a backup."""
    before = Path(folder).stat().st_ino
    Path(folder).rename("elsewhere")
    Path(folder).mkdir()
    for path in Path("elsewhere").iterdir():
        Path(folder, path.name).write_bytes(path.read_bytes())
    assert Path(folder).stat().st_ino != before


def first_of(folder: str = FOLDER) -> Path:
    (found,) = Path(folder).glob("*.run.json")
    return found


def second_of(folder: str = FOLDER) -> Path:
    (found,) = Path(folder).glob("*.files.json")
    return found


class TestWhatIsLookedAtAgain:
    def test_nothing_where_nothing_has_changed(self, looked_at: set[str]) -> None:
        write({"data.py": DATA, "train.py": TRAIN, "other.py": "import jax\njax.devices()\n"})
        first = check()
        assert (first.parsed, first.cached, len(first.findings)) == (3, 0, 1)
        looked_at.clear()
        second = check()
        assert looked_at == set()
        assert (second.parsed, second.cached) == (0, 3)
        assert same(first, second)

    @pytest.mark.parametrize("imported", ["from names import put", "import names\nput = names.put"])
    def test_what_a_name_of_another_file_becomes(
        self, imported: str, looked_at: set[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("placement_lint.project.small_programs.MOST_FILES", 0)
        use = f"import os\nimport jax\n{imported}\nos.environ['JAX_PLATFORMS'] = 'x'\nput([1])\n"
        write({"names.py": "put = print\n", "use.py": use})
        settings = Settings(select=("JDP204", "JDP508"))
        assert check(settings=settings).findings == ()
        looked_at.clear()
        write({"names.py": "from jax import device_put as put\n"})
        after = check(settings=settings)
        assert looked_at == {"use.py"}
        assert [(found.path, found.code) for found in after.findings] == [("use.py", "JDP204")]

    def test_a_change_in_one_file_and_what_depends_on_it(self, looked_at: set[str]) -> None:
        write({
            "data.py": DATA, "train.py": TRAIN,
            "a/rows.py": DATA, "a/steps.py": "from a.rows import table\ntable[0]\n",
            "alone.py": DATA + "table[0]\n",
        })  # fmt: skip
        assert len(check().findings) == 3
        looked_at.clear()
        write({"data.py": DATA.replace("(8, 4)", "(9, 4)")})
        outcome = check()
        assert looked_at == {"data.py", "train.py"}
        assert (outcome.parsed, outcome.cached) == (2, 3)
        assert same(outcome, afresh())
        looked_at.clear()
        unplaced = DATA.replace('jax.devices("cpu")[0]', "1")
        write({"data.py": unplaced.replace("with jax.default_device(cpu)", "if cpu")})
        assert [found.path for found in check().findings] == ["a/steps.py", "alone.py"]
        assert looked_at == {"data.py"}, "it places nothing any longer, so train.py says nothing"

    def test_what_a_text_says_of_names_is_read_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("placement_lint.project.small_programs.MOST_FILES", 0)
        write({
            "compat.py": "from jax import device_put as put\nfrom far import *\n",
            "uses.py": "from compat import put\nput(1, None)\nother = 1\n",
            "also.py": "import compat\nimport plain\n",
            "plain.py": "import os\n",
            "pins.py": "import jax\njax.config.update('jax_platforms', 'cpu')\n" + DATA,
        })  # fmt: skip
        read: set[str] = set()

        real = FileStore.source

        def noting(store: FileStore, path: str) -> Source:
            read.add(path)
            return real(store, path)

        monkeypatch.setattr(FileStore, "source", noting)
        first = check()
        assert {"compat.py", "uses.py", "also.py", "pins.py"} <= read
        read.clear()
        write({"plain.py": "import os\n\nx = 1\n"})
        assert same(check(), first)
        assert read <= {"plain.py"}

    def test_the_user_of_a_name_that_another_file_passes_on(self, looked_at: set[str]) -> None:
        users = {
            "uses.py": "from compat import put\nput([1])\n",
            "also.py": "from compat import other\nother([1])\n",
            "third.py": "import jax\njax.device_put([1])\n",
        }
        write({"compat.py": "from jax import device_put as put\nother = len\n", **users})
        assert [found.path for found in check().findings] == ["third.py", "uses.py"]
        looked_at.clear()
        write({"compat.py": "from jax import device_get as put\nother = len\n"})
        assert [found.path for found in check().findings] == ["third.py"]
        assert "third.py" not in looked_at
        looked_at.clear()
        write({"compat.py": "from jax import device_get as put\nother = len  # longer\n"})
        assert [found.path for found in check().findings] == ["third.py"]
        assert looked_at <= {"compat.py"}

    def test_what_importing_does_matters_and_not_how(self, looked_at: set[str]) -> None:
        write({
            "pkg/__init__.py": "",
            "pkg/devices.py": "import jax\n\nDEVICES = jax.devices()\n",
            "main.py": 'import os\nimport pkg.devices\nos.environ["JAX_PLATFORMS"] = "cpu"\n'
            "import jax\n",
        })  # fmt: skip
        settings = Settings(select=("JDP501", "JDP502", "JDP503"), target_jax="0.10")
        before = check(settings=settings)
        assert [found.path for found in before.findings] == ["main.py", "pkg/devices.py"]
        looked_at.clear()
        write({"pkg/devices.py": "import jax\n\nDEVICES = jax.devices()\n\n\ndef unused(): ...\n"})
        assert same(check(settings=settings), before)
        assert "main.py" not in looked_at
        write({"pkg/devices.py": "import jax\n\n\ndef devices():\n    return jax.devices()\n"})
        after = check(settings=settings)
        assert "main.py" in looked_at
        assert same(after, afresh(settings))
        assert not same(after, before)

    def test_a_file_that_was_touched_is_only_read(self, looked_at: set[str]) -> None:
        write({"data.py": DATA + "table[0]\n"})
        check()
        looked_at.clear()
        os.utime("data.py", (1, 1))
        assert check().cached == 1
        assert looked_at == set()

    def test_new_and_deleted_files(self, looked_at: set[str]) -> None:
        write({"train.py": TRAIN, "other.py": DATA + "table[0]\n"})
        assert len(check().findings) == 1
        looked_at.clear()
        write({"data.py": DATA})
        assert len(check().findings) == 2
        assert looked_at == {"data.py", "train.py"}
        Path("data.py").unlink()
        assert same(check(), afresh())

    def test_settings(self) -> None:
        write({"data.py": DATA + "table[0]\n", "pyproject.toml": ""})
        assert len(check().findings) == 1
        for settings in (
            Settings(ignore=("JDP201",)),
            Settings(per_file_ignores={"*.py": ("JDP201",)}),
            Settings(accelerator=False),
            Settings(select=("JDP4",)),
        ):
            assert check(settings=settings).findings == (), settings
            assert len(check().findings) == 1

    def test_what_the_project_asks_for(self) -> None:
        settings = Settings(select=("JDP601",))
        write({"old.py": "import jax\njax.device_put_sharded([1], jax.devices())\n"})
        write({"pyproject.toml": '[project]\nname = "x"\ndependencies = ["jax==0.4.30"]\n'})
        before = check(settings=settings)
        assert same(before, afresh(settings))
        write({"pyproject.toml": '[project]\nname = "x"\ndependencies = ["jax==0.10.2"]\n'})
        after = check(settings=settings)
        assert same(after, afresh(settings))
        assert not same(before, after)

    def test_a_suppression_whose_use_depends_on_files_beside_the_run(self) -> None:
        write(
            {
                "data.py": DATA,
                "train.py": "import jax\nfrom data import table\n\ntable[0]  # noqa: JDP101\n",
            }
        )
        cache = cache_for(".", ["train.py"])

        def checked() -> Outcome:
            linter = Linter(lambda _: SETTINGS, cache=cache, here=SETTINGS)
            outcome = linter.check(["train.py"])
            assert same(outcome, Linter(lambda _: SETTINGS).check(["train.py"]))
            return outcome

        before = checked()
        Path("data.py").unlink()
        assert not same(checked(), before)

    def test_what_fails_is_tried_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write({"data.py": DATA + "table[0]\n", "broken.py": "import jax\njax.device_put(\n"})
        with monkeypatch.context() as patch:
            patch.setattr("placement_lint.lint.check_file.Analysis._visit", lambda _: 1 // 0)
            assert "JDP903" in {found.code for found in check().findings}
        assert {found.code for found in check().findings} == {"JDP201", "JDP901"}


GUARDED = """\
import jax

from . import more

KEY = jax.random.key(0)


def main():
    print(more, KEY)


if __name__ == "__main__":
    main()
"""


def edits() -> dict[str, list[str]]:
    """Give what each file of a small project may hold."""
    return {
        "data.py": [
            DATA,
            DATA.replace("table =", "rows ="),
            DATA.replace("cpu)", "jax.devices()[0])"),
            "from compat import jnp, put\ntable = put(jnp.ones(4))\n",
            "import train\n" + DATA,
        ],
        "compat.py": [
            "import jax.numpy as jnp\nfrom jax import device_put as put\n",
            "import numpy as jnp\nfrom jax import device_get as put\n",
            "from pkg.more import jnp, put\n",
        ],
        "pkg/__init__.py": ["", "from .more import jnp\n", "import jax\njax.devices()\n"],
        "pkg/more.py": [
            "import jax\nimport jax.numpy as jnp\nput = jax.device_put\n",
            "import jax\nimport jax.numpy as jnp\nput = print\nones = jnp.ones(3)\n",
        ],
        "train.py": [
            TRAIN,
            "import data\n\ndata.table[0]\n",
            "from data import *\ntable[0]  # noqa: JDP201\n",
            "from compat import put\nput([1])\n",
        ],
        "pkg/job.py": [
            "import more\n\nmore.put(more.ones)\n",
            "from . import more\n\nmore.put(more.ones)\n",
        ],
        "main.py": [
            'import os\nimport pkg\nos.environ["JAX_PLATFORMS"] = "cpu"\nimport jax\n',
            'import jax\njax.config.update("jax_platforms", "cpu")\n',
            "import jax\njax.distributed.initialize()\nimport train, pkg.more\n",
            "import train, jax\nprint(jax.device_count(), jax.devices()[0])\n",
        ],
        "pkg/tool.py": [GUARDED, GUARDED.replace("if __name__", "print(KEY)\nif __name__")],
        "broken.py": ["import jax\njax.(\n", "x = 1\n", "from pkg import tool\nimport pkg.more\n"],
    }


def test_who_imports_a_program_decides_what_is_found_in_it() -> None:
    write(
        {
            "pkg/__init__.py": "",
            "pkg/more.py": "",
            "pkg/tool.py": GUARDED,
            "main.py": "import jax\n",
        }
    )
    assert not [f for f in check().findings if f.code == "JDP503"]
    write({"main.py": "import jax\nfrom pkg.tool import KEY\n"})
    outcome = check()
    assert [f.path for f in outcome.findings if f.code == "JDP503"] == ["pkg/tool.py"]
    assert same(outcome, afresh())
    Path("main.py").unlink()
    assert not [f for f in check().findings if f.code == "JDP503"]


JOB = {
    "jobs/__init__.py": "",
    "jobs/moments.py": DATA,
    "jobs/normalise.py": "import moments\n\nmoments.table + 1\n",
    "elsewhere/other.py": "import jax\n",
}


@pytest.mark.parametrize(
    ("added", "is_found"),
    [
        ({"jobs/more.py": "import moments\n"}, True),
        ({"elsewhere/main.py": "import jobs.normalise\n"}, False),
        ({"jobs/__main__.py": "from . import normalise\n"}, False),
        ({"elsewhere/report.py": "import moments\n"}, False),
        ({"moments.py": "table = 1\n"}, False),
    ],
)
def test_what_lies_beside_a_script_is_asked_again(added: dict[str, str], is_found: bool) -> None:
    def checked() -> bool:
        now = check()
        assert same(now, afresh())
        return any(each.path == "jobs/normalise.py" for each in now.findings)

    write({name: text for name, text in JOB.items() if name != "jobs/moments.py"})
    assert not checked()
    write(JOB)
    assert checked()
    write(added)
    assert checked() is is_found


PIPELINE = {
    "data.py": "import tensorflow as tf\n\n\ndef rows():\n    return tf.data.Dataset.range(8)\n",
    "script.py": """\
import jax
import data

if __name__ == "__main__":
    print(jax.devices(), data.rows())
""",
}


def test_what_another_file_imports_is_asked_again() -> None:
    write(PIPELINE)
    assert "JDP507" in {each.code for each in check().findings}
    write({"data.py": "def rows():\n    return range(8)\n"})
    now = check()
    assert same(now, afresh())
    assert "JDP507" not in {each.code for each in now.findings}


MESHES = {
    "meshes.py": "import jax\ndef mesh():\n    return jax.make_mesh((8,), ('data',))\n",
    "train.py": "import jax\nfrom meshes import mesh\nmy_mesh = mesh()\nwith my_mesh:\n    pass\n",
}


def test_what_another_file_makes_is_asked_again() -> None:
    newest = Settings()
    write(MESHES)
    assert {each.code for each in check(settings=newest).findings} == {"JDP602"}
    write({"meshes.py": "import jax\ndef mesh():\n    return jax.numpy_mesh(8)\n"})
    now = check(settings=newest)
    assert same(now, afresh(newest))
    assert not now.findings


FLAGS = {
    "compat.py": "import jax\nNEW = jax.__version__ > '0.8'\n",
    "train.py": "import jax\nfrom compat import NEW\nif not NEW:\n    print(jax.host_id())\n",
}


def test_whether_a_flag_of_another_file_asks_for_the_version_is_asked_again() -> None:
    write(FLAGS)
    assert not check().findings
    write({"compat.py": "import jax\nNEW = len(jax.devices()) > 8\n"})
    now = check()
    assert same(now, afresh())
    assert {each.code for each in now.findings} == {"JDP602"}


SETTING = {
    "other.py": "import jax\ndef run(mesh):\n    with jax.set_mesh(mesh):\n        pass\n",
    "train.py": "import other, jax\nfrom jax.sharding import PartitionSpec as P\n"
    "jax.device_put(jax.numpy.ones(8), P('data')) + 1\n",
}


def test_whether_another_file_leaves_a_mesh_set_is_asked_again() -> None:
    write(SETTING)
    assert {each.code for each in check().findings} == {"JDP711"}
    write({"other.py": "import jax\ndef run(mesh):\n    jax.set_mesh(mesh)\n"})
    now = check()
    assert same(now, afresh())
    assert not now.findings


def test_every_question_that_is_kept_is_asked_again() -> None:
    """What is kept and not compared would hold for ever."""
    text = inspect.getsource(still_hold)
    assert [each.name for each in fields(Dependencies) if f"answers.{each.name}" not in text] == []


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("seed", range(4))
def test_random_edits_never_make_a_difference(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    choices = edits()
    write({path: chance.choice(texts) for path, texts in choices.items()})
    seen = set()
    for _ in range(14):
        path = chance.choice([*choices])
        if chance.random() < 0.15 and Path(path).exists():
            Path(path).unlink()
        else:
            write({path: chance.choice(choices[path])})
        outcome = check()
        assert same(outcome, afresh()), path
        assert same(check(), outcome)
        seen.add(outcome.findings)
    assert len(seen) > 1


class TestDamage:
    """Whatever lies in the cache: a correct run, at worst a slower one."""

    @pytest.fixture(autouse=True)
    def project(self) -> None:
        write({"data.py": DATA, "train.py": TRAIN})
        assert len(check().findings) == 1

    def still_right(self) -> None:
        assert same(check(), afresh())
        write({"data.py": DATA + "table[0]\n"})
        assert same(check(), afresh())

    @pytest.mark.parametrize("which", [first_of, second_of])
    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: data[:0],
            lambda data: data[: len(data) // 2],
            lambda data: data.replace(b"data.py", b"dota.py"),
            lambda data: b"\xff" * len(data),
            lambda data: b"[" * 100 * len(data),
            lambda data: data.partition(b"\n")[0] + b"\n{}",
        ],
    )
    def test_other_bytes(self, which: Callable[[], Path], damage: Callable[[bytes], bytes]) -> None:
        path = which()
        path.write_bytes(damage(path.read_bytes()))
        self.still_right()

    @pytest.mark.sampled(one_in=4)
    @pytest.mark.parametrize(
        "key",
        [
            *("identity", "settings", "paths", "stamps", "contents"),
            *("surroundings", "outcome", "second"),
        ],
    )
    @pytest.mark.parametrize("other", [None, 7, [], {}, [[1]], "text", [[["a"]], 2]])
    def test_another_shape(self, key: str, other: object) -> None:
        path = first_of()
        value = json.loads(path.read_bytes().partition(b"\n")[2])
        text = json.dumps({**value, key: other}).encode()
        path.write_bytes(signed(text))
        self.still_right()

    @pytest.mark.sampled(one_in=4)
    @pytest.mark.parametrize("number", range(8))
    @pytest.mark.parametrize(
        "other",
        [None, 7, [], [[1]], {"data.py": 3}, {"data.py": []}, {"data.py": ["x", *[True] * 5]}],
    )
    def test_another_shape_of_the_second(self, number: int, other: object) -> None:
        path = second_of()
        value = json.loads(path.read_bytes().partition(b"\n")[2])
        if number == 7:
            value[0] = other
        else:
            value[1][number] = other
        path.write_bytes(signed(json.dumps(value).encode()))
        write({"train.py": TRAIN + "\n"})
        self.still_right()

    def test_another_version(self, monkeypatch: pytest.MonkeyPatch, looked_at: set[str]) -> None:
        for version in ("0.0.0", "1!2.0"):
            monkeypatch.setattr(tool_identity, "__version__", version)
            looked_at.clear()
            assert check().cached == 0
            assert looked_at == {"data.py", "train.py"}
            assert check().cached == 2

    def test_another_source_at_one_version(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
        looked_at: set[str],
    ) -> None:
        tool = tmp_path_factory.mktemp("tool")
        rule = tool / "rules" / "commitment" / "rule.py"
        rule.parent.mkdir(parents=True)
        monkeypatch.setattr(tool_identity, "package_folder", lambda: str(tool))
        for text in ("x = 1\n", "x = 10\n"):
            rule.write_text(text, encoding="utf-8")
            looked_at.clear()
            assert check().cached == 0
            assert looked_at == {"data.py", "train.py"}
            assert check().cached == 2

    def test_the_source_is_that_of_all_rules(self) -> None:
        folder = Path(tool_identity.package_folder())
        assert (folder / "rules" / "commitment" / "device_put_discarded.py").is_file()
        assert (folder / "lint" / "incremental" / "tool_identity.py").is_file()

    @pytest.mark.parametrize("key", [b"", b"x" * 32, b"\0" * 32])
    def test_a_cache_that_a_repository_brought_along(
        self, looked_at: set[str], key: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its writer knows everything but the key, the very folder too."""
        with monkeypatch.context() as patch:
            patch.setattr(cache_folder, "key_for", lambda _: key)
            clean(FOLDER)
            check()
        looked_at.clear()
        check()
        assert looked_at == {"data.py", "train.py"}
        looked_at.clear()
        check()
        assert looked_at == set()

    def test_a_folder_that_was_restored(self, looked_at: set[str]) -> None:
        moved(FOLDER)
        looked_at.clear()
        assert check().cached == 2
        assert looked_at == set()

    @pytest.mark.parametrize("problem", ["inside", "mode", "size", "link", "denied", "homeless"])
    def test_without_a_key_nothing_is_kept(
        self, here: Path, problem: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if os.name != "posix" and problem in {"mode", "link", "denied"}:
            pytest.skip("modes and links as POSIX has them")
        clean(FOLDER)
        home = here.parent / f"{here.name}-cache"
        key = home / "placement-lint" / "key"
        key.parent.mkdir(parents=True)
        monkeypatch.setenv("XDG_CACHE_HOME", str(home))
        if problem == "inside":
            monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
        elif problem == "link":
            (home / "other").write_bytes(b"x" * 32)
            key.symlink_to(home / "other")
        elif problem == "denied":
            (home / "placement-lint").rmdir()
            (home / "placement-lint").write_bytes(b"")
        elif problem == "homeless":
            monkeypatch.setenv("XDG_CACHE_HOME", "relative")
            monkeypatch.setattr(os.path, "expanduser", lambda path: path)
            monkeypatch.setattr(sys, "platform", "linux")
        else:
            key.write_bytes(b"x" * (31 if problem == "size" else 32))
            key.chmod(0o644 if problem == "mode" else 0o600)
        for _ in range(2):
            cache = cache_for(".", ["."])
            assert same(check(cache), afresh())
            assert cache.problem
            assert not Path(FOLDER).exists()
        assert not (here / "cache").exists()

    def test_a_key_is_made_once_and_is_private(
        self, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home = here.parent / f"{here.name}-cache"
        monkeypatch.setenv("XDG_CACHE_HOME", str(home))
        key = key_for(".")
        assert key == key_for(".") == (home / "placement-lint" / "key").read_bytes()
        assert [path.name for path in (home / "placement-lint").iterdir()] == ["key"]
        if os.name == "posix":
            assert (home / "placement-lint" / "key").stat().st_mode & 0o077 == 0
        # Another run was faster.
        found = iter([None, key])
        monkeypatch.setattr(cache_key, "_read", lambda _: next(found))
        assert key_for(".") == key

    @pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
    def test_a_link_in_its_place(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        clean(FOLDER)
        other = tmp_path_factory.mktemp("other")
        Path(FOLDER).symlink_to(other, target_is_directory=True)
        cache = cache_for(".", ["."])
        check(cache)
        assert "is a link" in cache.problem
        assert [*other.iterdir()] == []

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
    def test_a_pipe_in_place_of_a_file(self) -> None:
        path = first_of()
        path.unlink()
        os.mkfifo(path)
        self.still_right()

    @pytest.mark.parametrize("name", ["mkstemp", "replace"])
    def test_a_full_disk(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(tempfile if name == "mkstemp" else os, name, full)
        cache = cache_for(".", ["."])
        write({"train.py": TRAIN + "\n"})
        assert same(check(cache), afresh())
        assert "No space left" in cache.problem
        assert not [*Path(FOLDER).glob(".writing-*")]

    def test_a_file_in_its_place(self) -> None:
        clean(FOLDER)
        Path(FOLDER).write_text("", encoding="utf-8")
        cache = cache_for(".", ["."])
        assert same(check(cache), afresh())
        assert cache.problem

    def test_halves_of_two_runs(self) -> None:
        first = first_of().read_bytes()
        write({"train.py": "from data import table\n"})
        check()
        first_of().write_bytes(first)
        write({"train.py": TRAIN})
        assert same(check(), afresh())

    def test_it_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cache_folder, "_MOST_FILES", 6)
        left_over = Path(FOLDER, ".writing-old")
        left_over.write_text("", encoding="utf-8")
        os.utime(left_over, (1, 1))
        for number in range(6):
            check(cache_for(".", [str(number)]))
        assert len([*Path(FOLDER).glob("*.json")]) == 6
        assert not left_over.exists()
        monkeypatch.setattr(cache_folder, "_MOST_BYTES", 10)
        check(cache_for(".", ["more"]))
        assert [*Path(FOLDER).glob("*.json")] == []

    def test_too_much_is_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cache_folder, "MOST_OF_RECORDS", 100)
        cache = cache_for(".", ["new"])
        assert same(check(cache), afresh())
        assert "MiB" in cache.problem


def test_a_file_that_changes_while_it_is_read_shows_it_later(looked_at: set[str]) -> None:
    """Its times may stay what they were: so soon after a change they prove nothing."""
    write({"data.py": DATA + "table[0]\n"})
    check()
    status = Path("data.py").stat()
    write({"data.py": DATA + "table[1]\n"})
    os.utime("data.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    looked_at.clear()
    check()
    assert looked_at == {"data.py"}


def test_times_that_have_settled_are_enough(
    monkeypatch: pytest.MonkeyPatch, looked_at: set[str]
) -> None:
    monkeypatch.setattr(stores, "SETTLED", 0)
    write({"data.py": DATA + "table[0]\n"})
    time.sleep(0.05)
    check()
    monkeypatch.setattr(stores, "read_bytes", lambda _: pytest.fail("it was read"))
    assert check().cached == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_tell_what_they_were_told(
    jobs: int, monkeypatch: pytest.MonkeyPatch, looked_at: set[str]
) -> None:
    monkeypatch.setattr(run, "PARALLEL_BYTES", 0)
    write({
        "compat.py": "from jax import device_put as put\n",
        "uses.py": "from compat import put\nput([1])\n",
        **{f"more{number}.py": "import jax\njax.device_put([1])\n" for number in range(4)},
    })  # fmt: skip
    first = check(jobs=jobs)
    assert len(first.findings) == 5
    write({"more0.py": "import jax\n"})
    looked_at.clear()
    outcome = check(jobs=1)
    assert looked_at == set()
    assert same(outcome, afresh())


def placement_lint(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        warm.command("placement_lint", "--isolated", *arguments),
        capture_output=True,
        text=True,
        check=False,
    )


class TestCommand:
    def test_a_warm_run_imports_neither_libcst_nor_the_rules(self) -> None:
        write({"data.py": DATA, "train.py": TRAIN})
        code = (
            "import sys; from placement_lint.cli import main; main(['--isolated', '.'])\n"
            "print(*sorted(sys.modules), file=sys.stderr)"
        )
        runs = [
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
        cold, warm = (set(run.stderr.split()) for run in runs)
        assert runs[0].stdout == runs[1].stdout != ""
        assert "libcst" in cold
        assert {name for name in warm if name.startswith(("libcst", "placement_lint.rules."))} <= {
            "placement_lint.semantic.program_queries"
        }

    def test_it_is_left_in_the_project_and_nowhere_else(self, here: Path) -> None:
        write({"a/data.py": DATA, "pyproject.toml": "[tool.placement-lint]\n"})
        subprocess.run(
            warm.command("placement_lint", "data.py"), cwd="a", check=False, capture_output=True
        )
        assert {path.name for path in here.iterdir()} == {"a", "pyproject.toml", FOLDER}
        assert Path(FOLDER, ".gitignore").read_text(encoding="utf-8") == "*\n"

    @pytest.mark.parametrize(
        "arguments", [["--no-cache"], ["--fix"], ["--diff"], ["--reveal"], ["--show-files"]]
    )
    def test_without(self, arguments: list[str]) -> None:
        write({"data.py": DATA})
        placement_lint(".", *arguments)
        assert not Path(FOLDER).exists()

    def test_cache_dir(self) -> None:
        write({"data.py": DATA + "table[0]\n"})
        first = placement_lint(".", "--cache-dir", "kept/here", "-v")
        assert not Path(FOLDER).exists()
        assert "1 from the cache" not in first.stderr
        # Whoever names a folder may bring it along.
        Path("kept/here").rename("kept/there")
        again = placement_lint(".", "--cache-dir", "kept/there", "-v")
        assert "1 from the cache" in again.stderr
        assert first.stdout == again.stdout

    def test_in_continuous_integration(self, here: Path) -> None:
        """As docs/ci.md has it: all is fetched anew, but for the folder that was kept."""
        texts = {f"project/{name}.py": DATA + "table[0]\n" for name in "ab"}
        kept = str(here / "kept")
        write(texts)
        first = placement_lint("project", "--cache-dir", kept, "-v")
        assert "0 from the cache" in first.stderr
        shutil.rmtree("project")
        moved(kept)
        Path("filler").mkdir()  # so that no number of an inode is what it was
        write(texts)
        again = placement_lint("project", "--cache-dir", kept, "-v")
        assert "2 from the cache" in again.stderr
        assert first.stdout == again.stdout

    def test_an_installation_is_known_again(self) -> None:
        """By what its installer noted, and not by when; one that was changed by hand is not."""
        package, info = Path("site/package"), Path("site/package-1.0.dist-info")
        write({"site/package/a.py": "a", "site/package/b.py": "b"})
        modules = [str(path) for path in package.iterdir()]
        by_hand = code_of(str(package), modules)
        lines = "package/a.py,sha256=1,1\npackage/b.py,sha256=2,1\n"
        write({f"{info}/RECORD": f"../bin/x,sha256=3,1\n{lines}package/__pycache__/a.pyc,,\n"})
        noted = code_of(str(package), modules)
        assert noted != by_hand
        os.utime(package / "a.py", ns=(0, 0))
        assert code_of(str(package), modules) == noted
        write({f"{info}/RECORD": f"../../bin/x,sha256=3,1\n{lines}"})
        assert code_of(str(package), modules) == noted
        write({f"{info}/RECORD": lines.replace("=2", "=4")})
        assert code_of(str(package), modules) not in {noted, by_hand}
        write({f"{info}/RECORD": lines})
        later = time.time_ns() + 10**9
        os.utime(package / "a.py", ns=(later, later))
        assert code_of(str(package), modules) not in {noted, by_hand}

    def test_a_wrong_selector_is_named_again(self) -> None:
        write({"data.py": DATA})
        for _ in range(2):
            assert "JDP999" in placement_lint(".", "--select", "JDP999").stderr
        placement_lint(".")
        assert placement_lint(".", "--select", "JDP999").returncode == 2

    def test_clean(self) -> None:
        write({"data.py": DATA})
        placement_lint(".")
        note = Path(FOLDER, "note.txt")
        note.write_text("mine", encoding="utf-8")
        command = warm.command("placement_lint", "clean")
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        assert said == f"Deleted {FOLDER}.\n"
        assert [*Path(FOLDER).iterdir()] == [note]
        note.unlink()
        Path(FOLDER).rmdir()
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        assert said == "Nothing to delete.\n"
        Path("placement-lint.toml").write_text("select = 7\n", encoding="utf-8")
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 2
        assert "placement-lint.toml: `select` must be" in run.stderr


def test_two_runs_at_once(here: Path) -> None:
    write({"data.py": DATA, "train.py": TRAIN})
    commands = [warm.command("placement_lint", "--isolated", ".")] * 4
    runs = [subprocess.Popen(each, stdout=subprocess.PIPE, text=True) for each in commands]
    outputs: Iterable[str] = {each.communicate()[0] for each in runs}
    assert len({*outputs}) == 1
    assert check().cached in {0, 2}
    assert same(check(), afresh())

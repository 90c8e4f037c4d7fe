"""What is donated to functions and objects of other files, and read after that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.cli import main as command
from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter
from placement_lint.project.donating_files import brings_donation
from placement_lint.project.project import Project
from placement_lint.project.roots import mentions_roots
from placement_lint.semantic.program_queries import DonationKind
from tests.project.test_program_view import view, write

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = {
    "lib/__init__.py": "from .steps import make_step, train_step as fast_step\n",
    "lib/steps.py": """
from functools import partial
import jax

@partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    return state.apply_gradients(grads=jax.grad(state.apply_fn)(state.params, batch))

@partial(jax.jit, donate_argnums=(0, 1))
def total(unused, x):
    return x.sum()

@jax.jit
def plain(state, batch):
    return train_step(state, batch)

def make_step(model):
    @partial(jax.jit, donate_argnames=("cache",))
    def decode(params, cache, token):
        logits, cache = model.apply(params, cache, token)
        return logits, cache
    return decode

def make_both(model):
    def update(params):
        return params * 0.9
    return jax.jit(model.init), jax.jit(update, donate_argnums=0)

def run_once(state, batch):
    return train_step(state, batch)

def perhaps(state, batch):
    if batch is not None:
        state = train_step(state, batch)
    return state

def copied(state, batch):
    return train_step(jax.tree.map(lambda x: x.copy(), state), batch)

def generate(state, batches):
    for batch in batches:
        state = train_step(state, batch)
        yield 1
""",
    "lib/trainer.py": """
from functools import partial
import jax
from lib.steps import train_step

class Trainer:
    def __init__(self, model, state=None):
        self.model, self.state = model, state
        self.compile()

    def compile(self):
        self.step = jax.jit(self._step, donate_argnums=(0, 1))

    def _step(self, params, opt_state, batch):
        return params, opt_state

    def fit_one(self, params, opt_state, batch):
        return self.step(params, opt_state, batch)

    @partial(jax.jit, static_argnums=0, donate_argnums=1)
    def update(self, params):
        return params * 2

    def own(self, batch):
        self.state = train_step(self.state, batch)
        return self.state
""",
    "clean/util.py": "import jax\n\ndef train_step(state, batch):\n    return state\n",
}

USES = {
    "for b in bs:\n        new = fast_step(s, b)\n    return new": "each iteration",
    "new = fast_step(s, bs)\n    return new, s.params + 1": "donated to `fast_step`",
    "new = steps.train_step(s, bs)\n    return new, s.params + 1": "`steps.train_step`",
    "step = steps.train_step\n    new = step(s, bs)\n    return s + new": "to `step`",
    "decode = make_step(None)\n    y, new = decode(bs, s, 1)\n    return s + new": "to `decode`",
    "decode = make_step(None)\n    y, s_new = decode(bs, cache=s, token=1)\n    y -= s": "`decode`",
    "_, update = steps.make_both(None)\n    new = update(s)\n    return new - s": "to `update`",
    "new = steps.run_once(s, bs)\n    return new, s + 1": "`steps.run_once`",
    "t = Trainer(None)\n    new, _ = t.step(s, bs, 0)\n    return s + new": "`t.step`",
    "t = Trainer(None)\n    new, _ = t.fit_one(s, bs, 0)\n    return s + new": "`self.step`",
    "t = Trainer(None)\n    new = t.update(s)\n    return s + new": "`t.update`",
    "new, _ = Owner().go(s)\n    return s + new": "`self.step`",
}
CLEAN = (
    "for b in bs:\n        s = fast_step(s, b)\n    return s",
    "new = fast_step(s, bs)\n    return new, bs.sum()",
    "new = fast_step(s, bs)\n    return new, s.params.shape",
    "return fast_step(s, bs) if bs else s",
    "total = steps.total(s, bs)\n    return total, s + 1",
    "new = steps.plain(s, bs)\n    return new, s + 1",
    "decode = make_step(None)\n    y, cache = decode(s, bs, 1)\n    return s + y",
    "init, _ = steps.make_both(None)\n    new = init(s)\n    return new - s",
    "new = steps.perhaps(s, bs)\n    return new, s + 1",
    "new = steps.copied(s, bs)\n    return new, s + 1",
    "for each in steps.generate(s, bs):\n        print(each, s + 1)",
    "t = Trainer(None)\n    new, _ = t.step(s, bs, 0)\n    return new",
    "t = Trainer(None)\n    y = t.model.step(s, bs)\n    return s + y",
    "t = Trainer(None)\n    t.update = print\n    t.update(s)\n    return s + 1",
    "t = Trainer(None, s)\n    for b in bs:\n        t.own(b)\n    return t.state",
    "new = util.train_step(s, bs)\n    return s + new",
)
_HEAD = """
from clean import util
from lib import fast_step, make_step, steps
from lib.trainer import Trainer

class Owner(Trainer):
    def __init__(self):
        super().__init__(None)

    def go(self, params):
        return self.step(params, 1, 2)

def use(s, bs):
    """


def _findings(tmp_path: Path, body: str) -> list[str]:
    files = {**LIBRARY, "clean/__init__.py": "", "main.py": f"{_HEAD}{body}\n"}
    settings = Settings(select=("JDP801", "JDP802", "JDP803"))
    outcome = Linter(lambda _: settings, jobs=1).check(write(tmp_path, files))
    return [finding.message for finding in outcome.findings]


@pytest.mark.parametrize("body", USES)
def test_what_other_files_donate_is_gone(tmp_path: Path, body: str) -> None:
    (found,) = _findings(tmp_path, body)
    assert USES[body] in found


@pytest.mark.parametrize("body", CLEAN)
def test_what_is_not_donated_is_not_reported(tmp_path: Path, body: str) -> None:
    assert not _findings(tmp_path, body)


def test_answers_of_the_run(tmp_path: Path) -> None:
    paths = write(tmp_path, {**LIBRARY, "main.py": "import lib.steps\n"})
    project = Project(paths, paths, donating=[path for path in paths if "lib" in path])
    main = str(tmp_path / "main.py")
    ask = project.view.donation
    step = ask(main, "lib.fast_step")
    assert step is not None
    assert (step.kind, step.positions, step.parameters) == (
        DonationKind.COMPILED,
        (0,),
        ("state", "batch"),
    )
    trainer = ask(main, "lib.trainer.Trainer")
    assert trainer is not None
    assert trainer.kind is DonationKind.CLASS
    assert ask(main, "lib.steps.plain") is None
    assert ask(main, "lib.steps.missing") is None
    assert view(paths).donation(main, "lib.fast_step") is None


def test_which_files_may_have_something_that_donates(tmp_path: Path) -> None:
    files = {
        **LIBRARY,
        "by_package.py": "from lib import make_step\nstep = make_step(1)\n",
        "by_module.py": "import lib.steps\nlib.steps.train_step(1, 2)\n",
        "other.py": "from clean.util import train_step\ntrain_step(1, 2)\n",
    }
    paths = write(tmp_path, files)
    mentioning = [each for each in paths if mentions_roots((tmp_path / each).read_bytes())]
    project = Project(paths, mentioning, donating=[str(tmp_path / "lib" / "steps.py")])
    found = {
        name: brings_donation(str(tmp_path / f"{name}.py"), project)
        for name in ("by_package", "by_module", "other")
    }
    assert found == {"by_package": True, "by_module": True, "other": False}


def test_a_change_of_the_other_file_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = "import jax\n\ndef f(x):\n    return x + 1\n\nstep = jax.jit(f)\n"
    using = "from steps import step\n\ndef use(x):\n    y = step(x)\n    return x + y\n"
    write(tmp_path, {"steps.py": plain, "main.py": using, "pyproject.toml": ""})
    found = []
    for text in (plain, plain.replace("jit(f)", "jit(f, donate_argnums=0)"), plain):
        (tmp_path / "steps.py").write_text(text)
        command(["--select", "JDP801", str(tmp_path)])
        found.append("JDP801" in capsys.readouterr().out)
    assert found == [False, True, False]

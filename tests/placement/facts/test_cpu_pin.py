"""Whether a program is pinned to the CPU: only what surely runs counts."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.placement.facts.cpu_pin import offers_cpu, pins_cpu, takes_offered
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree

HEAD = "import os\nname = 'JAX_PLATFORMS'\n"
IMPORTS = "import jax\nfrom jax import config\n"
PINNED = [
    "jax.config.update('jax_platforms', 'cpu')",
    "jax.config.update('jax_platform_name', 'cpu')",
    "jax.config.update(name='jax_platforms', val='cpu')",
    "config.update('jax_platforms', ' cpu ,cuda')",
    "os.environ['JAX_PLATFORMS'] = 'cpu'",
    "os.environ['JAX_PLATFORM_NAME'] = 'cpu'",
    "other = os.environ['JAX_PLATFORMS'] = 'cpu'",
    "os.environ.setdefault('JAX_PLATFORMS', 'cpu')",
    "os.environ.setdefault(key='JAX_PLATFORMS', default='cpu')",
    "os.putenv('JAX_PLATFORMS', 'cpu')",
    "os.putenv('JAX_PLATFORMS', value='cpu')",
    "os.environ.update({'JAX_PLATFORMS': 'cpu'})",
    "os.environ.update({'A': 'b', **c, 'JAX_PLATFORM_NAME': 'cpu'})",
    "os.environ.update(JAX_PLATFORMS='cpu')",
    "os.environ.update(dict(JAX_PLATFORMS='cpu'))",
    "os.environ |= {'JAX_PLATFORMS': 'cpu'}",
    "os.environ.update(A='b', JAX_PLATFORMS='cpu')",
    "if __name__ == '__main__':\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "if True:\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "def main():\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "try:\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nfinally:\n    pass",
    "with open('x'):\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "def run():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\n    train()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\npin()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nstart = [pin]",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nglobals()['p' + 'in']()",
    "@command\ndef pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "def setup_module():\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "class A(B):\n    def pin(self):\n        os.environ['JAX_PLATFORMS'] = 'cpu'",
    "class A:\n    def pin(self):\n        os.environ['JAX_PLATFORMS'] = 'cpu'\nA().pin()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nstart = {'cpu': pin}",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nrun('tools:pin')",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\ndef more():\n    pin()\nmore()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\ndef main():\n    pin()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nTHREAD = Thread(target=lambda: pin())",
    "def main():\n    def pin():\n        os.environ['JAX_PLATFORMS'] = 'cpu'\n    pin()",
]
UNUSED = [
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "def pin():\n    jax.config.update('jax_platforms', 'cpu')\n    print('on the CPU')",
    "def pin():\n    log.info('CPU only')\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "class A:\n    def pin(self):\n        os.environ['JAX_PLATFORMS'] = 'cpu'",
    "class A:\n    @staticmethod\n    def pin():\n        os.environ['JAX_PLATFORMS'] = 'cpu'",
    "'Call pin() first.'\ndef pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "__all__ = ['pin']\ndef pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "def pin():\n    jax.config.update('jax_platforms', 'cpu')\n    jax.clear_caches()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\n    pin()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nif args.cpu:\n    pin()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nargs.cpu and pin()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nstart = pin if args.cpu else other",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\n{'cpu': pin, 'gpu': other}[name]()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\ndef main(pin):\n    print(pin)",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nclass A:\n    pin = 3\nA.pin()",
]
OFFERED_BY_CALLERS = [
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\ndef more():\n    pin()",
    "class A:\n    def pin(self):\n        os.environ['JAX_PLATFORMS'] = 'cpu'\n"
    "    def more(self):\n        self.pin()",
    "def pin():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\n    more()\ndef more():\n    pin()",
]
FREE = [
    "jax.config.update('jax_platforms', 'cuda,cpu')",
    "jax.config.update('jax_platforms', 'gpu')",
    "jax.config.update('jax_enable_x64', 'cpu')",
    "jax.config.update('jax_platforms', chosen)",
    "jax.config.update()",
    "other.update('jax_platforms', 'cpu')",
    "os.environ['OTHER'] = 'cpu'",
    "os.environ['JAX_PLATFORMS'] = 'cuda'",
    "os.environ['JAX_PLATFORMS'] += 'cpu'",
    "os.environ |= other",
    "os.environ[name] = 'cpu'",
    "os.environ['JAX_PLATFORMS':] = 'cpu'",
    "other['JAX_PLATFORMS'] = 'cpu'",
    "environ = 'cpu'",
    "os.environ.setdefault('OTHER', 'cpu')",
    "os.environ.setdefault('JAX_PLATFORMS')",
    "os.environ.get('JAX_PLATFORMS', 'cpu')",
    "os.environ.update({'OTHER': 'cpu'})",
    "os.environ.update({'JAX_PLATFORMS': 'cuda'})",
    "os.environ.update({**other})",
    "os.environ.update(other)",
    "os.environ.update(JAX_PLATFORMS='cuda')",
    "os.environ.update(OTHER='cpu')",
    "jax.config.update('JAX_PLATFORMS', 'cpu')",
    "os.environ['jax_platforms'] = 'cpu'",
    "if unknown():\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "if unknown() == 'x':\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "if name == 'x':\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "if __name__:\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "while unknown():\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "try:\n    pass\nexcept OSError:\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
    "match unknown():\n    case 1:\n        os.environ['JAX_PLATFORMS'] = 'cpu'",
    "os.putenv('JAX_PLATFORMS', 'cpu') if unknown() else None",
]


LATE = [
    "import jax\nos.environ['JAX_PLATFORMS'] = 'cpu'",
    "import jax.numpy as jnp\nos.environ.setdefault('JAX_PLATFORMS', 'cpu')",
    "from jax import numpy\nos.putenv('JAX_PLATFORMS', 'cpu')",
    "from jax.sharding import Mesh\ndef main():\n    os.environ['JAX_PLATFORM_NAME'] = 'cpu'",
    "def main():\n    import jax\n    if True:\n        os.environ['JAX_PLATFORMS'] = 'cpu'",
    "import sys; import jax\nif __name__ == '__main__':\n    os.environ['JAX_PLATFORMS'] = 'cpu'",
]
IN_TIME = [
    "from . import jax\nos.environ['JAX_PLATFORMS'] = 'cpu'",
    "from .jax import f\nos.environ['JAX_PLATFORMS'] = 'cpu'",
    "import jaxtyping\nos.environ['JAX_PLATFORMS'] = 'cpu'",
    "if unknown():\n    import jax\nos.environ['JAX_PLATFORMS'] = 'cpu'",
    "def f():\n    import jax\nos.environ['JAX_PLATFORMS'] = 'cpu'",
    "os.environ['JAX_PLATFORMS'] = 'cpu'\nimport jax",
    "import jax\njax.config.update('jax_platforms', 'cpu')\nos.environ['JAX_PLATFORMS'] = 'cpu'",
]


_BLOCK = "    with jax.default_device(jax.devices('cpu')[0]):\n        yield\n"
_CHOICE = "jax.config.update('jax_default_device', cpu)\n"
FOR_ALL_TESTS = [
    f"@pytest.fixture(autouse=True)\ndef host():\n{_BLOCK}",
    f"@pytest.fixture(scope='session', autouse=True)\ndef host(request):\n    x = 1\n{_BLOCK}",
    "@pytest.fixture(autouse=True)\ndef host():\n    with jax.default_device(cpu): yield",
    "@pytest.fixture(autouse=True)\ndef host():\n    with jax.default_device('cpu'): yield",
]
FOR_SOME_TESTS = [
    f"@pytest.fixture\ndef host():\n{_BLOCK}",
    f"@pytest.fixture(autouse=False)\ndef host():\n{_BLOCK}",
    f"@contextlib.contextmanager\ndef host():\n{_BLOCK}",
    "@pytest.fixture(autouse=True)\ndef a():\n    with jax.default_device(gpu): yield",
    "@pytest.fixture(autouse=True)\ndef a():\n    with jax.default_device(cpu): x = 1\n    yield",
    "@pytest.fixture(autouse=True)\ndef a():\n    with open('cpu'): yield",
    f"@pytest.fixture\ndef host():\n    {_CHOICE}    yield\n",
    f"def helper():\n    {_CHOICE}",
    f"if unknown():\n    {_CHOICE}",
]
BY_CONFTEST = [
    _CHOICE,
    f"def pytest_configure(config):\n    {_CHOICE}",
    f"@pytest.fixture(autouse=True)\ndef host():\n    {_CHOICE}    yield\n",
]
TESTS = "import contextlib, jax, pytest\ncpu = jax.local_devices(backend='cpu')[0]\ngpu = 0\n"


@pytest.mark.parametrize("text", FOR_ALL_TESTS)
def test_a_fixture_holds_the_host_for_every_test(text: str) -> None:
    assert pinned(TESTS + text)


@pytest.mark.parametrize("text", FOR_SOME_TESTS)
def test_other_functions_say_nothing_of_all_tests(text: str) -> None:
    assert not pinned(TESTS + text)
    assert not pinned(TESTS + text, by_intent=True)


@pytest.mark.parametrize("text", BY_CONFTEST)
def test_what_a_conftest_sets_when_it_starts_holds_for_its_tests(text: str) -> None:
    assert pinned(TESTS + text, by_intent=True)
    assert not pinned(TESTS + text)


def pinned(text: str, *, by_intent: bool = False) -> bool:
    tree = Tree(cst.parse_module(f"{HEAD}{text}\n"))
    return pins_cpu(tree, Names(tree), by_intent=by_intent)


@pytest.mark.parametrize("text", UNUSED)
def test_a_function_that_nothing_calls_is_only_offered(text: str) -> None:
    text = f"{IMPORTS}{text}" if "config" in text else text
    assert not pinned(text)
    tree = Tree(cst.parse_module(f"{HEAD}{text}\n"))
    assert offers_cpu(tree, Names(tree)) == {"pin"}


@pytest.mark.parametrize("text", OFFERED_BY_CALLERS)
def test_so_is_what_calls_it_and_nothing_calls(text: str) -> None:
    assert not pinned(text)
    tree = Tree(cst.parse_module(f"{HEAD}{text}\n"))
    assert offers_cpu(tree, Names(tree)) == {"pin", "more"}


TAKEN = [
    "from tools import pin\npin()",
    "import tools\ntools.pin()",
    "import tools\ndef main():\n    tools.pin()",
    "from tools import pin as chosen\nchosen()",
    "from tools import pin\n@command\ndef go():\n    pin()",
    "import tools\ngetattr(tools, 'pin')()",
    "from tools import pin\ndef go():\n    pin()\n    train()",
]
NOT_TAKEN = [
    ("from tools import pin", set()),
    ("from tools import pin\n__all__ = ['pin']", set()),
    ("from tools import pin\nif args.cpu:\n    pin()", set()),
    ("import tools\ndef main(cpu):\n    if cpu:\n        tools.pin()", set()),
    ("from tools import pin\ndef go():\n    pin()", {"go"}),
    ("import tools\ndef go():\n    tools.pin()\ndef more():\n    go()", {"go", "more"}),
    ("def main(pin):\n    pin()", set()),
]


def takes(text: str) -> tuple[bool, frozenset[str]]:
    tree = Tree(cst.parse_module(f"{text}\n"))
    return takes_offered(tree, Names(tree), frozenset({"pin"}))


@pytest.mark.parametrize("text", TAKEN)
def test_a_file_calls_what_another_one_offers(text: str) -> None:
    assert takes(text) == (True, frozenset())


@pytest.mark.parametrize(("text", "offered"), NOT_TAKEN)
def test_what_is_called_under_a_condition_or_by_nothing_is_not_taken(
    text: str, offered: set[str]
) -> None:
    assert takes(text) == (False, frozenset(offered))


@pytest.mark.parametrize("text", PINNED)
def test_it_only_ever_runs_on_the_cpu(text: str) -> None:
    assert pinned(f"{IMPORTS}{text}" if "config" in text else f"{text}\n{IMPORTS}")


@pytest.mark.parametrize("text", FREE)
def test_it_may_run_elsewhere(text: str) -> None:
    assert not pinned(f"{IMPORTS}{text}")
    assert not pinned(f"{text}\n{IMPORTS}")


@pytest.mark.parametrize("text", LATE)
def test_a_variable_that_is_set_too_late_counts_as_intent_only(text: str) -> None:
    assert not pinned(text)
    assert pinned(text, by_intent=True)


@pytest.mark.parametrize("text", IN_TIME)
def test_what_is_not_surely_too_late_counts(text: str) -> None:
    assert pinned(text)

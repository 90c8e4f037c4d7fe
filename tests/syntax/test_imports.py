"""Imports that fixes add: seen by the real rules, where a fix needs a name that is not there."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.lint.fixes.apply import fix_source
from placement_lint.rules.registry import all_rules
from placement_lint.syntax.imports import importable
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree
from tests.variants import with_crlf

OPTIONS = FileOptions(tuple(rule for rule in all_rules() if not rule.pedantic), sight=Sight.WHOLE)


def fixed(text: str) -> str:
    result = fix_source(Source("a.py", text), OPTIONS, unsafe=True)
    assert "JDP903" not in {finding.code for finding in result.result.findings}
    again = fix_source(Source("a.py", result.text), OPTIONS, unsafe=True)
    assert again.text == result.text
    compile(result.text, "a.py", "exec")
    crlf = fix_source(Source("a.py", with_crlf(text).text), OPTIONS, unsafe=True)
    assert crlf.text == with_crlf(result.text).text
    return result.text


LOAD = 'tokens = load_file("train.safetensors")["tokens"]\n'
LOADED = """\
with jax.default_device(jax.devices("cpu")[0]):
    tokens = jax.device_put(load_file("train.safetensors")["tokens"], jax.devices("cpu")[0])
"""
SAFE = "from safetensors.flax import load_file\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SAFE, f"import jax\n{SAFE}"),
        (f"import os\n{SAFE}", f"import jax\nimport os\n{SAFE}"),
        (f"import abc\n{SAFE}", f"import abc\nimport jax\n{SAFE}"),
        (f"import abc\nimport numpy\n{SAFE}", f"import abc\nimport jax\nimport numpy\n{SAFE}"),
        (f"import os\n\n{SAFE}", f"import os\n\nimport jax\n{SAFE}"),
        (
            f'#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Licence.\n"""Doc.\n\n  It."""\n'
            f"from __future__ import annotations\n{SAFE}",
            f'#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Licence.\n"""Doc.\n\n  It."""\n'
            f"from __future__ import annotations\nimport jax\n{SAFE}",
        ),
        (f"# Licence.\n\n# About it.\n{SAFE}", f"# Licence.\n\n# About it.\nimport jax\n{SAFE}"),
        (
            f'import os\n\nos.environ["XLA_FLAGS"] = "-"\n{SAFE}',
            f'import os\n\nos.environ["XLA_FLAGS"] = "-"\nimport jax\n{SAFE}',
        ),
        (
            f'import os; os.environ["XLA_FLAGS"] = "-"; {SAFE}',
            f'import os; os.environ["XLA_FLAGS"] = "-"; {SAFE}import jax\n',
        ),
        (f"import abc; import enum\n{SAFE}", f"import abc; import enum\nimport jax\n{SAFE}"),
        (
            f"from typing import TYPE_CHECKING\n\n{SAFE}\nif TYPE_CHECKING:\n    import optax\n",
            "from typing import TYPE_CHECKING\n\nimport jax\n"
            f"{SAFE}\nif TYPE_CHECKING:\n    import optax\n",
        ),
        (f"{SAFE}import numpy\nimport abc\n", f"{SAFE}import numpy\nimport abc\nimport jax\n"),
        (f"import abc  # said\n{SAFE}", f"import abc  # said\nimport jax\n{SAFE}"),
        (
            "from safetensors.flax import (\n    load_file,  # said\n)\n",
            "import jax\nfrom safetensors.flax import (\n    load_file,  # said\n)\n",
        ),
    ],
)
def test_a_module_of_its_own(before: str, after: str) -> None:
    assert fixed(before + LOAD) == after + LOADED


def test_imports_at_the_end_of_the_file_are_not_those_at_its_beginning() -> None:
    lines = LOADED.replace("\n", "\n    ").rstrip()
    text = f"{SAFE}def load():\n    {LOAD}    return tokens\nimport os\n"
    expected = f"import jax\n{SAFE}def load():\n    {lines}\n    return tokens\nimport os\n"
    assert fixed(text) == expected


def test_in_the_function_that_imports() -> None:
    text = f"def load():\n\t'''Doc.'''\n\t{SAFE}\t{LOAD}\treturn tokens\n"
    lines = LOADED.replace("    ", "\t").replace("\n", "\n\t").rstrip("\t")
    expected = f"def load():\n\t'''Doc.'''\n\timport jax\n\t{SAFE}\t{lines}\treturn tokens\n"
    assert fixed(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"import jaxlib as jax\n{SAFE}{LOAD}",
        f"{SAFE}jax = None\n{LOAD}",
        f"{SAFE}{LOAD}\ndef jax(): pass\n",
        f"from mine import *\n{SAFE}{LOAD}print(jax)\n",
        f"try:\n    {SAFE}except ImportError:\n    load_file = None\n{LOAD}",
        f"if x():\n    {SAFE}{LOAD}",
        f"{SAFE}def load(jax):\n    {LOAD}",
        f"{SAFE}class Loader:\n    jax = 1\n    {LOAD}",
        f"{SAFE}def load():\n    {LOAD}    return [jax for jax in tokens], jax\n",
        f"{SAFE}def load():\n    global jax\n    {LOAD}",
        f"class Loader:\n    {SAFE}    def load(self):\n        {LOAD}",
        f"def other():\n    {SAFE}{SAFE.replace('load_file', 'load_file as other_load')}"
        f"{LOAD.replace('load_file', 'other')}",
    ],
)
def test_no_fix_where_the_name_is_taken_or_no_place_is_right(text: str) -> None:
    assert fixed(text) == text


UPDATED = 'config.update("jax_default_device", d)\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from jax import default_device\n", "from jax import config, default_device\n"),
        (
            "from jax import default_device, Array\n",
            "from jax import default_device, Array, config\n",
        ),
        (
            "from jax import (default_device, jit,)\n",
            "from jax import (config, default_device, jit,)\n",
        ),
        (
            "from jax import (\n    default_device,  # said\n    jit\n)\n",
            "from jax import (\n    config,\n    default_device,  # said\n    jit\n)\n",
        ),
        (
            "from jax import (\n    Array as A,  # one\n"
            "    default_device as default_device  # two\n)\n",
            "from jax import (\n    Array as A,  # one\n    config,\n"
            "    default_device as default_device  # two\n)\n",
        ),
        (
            "from jax import (\n    jit,\n    default_device,  # two\n)\n",
            "from jax import (\n    jit,\n    default_device,  # two\n    config,\n)\n",
        ),
        (
            "from jax import (\n    jit,\n    default_device  # two\n)\n",
            "from jax import (\n    jit,\n    default_device,  # two\n    config\n)\n",
        ),
        (
            "from jax import (\n    jit,\n    default_device\n)\n",
            "from jax import (\n    jit,\n    default_device,\n    config\n)\n",
        ),
        (
            "from jax import jit, \\\n    default_device\n",
            "from jax import jit, \\\n    default_device, config\n",
        ),
        (
            "from jax import \\\n    default_device\n",
            "from jax import \\\n    config, default_device\n",
        ),
        (
            "from jax import \\\n    Array, \\\n    default_device\n",
            "from jax import \\\n    Array, \\\n    config, default_device\n",
        ),
        (
            "from jax import (jit, default_device,  # two\n                 vmap)\n",
            "from jax import (jit, default_device,  # two\n                 vmap, config)\n",
        ),
        (
            "import os; from jax import default_device\n",
            "import os; from jax import config, default_device\n",
        ),
    ],
)
def test_merged_into_the_names_that_are_imported(before: str, after: str) -> None:
    text = "d = pick()\ndefault_device(d)\n"
    assert fixed(before + text) == f"{after}d = pick()\n{UPDATED}"


def test_another_way_where_the_name_to_merge_is_taken() -> None:
    text = "from jax import default_device\nconfig = read()\ndefault_device(config.device)\n"
    assert fixed(text) == (
        "import jax\nfrom jax import default_device\nconfig = read()\n"
        'jax.config.update("jax_default_device", config.device)\n'
    )


def test_two_names_of_two_fixes_come_one_after_the_other() -> None:
    text = (
        "from jax import default_device, device_put, devices\n"
        "default_device(devices('cpu')[0])\ndevice_put(x, 'cpu')\ny = 1\ndevice_put(y, 'gpu')\n"
    )
    assert fixed(text) == (
        "from jax import config, default_device, device_put, devices\n"
        "config.update('jax_default_device', devices('cpu')[0])\n"
        "device_put(x, devices('cpu')[0])\ny = 1\ny = device_put(y, devices('gpu')[0])\n"
    )


def test_two_names_of_one_fix_come_behind_those_that_are_there() -> None:
    text = f"from jax import abc\n{SAFE}{LOAD}"
    assert fixed(text) == (
        f"from jax import abc, default_device, device_put, devices\n{SAFE}"
        + LOADED.replace("jax.", "")
    )


def test_numpy_comes_under_its_usual_name() -> None:
    text = (
        "import jax\nimport jax.numpy as jnp\ncpu = jax.devices('cpu')[0]\n"
        "x = jax.device_put(jnp.zeros((4096, 4096)), cpu)\n"
    )
    assert fixed(text) == text.replace(
        "jax.numpy as jnp\n", "jax.numpy as jnp\nimport numpy as np\n"
    ).replace("jnp.zeros", "np.zeros")


def test_the_own_alias_is_used() -> None:
    text = "import jax as J\nfrom jax import numpy as N\nJ.default_device(d)\n"
    assert fixed(text) == text.replace(
        "J.default_device(", 'J.config.update("jax_default_device", '
    )


def test_what_is_no_longer_used_stays_imported() -> None:
    text = "import jax\nfrom jax import default_device\ndefault_device(jax.devices('cpu')[0])\n"
    assert fixed(text) == (
        "import jax\nfrom jax import default_device\n"
        "jax.config.update('jax_default_device', jax.devices('cpu')[0])\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f'{jax.devices(\"gpu\") and 1}'", None),
        ("f'{device_put(x, \"cpu\")}'", "f'{device_put(x, devices(\"cpu\")[0])}'"),
        ("f\"{device_put(x, 'cpu')}\"", "f\"{device_put(x, devices('cpu')[0])}\""),
        ('f"""{device_put(x, \'cpu\')}"""', 'f"""{device_put(x, devices(\'cpu\')[0])}"""'),
        ("f'{f\"{device_put(x, '''cpu''')}\"}'", None),
    ],
)
def test_quotes_in_f_strings(before: str, after: str | None) -> None:
    head = "import jax\nfrom jax import device_put, devices\nx = 1\n"
    result = fix_source(Source("a.py", f"{head}{before}\n"), OPTIONS, unsafe=False)
    assert result.text == f"{head}{after or before}\n"
    assert "JDP903" not in {finding.code for finding in result.result.findings}


def test_quotes_are_those_of_the_file() -> None:
    text = "import jax\na = 'one', 'two', \"it's\"\njax.default_device(d)\n"
    assert "update('jax_default_device', d)" in fixed(text)


def test_nothing_is_imported_for_a_finding_without_a_fix() -> None:
    (finding,) = lint_source(Source("a.py", f"{SAFE}jax = 1\n{LOAD}"), OPTIONS).findings
    assert finding.fix is None


def test_an_import_that_cannot_take_the_name_is_passed_over() -> None:
    """The one that can stands above it."""
    tree = Tree(cst.parse_module("from jax import numpy\nfrom flax import linen\nuse\n"))
    names = Names(tree)
    (use,) = [each for each in tree.every(cst.Name) if each.value == "use"]
    spelling = importable("jax.devices", use, "a.py", names)
    assert spelling is not None
    assert spelling.text == "devices"
    (needed,) = spelling.imports
    assert (needed.module, needed.name) == ("jax", "devices")

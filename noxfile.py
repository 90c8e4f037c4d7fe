"""Sessions that need other versions of JAX, Python or what is depended on, or that measure tests:
`pip install nox`, then `nox -s verify`, `nox -s pythons`, `nox -s lowest`, `nox -s coverage` or
`nox -s mutants`.
"""

import re
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = True
nox.options.reuse_existing_virtualenvs = True

# JAX, and a Python that it has wheels for. The last is the newest there is.
VERSIONS = [
    ("0.4.30", "3.10"),
    ("0.5.3", "3.11"),
    ("0.6.2", "3.11"),
    ("0.7.2", "3.11"),
    ("0.10.2", "3.11"),
    ("newest", "3.13"),
]


@nox.session
@nox.parametrize(
    ("python", "jax"),
    [(python, jax) for jax, python in VERSIONS],
    ids=[jax for jax, _ in VERSIONS],
)
def verify(session: nox.Session, jax: str) -> None:
    """Prove every rule on this JAX, and note it in today's record under fixtures/records/.

    A rule that does not hold fails the session, after it has been noted. `nox -s verify` runs
    all versions; `nox -s "verify(0.5.3)"` one of them. Codes of rules may follow `--`.
    """
    jax_packages = ["jax", "jaxlib"] if jax == "newest" else [f"jax=={jax}", f"jaxlib=={jax}"]
    session.install(".[verify]", *jax_packages)
    answer = Path(session.create_tmp(), f"verify-{jax}.json")
    command = "python -m placement_lint verify --devices virtual --output-format json".split()
    with answer.open("w", encoding="utf-8") as stdout:
        # The record judges: what failed (1), or makes no claim here (2), must be noted too.
        session.run(*command, *session.posargs, success_codes=[0, 1, 2], stdout=stdout, stderr=None)
    session.run("python", "-m", "placement_lint.verify.record", "fixtures/records", str(answer))
    session.run("python", "-m", "placement_lint.rules.proved", env={"PYTHONPATH": "."})


@nox.session(python=False)
def transfer(session: nox.Session) -> None:
    """Compare all data about JAX with every version of it, and record the transfer table.

    It makes an environment for each version, from PyPI: see tests/jaxmodel/environments.py.
    """
    session.run("python", "-m", "tests.jaxmodel.transfer_record")
    session.run(
        "python", "-m", "pytest", "-m", "matrix", "tests/jaxmodel",
        "--ignore", "tests/jaxmodel/test_transfer_matrix.py",
    )  # fmt: skip


@nox.session(python=["3.10", "3.11", "3.12", "3.13", "3.14"])
def pythons(session: nox.Session) -> None:
    """Run the default tests on each Python that is supported; arguments of pytest may follow.

    What came of it goes into today's record under fixtures/records/.
    """
    session.install(".[dev]")
    session.run("python", "-m", "tests.python_record", "-n", "auto", *session.posargs)


@nox.session(python="3.11")
def coverage(session: nox.Session) -> None:
    """Say which branches of what lints no default test takes; arguments of pytest may follow."""
    session.install(".[dev]", "coverage>=7.10")
    session.run("coverage", "erase")
    tests = session.posargs or ["-n", "auto"]
    # Some tests count what is imported or how long it takes, and see that they are watched.
    session.run("coverage", "run", "-m", "pytest", *tests, success_codes=[0, 1])
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")


@nox.session(python="3.11")
def mutants(session: nox.Session) -> None:
    """Break the interpreter, the names and the fixes at random places, and see what no test sees.

    `nox -s mutants -- --sample 150 --seed 1` says how many of each part, and which. What came of
    it goes into today's record under fixtures/records/. Some minutes for each part.
    """
    session.install(".[dev]", "mutmut>=3.8,<4")
    session.run("python", "-m", "tests.mutants", *session.posargs)


@nox.session(python="3.10")
def lowest(session: nox.Session) -> None:
    """Run the tests of what lints with the lowest version of each package that it needs."""
    needed = nox.project.load_toml("pyproject.toml")["project"]["dependencies"]
    lowest = [re.sub(r">=([\w.]+).*", r"==\1", requirement) for requirement in needed]
    session.install(".", *lowest, "pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "ruff")
    folders = ["cli", "config", "files", "lint", "report", "rules", "syntax"]
    paths = [*(f"tests/{folder}" for folder in folders), "tests/test_fixtures.py"]
    session.run("python", "-m", "pytest", "-n", "auto", *(session.posargs or paths))

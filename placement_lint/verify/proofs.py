"""The proofs: where they are, and what can be read from one without running it."""

import ast
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from placement_lint.rules.proof_records import proof_folder as folder_of_proofs
from placement_lint.verify.versions import parse_range

_CODE = re.compile(r"JDP\d{3}")
_PARTS = ("hazard", "fixed", "observe")

# How a proof may ask to be run, in its module constant STAGE.
STAGED = "staged"  # an accelerator beside a host: a real one, or virtual devices in place of both
PLAIN = "plain"  # JAX untouched, on a machine without accelerator
NO_JAX = "none"  # jax is not imported: the claim is about this tool itself
FRESH = "fresh"  # the code under proof is the first to import jax, and to start its backend
PROCESSES = "processes"  # two processes of jax.distributed, each with two virtual CPU devices
MESH = "mesh"  # JAX untouched, on eight virtual CPU devices
STAGES = (STAGED, PLAIN, NO_JAX, FRESH, PROCESSES, MESH)


class ProofError(Exception):
    """A proof file that cannot be used; the message says why."""


_PATHS = ("DATAPATH", "MESHPATH")
"""What is measured beside the rules, and may be named as they are."""


class UnknownCodeError(ValueError):
    """A code for which there is no proof; the message names the nearest one."""


@dataclass(frozen=True)
class Proof:
    """A rule's proof file, read but never imported by the process that asks for it."""

    code: str
    path: Path

    @cached_property
    def source(self) -> str:
        """The file's text; raises ProofError when it cannot be read."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            msg = f"cannot read {self.path.name}: {error}"
            raise ProofError(msg) from error

    @cached_property
    def _tree(self) -> ast.Module:
        try:
            return ast.parse(self.source, filename=str(self.path))
        except SyntaxError as error:
            msg = f"{self.path.name}, line {error.lineno}: {error.msg}"
            raise ProofError(msg) from error

    @property
    def title(self) -> str:
        """The first line of its docstring; raises ProofError when the file does not parse."""
        text = ast.get_docstring(self._tree) or ""
        return text.partition("\n")[0].rstrip(".")

    @property
    def stage(self) -> str:
        """One of STAGES; raises ProofError for any other value of its constant STAGE."""
        value = self._constant("STAGE", STAGED)
        if value not in STAGES:
            msg = f"STAGE must be one of {', '.join(STAGES)}"
            raise ProofError(msg)
        return str(value)

    @property
    def jax_range(self) -> str:
        """Its constant JAX: the versions on which the claim holds, "" for all.

        Raises ProofError for what is no range.
        """
        value = self._constant("JAX", "")
        if value == "":
            return ""
        try:
            parse_range(str(value))
        except ValueError as error:
            msg = f"JAX: {error}"
            raise ProofError(msg) from error
        return str(value)

    @property
    def needs(self) -> tuple[str, ...]:
        """Its constant NEEDS: the distributions without which it cannot run, beside JAX's own.

        Raises ProofError for what is no list of names.
        """
        value = self._constant("NEEDS", ())
        if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
            raise ProofError("NEEDS must be a tuple of names of distributions")
        return tuple(value)

    def _constant(self, name: str, default: object) -> object:
        """Return a module constant; raises ProofError when it is not a literal."""
        for node in self._tree.body:
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == name for target in node.targets
            ):
                try:
                    return ast.literal_eval(node.value)
                except ValueError as error:
                    msg = f"{name} must be a literal"
                    raise ProofError(msg) from error
        return default

    def code_of(self, function: str) -> str:
        """Return the text of one of its functions; raises ProofError when it has none."""
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == function:
                return "\n".join(self.source.split("\n")[node.lineno - 1 : node.end_lineno])
        msg = f"{self.path.name} has no {function}()"
        raise ProofError(msg)

    def check(self) -> None:
        """Raise ProofError unless the file has all the parts of a proof."""
        for part in _PARTS:
            self.code_of(part)
        if not self.title:
            msg = f"{self.path.name} has no docstring"
            raise ProofError(msg)
        _ = self.stage, self.jax_range, self.needs


def proof_folder() -> Path:
    """Return where the proofs are: in the package when installed, else in `fixtures/`."""
    return Path(folder_of_proofs())


def find_proofs(folder: Path) -> dict[str, Proof]:
    """Return every `<CODE>/proof.py` of the folder by its code, in the order of the codes."""
    return {
        path.parent.name: Proof(path.parent.name, path)
        for path in sorted(folder.glob("JDP*/proof.py"))
        if _CODE.fullmatch(path.parent.name)
    }


def choose(codes: Iterable[str], known: Mapping[str, Proof]) -> list[Proof]:
    """Return the proofs named by codes, in the order of the codes and each once.

    Raises UnknownCodeError for a code that has none.
    """
    wanted = set()
    for code in codes:
        if code.upper() not in known:
            near = difflib.get_close_matches(code.upper(), [*known, *_PATHS], n=1, cutoff=0.0)
            nearest = near[0] if near else ""
            nearest = nearest.lower() if nearest in _PATHS else nearest
            hint = f"; did you mean `{nearest}`?" if nearest else ""
            msg = f"no rule to reproduce is called `{code}`{hint}"
            raise UnknownCodeError(msg)
        wanted.add(code.upper())
    return [proof for code, proof in known.items() if code in wanted]

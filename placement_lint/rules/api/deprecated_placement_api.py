"""JDP602."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Severity
from placement_lint.jaxmodel.removed import OLD_APIS
from placement_lint.rules.api.old_names import (
    Hit,
    OldApiRule,
    advice,
    is_deprecated,
    needs_of,
    needs_of_arrays,
    partly_supported,
)

if TYPE_CHECKING:
    from placement_lint.jaxmodel.removed import OldApi
    from placement_lint.jaxmodel.versions import TargetVersions


class DeprecatedPlacementApi(OldApiRule):
    """A deprecated part of JAX's placement API.

    ## What it does
    Finds `jax.experimental.pjit.pjit`, `jax.experimental.shard_map`, `with mesh:`, `jax.host_id()`
    and other names, arguments and attributes that are deprecated in the supported versions of JAX.
    These are read from the project's dependencies, or set by `--target-jax`; by default, only the
    newest known version. For `with mesh:` and for `pxla.thread_resources` there is one finding for
    each file, at the first, with the others as related places. A mesh is what `jax.make_mesh` or
    `Mesh` makes, also in functions and classes of other files; what is annotated as one; and what
    `NamedSharding` or `jax.shard_map` takes as its mesh. So is a parameter without annotation that
    is called `mesh`, in a file that imports `jax.sharding` or the like.

    ## Why is this bad?
    A coming release removes it, and then the line, or the whole module, fails (JDP601). Until then
    every run prints a warning.

    ## Example
    ```python
    from jax.experimental.pjit import pjit

    step = pjit(lambda x: x + 1)
    ```

    ## Use instead
    ```python
    from jax import jit

    step = jit(lambda x: x + 1)
    ```

    ## Fix safety
    Safe if another name can be used in the same place: an import of one name becomes an import of
    the new one, under the name that the file uses. Unsafe for `pjit`, which under `with mesh:` puts
    its results on the mesh, as `jax.jit` does only under `jax.set_mesh`. No fix if the surrounding
    code must change too, as for `jax.shard_map`; for `pjit` with `in_shardings` or `out_shardings`,
    where `jax.jit` does not accept a PartitionSpec; or if some version that the project supports
    lacks the new name.

    ## What it does not flag
    Names that are deprecated only in versions newer than the supported ones, or, if older versions
    are supported too, that have no replacement there. `with mesh:`, if a version before 0.10.2 is
    supported too: `jax.set_mesh` does more. Code under a condition on the version or
    `hasattr`, or after one that returns; code in a `try` that catches the ImportError, or in its
    handler; code whose warnings are ignored, or which only a type checker reads. An attribute of
    an object that is not certainly an array. A context named `mesh` that may be something else.

    ## Verified by
    The proof calls `jax.host_id()` and gets the warning. After the fix there is none. Each row of
    the table is executed on every JAX version of the test matrix.

    ## References
    - [JAX's changelog](https://docs.jax.dev/en/latest/changelog.html)
    - [API compatibility](https://docs.jax.dev/en/latest/api_compatibility.html): a warning for
      three months, then it goes
    """

    code, name = "JDP602", "deprecated-placement-api"
    advice = "Replace it before a later JAX removes it"
    severity, fix = Severity.WARNING, Applicability.SAFE
    needs = needs_of(api for api in OLD_APIS if api.deprecated is not None)
    follows_arrays_in = needs_of_arrays(api for api in OLD_APIS if api.deprecated is not None)
    applies = staticmethod(is_deprecated)
    warns = True
    once = frozenset({"jax.interpreters.pxla.thread_resources", "jax.sharding.Mesh"})

    @staticmethod
    def version(api: OldApi) -> str | None:
        return api.deprecated

    def message(self, hit: Hit, target: TargetVersions) -> str:
        return (
            f"{hit.spelled} is deprecated since JAX {hit.api.deprecated}"
            f"{partly_supported(hit.api.deprecated, target)}{advice(hit.api, target)}"
        )

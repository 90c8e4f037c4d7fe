"""JDP601."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Severity
from placement_lint.jaxmodel.removed import OLD_APIS
from placement_lint.rules.api.old_names import (
    Hit,
    OldApiRule,
    advice,
    is_removed,
    needs_of,
    needs_of_arrays,
    partly_supported,
)

if TYPE_CHECKING:
    from placement_lint.jaxmodel.removed import OldApi
    from placement_lint.jaxmodel.versions import TargetVersions


class RemovedPlacementApi(OldApiRule):
    """A part of JAX's placement API that was removed in a version that the project supports.

    ## What it does
    Finds `jax.device_put_sharded`, `jax.lib.xla_bridge`, `PositionalSharding`, `x.device_buffer`,
    `x.device()` and about a hundred other names, arguments and attributes that were removed, where
    they are used or imported. The supported versions of JAX are read from the project's
    dependencies, or set by `--target-jax`; by default, only the newest known version.

    ## Why is this bad?
    The line raises AttributeError or ImportError; if it is an import, the whole module cannot be
    imported.

    ## Example
    ```python
    import jax

    print(jax.lib.xla_bridge.get_backend().platform)
    arrays = jax.device_put_replicated(1.0, jax.devices())
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    print(jax.default_backend())
    mesh = Mesh(np.array(jax.devices()), ("devices",))
    arrays = jax.device_put(1.0, NamedSharding(mesh, PartitionSpec()))
    ```

    ## Fix safety
    Safe if another name can be used in the same place: `jax.host_id()`, `x.device_buffer`, an
    import of one such name. No fix if the surrounding code must change too (the result of
    `use_mesh` is entered later, while `jax.set_mesh` takes effect at once), or if some version that
    the project supports lacks the new name.

    ## What it does not flag
    Names that all supported versions still have (for deprecation warnings see JDP602). Code under a
    condition on the version or `hasattr`, or after one that returns; code in a `try` that catches
    the AttributeError or ImportError, or in its handler; what only a type checker reads (`if
    TYPE_CHECKING:`). An attribute of an object that is not certainly an array, other than
    `.device_buffers`, which nothing else has, of an object of which nothing is known.

    ## Verified by
    The proof reads `.device_buffer` of an array, which raises AttributeError. After the fix it
    returns a buffer. Each row of the table is executed on every JAX version of the test matrix.

    ## References
    - [JAX's changelog](https://docs.jax.dev/en/latest/changelog.html)
    - [Migrating from pmap](https://docs.jax.dev/en/latest/migrate_pmap.html)
    """

    code, name = "JDP601", "removed-placement-api"
    advice = "Replace it, or support only versions of JAX that still have it"
    severity, fix = Severity.ERROR, Applicability.SAFE
    needs = needs_of(api for api in OLD_APIS if api.removed is not None)
    follows_arrays_in = needs_of_arrays(api for api in OLD_APIS if api.removed is not None)
    applies = staticmethod(is_removed)

    @staticmethod
    def version(api: OldApi) -> str | None:
        return api.removed

    def message(self, hit: Hit, target: TargetVersions) -> str:
        return (
            f"{hit.spelled} was removed in JAX {hit.api.removed}"
            f"{partly_supported(hit.api.removed, target)}{advice(hit.api, target)}"
        )

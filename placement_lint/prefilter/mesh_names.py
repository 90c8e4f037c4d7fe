"""The last parts of the names of what makes meshes, specs and shardings of them.

Executing a file alone tells no mesh, spec or sharding where the file has none of these; see
`FileView.may_say`.
"""

from __future__ import annotations

from placement_lint.prefilter.conditions import AllOf, AnyWord

MAKERS_OF_MESHES = frozenset({"AbstractMesh", "Mesh", "make_mesh"})
"""What makes a mesh; see `overlays.jax_sharding`."""
MAKERS_OF_SPECS = frozenset({"P", "PartitionSpec"})
MAKERS_OF_SHARDINGS = frozenset({"NamedSharding", "host_local_array_to_global_array"})
"""What makes a sharding of a mesh and a spec, or an array that has one."""

NAMES_MESHES = AnyWord(*MAKERS_OF_MESHES)
"""Code in which a mesh may be known."""
NAMES_SPECS = AnyWord(*MAKERS_OF_SPECS)
"""Code in which a spec may be known."""
NAMES_SHARDINGS = AnyWord(*MAKERS_OF_SHARDINGS, *MAKERS_OF_MESHES)
"""Code in which a named sharding may be known."""
SPLITS = AllOf(NAMES_SPECS, AnyWord(*MAKERS_OF_SHARDINGS))
"""Code in which it may be known how an array is split."""

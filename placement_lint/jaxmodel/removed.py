"""Names of JAX that say where things run, and that are deprecated or gone: from which release on.

Dated by reading the public modules of 0.4.30, 0.4.31, 0.4.33 to 0.4.36, 0.4.38, 0.5.0, 0.5.3,
0.6.0 to 0.6.2, 0.7.0 to 0.7.2, 0.8.0 to 0.8.2, 0.9.0.1, 0.10.0, 0.10.2, 0.11.0, 0.11.1, 0.12.0
and 0.12.0.1, and what is older from JAX's changelog. Every row is executed on the JAX that is
installed, and on those of the matrix.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Access(enum.Enum):
    """What a program does when it meets the row: warns, or fails."""

    NAME = enum.auto()
    """Reaching it, as an attribute or by `from … import …`."""
    MODULE = enum.auto()
    """Importing it, or anything in it. The attribute of the same name, where there is one, is
    something else."""
    CALL = enum.auto()
    """Calling it."""
    ARGUMENT = enum.auto()
    """Calling what holds it, with it: the last part of the name is a parameter."""
    ENTER = enum.auto()
    """Entering it by `with`."""
    ARRAY_ATTRIBUTE = enum.auto()
    """Reading it of an array; the last part of the name is the attribute."""
    ARRAY_CALL = enum.auto()
    """Calling what is read of an array, which no longer is a method."""


class Status(enum.Enum):
    """What a release makes of a row."""

    UNKNOWN = enum.auto()
    """Not there yet."""
    CURRENT = enum.auto()
    """There, silently."""
    DEPRECATED = enum.auto()
    """There, with a warning."""
    REMOVED = enum.auto()
    """Not there, or nothing but an exception."""


@dataclass(frozen=True)
class OldApi:
    """One deprecated or removed part of JAX."""

    name: str
    """Its qualified name; of arrays, one of `jax.Array`."""
    use: Access
    since: str | None = None
    """The release that brought it; None: older than all releases that were examined."""
    deprecated: str | None = None
    """The first release that warns; None: none does."""
    removed: str | None = None
    """The first release without it; None: the newest still has it."""
    replacement: str | None = None
    """What can be written in its stead, with all else left as it is: a qualified name, or of arrays
    what follows the dot. None: the code around it has to change too."""
    replacement_since: str | None = None
    """The release that brought the replacement, or what `advice` says to use; None: older than all
    releases examined."""
    same_without: tuple[str, ...] = ()
    """Arguments with which the replacement does something else, or fails: without them the two do
    the same, but for where a mesh is entered. Then replacing it is no safe fix."""
    is_entered: bool = False
    """The replacement acts where it is called, the old part where what it gave was entered: only
    `with` around the call itself does the same (`jax.set_mesh`, measured on 0.10.2)."""
    advice: str = ""
    """What to do, in words, where there is no replacement or it is not all."""
    is_placement: bool = True
    """Whether it is about where things run. The others are here because programs that place arrays
    are full of them."""
    source: str = "public modules of the releases"
    """Where the dates were read."""

    def state(self, version: str) -> Status:
        """Return what a release makes of it."""
        at = _numbers(version)
        if self.since is not None and at < _numbers(self.since):
            return Status.UNKNOWN
        if self.removed is not None and at >= _numbers(self.removed):
            return Status.REMOVED
        if self.deprecated is not None and at >= _numbers(self.deprecated):
            return Status.DEPRECATED
        return Status.CURRENT

    def replacement_for(self, version: str) -> str | None:
        """Return the replacement, if the release has it."""
        since = self.replacement_since
        return None if since and _numbers(version) < _numbers(since) else self.replacement


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


_CHANGELOG = "JAX's CHANGELOG.md, and absent on 0.4.30"
_STACK = (
    "jax.device_put of the stacked arrays, with a jax.sharding.NamedSharding over a mesh of the "
    "devices"
)
_NAMED = "jax.sharding.NamedSharding, over a jax.sharding.Mesh of the devices"
_CALLBACKS = "jax.pure_callback, jax.experimental.io_callback or jax.debug.callback"
_INTERNAL = "internals of pmap: jax.shard_map and jax.sharding.NamedSharding have no such parts"
_MESH = "`with jax.set_mesh(mesh)` and jax.sharding.get_abstract_mesh()"
_EXTEND = "jax.extend.backend"


def _names(
    module: str,
    names: str,
    *,
    deprecated: str | None = None,
    removed: str | None = None,
    since: str | None = None,
    advice: str = "",
    source: str = "public modules of the releases",
) -> list[OldApi]:
    return [
        OldApi(
            f"{module}.{name}",
            Access.NAME,
            since=since,
            deprecated=deprecated,
            removed=removed,
            advice=advice,
            source=source,
        )
        for name in names.split()
    ]


def _renamed(
    module: str,
    pairs: str,
    *,
    removed: str,
    deprecated: str | None = None,
    source: str = _CHANGELOG,
) -> list[OldApi]:
    """Make rows of `old=qualified.new` words."""
    made = []
    for pair in pairs.split():
        old, _, new = pair.partition("=")
        made.append(
            OldApi(
                f"{module}.{old}",
                Access.NAME,
                deprecated=deprecated,
                removed=removed,
                replacement=new,
                source=source,
            )
        )
    return made


_PUTTING = [
    *_names(
        "jax",
        "device_put_sharded device_put_replicated",
        deprecated="0.8.1",
        removed="0.10.0",
        advice=_STACK,
    ),
    OldApi(
        "jax.local_devices.host_id",
        Access.ARGUMENT,
        deprecated="0.2.13",
        replacement="process_index",
        source="jax/lib/xla_bridge.py of 0.2.12 and 0.2.13; UserWarning from 0.4.30 to 0.12.0.1",
    ),
]
_SHARDINGS = [
    *_names(
        "jax.sharding",
        "PositionalSharding GSPMDSharding",
        deprecated="0.6.0",
        removed="0.7.0",
        advice=_NAMED,
    ),
    *_names(
        "jax.sharding",
        "PmapSharding",
        deprecated="0.8.1",
        removed="0.10.0",
        advice=_NAMED,
    ),
    *_names(
        "jax.sharding", "OpShardingSharding", removed="0.4.12", advice=_NAMED, source=_CHANGELOG
    ),
    OldApi(
        "jax.sharding.XLACompatibleSharding",
        Access.NAME,
        deprecated="0.4.29",
        removed="0.4.34",
        replacement="jax.sharding.Sharding",
    ),
    OldApi(
        "jax.sharding.use_mesh",
        Access.NAME,
        since="0.5.0",
        removed="0.7.1",
        replacement="jax.set_mesh",
        replacement_since="0.7.1",
        is_entered=True,
    ),
    OldApi(
        "jax.sharding.Mesh",
        Access.ENTER,
        deprecated="0.10.2",
        # orbax#3164 and maxtext#2863 took it back: an array that is committed to one device is an
        # error there (measured on 0.7.2 to 0.12.0.1).
        advice="`with jax.set_mesh(mesh):`, which also makes new arrays on the mesh, and refuses "
        "what is committed to a single device",
        source="Mesh.__enter__: jax/_src/mesh.py:299 of 0.10.2; silent on 0.10.0",
    ),
    *[
        OldApi(
            f"jax.experimental.shard.{name}",
            Access.NAME,
            since="0.5.3",
            removed="0.7.0",
            replacement=f"jax.sharding.{name}",
            replacement_since="0.7.0",
        )
        for name in ("reshard", "auto_axes", "explicit_axes")
    ],
    OldApi(
        "jax.experimental.shard_map.shard_map",
        Access.NAME,
        deprecated="0.8.0",
        replacement_since="0.6.0",
        advice="jax.shard_map: mesh, in_specs and out_specs by keyword, check_vma for check_rep",
    ),
    OldApi(
        "jax.experimental.shard_map.shard_map.auto",
        Access.ARGUMENT,
        removed="0.8.0",
        advice="jax.shard_map with axis_names, the set of the other axes",
    ),
    OldApi(
        "jax.make_mesh.axis_shapes",
        Access.ARGUMENT,
        since="0.4.35",
        removed="0.11.1",
        advice="the sizes by position: later versions call them axis_sizes",
        source="read in 0.11.0 and 0.11.1",
    ),
    # Never taken by `jax.shard_map`, only by the function of jax.experimental.shard_map before it.
    OldApi(
        "jax.shard_map.check_rep",
        Access.ARGUMENT,
        since="0.6.0",
        removed="0.6.0",
        replacement="check_vma",
        source="TypeError from 0.6.0 on, where jax.shard_map appeared",
    ),
    OldApi(
        "jax.shard_map.auto",
        Access.ARGUMENT,
        since="0.6.0",
        removed="0.6.0",
        advice="axis_names, the set of the other axes",
        source="TypeError from 0.6.0 on, where jax.shard_map appeared",
    ),
    OldApi(
        "jax.experimental.pjit.pjit",
        Access.NAME,
        deprecated="0.8.0",
        replacement="jax.jit",
        # Under `with mesh:` pjit puts its results on the mesh, and takes PartitionSpecs; jax.jit
        # puts them on the default device, and refuses those (measured on 0.4.30 to 0.12).
        same_without=(
            "in_shardings",
            "out_shardings",
            "in_axis_resources",
            "out_axis_resources",
        ),
        advice="with `NamedSharding(mesh, spec)` for each PartitionSpec",
    ),
    *_renamed(
        "jax.experimental.pjit",
        "NamedSharding=jax.sharding.NamedSharding PartitionSpec=jax.sharding.PartitionSpec",
        deprecated="0.4.4",
        removed="0.4.11",
    ),
    *_renamed(
        "jax.experimental.pjit",
        "with_sharding_constraint=jax.lax.with_sharding_constraint",
        deprecated="0.4.16",
        removed="0.4.30",
    ),
    *_renamed(
        "jax.experimental",
        "PartitionSpec=jax.sharding.PartitionSpec",
        deprecated="0.4.1",
        removed="0.4.11",
    ),
    OldApi(
        "jax.experimental.layout.DeviceLocalLayout",
        Access.NAME,
        removed="0.7.0",
        advice="jax.experimental.layout.Layout; the former class of that name is now Format",
    ),
    *_names("jax", "spmd_mode", removed="0.6.1", advice="nothing in its place"),
]
_BACKENDS = [
    OldApi(
        "jax.lib.xla_bridge.get_backend",
        Access.NAME,
        deprecated="0.4.33",
        removed="0.8.0",
        replacement="jax.extend.backend.get_backend",
        replacement_since="0.4.33",
    ),
    OldApi(
        "jax.lib.xla_bridge.get_compile_options",
        Access.NAME,
        deprecated="0.7.0",
        removed="0.8.0",
        replacement="jax.extend.backend.get_compile_options",
        replacement_since="0.7.0",
    ),
    OldApi(
        "jax.lib.xla_bridge.default_backend",
        Access.NAME,
        deprecated="0.4.33",
        removed="0.4.38",
        replacement="jax.default_backend",
    ),
    *_names(
        "jax.lib.xla_bridge",
        "xla_client",
        deprecated="0.4.33",
        removed="0.4.38",
        advice=_EXTEND,
    ),
    *[
        OldApi(
            f"jax.lib.xla_bridge.{name}",
            Access.NAME,
            removed="0.4.30",
            replacement=f"jax.{name}",
            source="absent on 0.4.30; when it went was not looked at",
        )
        for name in (
            "device_count",
            "devices",
            "local_device_count",
            "local_devices",
            "process_count",
            "process_index",
        )
    ],
    OldApi("jax.lib.xla_bridge", Access.NAME, removed="0.9.0.1", advice=_EXTEND),
    OldApi("jax.lib.xla_client", Access.NAME, removed="0.9.0.1", advice=_EXTEND),
    OldApi("jax.lib.xla_extension", Access.NAME, removed="0.9.0.1", advice=_EXTEND),
    OldApi(
        "jax.lib.xla_client.Device",
        Access.NAME,
        deprecated="0.4.34",
        removed="0.5.0",
        replacement="jax.Device",
    ),
    OldApi(
        "jax.lib.xla_extension.Device",
        Access.NAME,
        deprecated="0.6.0",
        removed="0.7.0",
        replacement="jax.Device",
    ),
    *[
        OldApi(
            f"jax.lib.{module}.ArrayImpl",
            Access.NAME,
            deprecated="0.4.36",
            removed="0.6.0",
            replacement="jax.Array",
        )
        for module in ("xla_client", "xla_extension")
    ],
    OldApi(
        "jax.clear_backends",
        Access.NAME,
        deprecated="0.4.26",
        removed="0.4.36",
        replacement="jax.extend.backend.clear_backends",
        advice="jax.clear_caches, to clear the compilation caches only",
    ),
    OldApi(
        "jax.xla_computation",
        Access.NAME,
        deprecated="0.4.30",
        removed="0.4.34",
        advice="jax.jit(f).lower(…).compiler_ir('hlo')",
    ),
    *[
        OldApi(
            f"jax.{old}",
            Access.CALL,
            deprecated="0.2.13",
            replacement=f"jax.{new}",
            replacement_since=since,
            advice=advice,
            source="jax/lib/xla_bridge.py of 0.2.12 and 0.2.13; UserWarning from 0.4.30 on",
        )
        for old, new, since, advice in (
            ("host_id", "process_index", None, ""),
            ("host_count", "process_count", None, ""),
            ("host_ids", "process_indices", "0.4.33", "or range(jax.process_count())"),
        )
    ],
    OldApi(
        "jax.cloud_tpu_init",
        Access.MODULE,
        deprecated="0.8.1",
        removed="0.11.0",
        advice="nothing in its place, JAX does it by itself",
    ),
    OldApi(
        "jax.config",
        Access.MODULE,
        deprecated="0.4.25",
        removed="0.4.29",
        advice="`import jax`, then jax.config; or `from jax import config`",
        source=_CHANGELOG,
    ),
]
_ARRAYS = [
    OldApi(
        "jax.Array.device",
        Access.ARRAY_CALL,
        deprecated="0.4.21",
        removed="0.4.27",
        replacement="device",
        replacement_since="0.4.31",
        advice="`.devices()` on every release",
        source="CHANGELOG.md; a property from 0.4.31 on",
    ),
    OldApi(
        "jax.Array.device_buffer",
        Access.ARRAY_ATTRIBUTE,
        deprecated="0.4.22",
        removed="0.4.27",
        replacement="addressable_data(0)",
        source=_CHANGELOG,
    ),
    OldApi(
        "jax.Array.device_buffers",
        Access.ARRAY_ATTRIBUTE,
        deprecated="0.4.22",
        removed="0.4.27",
        advice="[shard.data for shard in x.addressable_shards]",
        source=_CHANGELOG,
    ),
    OldApi(
        "jax.Array.layout",
        Access.ARRAY_ATTRIBUTE,
        removed="0.7.0",
        replacement="format",
        replacement_since="0.6.2",
        advice="whose device_local_layout is called layout",
        source="measured: there on 0.6.2, not on 0.7.2",
    ),
    *_renamed("jax.numpy", "DeviceArray=jax.Array", deprecated="0.4.7", removed="0.4.14"),
    *_renamed("jax", "ShapedArray=jax.core.ShapedArray", removed="0.4.14"),
    *_renamed(
        "jax.interpreters.xla",
        "Buffer=jax.Array Device=jax.Device DeviceArray=jax.Array device_put=jax.device_put",
        deprecated="0.4.7",
        removed="0.4.11",
    ),
    *_renamed(
        "jax.interpreters.pxla",
        "Mesh=jax.sharding.Mesh PartitionSpec=jax.sharding.PartitionSpec",
        deprecated="0.4.4",
        removed="0.4.11",
    ),
    *_renamed(
        "jax.interpreters.pxla",
        "ShardedDeviceArray=jax.Array device_put=jax.device_put",
        deprecated="0.4.7",
        removed="0.4.14",
    ),
    *_names(
        "jax.interpreters.pxla",
        "Chunked MapTracer NoSharding PmapExecutable Replicated ShardedAxis ShardingSpec Unstacked "
        "parallel_callable shard_args spec_to_indices xla_pmap_p",
        deprecated="0.8.2",
        removed="0.10.0",
        advice=_INTERNAL,
    ),
    *_names(
        "jax.interpreters.pxla",
        "ArrayMapping Index MeshAxisName MeshExecutable array_mapping_to_axis_resources "
        "global_aval_to_result_handler global_result_handlers op_sharding_to_indices",
        deprecated="0.8.2",
        removed="0.11.0",
        advice=_INTERNAL,
    ),
    *_names(
        "jax.interpreters.pxla",
        "MeshComputation global_avals_to_results_handler",
        deprecated="0.8.2",
        advice=_INTERNAL,
    ),
    *_names("jax.interpreters.pxla", "thread_resources", deprecated="0.8.2", advice=_MESH),
    *_names(
        "jax._src.sharding_impls",
        "TransferToMemoryKind",
        removed="0.7.1",
        advice="jax.memory.Space, or a sharding with a memory kind",
        source="measured: there on 0.6.2, not on 0.7.1",
    ),
]
_MODULES = [
    OldApi(
        "jax.abstract_arrays",
        Access.MODULE,
        deprecated="0.4.12",
        removed="0.4.17",
        advice="jax.core.ShapedArray",
        source=_CHANGELOG,
    ),
    OldApi(
        "jax.experimental.global_device_array",
        Access.MODULE,
        removed="0.4.30",
        advice="jax.Array, and jax.make_array_from_callback",
        source="absent on 0.4.30; when it went was not looked at",
    ),
    OldApi(
        "jax.experimental.gda_serialization",
        Access.MODULE,
        deprecated="0.4.9",
        removed="0.4.30",
        replacement="jax.experimental.array_serialization",
        source=_CHANGELOG,
    ),
    OldApi(
        "jax.memory",
        Access.MODULE,
        since="0.7.1",
        removed="0.10.0",
        advice="the attribute jax.memory.Space, which needs no import but jax",
        source="measured: imported on 0.7.2 and 0.9.0.1, ModuleNotFoundError on 0.10.2",
    ),
    OldApi(
        "jax.interpreters.sharded_jit",
        Access.MODULE,
        removed="0.4.30",
        advice="jax.jit with shardings",
        source="absent on 0.4.30; when it went was not looked at",
    ),
    *_renamed(
        "jax.experimental.maps", "Mesh=jax.sharding.Mesh", deprecated="0.4.1", removed="0.4.11"
    ),
    OldApi(
        "jax.experimental.maps",
        Access.MODULE,
        deprecated="0.4.26",
        removed="0.4.31",
        advice="jax.shard_map, or jax.vmap with spmd_axis_name",
    ),
    OldApi(
        "jax.experimental.host_callback",
        Access.MODULE,
        deprecated="0.7.1",
        removed="0.8.0",
        advice=_CALLBACKS,
        source="imports silently up to 0.7.0, though what is in it warns, and fails from 0.4.35 on",
    ),
    *[
        OldApi(
            f"jax.experimental.host_callback.{name}",
            Access.CALL,
            deprecated="0.4.26",
            removed="0.4.35",
            advice=_CALLBACKS,
            source="a stub that raises NotImplementedError from 0.4.35 on, gone in 0.8.0",
        )
        for name in ("call", "id_tap")
    ],
    *_names(
        "jax.experimental.host_callback",
        "barrier_wait id_print stop_outfeed_receiver",
        deprecated="0.4.26",
        removed="0.4.35",
        advice=_CALLBACKS,
    ),
]
_BESIDE = [
    *[
        OldApi(
            f"jax.experimental.{name}",
            Access.NAME,
            deprecated="0.8.0",
            removed="0.9.0.1",
            replacement="jax.enable_x64" if name == "enable_x64" else None,
            replacement_since="0.8.0",
            advice="jax.enable_x64(False)" if name == "disable_x64" else "",
            is_placement=False,
        )
        for name in ("enable_x64", "disable_x64")
    ],
    OldApi(
        "jax.dlpack.to_dlpack",
        Access.NAME,
        deprecated="0.6.0",
        removed="0.7.0",
        advice="pass the array itself to the other framework's from_dlpack",
        is_placement=False,
    ),
    *[
        OldApi(
            f"jax.lax.{name}",
            Access.NAME,
            removed="0.7.0",
            advice=_CALLBACKS,
            is_placement=False,
        )
        for name in ("infeed", "outfeed")
    ],
    *[
        OldApi(
            f"jax.{old}",
            Access.NAME,
            deprecated="0.4.26",
            removed="0.6.0",
            replacement=f"jax.{new}",
            is_placement=False,
        )
        for old, new in (
            ("tree_map", "tree.map"),
            ("tree_leaves", "tree.leaves"),
            ("tree_flatten", "tree.flatten"),
            ("tree_unflatten", "tree.unflatten"),
            ("tree_structure", "tree.structure"),
            ("tree_transpose", "tree.transpose"),
            ("treedef_is_leaf", "tree_util.treedef_is_leaf"),
        )
    ],
]  # fmt: skip

OLD_APIS: tuple[OldApi, ...] = (
    *_PUTTING,
    *_SHARDINGS,
    *_BACKENDS,
    *_ARRAYS,
    *_MODULES,
    *_BESIDE,
)
"""Every row."""

OLD_NAMES: dict[str, OldApi] = {
    api.name: api for api in OLD_APIS if api.use in {Access.NAME, Access.CALL, Access.MODULE}
}
"""Those that are met by their qualified name. What is in one of them goes where it goes."""

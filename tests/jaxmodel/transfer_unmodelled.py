"""Public names of JAX, NumPy and safetensors that the transfer table leaves out, and why.

What such a call gives is Unknown to the interpreter, or handled by code of its own.
"""

from __future__ import annotations

import re

_REASONS: dict[str, dict[str, str]] = {
    "handled by the interpreter itself: devices, shardings, meshes and contexts are values of "
    "their own": {
        "jax": "Device NamedSharding P config default_device devices get_abstract_mesh get_mesh "
        "local_devices make_mesh make_user_context set_mesh use_abstract_mesh",
        "jax.Array": "at",
        "safetensors.flax": "safe_open",
    },
    "a configuration context: in config_states": {
        "jax": "allow_f16_reductions array_garbage_collection_guard auto_pcast check_tracer_leaks "
        "checking_leaks debug_infs debug_key_reuse debug_nans default_matmul_precision "
        "default_prng_impl disable_jit enable_checks enable_custom_prng "
        "enable_custom_vjp_by_custom_transpose enable_x64 ensure_compile_time_eval "
        "explain_cache_misses jax2tf_associative_scan_reductions legacy_prng_key log_compiles "
        "named_scope no_execution no_tracing numpy_dtype_promotion numpy_rank_promotion "
        "remove_size_one_mesh_axis_from_type softmax_custom_jvp spmd_mode thread_guard "
        "threefry_partitionable transfer_guard transfer_guard_device_to_device "
        "transfer_guard_device_to_host transfer_guard_host_to_device",
        "jax.experimental": "disable_x64 enable_x64",
        "numpy": "errstate printoptions",
    },
    "a type, a constant or an option: no array": {
        "jax": "Array CompilerEffortLevel Inline Shard ad checkpoint_policies float0 memory",
        "jax.numpy": "ComplexWarning character complexfloating e euler_gamma flexible floating "
        "generic inexact inf integer nan ndarray newaxis number object_ pi signedinteger ufunc "
        "unsignedinteger",
        "jax.lax": "AccuracyMode ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers "
        "DotAlgorithm DotAlgorithmPreset DotDimensionNumbers FftType GatherDimensionNumbers "
        "GatherScatterMode Precision PrecisionLike RaggedDotDimensionNumbers RandomAlgorithm "
        "RoundingMethod ScatterDimensionNumbers Tolerance",
        "jax.lax.linalg": "EigImplementation EighImplementation SvdAlgorithm",
        "jax.random": "Key",
        "jax.nn.initializers": "Initializer",
        "jax.tree_util": "DictKey FlattenedIndexKey GetAttrKey KeyEntry KeyPath PyTreeDef "
        "SequenceKey default_registry",
        "jax.debug": "DebugEffect OrderedDebugEffect",
        "jax.dlpack": "SUPPORTED_DTYPES",
        "jax.image": "ResizeMethod",
        "safetensors.flax": "Array Dict Optional Union",
        "numpy": "False_ ScalarType True_ bool bool_ broadcast busdaycalendar byte bytes_ cdouble "
        "character clongdouble complex128 complex256 complex64 complexfloating csingle datetime64 "
        "double dtype e euler_gamma finfo flatiter flexible float128 float16 float32 float64 "
        "floating generic half iinfo inexact inf int16 int32 int64 int8 int_ intc integer intp "
        "little_endian long longdouble longlong matrix nan ndarray ndenumerate ndindex nditer "
        "newaxis number object_ pi poly1d recarray record sctypeDict short signedinteger single "
        "str_ timedelta64 typecodes ubyte ufunc uint uint16 uint32 uint64 uint8 uintc uintp ulong "
        "ulonglong unsignedinteger ushort vectorize void",
        "numpy.linalg": "LinAlgError",
    },
    "gives no array, and is given none": {
        "jax.debug": "breakpoint",
        "jax.tree_util": "register_dataclass register_pytree_node register_pytree_node_class "
        "register_pytree_with_keys register_pytree_with_keys_class register_static",
        "jax.nn": "get_scaled_dot_general_config",
        "numpy": "base_repr binary_repr broadcast_shapes busday_count busday_offset "
        "datetime_as_string datetime_data format_float_positional format_float_scientific "
        "get_include get_printoptions getbufsize geterr geterrcall info is_busday isdtype "
        "issubdtype mintypecode promote_types set_printoptions setbufsize seterr seterrcall "
        "show_config show_runtime test typename isnat isfortran iterable nested_iters",
        "numpy.linalg": "test",
        "numpy.fft": "test",
    },
    "a shape or a dtype only, which is told from the array's attributes": {
        "jax.experimental": "primal_tangent_dtype",
        "jax.lax": "shape_as_value",
        "jax.debug": "inspect_array_sharding visualize_array_sharding visualize_sharding",
        "numpy": "einsum_path",
    },
    "a reference that is written to, which the interpreter does not follow": {
        "jax": "ArrayRef Ref array_ref empty_ref free_ref freeze new_ref",
        "jax.experimental": "MutableArray cur_qdd mutable_array",
    },
    "gives functions of what it traced, with constants of it": {
        "jax": "closure_convert fwd_and_bwd",
        "jax.experimental": "saved_input_vjp si_vjp",
        "jax.lax": "composite scan_bind",
    },
    "spreads over a mesh, or works in functions that are spread only": {
        "jax": "reshard smap",
        "jax.lax": "all_gather all_gather_invariant all_to_all axis_index axis_size pbroadcast "
        "pcast pdot pmax pmean pmin ppermute precv pshuffle psend psum psum_scatter "
        "psum_scatter_start pswapaxes pvary ragged_all_to_all xeinsum",
    },
    "orders effects by tokens": {
        "jax.lax": "after_all create_token dce_sink infeed outfeed stage",
    },
    "needs types or kernels that a CPU has not": {
        "jax.nn": "scaled_dot_general scaled_matmul",
        "jax.lax": "ragged_dot_general scaled_dot",
        "jax.numpy": "float6_e2m3fn float6_e3m2fn int1 uint1",
        "jax.Array": "__cuda_array_interface__ __dlpack__ unsafe_raw_buffer",
    },
    "rare, and not measured": {
        "jax": "ds",
        "jax.debug": "log",
        "jax.tree": "static",
        "jax.tree_util": "flatten_one_level_with_keys",
        "jax.experimental": "EArray",
        "jax.scipy.special": "lpmn lpmn_values",
        "numpy": "asmatrix bmat cross in1d row_stack trapz",
        "numpy.linalg": "cross",
    },
    "indexed, not called": {
        "jax.numpy": "c_ index_exp mgrid ogrid r_ s_",
        "numpy": "c_ index_exp mgrid ogrid r_ s_",
    },
    "raises on an array of JAX, whatever else": {
        "jax.numpy": "fromfile fromiter",
        "jax.Array": "__array_module__ __hash__ __hex__ __oct__ __setitem__ device_buffer "
        "device_buffers flat",
        "numpy": "astype copyto fill_diagonal place put put_along_axis putmask",
    },
    "makes NumPy arrays of no array of JAX": {
        "numpy": "arange bartlett blackman diag_indices empty eye frombuffer fromfunction fromiter "
        "frompyfunc fromregex fromstring full hamming hanning identity indices kaiser mask_indices "
        "ones tri tril_indices triu_indices zeros",
        "numpy.fft": "fftfreq rfftfreq",
    },
    "Python's own, of every object": {
        "jax.Array": "__annotations__ __annotations_cache__ __array_priority__ __buffer__ "
        "__class__ __del__ __delattr__ __dict__ __dir__ __doc__ __firstlineno__ __getattribute__ "
        "__getstate__ __init__ __init_subclass__ __module__ __new__ __numpy_dtype__ "
        "__reduce_ex__ __release_buffer__ __setattr__ __sizeof__ __slots__ __static_attributes__ "
        "__subclasshook__ __weakref__ __abstractmethods__",
    },
    "Python 2's": {"jax.Array": "__div__ __rdiv__"},
}

REASONS: dict[str, str] = {
    f"{module}.{name}": reason
    for reason, modules in _REASONS.items()
    for module, names in modules.items()
    for name in names.split()
}
"""The reason of each name."""

_PATTERNS = {
    r"jax\.(lax|lax\.linalg|random)\.\w+_p": "a primitive: it has no call, but `bind`",
    r"jax\.Array\._[^_]\w*": "private",
}


def reason_for(name: str) -> str | None:
    """Tell why a public name has no row, if that is on purpose."""
    for pattern, reason in _PATTERNS.items():
        if re.fullmatch(pattern, name):
            return reason
    return REASONS.get(name)

"""optax: measured with 0.2.5 and 0.2.8."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, Library, rows

_LOSSES = """
cosine_distance cosine_similarity hinge_loss huber_loss kl_divergence l2_loss log_cosh
sigmoid_binary_cross_entropy smooth_labels softmax_cross_entropy
softmax_cross_entropy_with_integer_labels squared_error
"""
_WITH_MOMENTS = """
adabelief adadelta adafactor adagrad adam adamax adamaxw adamw adan amsgrad apply_every ema lamb
lars lbfgs lion nadam nadamw novograd optimistic_adam optimistic_adam_v2
optimistic_gradient_descent radam rmsprop rprop scale_by_adadelta scale_by_adam scale_by_adamax
scale_by_adan scale_by_amsgrad scale_by_belief scale_by_factored_rms scale_by_lbfgs scale_by_lion
scale_by_novograd scale_by_optimistic_gradient scale_by_radam scale_by_rms scale_by_rprop
scale_by_rss scale_by_sm3 scale_by_stddev scale_by_yogi scale_by_zoom_linesearch signum sm3 trace
yogi contrib.acprop contrib.ademamix contrib.adopt contrib.dadapt_adamw contrib.momo
contrib.momo_adam contrib.muon contrib.scale_by_ademamix contrib.scale_by_adopt
contrib.scale_by_muon contrib.simplified_ademamix contrib.sophia transforms.ema transforms.trace
"""
WITHOUT_MOMENTS = tuple(
    f"optax.{name}"
    for name in """
    adaptive_grad_clip add_decayed_weights add_noise centralize clip clip_by_block_rms
    clip_by_global_norm contrib.normalize contrib.reduce_on_plateau freeze fromage identity
    keep_params_nonnegative noisy_sgd normalize_by_update_norm polyak_sgd scale
    scale_by_learning_rate scale_by_param_block_norm scale_by_param_block_rms scale_by_schedule
    scale_by_sign scale_by_trust_ratio set_to_zero sign_sgd transforms.adaptive_grad_clip
    transforms.add_decayed_weights transforms.clip transforms.clip_by_block_rms
    transforms.clip_by_global_norm transforms.zero_nans zero_nans
    """.split()
)
"""Functions that make a transformation which keeps nothing of the shapes of the parameters."""
COMBINING = (
    "optax.chain", "optax.multi_transform", "optax.named_chain", "optax.partition",
    "optax.transforms.chain", "optax.transforms.named_chain", "optax.transforms.partition",
)  # fmt: skip
"""Functions that put transformations together."""
WRAPPING = (
    "optax.apply_if_finite", "optax.conditionally_mask", "optax.conditionally_transform",
    "optax.flatten", "optax.masked", "optax.transforms.apply_if_finite", "optax.transforms.flatten",
    "optax.transforms.masked", "optax.with_extra_args_support",
)  # fmt: skip
"""Functions that make a transformation of another one."""
_MORE_LOSSES = """
convex_kl_divergence ctc_loss generalized_kl_divergence ntxent safe_softmax_cross_entropy
sigmoid_focal_loss
"""
LOSSES = (
    *(f"optax.{name}" for name in _MORE_LOSSES.split()),
    *(f"optax.losses.{name}" for name in f"{_LOSSES} {_MORE_LOSSES}".split()),
)
"""Losses that have no row, or have it by another name."""
ACCUMULATING = "optax.MultiSteps"
"""The class that keeps a sum of gradients beside the state of an optimizer."""
INJECTING = ("optax.inject_hyperparams", "optax.inject_stateful_hyperparams")
"""Functions that make another one of a function that makes an optimizer."""

LIBRARY = Library(
    rows=[
        *rows("optax", _LOSSES, Effect.COMPUTE),
        *rows("optax", "global_norm", Effect.COMPUTE),
        *rows("optax", "apply_updates incremental_update", Effect.COMPUTE, gives=Gives.ARRAYS),
    ],
    method_rows=[
        *rows("optax.GradientTransformation", "init", Effect.STATE, gives=Gives.ARRAYS),
        *rows(
            "optax.GradientTransformation", "update", Effect.COMPUTE, gives=Gives.ARRAYS, loses=True
        ),
    ],
    classes={
        "optax.GradientTransformation": frozenset({"init", "update"}),
        "optax.InjectedOptimizer": frozenset({"__call__"}),
    },
    # Executed with optax 0.2.8: compiled, `init` uses no value of the parameters, as that of
    # `optax.contrib.schedule_free` or `optax.scale_by_distance_over_gradients` does.
    optimizers_with_moments=frozenset(f"optax.{name}" for name in _WITH_MOMENTS.split()),
)

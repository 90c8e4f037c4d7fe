"""optax: measured with 0.2.5 and 0.2.8."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, Library, rows

_LOSSES = """
cosine_distance cosine_similarity hinge_loss huber_loss kl_divergence l2_loss log_cosh
sigmoid_binary_cross_entropy smooth_labels softmax_cross_entropy
softmax_cross_entropy_with_integer_labels squared_error
"""
_WITH_MOMENTS = """
adabelief adagrad adam adamax adamaxw adamw amsgrad lamb lion nadam nadamw novograd radam rmsprop
scale_by_adam trace yogi
"""

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
    classes={"optax.GradientTransformation": frozenset({"init", "update"})},
    # Read in optax 0.2.8.
    optimizers_with_moments=frozenset(f"optax.{name}" for name in _WITH_MOMENTS.split()),
)

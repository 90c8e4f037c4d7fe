"""orbax-checkpoint: measured with 0.6.4 to 0.12.8, the newest that each JAX takes."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, Library, rows

LIBRARY = Library(
    classes={
        "orbax.checkpoint.AsyncCheckpointer": frozenset({"restore"}),
        "orbax.checkpoint.CheckpointManager": frozenset({"restore"}),
        "orbax.checkpoint.Checkpointer": frozenset({"restore"}),
        "orbax.checkpoint.PyTreeCheckpointer": frozenset({"restore"}),
        "orbax.checkpoint.StandardCheckpointer": frozenset({"restore"}),
    },
    method_rows=[
        *rows("orbax.checkpoint.PyTreeCheckpointer", "restore", Effect.RESTORE, gives=Gives.ARRAYS),
        *rows("orbax.checkpoint.PyTreeCheckpointer", "save", Effect.HOST),
        *rows(
            "orbax.checkpoint.StandardCheckpointer", "restore", Effect.RESTORE, gives=Gives.ARRAYS
        ),
    ],
)

"""What settings say that functions of other packages do: more rows of the transfer table."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from placement_lint.jaxmodel.effects import Effect, Gives, Row
from placement_lint.jaxmodel.transfer import TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

OWN_EFFECTS = (
    Effect.COMPUTE, Effect.CONVERT, Effect.COPY, Effect.CREATE, Effect.HOST, Effect.IDENTITY,
    Effect.KEY, Effect.LOAD, Effect.PLAIN, Effect.SAMPLE,
)  # fmt: skip
"""The effects that are applied to a call whatever the function is: the others have models that know
the parameters of JAX's own functions."""


def rows_of(models: Mapping[str, Mapping[str, str]]) -> tuple[Row, ...]:
    """Return the rows that the setting `models`, once checked, describes."""
    return tuple(
        Row(
            name,
            Effect[model["effect"].upper()],
            Gives[model.get("gives", "array").upper()],
            source="settings",
        )
        for name, model in sorted(models.items())
    )


@functools.lru_cache(maxsize=100)
def table_with(rows: tuple[Row, ...]) -> Mapping[str, Row]:
    """Return the transfer table with more rows, which replace those of the same names."""
    return {**TABLE, **{row.name: row for row in rows}} if rows else TABLE


def may_name_one(rows: tuple[Row, ...], code: bytes) -> bool:
    """Return whether code may call what one of the rows describes."""
    return any(row.name.rpartition(".")[2].encode() in code for row in rows)

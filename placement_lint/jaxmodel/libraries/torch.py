"""PyTorch: how its loaders make batches, as its documentation says (2.x)."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Library

LOADER = "torch.utils.data.DataLoader"

LIBRARY = Library(
    classes={LOADER: frozenset({"__init__", "__iter__"})},
    aliases={"torch.utils.data.dataloader.DataLoader": LOADER},
)

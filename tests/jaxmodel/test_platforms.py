"""Names that no platform has, and what is meant by them."""

import pytest

from placement_lint.jaxmodel.platforms import PLATFORMS, meant_platform


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("cuda", "gpu"), ("CUDA", "gpu"), ("rocm", "gpu"), ("cuda:0", "gpu"), ("gpu:1", "gpu"),
        ("GPU", "gpu"), ("Cpu", "cpu"), ("TPU", "tpu"), ("cpu:0", "cpu"),
        ("METAL", None), ("neuron", None), ("mps", None), ("", None), ("host", None),
    ],
)  # fmt: skip
def test_what_is_meant(text: str, meant: str | None) -> None:
    assert meant_platform(text) == meant


@pytest.mark.parametrize("platform", sorted(PLATFORMS))
def test_platforms_are_possible(platform: str) -> None:
    assert meant_platform(platform) is None

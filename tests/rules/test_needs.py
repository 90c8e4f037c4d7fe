"""What the bytes of a file must contain."""

import pytest

from placement_lint.rules.needs import AllOf, AnyOf, FileText, Jax, Pattern


@pytest.mark.parametrize(
    ("data", "met"),
    [
        (b'f(device="cpu")', True),
        (b'f(device  =\n "cpu")', True),
        (b"f(device=cpu)", False),
        (b'"device"', False),
        (b"", False),
    ],
)
def test_a_pattern_is_searched_for(data: bytes, met: bool) -> None:
    assert Pattern(rb'\bdevice\s*=\s*"', word=b"device").met_by(FileText(data, jax=True)) is met


def test_conditions_combine() -> None:
    needs = AllOf(Jax(), AnyOf(b"device_put", Pattern(rb"de\w+_device", word=b"_device")))
    assert needs.met_by(FileText(b"default_device", jax=True))
    assert needs.met_by(FileText(b"device_put", jax=True))
    assert not needs.met_by(FileText(b"device_put", jax=False))
    assert not needs.met_by(FileText(b"device", jax=True))

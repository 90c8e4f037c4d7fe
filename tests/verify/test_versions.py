import pytest

from placement_lint.verify.versions import is_within, parse_range, release


@pytest.mark.parametrize(
    ("version", "text", "within"),
    [
        ("0.4.30", ">=0.4.31", False),
        ("0.4.31", ">=0.4.31", True),
        ("0.10.2", ">=0.4.31", True),
        ("0.10.0", "<0.10", False),
        ("0.9.2", "<0.10", True),
        ("0.10", "==0.10.0", True),
        ("0.10.2", "!=0.10.2", False),
        ("0.10.2", ">0.10.1,<=0.10.2", True),
        ("0.12.0.1", ">0.12", True),
        ("0.7.2", ">=0.4.36, <0.7", False),
        ("0.7.0.dev20250101", ">=0.7", True),
        ("0.7.0rc1", "<0.7", False),
        ("0.4.36", "~=0.4.30", True),
    ],
)
def test_a_version_is_in_a_range(version: str, text: str, within: bool) -> None:
    assert is_within(version, text) is within


@pytest.mark.parametrize("text", ["", "0.4", ">=", ">=0.4;<1", "new"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(ValueError, match="is not a range of versions"):
        parse_range(text)


def test_what_is_no_version() -> None:
    with pytest.raises(ValueError, match="'new' is not a version"):
        release("new")

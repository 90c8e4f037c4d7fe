import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_lint.verify.sizes import format_seconds, format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64MB", 64 * 10**6),
        ("64mb", 64 * 10**6),
        ("64MiB", 64 * 2**20),
        ("64M", 64 * 2**20),
        (" 1.5 GiB ", 3 * 2**29),
        ("4096", 4096),
        ("4096B", 4096),
        ("2TiB", 2**41),
        ("0", 0),
    ],
)
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "MB", "-1MB", "12x", "1e9", "nan", "1,5GB", "0x10", "1 2MB", "٣MB", "64MB\n64MB"]
)
def test_what_is_no_size_is_refused_with_a_message(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size; write it like 64MiB or 1GiB"):
        parse_size(text)


@given(st.text(max_size=12))
def test_any_text_gives_a_size_or_the_message(text: str) -> None:
    try:
        assert parse_size(text) >= 0
    except ValueError as error:
        assert "is not a size" in str(error)  # noqa: PT017


@given(st.integers(min_value=0, max_value=1023), st.sampled_from(["B", "KiB", "MiB", "GiB"]))
def test_a_formatted_size_is_read_back(number: int, unit: str) -> None:
    size = parse_size(f"{number}{unit}")
    assert parse_size(format_size(size)) == size


def test_format_size() -> None:
    assert format_size(256 * 2**20) == "256 MiB"
    assert format_size(3 * 2**29) == "1.5 GiB"
    assert format_size(2**41) == "2 TiB"


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.104, "2.10 s"), (0.1124, "112 ms"), (48.2e-6, "48.2 µs")]
)
def test_format_seconds(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text

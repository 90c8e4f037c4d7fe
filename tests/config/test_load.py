from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from placement_lint.config import load as load_module
from placement_lint.config.load import SettingsLoader
from placement_lint.config.settings import DEFAULT_EXCLUDES, Settings
from placement_lint.config.values import SettingsError


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file.absolute()


def load(path: str = "x.py", *configs: str, isolated: bool = False, **options: Any) -> Settings:
    return SettingsLoader(isolated=isolated, configs=configs, options=options).for_file(path)


def test_without_a_file_the_defaults_hold() -> None:
    assert load() == Settings()


def test_nearest_file_wins_and_files_are_not_merged() -> None:
    outer = write(
        "pyproject.toml", '[tool.placement-lint]\nselect = ["JDP1"]\nforce-exclude = true\n'
    )
    inner = write("a/b/placement-lint.toml", 'select = ["JDP2"]\n')
    settings = load("a/b/c/x.py")
    assert (settings.select, settings.force_exclude) == (("JDP2",), False)
    assert (settings.source, settings.root) == (inner, inner.parent)
    assert load("a/x.py").source == outer
    assert load("x.py").force_exclude


def test_own_file_wins_over_the_project_file_beside_it() -> None:
    write("pyproject.toml", '[tool.placement-lint]\nselect = ["JDP1"]\n')
    write("placement-lint.toml", 'select = ["JDP2"]\n')
    assert load().select == ("JDP2",)


@pytest.mark.parametrize(
    "text",
    [
        "[tool.ruff]\nline-length = 3\n",
        "{% template %} this is no TOML",
        "[tool.other]\nuses = 'placement-lint'\n",
        "",
    ],
)
def test_a_project_file_without_the_section_is_passed_over(text: str) -> None:
    outer = write("pyproject.toml", "[tool.placement-lint]\nforce-exclude = true\n")
    write("a/pyproject.toml", text)
    assert load("a/x.py").source == outer


def test_an_empty_section_is_one() -> None:
    write("pyproject.toml", "[tool.placement-lint]\nforce-exclude = true\n")
    write("a/pyproject.toml", "[tool.placement-lint]\n")
    assert not load("a/x.py").force_exclude


def test_all_settings() -> None:
    write(
        "placement-lint.toml",
        """
        select = ["ALL"]
        extend-select = ["JDP410"]
        ignore = ["JDP401"]
        extend-ignore = ["JDP402"]
        exclude = ["gen"]
        extend-exclude = ["old/*.py"]
        force-exclude = true
        respect-gitignore = false
        unsafe-fixes = true
        accelerator = false
        min-confidence = "definite"
        output-format = "json"
        [per-file-ignores]
        "tests/*" = ["JDP2"]
        """,
    )
    settings = load()
    assert settings == Settings(
        select=("ALL",),
        extend_select=("JDP410",),
        ignore=("JDP401",),
        extend_ignore=("JDP402",),
        per_file_ignores={"tests/*": ("JDP2",)},
        exclude=("gen",),
        extend_exclude=("old/*.py",),
        force_exclude=True,
        respect_gitignore=False,
        unsafe_fixes=True,
        accelerator=False,
        min_confidence="definite",
        output_format="json",
        root=Path.cwd(),
        source=Path.cwd() / "placement-lint.toml",
    )


def test_isolated_reads_no_file() -> None:
    write("pyproject.toml", "[tool.placement-lint]\nforce-exclude = 3\n")
    assert load(isolated=True) == Settings()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("placement-lint.toml", "force-exclude = \n", "not valid TOML"),
        ("placement-lint.toml", "a = " + "[" * 5000, "nested too deeply"),
        ("placement-lint.toml", "nope = 1\n", "unknown setting `nope`"),
        ("pyproject.toml", "[tool]\nplacement-lint = 3\n", "`tool.placement-lint` must be a table"),
        ("pyproject.toml", "[tool.placement-lint]\nselect = 1\n", "not a number"),
        ("pyproject.toml", "[tool.placement-lint\n", "not valid TOML"),
    ],
)
def test_what_is_wrong_names_the_file(name: str, text: str, message: str) -> None:
    path = write(name, text)
    with pytest.raises(SettingsError) as caught:
        load()
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_file_that_is_no_text() -> None:
    Path("placement-lint.toml").write_bytes(b"select = ['\xff']")
    with pytest.raises(SettingsError, match="not valid UTF-8 at byte 11"):
        load()


def test_a_file_too_large() -> None:
    Path("placement-lint.toml").write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    with pytest.raises(SettingsError, match="larger than 4 MiB"):
        load()


def test_a_byte_order_mark_is_no_mistake() -> None:
    Path("placement-lint.toml").write_bytes(b"\xef\xbb\xbfforce-exclude = true\n")
    assert load().force_exclude


def test_an_unreadable_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    write("placement-lint.toml", "")
    monkeypatch.setattr(load_module, "read_regular", refuse)
    with pytest.raises(SettingsError, match=r"placement-lint\.toml: cannot be read: Permission"):
        load()


def test_a_folder_of_that_name_is_no_settings_file() -> None:
    Path("pyproject.toml").mkdir()
    assert load() == Settings()


def test_each_file_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write("pyproject.toml", "[tool.placement-lint]\n")
    loader = SettingsLoader()
    first = loader.for_file("a/b/x.py")
    monkeypatch.setattr(load_module, "read_regular", lambda *_: pytest.fail("read again"))
    assert loader.for_file("a/b/y.py") is first
    assert loader.for_file("a/z.py") is first
    assert loader.for_folder("a/c") is first


class TestExtend:
    def test_what_is_not_set_is_that_of_the_other_file(self) -> None:
        write(
            "base.toml", 'force-exclude = true\nunsafe-fixes = true\nmin-confidence = "definite"\n'
        )
        source = write("a/placement-lint.toml", 'extend = "../base.toml"\nforce-exclude = false\n')
        settings = load("a/x.py")
        assert (settings.force_exclude, settings.unsafe_fixes) == (False, True)
        assert settings.min_confidence == "definite"
        assert (settings.source, settings.root) == (source, source.parent)
        assert load("x.py") == Settings()

    def test_lists(self) -> None:
        write(
            "base.toml",
            """
            extend-select = ["JDP405"]
            ignore = ["JDP101"]
            extend-ignore = ["JDP102"]
            exclude = ["a"]
            extend-exclude = ["b"]
            per-file-ignores = {x = ["JDP1"]}
            """,
        )
        write(
            "placement-lint.toml",
            """
            extend = "base.toml"
            extend-select = ["JDP406"]
            ignore = ["JDP103"]
            extend-ignore = ["JDP104"]
            exclude = ["c"]
            extend-exclude = ["d"]
            per-file-ignores = {y = ["JDP2"]}
            """,
        )
        settings = load()
        assert settings.extend_select == ("JDP405", "JDP406")
        assert settings.ignore == ("JDP103",)
        assert settings.extend_ignore == ("JDP102", "JDP104")
        assert settings.exclude == ("c",)
        assert settings.extend_exclude == ("b", "d")
        assert settings.per_file_ignores == {"y": ("JDP2",)}

    def test_rules_are_chosen_anew_with_select(self) -> None:
        write("base.toml", 'extend-select = ["JDP405"]\nignore = ["JDP101"]\naccelerator = false\n')
        write("placement-lint.toml", 'extend = "base.toml"\nselect = ["JDP1"]\n')
        settings = load()
        assert (settings.select, settings.extend_select, settings.ignore) == (("JDP1",), (), ())
        assert not settings.accelerator

    def test_a_chain_in_which_each_path_is_relative_to_its_own_file(self) -> None:
        write(
            "org/far/base.toml",
            'force-exclude = true\nextend-select = ["JDP405"]\nbaseline = "b.json"\n',
        )
        write("org/base.toml", 'extend = "far/base.toml"\nextend-select = ["JDP406"]\n')
        write("a/pyproject.toml", '[tool.placement-lint]\nextend = "../org/base.toml"\n')
        settings = load("a/x.py")
        assert settings.force_exclude
        assert settings.extend_select == ("JDP405", "JDP406")
        assert settings.baseline == str(Path.cwd() / "org/far/b.json")

    def test_globs_are_relative_to_their_own_files(self) -> None:
        write("base.toml", 'extend-exclude = ["a/gen/*.py", "name"]\n')
        write(
            "a/placement-lint.toml",
            'extend = "../base.toml"\nextend-exclude = ["old/x.py"]\n'
            'per-file-ignores = {"t/*" = ["JDP1"]}\n',
        )
        settings = load("a/x.py")
        assert settings.root == Path.cwd()
        assert settings.extend_exclude == ("a/gen/*.py", "name", "/a/old/x.py")
        assert settings.per_file_ignores == {"/a/t/*": ("JDP1",)}

    @pytest.mark.parametrize(
        ("texts", "message"),
        [
            (
                {"placement-lint.toml": 'extend = "nosuch.toml"'},
                "{0}/placement-lint.toml: `extend`: {0}/nosuch.toml: cannot be read: No such file",
            ),
            (
                {"placement-lint.toml": 'extend = "placement-lint.toml"'},
                "{0}/placement-lint.toml: `extend` forms a cycle through {0}/placement-lint",
            ),
            (
                {
                    "placement-lint.toml": 'extend = "b/x.toml"',
                    "b/x.toml": 'extend = "../placement-lint.toml"',
                },
                "{0}/b/x.toml: `extend` forms a cycle through {0}/placement-lint.toml",
            ),
            (
                {
                    "placement-lint.toml": 'extend = "b/pyproject.toml"',
                    "b/pyproject.toml": "[tool.ruff]\nline-length = 3\n",
                },
                "{0}/placement-lint.toml: `extend`: {0}/b/pyproject.toml: "
                "there is no [tool.placement-lint] section",
            ),
            (
                {"placement-lint.toml": 'extend = "b.toml"', "b.toml": "fixx = true"},
                "{0}/placement-lint.toml: `extend`: {0}/b.toml: unknown setting `fixx`",
            ),
            (
                {"placement-lint.toml": 'extend = "b.toml"', "b.toml": "fix ="},
                "{0}/placement-lint.toml: `extend`: {0}/b.toml: not valid TOML",
            ),
            ({"placement-lint.toml": "extend = 3"}, "{0}/placement-lint.toml: `extend` must be a "),
            (
                {"placement-lint.toml": 'extend = ""'},
                "{0}/placement-lint.toml: `extend` must be a ",
            ),
            ({"placement-lint.toml": 'extend = "."'}, "`extend`: {0}: cannot be read: Is a direct"),
        ],
    )
    def test_what_is_wrong(self, texts: dict[str, str], message: str) -> None:
        for name, text in texts.items():
            write(name, text)
        with pytest.raises(SettingsError) as caught:
            load()
        assert message.format(Path.cwd()) in str(caught.value)

    def test_a_file_of_an_option_may_extend_another(self) -> None:
        write("ci/base.toml", 'force-exclude = true\nextend-exclude = ["gen/*"]\n')
        write("ci/strict.toml", 'extend = "base.toml"\nextend-exclude = ["old/x"]\n')
        settings = load("a/x.py", "ci/strict.toml")
        assert settings.force_exclude
        assert settings.root is None
        assert settings.extend_exclude == ("/ci/gen/*", "old/x")

    def test_what_the_command_line_says_comes_last(self) -> None:
        write("base.toml", 'select = ["JDP1"]\nforce-exclude = true\n')
        write("placement-lint.toml", 'extend = "base.toml"\n')
        settings = load("x.py", "force-exclude=false", select=("JDP2",))
        assert (settings.select, settings.force_exclude) == (("JDP2",), False)
        with pytest.raises(SettingsError, match="`extend` belongs in a settings file"):
            load("x.py", "extend='base.toml'")

    def test_isolated_reads_none(self) -> None:
        write("placement-lint.toml", 'extend = "nosuch.toml"\n')
        assert load(isolated=True) == Settings()
        assert load("x.py", "force-exclude=true", isolated=True) == Settings(force_exclude=True)
        with pytest.raises(SettingsError, match="cannot be read with --isolated"):
            load("x.py", "base.toml", isolated=True)


class TestConfigOption:
    def test_a_file_holds_for_all_and_is_relative_to_here(self) -> None:
        write("pyproject.toml", "[tool.placement-lint]\nforce-exclude = true\n")
        write("ci/strict.toml", 'select = ["ALL"]\n')
        settings = load("a/x.py", "ci/strict.toml")
        assert (settings.select, settings.force_exclude, settings.root) == (("ALL",), False, None)
        assert settings.source == Path("ci/strict.toml")

    def test_a_project_file_must_have_the_section(self) -> None:
        write("other/pyproject.toml", "[tool.ruff]\n")
        with pytest.raises(SettingsError, match=r"there is no \[tool.placement-lint\] section"):
            load("x.py", "other/pyproject.toml")

    def test_a_missing_file(self) -> None:
        with pytest.raises(SettingsError, match=r"nosuch\.toml: cannot be read: No such file"):
            load("x.py", "nosuch.toml")

    def test_pairs_win_over_files_and_lose_to_options(self) -> None:
        write("pyproject.toml", '[tool.placement-lint]\nselect = ["JDP1"]\nforce-exclude = true\n')
        pairs = ("select = ['JDP2']", "min-confidence='definite'", "accelerator=false")
        settings = load("x.py", *pairs, min_confidence="likely")
        assert (settings.select, settings.force_exclude) == (("JDP2",), True)
        assert (settings.min_confidence, settings.accelerator) == ("likely", False)

    @pytest.mark.parametrize(
        ("pair", "message"),
        [
            ("fix=yes", "--config fix=yes: neither a settings file nor KEY=VALUE in TOML"),
            ("fxi=true", "--config fxi=true: unknown setting `fxi`; did you mean `fix`?"),
            ("fix=3", "--config fix=3: `fix` must be true or false, not a number"),
        ],
    )
    def test_wrong_pairs(self, pair: str, message: str) -> None:
        with pytest.raises(SettingsError) as caught:
            load("x.py", pair)
        assert message in str(caught.value)

    def test_two_files_are_one_too_many(self) -> None:
        with pytest.raises(SettingsError, match=r"not a\.toml and b\.toml"):
            load("x.py", "a.toml", "b.toml")

    def test_a_file_and_isolated(self) -> None:
        write("a.toml", "")
        with pytest.raises(SettingsError, match="--isolated"):
            load("x.py", "a.toml", isolated=True)


class TestOptions:
    def test_select_sets_the_selection_of_files_aside(self) -> None:
        write(
            "placement-lint.toml",
            'select = ["JDP1"]\nextend-select = ["JDP3"]\nignore = ["JDP204"]\n'
            'extend-ignore = ["JDP2"]\nper-file-ignores = { "a" = ["JDP1"] }\n',
        )
        settings = load(select=("JDP204",))
        assert settings.select == ("JDP204",)
        assert (settings.extend_select, settings.ignore, settings.extend_ignore) == ((), (), ())
        assert settings.per_file_ignores == {"a": ("JDP1",)}

    def test_select_and_ignore_together(self) -> None:
        write("placement-lint.toml", 'ignore = ["JDP204"]\n')
        settings = load(select=("JDP2",), ignore=("JDP201",))
        assert (settings.select, settings.ignore) == (("JDP2",), ("JDP201",))

    @pytest.mark.parametrize("field", ["ignore", "extend_ignore", "extend_select"])
    def test_these_add_to_what_a_file_says(self, field: str) -> None:
        write("placement-lint.toml", f'{field.replace("_", "-")} = ["JDP204"]\n')
        options: dict[str, Any] = {field: ("JDP201",)}
        assert getattr(load(**options), field) == ("JDP204", "JDP201")

    def test_exclude_replaces_and_extend_exclude_adds(self) -> None:
        write("placement-lint.toml", 'exclude = ["a"]\nextend-exclude = ["b"]\n')
        settings = load(exclude=("c",), extend_exclude=("d",))
        assert (settings.exclude, settings.extend_exclude) == (("c",), ("b", "d"))

    def test_they_hold_without_files_too(self) -> None:
        settings = load(extend_exclude=("a/b",), force_exclude=True)
        assert settings == Settings(extend_exclude=("a/b",), force_exclude=True)

    def test_their_globs_are_relative_to_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write("proj/placement-lint.toml", 'exclude = ["gen", "/a.py", "!b/*.py", "c/"]\n')
        Path("proj/s[1]").mkdir()
        top = Path.cwd()
        settings = load("proj/x.py", extend_exclude=("proj/old", "name"))
        assert settings.root == top
        assert settings.exclude == ("gen", "/proj/a.py", "!/proj/b/*.py", "c/")
        assert settings.extend_exclude == ("proj/old", "name")
        monkeypatch.chdir("proj/s[1]")
        settings = load("x.py", per_file_ignores={"t/x.py": ("JDP2",)})
        assert settings.root == top / "proj"
        assert settings.exclude == ("gen", "/a.py", "!b/*.py", "c/")
        assert list(settings.per_file_ignores) == ["/s\\[1\\]/t/x.py"]

    def test_names_leave_the_root_where_it_is(self) -> None:
        write("proj/placement-lint.toml", 'exclude = ["/a.py"]\n')
        settings = load("proj/x.py", extend_exclude=("name", "folder/"))
        assert (settings.root, settings.exclude) == (Path("proj").absolute(), ("/a.py",))


def test_default_excludes_are_names() -> None:
    assert not any(set("*?[]!/\\") & set(name) for name in DEFAULT_EXCLUDES)
    assert list(DEFAULT_EXCLUDES) == sorted(DEFAULT_EXCLUDES)

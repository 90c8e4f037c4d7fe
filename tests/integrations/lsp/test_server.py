"""The language server, as an editor meets it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from placement_lint.integrations.lsp.code_actions import APPLY_ALL, EXPLAIN, FIX_ALL, RULES
from placement_lint.integrations.lsp.hover import MOST_LINES
from placement_lint.integrations.lsp.uris import path_of, uri_of
from placement_lint.report.site import VARIABLE
from tests.faults.injection import Fault, within
from tests.integrations.lsp.editor import (
    Editor,
    applied,
    codes,
    conversation,
    edits_of,
    environment,
)

HAZARD = """\
import jax


def f(x, d):
    jax.device_put(x, d)
    return x
"""
DATA = """\
import jax
from safetensors.flax import load_file

cpu = jax.devices("cpu")[0]


def load(path):
    with jax.default_device(cpu):
        return load_file(path)["tokens"]
"""
TRAIN = """\
from data import load

tokens = load("train.safetensors")
for i in range(10):
    batch = tokens[i]
"""
UNCOMMITTED = 'return load_file(path)["tokens"]'
COMMITTED = 'return jax.device_put(load_file(path)["tokens"], cpu)'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "data.py").write_text(DATA, encoding="utf-8")
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "hazard.py").write_text(HAZARD, encoding="utf-8")
    return tmp_path


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- diagnostics --------------------------------------------------------------------------------


@conversation
async def test_a_finding_is_told_with_all_that_is_known_of_it(project: Path) -> None:
    before = snapshot(project)
    async with Editor(project) as editor:
        train = editor.open(project / "train.py")
        (found,) = await editor.diagnostics(train)
        assert (found.code, found.source) == ("JDP201", "placement-lint")
        assert found.severity is types.DiagnosticSeverity.Warning
        assert found.range == types.Range(types.Position(4, 12), types.Position(4, 18))
        assert found.code_description is not None
        page = Path(str(path_of(found.code_description.href)))
        assert page.read_text("utf-8").startswith("# JDP201 `uncommitted-array-indexed`")
        related, returned = list(found.related_information or ())
        assert related.location.uri == uri_of(str(project / "data.py"))
        assert related.location.range.start == types.Position(8, 15)
        assert "created" in related.message or "made" in related.message
        assert returned.location.uri == uri_of(str(project / "train.py"))
        assert returned.message == "returned here by `load`"
        data: Any = found.data
        assert (data["name"], data["confidence"]) == ("uncommitted-array-indexed", "definite")
        assert data["help"]
        assert "fix" not in data
    assert snapshot(project) == before, "nothing is written into the workspace"
    assert not page.parent.exists(), "and nothing is left elsewhere"


@conversation
async def test_a_code_is_a_link_where_the_editor_makes_it_one(project: Path) -> None:
    async with Editor(project, links=False) as editor:
        (found,) = await editor.diagnostics(editor.open(project / "train.py"))
        assert found.code_description is None
    site = {**environment(), VARIABLE: "https://example.org/docs"}
    async with Editor(project, pulls=True, environment=site) as editor:
        report = await editor.pull(editor.open(project / "train.py"))
        assert [each.code_description.href for each in report.items] == [
            "https://example.org/docs/rules/JDP201/"
        ]


@conversation
async def test_a_finding_comes_and_goes_with_what_is_not_saved_in_another_file(
    project: Path,
) -> None:
    async with Editor(project) as editor:
        train, data = editor.open(project / "train.py"), editor.open(project / "data.py")
        assert await editor.codes(train) == [("JDP201", 5)]
        version = editor.replace(data, UNCOMMITTED, COMMITTED)
        assert await editor.codes(data, version) == []
        await editor.until(lambda: not editor.published[train].diagnostics)
        editor.replace(data, COMMITTED, UNCOMMITTED)
        await editor.until(lambda: bool(editor.published[train].diagnostics))
        editor.replace(data, UNCOMMITTED, COMMITTED)
        await editor.until(lambda: not editor.published[train].diagnostics)
        # Not saved: what is on the disk holds again.
        editor.close(data)
        await editor.until(lambda: bool(editor.published[train].diagnostics))


@conversation
async def test_pulled_diagnostics_are_not_pushed_as_well(project: Path) -> None:
    async with Editor(project, pulls=True) as editor:
        train, data = editor.open(project / "train.py"), editor.open(project / "data.py")
        options = editor.server.diagnostic_provider
        assert options is not None
        assert options.inter_file_dependencies
        first = await editor.pull(train)
        assert (first.kind, codes(first.items)) == ("full", [("JDP201", 5)])
        again = await editor.pull(train, first.result_id)
        assert (again.kind, again.result_id) == ("unchanged", first.result_id)
        await editor.pull(data)
        editor.replace(data, UNCOMMITTED, COMMITTED)
        # The editor asks for what it has changed; that another file is fixes it has to be told.
        await editor.until(lambda: editor.refreshes == 1)
        after = await editor.pull(train, first.result_id)
        assert (after.kind, codes(after.items)) == ("full", [])
        assert editor.publications == []


@conversation
async def test_the_whole_workspace_is_told_where_it_is_asked_for(project: Path) -> None:
    async with Editor(project, options={"diagnosticMode": "workspace"}) as editor:
        await editor.until(lambda: len(editor.published) == 2)
        found = {Path(uri).name: codes(each.diagnostics) for uri, each in editor.published.items()}
        assert found == {"train.py": [("JDP201", 5)], "hazard.py": [("JDP204", 5)]}
    options = {"placement-lint": {"diagnostic-mode": "workspace"}}
    async with Editor(project, options=options, pulls=True) as editor:
        ask = editor.client.workspace_diagnostic_async
        report = await ask(types.WorkspaceDiagnosticParams([]))
        found = {Path(each.uri).name: codes(getattr(each, "items", ())) for each in report.items}
        assert found == {"train.py": [("JDP201", 5)], "hazard.py": [("JDP204", 5)]}
        previous = [types.PreviousResultId(each.uri, str(each.result_id)) for each in report.items]
        waiting = asyncio.create_task(ask(types.WorkspaceDiagnosticParams(previous)))
        data = editor.open(project / "data.py", DATA.replace(UNCOMMITTED, COMMITTED))
        report = await waiting
        kinds = {Path(each.uri).name: each.kind for each in report.items}
        assert kinds["hazard.py"] == "unchanged"
        assert kinds["train.py"] == "full"
        editor.close(data)


@conversation
async def test_text_that_cannot_be_parsed_is_a_finding_and_typing_goes_on(project: Path) -> None:
    async with Editor(project) as editor:
        uri = editor.open(project / "hazard.py")
        assert await editor.codes(uri) == [("JDP204", 5)]
        version = editor.replace(uri, "device_put(x, d)", "device_put(x, d")
        assert [code for code, _ in await editor.codes(uri, version)] == ["JDP901"]
        version = editor.replace(uri, "device_put(x, d", "device_put(x, d)")
        assert await editor.codes(uri, version) == [("JDP204", 5)]


@conversation
async def test_only_the_last_of_many_changes_is_told(project: Path) -> None:
    async with Editor(project) as editor:
        uri = editor.open(project / "hazard.py")
        await editor.diagnostics(uri)
        for number in range(30):
            version = editor.write(uri, f"{HAZARD}\n# {number}\n")
        assert await editor.codes(uri, version) == [("JDP204", 5)]
        versions = [each.version for each in editor.publications if each.uri == uri]
        assert versions == sorted(versions, key=str) or versions == sorted(
            version for version in versions if version is not None
        )
        assert len(versions) < 10


@conversation
async def test_what_a_folder_excludes_is_passed_over_when_it_is_opened(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        '[tool.placement-lint]\nextend-exclude = ["third_party/"]\n', encoding="utf-8"
    )
    (project / ".gitignore").write_text("built.py\n", encoding="utf-8")
    (project / "third_party").mkdir()
    for name in ("third_party/a.py", "built.py"):
        (project / name).write_text(HAZARD, encoding="utf-8")
    async with Editor(project) as editor:
        for name in ("third_party/a.py", "built.py"):
            assert await editor.codes(editor.open(project / name)) == []
        # A file that is not saved yet, and a document that is no file.
        assert await editor.codes(editor.open(project / "new.py", HAZARD)) == [("JDP204", 5)]
        assert await editor.codes(editor.open("untitled:Untitled-1", HAZARD)) == [("JDP204", 5)]


@conversation
async def test_two_folders_keep_to_themselves(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, data in ((one, DATA), (two, DATA.replace(UNCOMMITTED, COMMITTED))):
        folder.mkdir()
        (folder / "data.py").write_text(data, encoding="utf-8")
        (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    (two / "placement-lint.toml").write_text('ignore = ["JDP204"]\n', encoding="utf-8")
    (two / "hazard.py").write_text(HAZARD, encoding="utf-8")
    async with Editor(one, two) as editor:
        assert await editor.codes(editor.open(one / "train.py")) == [("JDP201", 5)]
        assert await editor.codes(editor.open(two / "train.py")) == []
        assert await editor.codes(editor.open(two / "hazard.py")) == []
        removed = types.WorkspaceFolder(uri_of(str(two)), "two")
        editor.client.workspace_did_change_workspace_folders(
            types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent([], [removed]))
        )
        # Outside of all folders a file is looked at as if it were named on the command line.
        assert await editor.codes(editor.open(two / "again.py", HAZARD)) == []


# -- positions ----------------------------------------------------------------------------------

WIDE = """\
import jax


def f(x, d):
    s = "\N{GRINNING FACE}\N{LATIN SMALL LETTER E WITH ACUTE}"; jax.device_put(x, d)
    return x, s
"""


@conversation
async def test_columns_are_counted_as_agreed(tmp_path: Path) -> None:
    kinds = types.PositionEncodingKind
    agreed = [
        (None, "\n", 15),
        ([kinds.Utf16], "\r", 15),
        ([kinds.Utf32, kinds.Utf16], "\r\n", 14),
        ([kinds.Utf8], "\r\n", 18),
    ]
    for encodings, newline, start in agreed:
        async with Editor(tmp_path, encodings=encodings) as editor:
            assert editor.server.position_encoding == (encodings or [kinds.Utf16])[0]
            uri = editor.open(tmp_path / "a.py", WIDE.replace("\n", newline))
            (found,) = await editor.diagnostics(uri)
            assert found.range.start == types.Position(4, start)
            assert found.range.end == types.Position(4, start + 20)
            assert "**JDP204**" in await editor.hover(uri, 5, start + 1)
            assert "**JDP204**" not in await editor.hover(uri, 5, start - 1)


@conversation
async def test_changes_of_parts_are_put_where_the_editor_means(tmp_path: Path) -> None:
    # A form feed and U+2028 end no line; a pair of surrogates is two units.
    text = "import jax\n\x0c\n# \u2028 \N{GRINNING FACE} x\n\ndef f(x, d):\n    return x\n"
    async with Editor(tmp_path) as editor:
        uri = editor.open(tmp_path / "a.py", text)
        assert await editor.codes(uri) == []
        line = types.Range(types.Position(5, 4), types.Position(5, 4))
        face = types.Range(types.Position(2, 4), types.Position(2, 6))
        beyond = types.Range(types.Position(90, 0), types.Position(90, 0))
        version = editor.change(
            uri,
            types.TextDocumentContentChangePartial(line, "jax.device_put(x, d)\n    "),
            types.TextDocumentContentChangePartial(face, "\N{GRINNING FACE}" * 2),
            types.TextDocumentContentChangePartial(beyond, "\n\njax.device_put([], f)  # end\n"),
        )
        assert await editor.codes(uri, version) == [("JDP204", 6), ("JDP204", 10)]
        (action, *_) = await editor.actions(uri, 10)
        ((edit,),) = edits_of(action.edit).values()
        assert edit.range.start == types.Position(9, 0) or edit.range.start.line == 9


# -- code actions -------------------------------------------------------------------------------


@conversation
async def test_a_safe_fix_is_preferred_and_does_what_it_says(project: Path) -> None:
    async with Editor(project) as editor:
        uri = editor.open(project / "hazard.py", HAZARD.replace("\n", "\r\n"))
        await editor.diagnostics(uri)
        fix, silence, explain, everything = await editor.actions(uri, 5)
        assert fix.is_preferred
        assert fix.kind == types.CodeActionKind.QuickFix
        assert "(JDP204)" in fix.title
        assert [each.code for each in fix.diagnostics] == ["JDP204"]
        fixes = applied(editor.text(uri), edits_of(fix.edit)[uri])
        assert fixes == HAZARD.replace("    jax.", "    x = jax.").replace("\n", "\r\n")
        silent = applied(editor.text(uri), edits_of(silence.edit)[uri])
        assert silent == editor.text(uri).replace("(x, d)\r", "(x, d)  # noqa: JDP204\r")
        assert explain.title == "Explain JDP204"
        assert everything.kind == FIX_ALL
        assert applied(editor.text(uri), edits_of(everything.edit)[uri]) == fixes
        for text in (fixes, silent):
            assert await editor.codes(uri, editor.write(uri, text)) == []


@conversation
async def test_an_unsafe_fix_says_so_and_is_not_preferred(project: Path) -> None:
    text = HAZARD.replace("device_put(x, d)", "device_put(x.y, d)")
    async with Editor(project) as editor:
        uri = editor.open(project / "hazard.py", text)
        await editor.diagnostics(uri)
        fix, *others = await editor.actions(uri, 5)
        assert "unsafe" in fix.title
        assert not fix.is_preferred
        assert [each.title for each in others] == ["Suppress JDP204 here", "Explain JDP204"]
        assert await editor.actions(uri, 5, FIX_ALL) == []
        assert await editor.actions(uri, 1) == []


@conversation
async def test_all_safe_fixes_are_applied_across_files_at_their_versions(project: Path) -> None:
    resolve = types.ClientCodeActionResolveOptions(properties=["edit"])
    async with Editor(project) as editor:
        uri = editor.open(project / "train.py")
        await editor.diagnostics(uri)
        (action,) = await editor.actions(uri, 1, "source")
        ((path, edits),) = edits_of(action.edit).items()
        assert Path(path).name == "data.py"
        fixes = applied(DATA, edits)
        data = editor.open(project / "data.py", fixes)
        await editor.until(lambda: not editor.published[uri].diagnostics)
        assert await editor.codes(data) == []
    capable = types.TextDocumentClientCapabilities(
        code_action=types.CodeActionClientCapabilities(resolve_support=resolve, data_support=True)
    )
    async with Editor(project, text_document=capable) as editor:
        uri = editor.open(project / "hazard.py")
        await editor.diagnostics(uri)
        fixed = HAZARD.replace("    jax.", "    x = jax.")
        (action,) = [each for each in await editor.actions(uri, 1) if each.kind == FIX_ALL]
        assert action.edit is None, "the lamp of each line needs no edits"
        resolved = await editor.client.code_action_resolve_async(action)
        (change,) = resolved.edit.document_changes
        for told in (3, ["path"], {"path": 5}):
            strange = types.CodeAction("of another tool", data=told)
            assert (await editor.client.code_action_resolve_async(strange)).edit is None
        assert change.text_document.version == 1
        assert applied(HAZARD, list(change.edits)) == fixed
        (action,) = await editor.actions(uri, 1, FIX_ALL)
        assert applied(HAZARD, edits_of(action.edit)[uri]) == fixed, "on save nothing is resolved"


@conversation
async def test_all_safe_fixes_are_a_command_too(project: Path) -> None:
    async with Editor(project) as editor:
        options = editor.server.execute_command_provider
        assert options is not None
        assert {APPLY_ALL, EXPLAIN} <= {*options.commands}
        uri = editor.open(project / "hazard.py")
        await editor.diagnostics(uri)
        ask = editor.client.workspace_execute_command_async
        assert await ask(types.ExecuteCommandParams(APPLY_ALL, [uri])) is True
        (edit,) = editor.applied
        fixed = applied(HAZARD, edits_of(edit)[uri])
        assert fixed == HAZARD.replace("    jax.", "    x = jax.")
        await editor.codes(uri, editor.write(uri, fixed))
        assert await ask(types.ExecuteCommandParams(APPLY_ALL, [uri])) is False
        with pytest.raises(JsonRpcException, match="not open"):
            await ask(types.ExecuteCommandParams(APPLY_ALL, ["file:///elsewhere.py"]))


@conversation
async def test_a_rule_is_explained(project: Path) -> None:
    window = types.WindowClientCapabilities(
        show_document=types.ShowDocumentClientCapabilities(support=True)
    )
    async with Editor(project, window=window) as editor:
        ask = editor.client.workspace_execute_command_async
        page = await ask(types.ExecuteCommandParams(EXPLAIN, ["JDP204"]))
        assert str(page).startswith("# JDP204 `device-put-discarded`")
        (shown,) = editor.shown
        path = Path(shown.removeprefix("file://"))
        assert path.read_text(encoding="utf-8") == page
        assert project not in path.parents
        rules: Any = await ask(types.ExecuteCommandParams(RULES, []))
        # pygls gives what it does not know as an object, or as a mapping.
        every = [each if isinstance(each, dict) else each._asdict() for each in rules]
        assert ("JDP204", "device-put-discarded") in {
            (each["code"], each["name"]) for each in every
        }
        with pytest.raises(JsonRpcException, match="no rule"):
            await ask(types.ExecuteCommandParams(EXPLAIN, ["JDP999"]))
    assert not path.exists()


# -- what is known ------------------------------------------------------------------------------


@conversation
async def test_hovering_tells_where_an_array_lives(project: Path) -> None:
    async with Editor(project) as editor:
        train = editor.open(project / "train.py")
        said = await editor.hover(train, 3, 2)
        device = 'uncommitted on jax.devices("cpu")[0]'
        data = uri_of(str(project / "data.py"))
        assert said == f"`tokens`: a JAX array, {device}, made at [data.py:9]({data}#L9)"
        on_finding = await editor.hover(train, 5, 14)
        assert on_finding.startswith(said)
        assert "**JDP201** `uncommitted-array-indexed`" in on_finding
        lines = on_finding.splitlines()
        assert len(lines) <= MOST_LINES
        assert [line.split(":")[0] for line in lines[3:5]] == ["Why", "Fix"]
        more = re.fullmatch(r"\[More about JDP201\]\((.*)\)", lines[5])
        assert more is not None
        page = Path(str(path_of(more[1]))).read_text("utf-8")
        assert "## Why is this bad?" in page
        assert "`batch`: a JAX array, uncommitted on jax.devices()[0]" in await editor.hover(
            train, 5, 6
        )
        assert await editor.hover(train, 4, 7) == "", "of a number there is nothing to say"
        text = (
            "import jax\nimport jax.numpy as jnp\n\n\nclass Batch:\n"
            "    def __init__(self, device):\n"
            "        self.rows = jax.device_put(jnp.ones(3), jax.devices('cpu')[0])\n\n"
            "    def first(self):\n        return self.rows[0]\n"
        )
        uri = editor.open(project / "batch.py", text)
        assert '`self.rows`: a JAX array, committed to jax.devices("cpu")[0]' in (
            await editor.hover(uri, 10, 22)
        )
        assert "`self`: an object of the class at [batch.py:5]" in await editor.hover(uri, 10, 17)
        assert "`self`: an object of the class at [batch.py:5]" in await editor.hover(uri, 9, 16)
        text = (
            "from data import load\n\n\n"
            "def first(rows, again, never):\n    again = again + 1\n    return rows[0]\n\n\n"
            "data = load('train.safetensors')\nfirst(data, data, data)\n"
        )
        uri = editor.open(project / "use.py", text)
        assert await editor.hover(uri, 4, 12) == said.replace("`tokens`", "`rows`")
        assert await editor.hover(uri, 4, 18) == "", "it is something else later"
        assert await editor.hover(uri, 4, 25) == "", "nobody looks at it"


@conversation
async def test_hints_are_off_until_they_are_asked_for(project: Path) -> None:
    async with Editor(project) as editor:
        train = editor.open(project / "train.py")
        assert await editor.hints(train) == []
        editor.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"placementLint": {"inlayHints": True}})
        )
        # `batch` is uncommitted as well, and on the default device, where it is at home.
        assert await editor.hints(train) == [(3, ': uncommitted on jax.devices("cpu")[0]')]


# -- settings -----------------------------------------------------------------------------------


@conversation
async def test_settings_of_the_project_and_of_the_editor_hold(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        '[tool.placement-lint]\nignore = ["JDP204"]\n', encoding="utf-8"
    )
    async with Editor(project) as editor:
        assert await editor.codes(editor.open(project / "hazard.py")) == []
    async with Editor(project, options={"settings": {"select": ["JDP204"]}}) as editor:
        uri = editor.open(project / "hazard.py")
        assert await editor.codes(uri) == [("JDP204", 5)]
        editor.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"placement-lint": {"select": ["JDP201"]}})
        )
        await editor.until(lambda: not editor.published[uri].diagnostics)
    # Neovim and others are asked, and answer for the section.
    async with Editor(project, settings={"select": ["JDP204"]}) as editor:
        uri = editor.open(project / "hazard.py")
        await editor.until(
            lambda: uri in editor.published and bool(editor.published[uri].diagnostics)
        )


@conversation
async def test_settings_that_cannot_be_used_are_said_and_do_no_harm(project: Path) -> None:
    settings = project / "pyproject.toml"
    settings.write_text('[tool.placement-lint]\nignore = ["JDP201"]\n', encoding="utf-8")
    async with Editor(project) as editor:
        uri, train = editor.open(project / "hazard.py"), editor.open(project / "train.py")
        assert await editor.codes(uri) == [("JDP204", 5)]
        editor.save(settings, '[tool.placement-lint]\nfoo = 1\nignor = ["JDP204"]\n')
        toml = uri_of(str(settings))
        await editor.until(lambda: toml in editor.published)
        (problem,) = editor.published[toml].diagnostics
        assert "unknown setting `foo`" in problem.message
        assert problem.range.start.line == 1
        await editor.until(lambda: any("unknown setting `foo`" in each for each in editor.messages))
        # What held before goes on.
        assert codes(editor.published[uri].diagnostics) == [("JDP204", 5)]
        assert codes(editor.published[train].diagnostics) == []
        editor.save(settings, "[tool.placement-lint\n")
        await editor.until(lambda: any("TOML" in message for message in editor.messages))
        editor.save(settings, '[tool.placement-lint]\nignore = ["JDP999"]\n')
        await editor.until(lambda: any("JDP999" in message for message in editor.messages))
        editor.save(settings, '[tool.placement-lint]\nignore = ["JDP204"]\n')
        await editor.until(lambda: not editor.published[toml].diagnostics)
        await editor.until(lambda: not editor.published[uri].diagnostics)
        await editor.until(lambda: bool(editor.published[train].diagnostics))
    async with Editor(project, options={"inlayHintz": True}) as editor:
        await editor.until(lambda: bool(editor.messages))
        assert "did you mean `inlay-hints`?" in editor.messages[0]


@conversation
async def test_files_that_change_on_the_disk_are_looked_at_again(project: Path) -> None:
    watching = types.WorkspaceClientCapabilities(
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
            dynamic_registration=True
        )
    )
    async with Editor(project, workspace=watching) as editor:
        uri = editor.open(project / "train.py")
        assert await editor.codes(uri) == [("JDP201", 5)]
        assert types.WORKSPACE_DID_CHANGE_WATCHED_FILES in editor.registered

        def happened(name: str, kind: types.FileChangeType) -> None:
            event = types.FileEvent(uri_of(str(project / name)), kind)
            editor.client.workspace_did_change_watched_files(
                types.DidChangeWatchedFilesParams([event])
            )

        (project / "data.py").write_text(DATA.replace(UNCOMMITTED, COMMITTED), encoding="utf-8")
        happened("data.py", types.FileChangeType.Changed)
        await editor.until(lambda: not editor.published[uri].diagnostics)
        (project / "data.py").unlink()
        happened("data.py", types.FileChangeType.Deleted)
        (project / "data.py").write_text(DATA, encoding="utf-8")
        happened("data.py", types.FileChangeType.Created)
        await editor.until(lambda: bool(editor.published[uri].diagnostics))


# -- notebooks ----------------------------------------------------------------------------------


@conversation
async def test_a_place_in_another_cell_of_a_notebook_is_told(tmp_path: Path) -> None:
    path = uri_of(str(tmp_path / "a.ipynb"))
    codes_of_cells = [
        "import jax\ncpu = jax.devices('cpu')[0]\n",
        "with jax.default_device(cpu):\n    x = jax.numpy.zeros((8, 8))\n",
        "x[0]\n",
    ]
    cells = [types.NotebookCell(types.NotebookCellKind.Code, f"{path}#{n}") for n in range(3)]
    for shows in (True, False):
        async with Editor(tmp_path, related=shows) as editor:
            notebook = types.NotebookDocument(path, "jupyter-notebook", 1, cells)
            items = [
                types.TextDocumentItem(f"{path}#{number}", "python", 1, text)
                for number, text in enumerate(codes_of_cells)
            ]
            editor.client.notebook_document_did_open(
                types.DidOpenNotebookDocumentParams(notebook, items)
            )
            (found,) = await editor.diagnostics(f"{path}#2")
            if shows:
                (related,) = list(found.related_information or ())
                assert related.location.uri == f"{path}#1"
                assert related.location.range.start == types.Position(1, 8)
            else:
                assert found.related_information is None
                assert "a.ipynb:cell 2:2" in found.message


@conversation
async def test_the_cells_of_a_notebook_may_come_as_one_text(tmp_path: Path) -> None:
    """As JupyterLab sends them, under a name of its own."""
    (tmp_path / "data.py").write_text(
        "import jax\n\n\ndef load():\n    with jax.default_device(jax.devices('cpu')[0]):\n"
        "        return jax.numpy.zeros((8, 8))\n",
        encoding="utf-8",
    )
    uri = uri_of(str(tmp_path / ".virtual_documents" / "a.ipynb"))
    async with Editor(tmp_path) as editor:
        editor.open(uri, "from data import load\n\n\nx = load()\n\n\nx[0]\n")
        assert await editor.codes(uri) == [("JDP201", 7)]
        # Another window of the same process opens it as well, and knows nothing yet.
        del editor.published[uri]
        editor.open(uri, "from data import load\n\n\nx = load()\n\n\nx[0]\n")
        assert await editor.codes(uri) == [("JDP201", 7)]
        other = uri_of(str(tmp_path / "b.ipynb"))
        editor.open(other, '{"cells": []}')
        editor.open(uri_of(str(tmp_path / "c.py")), "import jax\njax.device_put(x, d)\n")
        assert await editor.codes(uri_of(str(tmp_path / "c.py"))) == [("JDP204", 2)]
        assert other not in editor.published


@conversation
async def test_the_cells_of_a_notebook_are_one_module(tmp_path: Path) -> None:
    path = uri_of(str(tmp_path / "a.ipynb"))
    kinds = types.NotebookCellKind
    codes_of_cells = ["%matplotlib inline\nimport jax", "x = 1\njax.device_put(x, d);\n"]
    cells = [
        types.NotebookCell(kinds.Code, f"{path}#0"),
        types.NotebookCell(kinds.Markup, f"{path}#1"),
        types.NotebookCell(kinds.Code, f"{path}#2"),
    ]
    async with Editor(tmp_path) as editor:
        notebook = types.NotebookDocument(path, "jupyter-notebook", 1, cells)
        items = [
            types.TextDocumentItem(f"{path}#{number}", "python", 1, text)
            for number, text in zip((0, 2), codes_of_cells, strict=True)
        ]
        client = editor.client
        client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
        assert await editor.codes(f"{path}#2") == [("JDP204", 2)]
        assert await editor.codes(f"{path}#0") == []
        fix, silence, *_, everything = await editor.actions(f"{path}#2", 2)
        for action in (fix, everything):
            ((uri, edits),) = edits_of(action.edit).items()
            assert uri == f"{path}#2"
            assert applied(codes_of_cells[1], edits) == "x = 1\nx = jax.device_put(x, d);\n"
        ((_, edits),) = edits_of(silence.edit).items()
        assert applied(codes_of_cells[1], edits).endswith("  # noqa: JDP204\n")
        # A cell is put before it, and another one changed in part.
        new = types.NotebookCell(kinds.Code, f"{path}#3")
        array = types.NotebookCellArrayChange(0, 0, [new])
        opened = [types.TextDocumentItem(f"{path}#3", "python", 1, "from jax import device_put\n")]
        at = types.Range(types.Position(1, 0), types.Position(1, 4))
        change = types.TextDocumentContentChangePartial(at, "")
        content = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(2, f"{path}#2"), [change]
        )
        client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(2, path),
                types.NotebookDocumentChangeEvent(
                    cells=types.NotebookDocumentCellChanges(
                        structure=types.NotebookDocumentCellChangeStructure(array, opened),
                        text_content=[content],
                    )
                ),
            )
        )
        assert await editor.codes(f"{path}#2", 2) == [("JDP204", 2)]
        assert "JDP204" in await editor.hover(f"{path}#2", 2, 3)
        closed = [types.TextDocumentIdentifier(item.uri) for item in items]
        client.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(path), closed)
        )
        await editor.until(lambda: not editor.published[f"{path}#2"].diagnostics)
    assert not (tmp_path / "a.ipynb").exists()


# -- the process --------------------------------------------------------------------------------


@conversation
async def test_nothing_of_the_workspace_is_run_and_jax_is_not_imported(tmp_path: Path) -> None:
    trap = "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"
    for name in ("jax.py", "sitecustomize.py", "train.py", "conftest.py", "libcst.py"):
        (tmp_path / name).write_text(trap, encoding="utf-8")
    (tmp_path / "placement-lint").write_text("#!/bin/sh\ntouch ran\n", encoding="utf-8")
    async with Editor(tmp_path, options={"select": ["ALL"]}) as editor:
        uri = editor.open(tmp_path / "hazard.py", HAZARD)
        assert ("JDP204", 5) in await editor.codes(uri)
        if Path(f"/proc/{editor.process.pid}/maps").exists():
            maps = Path(f"/proc/{editor.process.pid}/maps").read_text(encoding="utf-8")
            assert "jaxlib" not in maps
    assert [path.name for path in tmp_path.iterdir() if "ran" in path.suffix] == []
    assert not (tmp_path / ".placement_lint_cache").exists()


@conversation
async def test_a_request_may_be_cancelled(project: Path) -> None:
    async with Editor(project) as editor:
        uri = editor.open(project / "train.py")
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(4, 14))
        future = editor.client.protocol.send_request("textDocument/hover", params, msg_id="mine")
        editor.client.cancel_request(types.CancelParams("mine"))
        with pytest.raises(JsonRpcException, match="cancel"):
            await asyncio.wrap_future(future)
        assert await editor.codes(uri) == [("JDP201", 5)]


@conversation
async def test_the_server_ends_when_nobody_is_there_any_more(project: Path) -> None:
    async with Editor(project) as editor:
        await editor.diagnostics(editor.open(project / "train.py"))
        assert editor.process.stdin is not None
        editor.process.stdin.close()
        assert await asyncio.wait_for(editor.process.wait(), 60) == 1


def test_addresses_are_read_as_editors_write_them() -> None:
    from placement_lint.integrations.lsp.uris import path_of

    assert path_of("file:///a%20b/c%23d.py") == "/a b/c#d.py"
    assert path_of("file:///a;b/c;d.py") == "/a;b/c;d.py"
    assert path_of("file://localhost/a.py") == "/a.py"
    assert path_of("untitled:Untitled-1") is None
    assert path_of(uri_of("/a b/\N{GRINNING FACE}#?.py")) == "/a b/\N{GRINNING FACE}#?.py"
    assert json.dumps(uri_of("/\N{GRINNING FACE}")).isascii()


SLOW_STEPS = {
    "the filter": "placement_lint.lint.select_files:Selection._sort",
    "the imports": "placement_lint.project.modules:Modules._found_ways",
    "a rule": "placement_lint.rules.commitment.device_put_discarded:DevicePutDiscarded.visit_Expr",
}


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, id=name, marks=[] if name == "the imports" else [pytest.mark.every])
        for name, step in SLOW_STEPS.items()
    ],
)
@conversation
async def test_a_document_that_takes_too_long_keeps_no_other_waiting(
    project: Path, tmp_path_factory: pytest.TempPathFactory, step: str
) -> None:
    """Every question is answered: about it, and about others.

    In one step; `pytest -m every tests/integrations/lsp` tries the others.
    """
    (project / "bomb.py").write_text(HAZARD, encoding="utf-8")
    faults = within(tmp_path_factory.mktemp("site"), Fault(step, "endless", "bomb.py"))
    options = {"file-time-limit": 1}
    async with Editor(project, options=options, environment=faults) as editor:
        train = editor.open(project / "train.py")
        bomb = editor.open(project / "bomb.py")
        hazard = editor.open(project / "hazard.py")
        assert (await editor.codes(bomb))[0][0] == "JDP900"
        assert await editor.codes(train) == [("JDP201", 5)]
        assert await editor.codes(hazard) == [("JDP204", 5)]
        assert "tokens" in await editor.hover(train, 5, 13)
        assert isinstance(await editor.hover(bomb, 5, 6), str)
        assert isinstance(await editor.actions(bomb, 5), list)
        assert [a.title for a in await editor.actions(hazard, 5)]
        editor.write(bomb, HAZARD + "# more\n")
        assert (await editor.codes(bomb, 2))[0][0] == "JDP900"
        assert await editor.actions(hazard, 5)

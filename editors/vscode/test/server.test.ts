/** The real server, as VS Code meets it. */

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import type { Hover } from "vscode-languageserver-protocol/node";

import { findServer } from "../src/server";
import { edited, Editor, FIXED, HAZARD, nothing, PYTHON, temporary, uriOf } from "./editor";

const FIX_ALL = "source.fixAll.placementLint";

let folder: string;
let editor: Editor;
let uri: string;

before(async () => {
  folder = temporary();
  fs.writeFileSync(path.join(folder, "hazard.py"), HAZARD);
  uri = uriOf(path.join(folder, "hazard.py"));
  const around = { ...nothing(folder), interpreter: PYTHON, environment: process.env };
  editor = await Editor.start(await findServer(around), folder);
});

after(async () => {
  assert.equal(await editor.stop(), 0);
  editor.connection.dispose();
  fs.rmSync(folder, { recursive: true });
});

test("the server offers what the extension uses", () => {
  const { capabilities, serverInfo } = editor.server;
  assert.equal(serverInfo?.name, "placement-lint");
  assert.ok(capabilities.diagnosticProvider?.interFileDependencies);
  assert.ok(capabilities.notebookDocumentSync);
  const commands = capabilities.executeCommandProvider?.commands ?? [];
  for (const name of ["fixAll", "explain", "rules"]) {
    assert.ok(commands.includes(`placement-lint.${name}`), name);
  }
});

test("diagnostics are pulled, and their codes are links to pages", async () => {
  await editor.open(uri, HAZARD);
  const [found, ...others] = await editor.pull(uri);
  assert.equal(others.length, 0);
  assert.equal(found?.code, "JDP204");
  const page = fileURLToPath(String(found?.codeDescription?.href));
  assert.match(fs.readFileSync(page, "utf8"), /^# JDP204 `device-put-discarded`/);
});

test("hovering over a finding shows ten lines at most", async () => {
  const found = (await editor.hover(uri, 4, 8)) as Hover;
  assert.ok(typeof found.contents === "object" && "value" in found.contents);
  assert.match(found.contents.value, /\*\*JDP204\*\*.*\n.*Why: .*\n.*Fix: .*\n.*\[More about JDP204\]/);
  assert.ok(found.contents.value.split("\n").length <= 10);
});

test("fixes: one of them, all on save, all by a command", async () => {
  const [first] = await editor.actions(uri, 4, ["quickfix"]);
  assert.ok(first?.isPreferred);
  assert.equal(edited(HAZARD, uri, first.edit), FIXED);
  const [all] = await editor.actions(uri, 0, [FIX_ALL]);
  assert.equal(edited(HAZARD, uri, all?.edit), FIXED);
  assert.equal(await editor.execute("placement-lint.fixAll", uri), true);
  assert.equal(edited(HAZARD, uri, editor.applied.at(-1)), FIXED);
  await editor.change(uri, 2, FIXED);
  assert.deepEqual(await editor.codes(uri), []);
  assert.equal(await editor.execute("placement-lint.fixAll", uri), false);
  await editor.change(uri, 3, HAZARD);
});

test("a rule is chosen and explained", async () => {
  const rules = await editor.execute<{ code: string; name: string }[]>("placement-lint.rules");
  assert.ok(rules.some((rule) => rule.code === "JDP204" && rule.name === "device-put-discarded"));
  const page = await editor.execute<string>("placement-lint.explain", "JDP204");
  assert.match(page, /## Why is this bad\?/);
  assert.match(String(editor.shown.at(-1)), /\/placement-lint-[^/]+\/JDP204\.md$/);
});

test("settings take effect when they change, and those of VS Code alone are not sent", async () => {
  assert.deepEqual(await editor.codes(uri), ["JDP204"]);
  await editor.set({ ignore: ["JDP204"], path: ["somewhere"], select: null });
  assert.deepEqual(await editor.codes(uri), []);
  await editor.set({ path: [], diagnosticMode: "open-files" });
  assert.deepEqual(await editor.codes(uri), ["JDP204"]);
});

test("the cells of a notebook are one module", async () => {
  const notebook = uriOf(path.join(folder, "a.ipynb"));
  const cell = (number: number): string => notebook.replace("file:", "vscode-notebook-cell:") + `#${number}`;
  const texts = ["import jax\n\nx = jax.numpy.ones(3)", "%matplotlib inline\njax.device_put(x, jax.devices()[0])\nprint(x)"];
  await editor.connection.sendNotification("notebookDocument/didOpen", {
    notebookDocument: {
      uri: notebook,
      notebookType: "jupyter-notebook",
      version: 1,
      cells: texts.map((_, at) => ({ kind: 2, document: cell(at) })),
    },
    cellTextDocuments: texts.map((text, at) => ({ uri: cell(at), languageId: "python", version: 1, text })),
  });
  assert.deepEqual(await editor.codes(cell(0)), []);
  const found = await editor.pull(cell(1));
  assert.deepEqual([...new Set(found.map((each) => each.code))], ["JDP204"]);
  assert.ok(found.some((each) => each.range.start.line === 1));
});

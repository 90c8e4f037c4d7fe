/** Which server is started. */

import * as assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import { install, wheelIn } from "../src/install";
import { findServer, interpreterOf, NoServer, type Surroundings } from "../src/server";
import { OF_SERVER, serverSettings, words } from "../src/settings";
import { nothing, PYTHON, temporary } from "./editor";

let folder: string;
let around: Surroundings;

beforeEach(() => {
  folder = temporary();
  around = nothing(folder);
});

afterEach(() => fs.rmSync(folder, { recursive: true }));

function script(file: string, text: string): string {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return file;
}

/** A program that answers as an interpreter does that has placement-lint installed, or not. */
function interpreter(file: string, has: boolean): string {
  return script(file, `exit ${has ? 0 : 1}`);
}

test("a command is one string or a list of them, whatever its setting is declared as", () => {
  assert.deepEqual(words("/usr/bin/python"), ["/usr/bin/python"]);
  assert.deepEqual(words(["lint", "--isolated"]), ["lint", "--isolated"]);
  assert.deepEqual([words(""), words(undefined), words([1, null]), words({})], [[], [], [], []]);
});

test("without any there is a reason, and nothing is guessed", async () => {
  await assert.rejects(findServer(around), NoServer);
});

test("the setting comes first, and is not replaced where it is wrong", async () => {
  const command = script(path.join(folder, "bin", "lint"), "");
  const workspace = interpreter(interpreterOf(path.join(folder, ".venv")), true);
  around = { ...around, folders: [folder] };
  assert.equal((await findServer(around)).command, workspace);
  const named = await findServer({ ...around, path: ["${workspaceFolder}/bin/lint", "--isolated"] });
  assert.deepEqual([named.command, ...named.args], [command, "--isolated", "server"]);
  await assert.rejects(findServer({ ...around, path: [path.join(folder, "missing")] }), /there is no program/);
  const without = interpreter(path.join(folder, "other"), false);
  await assert.rejects(findServer({ ...around, interpreter: without }), /does not have placement-lint/);
  assert.equal((await findServer({ ...around, interpreter: workspace })).command, workspace);
});

test("the workspace, the selected interpreter, the PATH and our own environment, in this order", async () => {
  const own = interpreter(interpreterOf(around.own), true);
  assert.equal((await findServer(around)).command, own);
  const onPath = script(path.join(folder, "bin", "placement-lint"), "");
  around = { ...around, environment: { PATH: `relative:${path.join(folder, "bin")}` } };
  const found = await findServer(around);
  assert.deepEqual([found.command, ...found.args], [onPath, "server"]);
  const selected = interpreter(path.join(folder, "selected"), true);
  around = { ...around, selected };
  assert.deepEqual((await findServer(around)).args, ["-m", "placement_lint", "server"]);
  assert.equal((await findServer(around)).command, selected);
  interpreter(selected, false);
  assert.equal((await findServer(around)).command, onPath, "it has no placement-lint");
});

test("nothing of a workspace is run that is not trusted", async () => {
  const workspace = path.join(folder, "workspace");
  const ran = path.join(folder, "ran");
  for (const name of [".venv/bin/python", "venv/bin/python", "selected", "bin/placement-lint"]) {
    script(path.join(workspace, name), `: > ${ran}`);
  }
  around = {
    ...around,
    folders: [workspace],
    selected: path.join(workspace, "selected"),
    environment: { PATH: path.join(workspace, "bin") },
    isTrusted: false,
  };
  await assert.rejects(findServer(around), NoServer);
  assert.ok(!fs.existsSync(ran));
  assert.equal((await findServer({ ...around, isTrusted: true })).origin, ".venv of the workspace");
});

test("the modules of a workspace are not imported to find a server", async () => {
  const ran = path.join(folder, "ran");
  fs.mkdirSync(path.join(folder, "workspace"));
  fs.writeFileSync(path.join(folder, "workspace", "placement_lint.py"), `open(${JSON.stringify(ran)}, "w")`);
  const here = process.cwd();
  process.chdir(path.join(folder, "workspace"));
  try {
    await findServer({ ...around, interpreter: PYTHON, environment: process.env });
  } finally {
    process.chdir(here);
  }
  assert.ok(!fs.existsSync(ran));
});

test("settings that nobody has set are left out", () => {
  assert.deepEqual(serverSettings(() => null), {});
  const all = serverSettings((name) => name);
  assert.deepEqual(Object.keys(all), [...OF_SERVER]);
});

test("an installation that fails leaves nothing behind", async () => {
  const said: string[] = [];
  const old = interpreter(path.join(folder, "old"), false);
  await assert.rejects(install(around.own, folder, [old], (text) => said.push(text)), /there is no Python/);
  assert.match(said.join("\n"), /old: not Python 3\.10/);
  const broken = script(path.join(folder, "broken"), '[ "$1" = -c ] || { mkdir -p "$3"; exit 1; }');
  await assert.rejects(install(around.own, folder, [broken], () => undefined));
  assert.ok(!fs.existsSync(around.own));
});

test("the server of the wheel is installed, and found", { skip: process.env["TEST_INSTALL"] === undefined }, async () => {
  const bundled = path.join(__dirname, "..", "..", "bundled");
  assert.notEqual(wheelIn(bundled), undefined, "npm run bundle");
  const base = execFileSync(PYTHON, ["-c", "import sys; print(sys._base_executable)"], { encoding: "utf8" });
  await install(around.own, bundled, [base.trim()], () => undefined);
  const found = await findServer({ ...around, environment: process.env, path: [], selected: undefined });
  assert.ok(["the environment of Install Server", "the PATH"].includes(found.origin));
});

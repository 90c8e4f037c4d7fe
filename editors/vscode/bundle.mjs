// Puts what the extension brings along beside it: the wheel of placement-lint, and the licence.

import { execFileSync } from "node:child_process";
import fs from "node:fs";

const root = new URL("../../", import.meta.url).pathname;
const python = process.env.PYTHON ?? "python3";
fs.rmSync("bundled", { recursive: true, force: true });
execFileSync(python, ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "bundled", root], {
  stdio: "inherit",
});
fs.copyFileSync(`${root}LICENSE`, "LICENSE");

/** Installs the server into an environment of its own. Nothing here needs VS Code. */

import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

import { interpreterOf } from "./server";

/** The oldest Python that placement-lint runs on. */
const OLDEST = [3, 10] as const;

/**
 * Makes a virtual environment and installs the server there: the wheel that the extension brings
 * along, or the newest release where it has none. `log` gets what is run and what it prints. Throws
 * where a step fails; the environment is deleted then.
 */
export async function install(
  environment: string,
  bundled: string,
  bases: readonly string[],
  log: (text: string) => void,
): Promise<void> {
  const base = await suitable(bases, log);
  const requirement = `${wheelIn(bundled) ?? "placement-lint"}[lsp]`;
  fs.rmSync(environment, { recursive: true, force: true });
  try {
    await run(base, ["-m", "venv", environment], log);
    const python = interpreterOf(environment);
    await run(python, ["-m", "pip", "install", "--disable-pip-version-check", requirement], log);
  } catch (error) {
    fs.rmSync(environment, { recursive: true, force: true });
    throw error;
  }
}

/** The wheel of placement-lint in a directory. */
export function wheelIn(directory: string): string | undefined {
  const names = fs.existsSync(directory) ? fs.readdirSync(directory) : [];
  const name = names.find((each) => each.startsWith("placement_lint-") && each.endsWith(".whl"));
  return name === undefined ? undefined : path.join(directory, name);
}

async function suitable(bases: readonly string[], log: (text: string) => void): Promise<string> {
  const question = `import sys, venv; sys.exit(sys.version_info < (${OLDEST.join(", ")}))`;
  for (const base of bases) {
    try {
      await run(base, ["-c", question], () => undefined);
      return base;
    } catch {
      log(`${base}: not Python ${OLDEST.join(".")} or newer with venv`);
    }
  }
  throw new Error(`there is no Python ${OLDEST.join(".")} or newer`);
}

function run(command: string, args: readonly string[], log: (text: string) => void): Promise<void> {
  log(`$ ${[command, ...args].join(" ")}`);
  return new Promise((resolve, reject) => {
    const child = execFile(command, [...args], { cwd: path.dirname(__dirname), timeout: 600_000 }, (error) =>
      error === null ? resolve() : reject(error),
    );
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (text: string) => log(text.trimEnd()));
    }
  });
}

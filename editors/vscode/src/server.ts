/** Finds the command that starts the language server. Nothing here needs VS Code. */

import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

export interface Server {
  readonly command: string;
  readonly args: readonly string[];
  /** Where it was found, for the output channel. */
  readonly origin: string;
}

export interface Surroundings {
  /** The setting `placement-lint.path`; empty: not set. */
  readonly path: readonly string[];
  /** The setting `placement-lint.interpreter`; empty: not set. */
  readonly interpreter: string;
  /** Directories of the workspace. */
  readonly folders: readonly string[];
  /** The interpreter that the Python extension has selected. */
  readonly selected: string | undefined;
  /** The environment that `install` makes. */
  readonly own: string;
  /** Whether programs of the workspace may be run. */
  readonly isTrusted: boolean;
  readonly environment: NodeJS.ProcessEnv;
  /** A directory that is not the workspace: Python imports from where it is started. */
  readonly directory: string;
}

const HAS_SERVER =
  "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('placement_lint', 'pygls'))))";
const IS_WINDOWS = process.platform === "win32";

/** The reason why there is no server, for the user. */
export class NoServer extends Error {}

/**
 * The server to start: what the settings name, or else the first of the workspace's virtual
 * environment, the selected interpreter, the `PATH`, and the environment of our own. Throws NoServer
 * if what the settings name cannot be run, or if there is none at all.
 */
export async function findServer(around: Surroundings): Promise<Server> {
  const [command, ...args] = around.path.map((part) => expanded(part, around.folders));
  if (command !== undefined) {
    const found = path.isAbsolute(command) ? executable(command) : onPath(command, around.environment);
    if (found === undefined) {
      throw new NoServer(`\`placement-lint.path\`: there is no program ${command}`);
    }
    return { command: found, args: [...args, "server"], origin: "the setting placement-lint.path" };
  }
  if (around.interpreter !== "") {
    const interpreter = expanded(around.interpreter, around.folders);
    if (!(await hasServer(interpreter, around))) {
      throw new NoServer(
        `\`placement-lint.interpreter\`: ${interpreter} does not have placement-lint[lsp] installed`,
      );
    }
    return asModule(interpreter, "the setting placement-lint.interpreter");
  }
  for (const [interpreter, origin] of interpreters(around)) {
    if (await hasServer(interpreter, around)) {
      return asModule(interpreter, origin);
    }
  }
  const found = onPath("placement-lint", around.environment);
  if (found !== undefined && (around.isTrusted || !isInside(found, around.folders))) {
    return { command: found, args: ["server"], origin: "the PATH" };
  }
  const own = interpreterOf(around.own);
  if (await hasServer(own, around)) {
    return asModule(own, "the environment of Install Server");
  }
  throw new NoServer("placement-lint is not installed where VS Code can find it");
}

/** The interpreter of a virtual environment, whether it is there or not. */
export function interpreterOf(environment: string): string {
  return path.join(environment, ...(IS_WINDOWS ? ["Scripts", "python.exe"] : ["bin", "python"]));
}

/** The interpreters to try, and what to call them. */
export function* interpreters(around: Surroundings): Generator<[string, string]> {
  if (around.isTrusted) {
    for (const folder of around.folders) {
      for (const name of [".venv", "venv"]) {
        const interpreter = interpreterOf(path.join(folder, name));
        if (executable(interpreter) !== undefined) {
          yield [interpreter, `${name} of the workspace`];
        }
      }
    }
  }
  if (around.selected !== undefined && (around.isTrusted || !isInside(around.selected, around.folders))) {
    yield [around.selected, "the selected Python interpreter"];
  }
}

/** Runs a program; gives what it wrote, or undefined if it failed. */
export function output(
  command: string,
  args: readonly string[],
  around: Pick<Surroundings, "environment" | "directory">,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { cwd: around.directory, env: around.environment, timeout: 20_000 };
    execFile(command, [...args], options, (error, text) => resolve(error === null ? text : undefined));
  });
}

async function hasServer(interpreter: string, around: Surroundings): Promise<boolean> {
  return (await output(interpreter, ["-c", HAS_SERVER], around)) !== undefined;
}

function asModule(interpreter: string, origin: string): Server {
  return { command: interpreter, args: ["-m", "placement_lint", "server"], origin };
}

function expanded(text: string, folders: readonly string[]): string {
  const home = text === "~" || text.startsWith("~/") ? os.homedir() + text.slice(1) : text;
  return home.replaceAll("${workspaceFolder}", folders[0] ?? "");
}

function executable(file: string): string | undefined {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}

function onPath(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  const directories = (environment["PATH"] ?? environment["Path"] ?? "").split(path.delimiter);
  for (const directory of directories.filter(path.isAbsolute)) {
    for (const suffix of IS_WINDOWS ? [".exe", ".cmd"] : [""]) {
      const found = executable(path.join(directory, name + suffix));
      if (found !== undefined) {
        return found;
      }
    }
  }
  return undefined;
}

function isInside(file: string, folders: readonly string[]): boolean {
  return folders.some((folder) => !path.relative(folder, file).startsWith(".."));
}

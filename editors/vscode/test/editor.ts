/** An editor without a screen: what VS Code's language client says to the server, over stdio. */

import { spawn, type ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { pathToFileURL } from "node:url";

import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type ClientCapabilities,
  type CodeAction,
  type Diagnostic,
  type DocumentDiagnosticReport,
  type Hover,
  type InitializeResult,
  type ProtocolConnection,
  type TextEdit,
  type WorkspaceEdit,
} from "vscode-languageserver-protocol/node";

import type { Server, Surroundings } from "../src/server";
import { serverSettings } from "../src/settings";

/** The interpreter of an environment with placement-lint[lsp]. */
export const PYTHON = process.env["PYTHON"] ?? "python3";

export const HAZARD = `\
import jax


def f(x, d):
    jax.device_put(x, d)
    return x
`;
export const FIXED = HAZARD.replace("    jax.", "    x = jax.");

export function temporary(): string {
  return fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "placement-lint-test-")));
}

export function uriOf(file: string): string {
  return pathToFileURL(file).toString();
}

/** Surroundings in which there is nothing. */
export function nothing(directory: string): Surroundings {
  return {
    path: [],
    interpreter: "",
    folders: [],
    selected: undefined,
    own: path.join(directory, "own"),
    isTrusted: true,
    environment: { PATH: "" },
    directory,
  };
}

const CAPABILITIES: ClientCapabilities = {
  general: { positionEncodings: ["utf-16"] },
  notebookDocument: { synchronization: { dynamicRegistration: true, executionSummarySupport: true } },
  textDocument: {
    synchronization: { didSave: true },
    publishDiagnostics: { relatedInformation: true, codeDescriptionSupport: true, dataSupport: true },
    diagnostic: { dynamicRegistration: true, relatedDocumentSupport: false },
    hover: { contentFormat: ["markdown", "plaintext"] },
    codeAction: {
      dataSupport: true,
      isPreferredSupport: true,
      resolveSupport: { properties: ["edit"] },
      codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix", "source.fixAll"] } },
    },
  },
  window: { showDocument: { support: true } },
  workspace: {
    applyEdit: true,
    configuration: true,
    didChangeConfiguration: { dynamicRegistration: true },
    diagnostics: { refreshSupport: true },
    workspaceEdit: { documentChanges: true },
    workspaceFolders: true,
  },
};

export class Editor {
  readonly applied: WorkspaceEdit[] = [];
  readonly shown: string[] = [];
  /** What the user has set, in the section `placement-lint`. */
  settings: Record<string, unknown> = {};
  private refreshed: () => void = () => undefined;

  private constructor(
    private readonly process: ChildProcess,
    readonly connection: ProtocolConnection,
    readonly server: InitializeResult,
  ) {}

  static async start(server: Server, folder: string, settings: Record<string, unknown> = {}): Promise<Editor> {
    const child = spawn(server.command, [...server.args], { stdio: ["pipe", "pipe", "inherit"] });
    const connection = createProtocolConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    connection.listen();
    let told: Record<string, unknown> = settings;
    const applied: WorkspaceEdit[] = [];
    const shown: string[] = [];
    let refreshed = (): void => undefined;
    connection.onRequest("client/registerCapability", () => null);
    connection.onRequest("workspace/configuration", (params: { items: unknown[] }) =>
      params.items.map(() => serverSettings((name) => told[name])),
    );
    connection.onRequest("workspace/applyEdit", (params: { edit: WorkspaceEdit }) => {
      applied.push(params.edit);
      return { applied: true };
    });
    connection.onRequest("window/showDocument", (params: { uri: string }) => {
      shown.push(params.uri);
      return { success: true };
    });
    connection.onRequest("workspace/diagnostic/refresh", () => {
      refreshed();
      return null;
    });
    const result: InitializeResult = await connection.sendRequest("initialize", {
      processId: process.pid,
      rootUri: uriOf(folder),
      capabilities: CAPABILITIES,
      workspaceFolders: [{ uri: uriOf(folder), name: path.basename(folder) }],
      initializationOptions: serverSettings((name) => settings[name]),
    });
    await connection.sendNotification("initialized", {});
    const editor = new Editor(child, connection, result);
    Object.assign(editor, { applied, shown });
    Object.defineProperty(editor, "settings", { set: (value) => (told = value), get: () => told });
    refreshed = () => editor.refreshed();
    return editor;
  }

  async stop(): Promise<number | null> {
    const ended = new Promise<number | null>((resolve) => this.process.once("exit", resolve));
    await this.connection.sendRequest("shutdown");
    await this.connection.sendNotification("exit");
    return ended;
  }

  async open(uri: string, text: string): Promise<void> {
    const textDocument = { uri, languageId: "python", version: 1, text };
    await this.connection.sendNotification("textDocument/didOpen", { textDocument });
  }

  async change(uri: string, version: number, text: string): Promise<void> {
    const params = { textDocument: { uri, version }, contentChanges: [{ text }] };
    await this.connection.sendNotification("textDocument/didChange", params);
  }

  /** Settings change: the server asks for them, and for the diagnostics to be asked for again. */
  async set(settings: Record<string, unknown>): Promise<void> {
    this.settings = settings;
    const isRefreshed = new Promise<void>((resolve) => (this.refreshed = resolve));
    await this.connection.sendNotification("workspace/didChangeConfiguration", { settings: null });
    await isRefreshed;
  }

  async pull(uri: string): Promise<Diagnostic[]> {
    const params = { textDocument: { uri } };
    const report: DocumentDiagnosticReport = await this.connection.sendRequest("textDocument/diagnostic", params);
    return report.kind === "full" ? report.items : [];
  }

  async codes(uri: string): Promise<string[]> {
    return (await this.pull(uri)).map((each) => String(each.code));
  }

  actions(uri: string, line: number, only?: string[]): Promise<CodeAction[]> {
    const range = { start: { line, character: 0 }, end: { line, character: 100 } };
    const context = only === undefined ? { diagnostics: [] } : { diagnostics: [], only };
    return this.connection.sendRequest("textDocument/codeAction", { textDocument: { uri }, range, context });
  }

  hover(uri: string, line: number, character: number): Promise<Hover | null> {
    return this.connection.sendRequest("textDocument/hover", {
      textDocument: { uri },
      position: { line, character },
    });
  }

  execute<T>(command: string, ...args: unknown[]): Promise<T> {
    return this.connection.sendRequest("workspace/executeCommand", { command, arguments: args });
  }
}

/** The text with the edits of a workspace edit made in it. */
export function edited(text: string, uri: string, edit: WorkspaceEdit | undefined): string {
  const edits: TextEdit[] = (edit?.documentChanges ?? []).flatMap((change) =>
    "edits" in change && change.textDocument.uri === uri ? (change.edits as TextEdit[]) : [],
  );
  const starts = [0];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\n") {
      starts.push(at + 1);
    }
  }
  const offset = (place: { line: number; character: number }): number =>
    (starts[place.line] ?? text.length) + place.character;
  return edits
    .sort((one, other) => offset(other.range.start) - offset(one.range.start))
    .reduce(
      (result, each) =>
        result.slice(0, offset(each.range.start)) + each.newText + result.slice(offset(each.range.end)),
      text,
    );
}

/** The extension: starts the server, and offers commands. */

import * as path from "node:path";

import * as vscode from "vscode";
import {
  LanguageClient,
  ResponseError,
  RevealOutputChannelOn,
  State,
  type LanguageClientOptions,
} from "vscode-languageclient/node";

import { install } from "./install";
import { onOtherInterpreter, selectedInterpreter } from "./python";
import { findServer, NoServer, type Surroundings } from "./server";
import { AT_START, serverSettings, words } from "./settings";

const SECTION = "placement-lint";
const EXPLAIN = "placement-lint.explain";
const FIX_ALL = "placement-lint.fixAll";
const RULES = "placement-lint.rules";
const STOP_PATIENCE = 5_000;

interface Rule {
  readonly code: string;
  readonly name: string;
  readonly summary: string;
}

let session: Session | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  session = new Session(context);
  await session.start();
}

export async function deactivate(): Promise<void> {
  await session?.stop();
}

/** One server at a time, started again when it has to be. */
class Session {
  private readonly output = vscode.window.createOutputChannel("placement-lint", { log: true });
  private client: LanguageClient | undefined;
  /** Starts and stops run one after the other. */
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly context: vscode.ExtensionContext) {
    const command = (name: string, act: (...args: never[]) => unknown): vscode.Disposable =>
      vscode.commands.registerCommand(`${SECTION}.${name}`, act);
    context.subscriptions.push(
      this.output,
      command("applyAllSafeFixes", () => this.applyAllSafeFixes()),
      command("explainRule", (code?: string) => this.explainRule(code)),
      command("restartServer", () => this.restart("asked for")),
      command("showOutput", () => this.output.show()),
      command("installServer", () => this.install()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        const changed = AT_START.find((name) => event.affectsConfiguration(`${SECTION}.${name}`));
        if (changed !== undefined) {
          void this.restart(`${SECTION}.${changed} has changed`);
        }
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.restart("the workspace is trusted")),
    );
    void onOtherInterpreter(() => this.restart("another interpreter is selected")).then(
      (listener) => listener && context.subscriptions.push(listener),
    );
  }

  start(): Promise<void> {
    this.last = this.last.then(() => this.launch());
    return this.last;
  }

  stop(): Promise<void> {
    this.last = this.last.then(async () => {
      const client = this.client;
      this.client = undefined;
      if (client !== undefined && client.state !== State.Stopped) {
        await client.stop(STOP_PATIENCE).catch((error: unknown) => this.output.warn(String(error)));
      }
      await client?.dispose();
    });
    return this.last;
  }

  private async restart(reason: string): Promise<void> {
    this.output.info(`restarting the server: ${reason}`);
    await this.stop();
    await this.start();
  }

  private async surroundings(): Promise<Surroundings> {
    const settings = vscode.workspace.getConfiguration(SECTION);
    return {
      path: words(settings.get("path")),
      interpreter: words(settings.get("interpreter"))[0] ?? "",
      folders: (vscode.workspace.workspaceFolders ?? [])
        .filter((folder) => folder.uri.scheme === "file")
        .map((folder) => folder.uri.fsPath),
      selected: await selectedInterpreter().catch(() => undefined),
      own: this.ownEnvironment,
      isTrusted: vscode.workspace.isTrusted,
      environment: process.env,
      directory: this.context.extensionPath,
    };
  }

  private get ownEnvironment(): string {
    return path.join(this.context.globalStorageUri.fsPath, "server");
  }

  private async launch(): Promise<void> {
    try {
      const server = await findServer(await this.surroundings());
      this.output.info(`${server.command} ${server.args.join(" ")} (${server.origin})`);
      const executable = {
        command: server.command,
        args: [...server.args],
        options: { cwd: this.context.extensionPath },
      };
      const client = new LanguageClient(SECTION, "placement-lint", executable, this.options());
      this.client = client;
      await client.start();
      const told = client.initializeResult?.serverInfo;
      this.output.info(`${told?.name ?? "server"} ${told?.version ?? ""} is running`);
    } catch (error) {
      this.client = undefined;
      this.output.error(error instanceof Error ? error.message : String(error));
      void this.offerHelp(error);
    }
  }

  private async offerHelp(error: unknown): Promise<void> {
    const isMissing = error instanceof NoServer;
    const message = isMissing ? error.message : "the server could not be started";
    const choices = ["Install Server", "Show Output", "Settings"];
    const choice = await vscode.window.showWarningMessage(
      `placement-lint: ${message}.`,
      ...choices.slice(isMissing ? 0 : 1),
    );
    if (choice === "Install Server") {
      await this.install();
    } else if (choice === "Show Output") {
      this.output.show();
    } else if (choice === "Settings") {
      await vscode.commands.executeCommand("workbench.action.openSettings", SECTION);
    }
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "untitled", language: "python" },
        { scheme: "vscode-notebook-cell", language: "python" },
      ],
      outputChannel: this.output,
      traceOutputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: this.serverSettings(),
      middleware: {
        workspace: {
          // The section has settings that are not the server's.
          configuration: (params) => params.items.map(() => this.serverSettings()),
          didChangeConfiguration: async () => {
            await this.client?.sendNotification("workspace/didChangeConfiguration", { settings: null });
          },
        },
        window: {
          showDocument: async (params, next) => {
            if (!isPage(params.uri)) {
              const answer = await next(params, new vscode.CancellationTokenSource().token);
              return answer instanceof ResponseError ? { success: false } : answer;
            }
            await vscode.commands.executeCommand("markdown.showPreview", vscode.Uri.parse(params.uri));
            return { success: true };
          },
        },
      },
    };
  }

  private serverSettings(): Record<string, unknown> {
    const settings = vscode.workspace.getConfiguration(SECTION);
    return serverSettings((name) => settings.get(name));
  }

  private async ask<T>(command: string, ...args: unknown[]): Promise<T | undefined> {
    if (this.client?.state !== State.Running) {
      void this.offerHelp(undefined);
      return undefined;
    }
    return this.client.sendRequest<T>("workspace/executeCommand", { command, arguments: args });
  }

  private async applyAllSafeFixes(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    if (document === undefined) {
      return;
    }
    const isChanged = await this.ask<boolean>(FIX_ALL, document.uri.toString());
    if (isChanged === false) {
      vscode.window.setStatusBarMessage("placement-lint: no safe fixes to apply", 5_000);
    }
  }

  private async explainRule(code: string | undefined): Promise<void> {
    const chosen = code ?? (await this.chooseRule());
    if (chosen !== undefined) {
      await this.ask<string>(EXPLAIN, chosen);
    }
  }

  /** Rules that are reported on the current line come first. */
  private async chooseRule(): Promise<string | undefined> {
    const rules = (await this.ask<Rule[]>(RULES)) ?? [];
    const here = codesAtCursor();
    const items = rules
      .map((rule) => ({ label: rule.code, description: rule.name, detail: rule.summary }))
      .sort((one, other) => Number(here.has(other.label)) - Number(here.has(one.label)));
    if (items.length === 0) {
      return undefined;
    }
    const chosen = await vscode.window.showQuickPick(items, {
      placeHolder: "The rule to explain",
      matchOnDescription: true,
      matchOnDetail: true,
    });
    return chosen?.label;
  }

  private async install(): Promise<void> {
    const selected = await selectedInterpreter().catch(() => undefined);
    const named = process.platform === "win32" ? ["py", "python"] : ["python3", "python"];
    const bases = selected !== undefined && vscode.workspace.isTrusted ? [selected, ...named] : named;
    const bundled = path.join(this.context.extensionPath, "bundled");
    const title = "Installing placement-lint";
    await this.stop();
    try {
      await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () =>
        install(this.ownEnvironment, bundled, bases, (text) => this.output.info(text)),
      );
    } catch (error) {
      this.output.error(String(error));
      void this.offerHelp(error);
      return;
    }
    await this.start();
  }
}

/** Whether a document is the page of a rule, which the server wrote to a temporary directory. */
function isPage(uri: string): boolean {
  return /\/placement-lint-[^/]+\/JDP\d+\.md$/.test(uri);
}

function codesAtCursor(): Set<string> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return new Set();
  }
  const line = editor.selection.active.line;
  const here = vscode.languages
    .getDiagnostics(editor.document.uri)
    .filter((each) => each.source === SECTION && each.range.start.line <= line && line <= each.range.end.line);
  return new Set(here.map(codeOf));
}

function codeOf(diagnostic: vscode.Diagnostic): string {
  const code = diagnostic.code;
  return String(typeof code === "object" ? code.value : code);
}

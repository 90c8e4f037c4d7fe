/** What the Python extension knows, if it is installed. */

import * as vscode from "vscode";

interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: { readonly path: string }): Promise<
      { readonly executable: { readonly uri?: vscode.Uri } } | undefined
    >;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function api(): Promise<PythonExtension["environments"]> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  if (extension === undefined) {
    return undefined;
  }
  return (extension.isActive ? extension.exports : await extension.activate()).environments;
}

/** The path of the interpreter that is selected for the workspace. */
export async function selectedInterpreter(): Promise<string | undefined> {
  const environments = await api();
  const active = environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri);
  const found = active === undefined ? undefined : await environments?.resolveEnvironment(active);
  return found?.executable.uri?.fsPath;
}

/** Calls back when another interpreter is selected. */
export async function onOtherInterpreter(act: () => void): Promise<vscode.Disposable | undefined> {
  return (await api())?.onDidChangeActiveEnvironmentPath(act);
}

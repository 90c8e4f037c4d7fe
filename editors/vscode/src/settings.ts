/** The settings that the server gets. Nothing here needs VS Code. */

/** Those that the server knows; the others of the section are about how it is started. */
export const OF_SERVER = [
  "diagnosticMode",
  "inlayHints",
  "select",
  "extendSelect",
  "ignore",
  "extendIgnore",
  "perFileIgnores",
  "extendExclude",
  "targetJax",
  "accelerator",
  "minConfidence",
] as const;

/**
 * The words of a command in a setting: a list of strings, or one string. VS Code hands over a value of
 * another type than the declared one as it is, and other extensions take lists where this takes a string.
 */
export function words(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((each): each is string => typeof each === "string" && each !== "");
}

/** Settings that take effect only when the server starts. */
export const AT_START = ["path", "interpreter", "diagnosticMode"] as const;

/**
 * What the server is told. A setting that nobody has set is left out: the project's own settings
 * hold then, which an empty list would replace.
 */
export function serverSettings(get: (name: string) => unknown): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  for (const name of OF_SERVER) {
    const value = get(name);
    if (value !== undefined && value !== null) {
      told[name] = value;
    }
  }
  return told;
}

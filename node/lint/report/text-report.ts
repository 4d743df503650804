import type { LintedFile } from "./lint-document.ts";

/** Findings for a person: a line each, with place and fix. A file that could not be read is told of elsewhere. */
export function textReport(files: readonly LintedFile[]): string {
  return files
    .filter(({ error }) => error === undefined)
    .map(fileText)
    .join("");
}

function fileText({ configPath, findings }: LintedFile): string {
  if (findings.length === 0) return `${configPath}: nothing to mend.\n`;
  const lines = findings.map(({ line, column, path, message, fix, rule }) => {
    const subject = path === "" ? message : `${path} ${message}`;
    return visible(`${configPath}:${line}:${column}: ${subject} Fix: ${fix} [${rule}]`);
  });
  const count = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  return `${lines.join("\n")}\n${count}.\n`;
}

/** Control characters as JSON writes them: a file's key can neither move a terminal's cursor nor begin a line of a pipeline's log. */
function visible(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

import { lintRules } from "../lint-rules.ts";
import type { LintedFile } from "./lint-document.ts";
import { findLocationInRepository } from "./repository-location.ts";

/** GitHub shows at most ten errors and ten warnings per step (docs.github.com, "Workflow commands for GitHub Actions"). */
export function formatGithubReport(files: readonly LintedFile[], repository: string): string {
  return files
    .flatMap((file) => formatCommands(file, findLocationInRepository(file.configPath, repository).path))
    .join("");
}

function formatCommands({ findings, error }: LintedFile, file: string): readonly string[] {
  if (error !== undefined) {
    return [formatCommand("error", { file, title: "gatehouse config lint" }, `can't be read (${error}).`)];
  }
  return findings.map(({ rule, line, column, path, message, fix }) => {
    const subject = path === "" ? message : `${path} ${message}`;
    const properties = { file, line, col: column, title: `gatehouse config lint: ${rule}` };
    return formatCommand(lintRules[rule].level, properties, `${subject} Fix: ${fix}`);
  });
}

function formatCommand(name: string, properties: Readonly<Record<string, string | number>>, message: string): string {
  const list = Object.entries(properties).map(([key, value]) => `${key}=${escapeProperty(`${value}`)}`);
  return `::${name} ${list.join(",")}::${escapeData(message)}\n`;
}

/** Escapes text in the way that the runner unescapes it. A line break would end the command, and the rest could be interpreted as another command. */
function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

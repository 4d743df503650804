import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { formatShellWords } from "#daemon/command-line/shell-word.ts";
import { readBodyStart } from "#daemon/bytes.ts";
import { readRegularFile, RegularFileError, explainUnreadable } from "#daemon/files/regular-file.ts";
import { version as toolVersion } from "#daemon/version.ts";
import { parseNodeVersion, type NodeVersion } from "../versions.ts";
import { lintConfig } from "./lint-config.ts";
import { formatGithubReport } from "./report/github-report.ts";
import type { LintDocument, LintedFile } from "./report/lint-document.ts";
import { standardInput } from "./report/repository-location.ts";
import { formatSarifReport } from "./report/sarif-report.ts";

export type LintCommandOptions = Readonly<{
  /** Files; `-` is standard input. */
  configPaths: readonly string[];
  nodeVersion?: string | undefined;
  /** Output format: for humans, programs, code scanning, or a GitHub workflow log. */
  format: "text" | "json" | "sarif" | "github";
  /** URL of the directory `docs/`, which SARIF logs link to. */
  docsUrl: string;
  /** Checkout directory, to which file names are relative in reports for a forge. */
  repository: string;
}>;

type Dependencies = Readonly<{ output: CommandOutput; stdin: AsyncIterable<Uint8Array> }>;

/** A node.conf is never larger than this. */
const limitBytes = 16_777_216;

/** Returns 0 without findings, 2 with findings, 1 if a file can't be read or an option is invalid. */
export async function runLintCommand(options: LintCommandOptions, { output, stdin }: Dependencies): Promise<number> {
  const { configPaths, nodeVersion, docsUrl } = options;
  const version = nodeVersion === undefined ? undefined : parseNodeVersion(nodeVersion);
  if (nodeVersion !== undefined && version === undefined) {
    output.error(`lint: --node-version "${nodeVersion}" is not a version; expected one such as 0.16.2.\n`);
    return exitStatus.error;
  }
  if (!/^https?:$/.test(URL.parse(docsUrl)?.protocol ?? "")) {
    output.error(
      `lint: --docs-url "${docsUrl}" is not a URL; expected one such as https://git.example/gatehouse/docs.\n`,
    );
    return exitStatus.error;
  }
  const files: LintedFile[] = [];
  for (const configPath of new Set(configPaths)) {
    const file = await lintFile(configPath, version, stdin);
    if (file.error !== undefined)
      output.error(`lint: ${configPath} can't be read (${file.error}); expected a node's configuration file.\n`);
    files.push(file);
  }
  const status = decideStatus(files);
  output.out(render(files, options, status));
  return status;
}

async function lintFile(
  configPath: string,
  version: NodeVersion | undefined,
  stdin: Dependencies["stdin"],
): Promise<LintedFile> {
  try {
    const bytes =
      configPath === standardInput ? await readAll(stdin) : (await readRegularFile(configPath, limitBytes)).bytes;
    return { configPath, findings: lintConfig(bytes, version) };
  } catch (error) {
    return { configPath, findings: [], error: explainUnreadable(error) };
  }
}

async function readAll(stdin: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const { bytes, isTruncated } = await readBodyStart(stdin, limitBytes);
  if (isTruncated) throw new RegularFileError("too_large", `it is larger than ${limitBytes} bytes`);
  return bytes;
}

function decideStatus(files: readonly LintedFile[]): number {
  if (files.some(({ error }) => error !== undefined)) return exitStatus.error;
  return files.some(({ findings }) => findings.length > 0) ? exitStatus.drift : exitStatus.clean;
}

function render(files: readonly LintedFile[], options: LintCommandOptions, status: number): string {
  const { format, repository, docsUrl } = options;
  switch (format) {
    case "text":
      return formatTextReport(files, options);
    case "github":
      return formatGithubReport(files, repository);
    case "json":
      return formatJson(buildDocument(files));
    case "sarif":
      return formatJson(formatSarifReport(files, { toolVersion, docsUrl, repository, exitStatus: status }));
  }
}

function buildDocument(files: readonly LintedFile[]): LintDocument {
  const [first, ...others] = files;
  if (first === undefined || others.length > 0) return { files };
  return { configPath: first.configPath, findings: first.findings, files };
}

function formatJson(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Formats findings as text, one per line, with position and fix. Unreadable files are reported elsewhere. */
function formatTextReport(files: readonly LintedFile[], { nodeVersion }: LintCommandOptions): string {
  const linted = files.filter(({ error }) => error === undefined);
  const advice =
    nodeVersion === undefined && linted.length > 0
      ? "To check the names of the metrics keys too, add --node-version with the node's version.\n"
      : linted.flatMap((file) => formatCorrection(file, nodeVersion)).join("");
  return `${linted.map(formatFile).join("")}${advice}`;
}

/** The command that corrects those findings that have an automatic fix. */
function formatCorrection({ configPath, findings }: LintedFile, nodeVersion: string | undefined): string[] {
  if (configPath === standardInput || findings.every(({ rule }) => rule !== "other-version")) return [];
  const words = ["config", "plan", "--config", configPath, "--node-version", String(nodeVersion), "--write"];
  return [`To rename the metrics keys: ${formatOwnCommand(process.cwd())} ${formatShellWords(words)}\n`];
}

function formatFile({ configPath, findings }: LintedFile): string {
  if (findings.length === 0) return `${configPath}: no findings.\n`;
  const lines = findings.map(({ line, column, path, message, fix, rule }) => {
    const subject = path === "" ? message : `${path} ${message}`;
    return escapeControlCharacters(`${configPath}:${line}:${column}: ${subject} Fix: ${fix} [${rule}]`);
  });
  const count = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  return `${lines.join("\n")}\n${count}.\n`;
}

/** Escapes control characters as in JSON, so that a key in the file can neither move a terminal's cursor nor start a new line in a pipeline's log. */
function escapeControlCharacters(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

import { readRegularFile, RegularFileError } from "#daemon/files/regular-file.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-output.ts";
import type { LintFinding } from "./finding.ts";
import { lintConfig } from "./lint-config.ts";
import { parseNodeVersion } from "../versions.ts";

/** What `gatehouse lint` is asked. */
export type LintCommandOptions = Readonly<{ configPath: string; nodeVersion?: string | undefined; json: boolean }>;

/** Larger files are no node.conf. */
const limitBytes = 16_777_216;

/**
 * Prints what is wrong in a node.conf, with line, column and fix. Returns the exit status: 0 nothing, 2 findings, 1 the file or
 * the version can't be read.
 */
export async function lintCommand(options: LintCommandOptions, output: CommandOutput): Promise<number> {
  const { configPath, nodeVersion } = options;
  const version = nodeVersion === undefined ? undefined : parseNodeVersion(nodeVersion);
  if (nodeVersion !== undefined && version === undefined) {
    output.error(`lint: --node-version "${nodeVersion}" is no version; expected one such as 0.16.2.\n`);
    return exitStatus.error;
  }
  let bytes: Uint8Array;
  try {
    ({ bytes } = await readRegularFile(configPath, limitBytes));
  } catch (error) {
    const why =
      error instanceof RegularFileError ? error.message : ((error as NodeJS.ErrnoException).code ?? String(error));
    output.error(`lint: ${configPath} can't be read (${why}); name a node.conf.\n`);
    return exitStatus.error;
  }
  const findings = lintConfig(bytes, version);
  if (options.json) output.out(`${JSON.stringify({ configPath, findings }, null, 2)}\n`);
  else output.out(findings.length === 0 ? `${configPath}: nothing to mend.\n` : render(configPath, findings));
  return findings.length === 0 ? exitStatus.clean : exitStatus.drift;
}

function render(configPath: string, findings: readonly LintFinding[]): string {
  const lines = findings.map(({ line, column, path, message, fix, rule }) => {
    const subject = path === "" ? message : `${path} ${message}`;
    return `${configPath}:${line}:${column}: ${subject} Fix: ${fix} [${rule}]`;
  });
  const count = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  return `${lines.join("\n")}\n${count}.\n`;
}

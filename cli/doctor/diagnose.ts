import { exitStatus, type CommandOutput } from "#daemon/command-output.ts";
import { driftOf } from "./drift.ts";
import { findingLines, statusOf, type Finding } from "./finding.ts";
import { readStackOutputs } from "./stack-outputs.ts";

/** What `gatehouse doctor` looks at. */
export type DiagnoseOptions = Readonly<{ outputs: string; urls: Readonly<Record<string, string>>; json: boolean }>;

/** Looks, prints what was found, and returns the exit status. */
export async function diagnose(
  { outputs, urls, json }: DiagnoseOptions,
  { out, error }: CommandOutput,
): Promise<number> {
  let findings: readonly Finding[];
  try {
    findings = await driftOf(readStackOutputs(outputs, urls));
  } catch (problem) {
    error(`doctor: ${(problem as Error).message}\n`);
    return exitStatus.error;
  }
  out(json ? `${JSON.stringify({ findings }, undefined, 2)}\n` : findingLines(findings));
  return statusOf(findings);
}

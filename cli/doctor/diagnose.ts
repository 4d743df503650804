import { driftOf } from "./drift.ts";
import { doctorStatus, findingLines, statusOf, type Finding } from "./finding.ts";
import { readStackOutputs } from "./stack-outputs.ts";

/** What `gatehouse doctor` looks at. */
export type DiagnoseOptions = Readonly<{ outputs: string; urls: Readonly<Record<string, string>>; json: boolean }>;

/** Looks, prints what was found, and returns the exit status. */
export async function diagnose(
  { outputs, urls, json }: DiagnoseOptions,
  { out, error }: Readonly<{ out: (text: string) => void; error: (text: string) => void }>,
): Promise<number> {
  let findings: readonly Finding[];
  try {
    findings = await driftOf(readStackOutputs(outputs, urls));
  } catch (problem) {
    error(`doctor: ${(problem as Error).message}\n`);
    return doctorStatus.unknown;
  }
  out(json ? `${JSON.stringify({ findings }, undefined, 2)}\n` : findingLines(findings));
  return statusOf(findings);
}

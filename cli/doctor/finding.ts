import { exitStatus } from "#daemon/command-line/command-output.ts";
import type { InspectedService } from "./inspect-service.ts";

export type Finding = Readonly<{
  check: string;
  subject: string;
  /** `unknown`: the check could not run, so there may be a problem; `skipped`: not requested. */
  state: "ok" | "failed" | "unknown" | "skipped";
  /** Description of the state; for `failed` and `unknown`, also the remedy. */
  message: string;
}>;

export type Judgement = readonly [state: Finding["state"], message: string];

/** A read-only check of one service, which finishes within its own deadlines. `all`: the services checked with it. */
export type Check = (
  service: InspectedService,
  all: readonly InspectedService[],
) => Iterable<Judgement> | AsyncIterable<Judgement>;

/** Returns the exit status for all findings; `failed` outranks `unknown`. */
export function toExitStatus(findings: readonly Finding[]): number {
  const has = (state: Finding["state"]) => findings.some((finding) => finding.state === state);
  if (has("failed")) return exitStatus.drift;
  return has("unknown") ? exitStatus.error : exitStatus.clean;
}

/** Formats findings as human-readable lines, `failed` first. */
export function formatFindings(findings: readonly Finding[]): string {
  const order = ["failed", "unknown", "skipped", "ok"] as const;
  const sortedFindings = findings.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const lines = sortedFindings.map(
    ({ check, subject, state, message }) => `${state}: ${check}: ${subject}: ${message}\n`,
  );
  const counts = order.map((state) => `${findings.filter((finding) => finding.state === state).length} ${state}`);
  return `${lines.join("")}${counts.join(", ")}\n`;
}

import { exitStatus } from "#daemon/command-line/command-output.ts";

/** What one look of `gatehouse doctor` found. */
export type Finding = Readonly<{
  /** The look, e.g. `drift`. */
  check: string;
  /** What was looked at: a service of the stack. */
  subject: string;
  /** `unknown`: it could not be looked at, which is not the same as nothing found; `unasked`: nobody wanted it looked at. */
  state: "right" | "wrong" | "unknown" | "unasked";
  /** What is so, and of what is wrong or unknown what to do. */
  message: string;
}>;

/** The exit status of all findings together: what is wrong is worth more than what could not be looked at. */
export function toExitStatus(findings: readonly Finding[]): number {
  const has = (state: Finding["state"]) => findings.some((finding) => finding.state === state);
  if (has("wrong")) return exitStatus.drift;
  return has("unknown") ? exitStatus.error : exitStatus.clean;
}

/** Findings as lines for a person, what is wrong first. */
export function formatFindings(findings: readonly Finding[]): string {
  const order = ["wrong", "unknown", "unasked", "right"] as const;
  const sorted = findings.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return sorted.map(({ check, subject, state, message }) => `${state}: ${check}: ${subject}: ${message}\n`).join("");
}

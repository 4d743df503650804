import { exitStatus } from "#daemon/command-line/command-output.ts";

/** One result of a check of `gatehouse doctor`. */
export type Finding = Readonly<{
  /** The look, e.g. `drift`. */
  check: string;
  /** What was looked at: a service of the stack. */
  subject: string;
  /** `unknown`: it could not be looked at, which is not the same as nothing found; `skipped`: nobody requested it. */
  state: "right" | "wrong" | "unknown" | "skipped";
  /** The state in words, and for `wrong` and `unknown` what to do. */
  message: string;
}>;

/** The exit status of all findings together: `wrong` outranks `unknown`. */
export function toExitStatus(findings: readonly Finding[]): number {
  const has = (state: Finding["state"]) => findings.some((finding) => finding.state === state);
  if (has("wrong")) return exitStatus.drift;
  return has("unknown") ? exitStatus.error : exitStatus.clean;
}

/** Findings as lines for a person, what is wrong first. */
export function formatFindings(findings: readonly Finding[]): string {
  const order = ["wrong", "unknown", "skipped", "right"] as const;
  const sorted = findings.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return sorted.map(({ check, subject, state, message }) => `${state}: ${check}: ${subject}: ${message}\n`).join("");
}

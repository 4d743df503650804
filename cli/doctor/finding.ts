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

/** Exit statuses of `gatehouse doctor`, as those of `lint` and `plan`. */
export const doctorStatus = { right: 0, unknown: 1, wrong: 2 } as const;

/** The exit status of all findings together: what is wrong is worth more than what could not be looked at. */
export function statusOf(findings: readonly Finding[]): number {
  const has = (state: Finding["state"]) => findings.some((finding) => finding.state === state);
  if (has("wrong")) return doctorStatus.wrong;
  return has("unknown") ? doctorStatus.unknown : doctorStatus.right;
}

/** Findings as lines for a person, what is wrong first. */
export function findingLines(findings: readonly Finding[]): string {
  const order = ["wrong", "unknown", "unasked", "right"] as const;
  const sorted = findings.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return sorted.map(({ check, subject, state, message }) => `${state}: ${check}: ${subject}: ${message}\n`).join("");
}

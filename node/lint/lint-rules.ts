/** Level and summary of a rule, used in lists of findings. */
type RuleSummary = Readonly<{
  /** `error`: the node would not start, or would not behave as the file specifies. `warning`: the node may run, but with unexpected results. */
  level: "error" | "warning";
  /** One sentence. `docs/lint.md` has the details, under a heading with the rule's name. */
  summary: string;
}>;

/** Rules of `gatehouse config lint`, in the order of `docs/lint.md`. */
export const lintRules = {
  unreadable: { level: "error", summary: "The text is not a JSON object with a chain section." },
  "too-large": { level: "warning", summary: "The file exceeds the sidecar's size limit." },
  json5: { level: "warning", summary: "JSON5 is readable, but can't be corrected in place." },
  "duplicate-key": { level: "error", summary: "An object has a duplicate key." },
  "missing-key": { level: "error", summary: "A required key is missing." },
  "wrong-type": { level: "error", summary: "A value has a type or range that the node does not accept." },
  "port-clash": { level: "error", summary: "Two listeners have the same port." },
  "push-address": { level: "error", summary: "The Pushgateway's address contains more than a host." },
  "other-version": { level: "error", summary: "A metrics key has another node version's name." },
  "lone-switch": { level: "error", summary: "Metrics pushing is enabled, but all of its other keys are missing." },
  "older-release": { level: "error", summary: "The file, or part of it, has an earlier release's format." },
  "unknown-key": { level: "warning", summary: "No node version uses this metrics key." },
  secret: { level: "error", summary: "The file contains a secret." },
} as const satisfies Readonly<Record<string, RuleSummary>>;

export type LintRule = keyof typeof lintRules;

export type LintFinding = Readonly<{
  rule: LintRule;
  /** 1-based. */
  line: number;
  column: number;
  /** Path of keys, e.g. `chain.monitor_config`; empty if the finding concerns the whole file. */
  path: string;
  /** The problem and the expected value. Never contains anything that may be a secret. */
  message: string;
  fix: string;
}>;

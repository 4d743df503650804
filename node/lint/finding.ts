/** One thing that is wrong in a node.conf. */
export type LintFinding = Readonly<{
  rule: LintRule;
  /** 1-based. */
  line: number;
  column: number;
  /** Path of keys, e.g. `chain.monitor_config`; empty for the file as a whole. */
  path: string;
  /** What is wrong and what was expected. Never holds a value that may be secret. */
  message: string;
  /** What to do. */
  fix: string;
}>;

export type LintRule =
  | "unreadable"
  | "json5"
  | "duplicate-key"
  | "missing-key"
  | "wrong-type"
  | "port-clash"
  | "push-address"
  | "other-version"
  | "unknown-key"
  | "secret";

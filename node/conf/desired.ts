/** What metrics pushing is to be. An absent value keeps what the file has under any naming. */
export type DesiredMonitor = Readonly<{
  enabled: boolean;
  jobName?: string | undefined;
  /** Without protocol and port. */
  pushAddress?: string | undefined;
  pushPort?: number | undefined;
  pushIntervalSeconds?: number | undefined;
  /** Used when neither a setting nor the file has a value. */
  fallback: Readonly<{
    jobName?: string | undefined;
    pushAddress?: string | undefined;
    pushPort: number;
    pushIntervalSeconds: number;
  }>;
}>;

/** What the node is to be; made from settings alone. */
export type Desired = Readonly<{
  monitor: DesiredMonitor;
  prune: Readonly<{ enabled: boolean }>;
  /** What to do with a node.conf in JSON5, which can't be edited in place. */
  json5: "refuse" | "rewrite";
}>;

/** Start of a scheduled upgrade: at a time (wall clock), at a height of the chain, or when `upgrade.window` opens. */
export type UpgradeStart = Readonly<
  { kind: "time"; atMs: number } | { kind: "height"; height: number } | { kind: "window" }
>;

/** An upgrade that a person has agreed to and that begins by itself. */
export type ScheduledUpgrade = Readonly<{
  /** Request whose release is checked again when its time comes. */
  asked: Readonly<{ source: string; version?: string | undefined }>;
  from: string;
  to: string;
  /** Digest of the plan that was agreed to: another plan does not begin. */
  digest: string;
  start: UpgradeStart;
  /** Wall clock; distinguishes this one from an earlier one. */
  acceptedMs: number;
  /** Reason why it did not begin when its time came; it is not tried any more. */
  notBegun?: string | undefined;
}>;

export type ConfigProblemReason =
  | "FileMissing"
  | "Unreadable"
  | "NotAFile"
  | "Empty"
  | "TooLarge"
  | "NotText"
  | "TooDeep"
  | "Truncated"
  | "NotAnObject"
  | "NoChain"
  | "Unresponsive";

/** Max size of a node.conf that the sidecar reads. */
export const configLimitBytes = 65_536;

const uselessToNode: ReadonlySet<ConfigProblemReason> = new Set([
  "FileMissing",
  "NotAFile",
  "Empty",
  "NotText",
  "TooDeep",
  "Truncated",
  "NotAnObject",
  "NoChain",
]);

/** Returns whether no node can start with this problem. A file that this user can't read, or that is too large for the sidecar, may still be valid. */
export function isUnusableByNode(reason: ConfigProblemReason): boolean {
  return uselessToNode.has(reason);
}

/** Returns whether the last good content may replace the current content: the current content can be backed up, or there is none. */
export function isReplaceable(reason: ConfigProblemReason): boolean {
  return isUnusableByNode(reason) && reason !== "NotAFile";
}

/** A position in a text; line and column are 1-based, as in editors. */
export type TextPosition = Readonly<{ line: number; column: number }>;

/** Problem with a node.conf: description, position and fix. `message` is self-contained. */
export type ConfigProblem = Readonly<{
  reason: ConfigProblemReason;
  message: string;
  /** 1-based; absent if the problem concerns the whole file. */
  line?: number;
  column?: number;
}>;

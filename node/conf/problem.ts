/** Reason why a node.conf can't be used. */
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

/** Whether no node can start with it, whoever reads it. What this user can't read, or is too large for the sidecar, may still be right. */
export function isUselessToNode(reason: ConfigProblemReason): boolean {
  return uselessToNode.has(reason);
}

/** Whether the last good content may be written in its place: a copy can be kept of what stands there, or nothing does. */
export function isReplaceable(reason: ConfigProblemReason): boolean {
  return isUselessToNode(reason) && reason !== "NotAFile";
}

/** A place in a text as editors count: both from 1. */
export type TextPosition = Readonly<{ line: number; column: number }>;

/** Problem of a node.conf: what is wrong, where, and what to do; `message` stands alone. */
export type ConfigProblem = Readonly<{
  reason: ConfigProblemReason;
  message: string;
  /** 1-based; absent if the file as a whole is meant. */
  line?: number;
  column?: number;
}>;

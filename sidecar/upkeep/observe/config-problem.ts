/** Why a node.conf can't be used. */
export type ConfigProblemReason =
  | "Vanished"
  | "Unreadable"
  | "Empty"
  | "TooLarge"
  | "NotText"
  | "TooDeep"
  | "HalfWritten"
  | "NotAnObject"
  | "NoChain";

/** What is wrong with a node.conf, where, and what to do; `message` stands alone. */
export type ConfigProblem = Readonly<{
  reason: ConfigProblemReason;
  message: string;
  /** 1-based; absent when the file as a whole is meant. */
  line?: number;
  column?: number;
}>;

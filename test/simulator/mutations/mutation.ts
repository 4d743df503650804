/** Small fault in the real code. */
export type Mutation = Readonly<{
  /** What is wrong then. */
  fault: string;
  /** File with the code, from the repository's root. */
  file: string;
  /** Text to find, which the file has once, and what replaces it. */
  edits: Readonly<Record<string, string>>;
  /** Why no run can notice it, if none does. */
  unnoticed?: string;
}>;

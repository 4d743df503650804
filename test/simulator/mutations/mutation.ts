/** Small fault in the real code. */
export type Mutation = Readonly<{
  /** Effect of the fault. */
  fault: string;
  /** File with the code, relative to the repository's root. */
  file: string;
  /** Text to find, which occurs once in the file, and its replacement. */
  edits: Readonly<Record<string, string>>;
  /** Why no run can detect it, if none does. */
  unnoticed?: string;
}>;

/** Output of a command, passed in. */
export type CommandOutput = Readonly<{
  out: (text: string) => void;
  error: (text: string) => void;
  /** Whether a person's terminal reads it. */
  isColored: boolean;
}>;

/** Exit statuses of commands, for pipelines. */
export const exitStatus = { clean: 0, error: 1, drift: 2 } as const;

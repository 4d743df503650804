export type CommandOutput = Readonly<{
  out: (text: string) => void;
  error: (text: string) => void;
  /** Whether the output is a user's terminal. */
  isColored: boolean;
}>;

/** Exit statuses of commands, for pipelines. */
export const exitStatus = { clean: 0, error: 1, drift: 2 } as const;

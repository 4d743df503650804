import { styleText } from "node:util";

export type CommandOutput = Readonly<{
  out: (text: string) => void;
  error: (text: string) => void;
  /** Whether the output is a user's terminal. */
  isColored: boolean;
}>;

/** Exit statuses of commands, for pipelines. */
export const exitStatus = { clean: 0, error: 1, drift: 2 } as const;

/** Colours text if the terminal supports it; otherwise returns the text unchanged. */
export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

export function createPaint(isColored: boolean): Paint {
  return (format, text) => (isColored ? styleText(format, text, { validateStream: false }) : text);
}

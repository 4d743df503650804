import type { CommandOutput } from "../command-line/command-output.ts";

/** A command's output, and what it has printed so far. */
export function captureOutput() {
  let printed = "";
  let errors = "";
  const output: CommandOutput = {
    out: (text) => void (printed += text),
    error: (text) => void (errors += text),
    isColored: false,
  };
  return { output, printed: () => ({ printed, errors }) };
}

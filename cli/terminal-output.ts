/** Where a command of a person's terminal writes, and whether colours are welcome (https://no-color.org). */
export function terminalOutput() {
  return {
    out: (text: string) => void process.stdout.write(text),
    error: (text: string) => void process.stderr.write(text),
    isColored: process.stdout.isTTY && !process.env["NO_COLOR"],
  } as const;
}

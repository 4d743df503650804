import type { Mask } from "#daemon/secrets/mask.ts";
import { once } from "node:events";
import { createInterface } from "node:readline/promises";

/**
 * Creates a command's masked terminal output, and decides whether to use colours (https://no-color.org). A closed reader or a full disk
 * never interrupts the command, which may be upgrading a node; `lost` lets one stop that only prints.
 */
export function createTerminalOutput({ mask }: Readonly<{ mask: Mask }>) {
  const lost = new AbortController();
  process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (lost.signal.aborted) return;
    lost.abort("standard output failed");
    if (code === "EPIPE") return;
    process.stderr.write(`standard output can't be written (${code}); free space there, or redirect it elsewhere.\n`);
    process.once("exit", () => (process.exitCode ||= 1));
  });
  return {
    lost: lost.signal,
    out: (text: string) => void process.stdout.write(mask.text(text)),
    error: (text: string) => void process.stderr.write(mask.text(text)),
    isColored: hasColors(process.stdout),
  } as const;
}

export function hasColors(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY && !process.env["NO_COLOR"];
}

export function findConfirmation(): typeof askToConfirm | undefined {
  return process.stdin.isTTY ? askToConfirm : undefined;
}

/** Asks the user at the terminal; any response except yes means no. */
async function askToConfirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    // Ctrl-C and Ctrl-D close the terminal, which means no.
    const closed = once(terminal, "close").then(() => "");
    const answered = terminal.question(question).catch(() => "");
    return /^y(es)?$/i.test((await Promise.race([answered, closed])).trim());
  } finally {
    terminal.close();
  }
}

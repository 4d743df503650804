import { once } from "node:events";
import { createInterface } from "node:readline/promises";

/** Asks a person at the terminal; anything but yes is no. */
export async function askToConfirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    // Ctrl-C and Ctrl-D close the terminal: they mean no.
    const closed = once(terminal, "close").then(() => "");
    const answered = terminal.question(question).catch(() => "");
    return /^y(es)?$/i.test((await Promise.race([answered, closed])).trim());
  } finally {
    terminal.close();
  }
}

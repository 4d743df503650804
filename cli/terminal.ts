import { once } from "node:events";
import { fstatSync, writeSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import type { Writable } from "node:stream";
import type { Mask } from "#daemon/secrets/mask.ts";

/** Makes each write to a file complete or fail: Node's file stream ignores that a full disk accepted only part of the data. */
export function completeFileWrites(stream: Writable & Readonly<{ fd?: number }>): void {
  const { fd } = stream;
  if (fd === undefined || !fstatSync(fd).isFile()) return;
  stream._write = (chunk: Buffer, _encoding, done) => {
    try {
      for (let writtenBytes = 0; writtenBytes < chunk.length;) writtenBytes += writeSync(fd, chunk, writtenBytes);
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  };
}

/**
 * Creates a command's masked terminal output, and decides whether to use colours (https://no-color.org). A closed reader or a full disk
 * never interrupts the command, which may be upgrading a node; a command that only prints can stop on `lost`.
 */
export function createTerminalOutput({ mask }: Readonly<{ mask: Mask }>) {
  const lost = new AbortController();
  process.stdout.once("error", () => lost.abort("standard output failed"));
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
    const closeEvent = once(terminal, "close").then(() => "");
    const reply = terminal.question(question).catch(() => "");
    return /^y(es)?$/i.test((await Promise.race([reply, closeEvent])).trim());
  } finally {
    terminal.close();
  }
}

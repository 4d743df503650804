import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An unnamed file for a program's output: unlike a pipe, it still accepts output after this process is killed. */
export type ScratchFile = AsyncDisposable &
  Readonly<{
    fd: number;
    /** Reads the output so far; returns false once it exceeds {@link scratchBytesMax}. */
    read: () => Promise<boolean>;
    text: () => string;
  }>;

/** Max bytes of a program's output to read. */
export const scratchBytesMax = 67_108_864;

/** Opens a scratch file that only this user can read. */
export async function openScratchFile(): Promise<ScratchFile> {
  const path = join(tmpdir(), `gatehouse-${randomUUID()}.out`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  const decoder = new TextDecoder();
  let [text, readTo] = ["", 0];
  return {
    fd: file.fd,
    text: () => text,
    read: async () => {
      const { size } = await file.stat();
      const piece = Buffer.alloc(Math.min(size, scratchBytesMax) - readTo);
      const { bytesRead } = await file.read(piece, 0, piece.length, readTo);
      readTo += bytesRead;
      text += decoder.decode(piece.subarray(0, bytesRead), { stream: true });
      return size <= scratchBytesMax;
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

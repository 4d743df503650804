import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An unnamed file for a program's output: unlike a pipe, it still accepts output after this process is killed. */
export type ScratchFile = AsyncDisposable &
  Readonly<{
    fd: number;
    /** Reads the whole output, up to a limit. */
    text: () => Promise<string>;
    /** Reads the lines since the last call; with `isOver`, the last line may lack a line break. */
    newLines: (isOver: boolean) => Promise<readonly string[]>;
    bytes: () => Promise<number>;
  }>;

/** Max bytes of a program's output to read. */
export const scratchBytesMax = 67_108_864;

const pieceBytes = 65_536;

/** Opens a scratch file that only this user can read. */
export async function openScratchFile(): Promise<ScratchFile> {
  const path = join(tmpdir(), `gatehouse-${randomUUID()}.out`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  let readTo = 0;
  let begun = "";
  const decoder = new TextDecoder();
  const readPiece = async (from: number) => {
    const buffer = Buffer.alloc(pieceBytes);
    const { bytesRead } = await file.read(buffer, 0, pieceBytes, from);
    return buffer.subarray(0, bytesRead);
  };
  return {
    fd: file.fd,
    bytes: async () => (await file.stat()).size,
    text: async () => {
      const pieces: Buffer[] = [];
      for (let at = 0; at < scratchBytesMax;) {
        const piece = await readPiece(at);
        if (piece.length === 0) break;
        pieces.push(piece);
        at += piece.length;
      }
      return Buffer.concat(pieces).toString();
    },
    newLines: async (isOver) => {
      for (let piece = await readPiece(readTo); piece.length > 0; piece = await readPiece(readTo)) {
        readTo += piece.length;
        begun += decoder.decode(piece, { stream: true });
      }
      const lines = begun.split("\n");
      begun = isOver ? "" : (lines.pop() ?? "");
      return lines.filter((line) => line !== "");
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

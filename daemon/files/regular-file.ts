import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { decodeUtf8, NotUtf8Error } from "./utf8.ts";

/** A regular file's bytes and the time of its last change (`ctime`, milliseconds since 1970). */
export type RegularFile = Readonly<{ bytes: Uint8Array; changedAtMs: number }>;

/** The path does not lead to a regular file within the size limit. */
export class RegularFileError extends Error {
  override readonly name = "RegularFileError";
  readonly code: "not_regular" | "too_large";

  constructor(code: "not_regular" | "too_large", message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Reads a whole regular file of at most `limitBytes`, following symbolic links. Rejects a named pipe or a device without blocking: opens it
 * with `O_NONBLOCK` (open(2)) and reads nothing from it.
 *
 * @throws {RegularFileError} if it isn't a regular file, or is larger.
 * @throws the file system's own error (`ENOENT`, `EACCES`, …).
 */
export async function readRegularFile(path: string, limitBytes: number): Promise<RegularFile> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  if (!stats.isFile()) throw new RegularFileError("not_regular", "it is not a regular file");
  const bytes = await readBounded(file, stats.size, limitBytes);
  // Read after the content: `bytes` may include changes made in between.
  return { bytes, changedAtMs: (await file.stat()).ctimeMs };
}

async function readBounded(file: FileHandle, size: number, limitBytes: number): Promise<Uint8Array> {
  if (size > limitBytes) throw buildSizeError(limitBytes);
  // One byte over the limit, to detect a file that grows while it is read.
  const buffer = Buffer.alloc(limitBytes + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) return Uint8Array.from(buffer.subarray(0, length));
    length += bytesRead;
    if (length > limitBytes) throw buildSizeError(limitBytes);
  }
}

/** Bytes that the synchronous functions read at a time. */
const pieceBytes = 65_536;

/** Reads the text of a whole regular file, like {@link readRegularBytes}. @throws {NotUtf8Error} if it isn't UTF-8. */
export function readRegularText(path: string, limitBytes: number): string {
  return decodeUtf8(readRegularBytes(path, limitBytes));
}

/**
 * Reads a whole regular file synchronously, for a startup or a reload; otherwise like {@link readRegularFile}.
 *
 * @throws {RegularFileError} if it isn't a regular file, or is larger.
 * @throws the file system's own error (`ENOENT`, `EACCES`, …).
 */
export function readRegularBytes(path: string, limitBytes: number): Uint8Array {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new RegularFileError("not_regular", "it is not a regular file");
    if (stats.size > limitBytes) throw buildSizeError(limitBytes);
    return readBoundedBytes(file, limitBytes);
  } finally {
    closeSync(file);
  }
}

/**
 * Reads text from the source given on the command line, up to `limitBytes`: a file, a shell pipe (`<(…)`), or standard input (0). If the
 * path is a pipe, blocks until data arrives.
 *
 * @throws {RegularFileError} if the text exceeds the max size.
 * @throws {NotUtf8Error} if it isn't UTF-8.
 * @throws the file system's own error (`ENOENT`, `EACCES`, …).
 */
export function readNamedText(file: string | 0, limitBytes: number): string {
  if (file === 0) return decodeUtf8(readBoundedBytes(file, limitBytes));
  const fileDescriptor = openSync(file, constants.O_RDONLY);
  try {
    return decodeUtf8(readBoundedBytes(fileDescriptor, limitBytes));
  } finally {
    closeSync(fileDescriptor);
  }
}

function readBoundedBytes(file: number, limitBytes: number): Uint8Array {
  const pieces: Buffer[] = [];
  for (let length = 0; ;) {
    const piece = Buffer.allocUnsafe(pieceBytes);
    const read = readSync(file, piece);
    if (read === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, read));
    length += read;
    if (length > limitBytes) throw buildSizeError(limitBytes);
  }
}

/** Explains why a file can't be read, as a phrase for use within a sentence: the system's error code, or what is wrong with the file. */
export function explainUnreadable(cause: unknown): string {
  if (cause instanceof RegularFileError || cause instanceof NotUtf8Error) return cause.message;
  return (cause as NodeJS.ErrnoException).code ?? String(cause);
}

function buildSizeError(limitBytes: number): RegularFileError {
  return new RegularFileError("too_large", `it is larger than ${limitBytes} bytes`);
}

import { createHash } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import { parseConfig, type ConfigDocument } from "./config-document.ts";
import type { ConfigProblem } from "./config-problem.ts";

/** One look at node.conf. */
export type ConfigReading = Readonly<
  | { ok: true; document: ConfigDocument; bytes: Uint8Array; contentHash: string; changedAtMs: number }
  /** `contentHash` is absent when there was no content to read. */
  | { ok: false; problem: ConfigProblem; contentHash?: string; bytes?: Uint8Array }
>;

/** Hash of a file's bytes. */
export function contentHashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Reads node.conf through symbolic links, never more than `limitBytes`; what is wrong comes back as a problem. */
export async function readConfigFile(path: string, limitBytes: number): Promise<ConfigReading> {
  let bytes: Uint8Array | "too-large";
  let changedAtMs: number;
  try {
    await using file = await open(path, "r");
    const stats = await file.stat();
    if (!stats.isFile()) return unreadable(path, "it is no regular file");
    changedAtMs = stats.ctimeMs;
    bytes = stats.size > limitBytes ? "too-large" : await readBounded(file, limitBytes);
  } catch (cause) {
    return openFailure(path, cause as NodeJS.ErrnoException);
  }
  if (bytes === "too-large") {
    const message = `${path} is larger than ${limitBytes} bytes (upkeep.configLimitBytes) and is not read; make it smaller or raise the limit.`;
    return { ok: false, problem: { reason: "TooLarge", message } };
  }
  const contentHash = contentHashOf(bytes);
  const parsed = parseConfig(bytes);
  if (parsed.ok) return { ok: true, document: parsed.document, bytes, contentHash, changedAtMs };
  const { line, column } = parsed.problem;
  const place = line === undefined ? path : `${path}:${line}:${column}`;
  return {
    ok: false,
    problem: { ...parsed.problem, message: `${place} ${parsed.problem.message}` },
    contentHash,
    bytes,
  };
}

async function readBounded(file: FileHandle, limitBytes: number): Promise<Uint8Array | "too-large"> {
  // One byte more than allowed, so that a file that grows while it is read is still noticed.
  const buffer = Buffer.alloc(limitBytes + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) return Uint8Array.from(buffer.subarray(0, length));
    length += bytesRead;
    if (length > limitBytes) return "too-large";
  }
}

function openFailure(path: string, error: NodeJS.ErrnoException): ConfigReading {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") {
    const message = `${path} is not there; write it again, or set node.configPath to where it is.`;
    return { ok: false, problem: { reason: "Vanished", message } };
  }
  return unreadable(path, error.code ?? error.message);
}

function unreadable(path: string, why: string): ConfigReading {
  const message = `${path} can't be read (${why}); let the sidecar's user read it.`;
  return { ok: false, problem: { reason: "Unreadable", message } };
}

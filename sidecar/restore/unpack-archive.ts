import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { PassThrough, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import type { Logger } from "#daemon/log/log.ts";
import { createProgress, type Progress } from "./progress.ts";
import { RestoreError, type RestoreLocation } from "./restore-location.ts";
import type { RestoreSettings } from "./settings.ts";

type UnpackSettings = Pick<RestoreSettings, "progressMs"> &
  Readonly<{ archive: Pick<RestoreSettings["archive"], "strip" | "limitBytes"> }>;

const allowedTypes = new Set(["File", "OldFile", "ContiguousFile", "Directory"]);

/** @throws {RestoreError} for a link, a path outside the tree, too much data, or a file that is no archive. */
export async function unpackArchive(
  settings: UnpackSettings,
  paths: Pick<RestoreLocation, "archive" | "tree" | "part">,
  { log, signal }: Readonly<{ log: Logger; signal: AbortSignal }>,
): Promise<void> {
  const progress = createProgress("unpack", { everyMs: settings.progressMs }, log);
  const rejection = new AbortController();
  // Imported only here because loading it would slow down every sidecar start, and few sidecars ever unpack an archive.
  const { extract } = await import("tar");
  const extraction = extract({
    cwd: paths.tree,
    strip: settings.archive.strip,
    preserveOwner: false,
    strict: true,
    filter: (path, entry) => {
      const why = checkEntry(path, entry as ArchiveEntry, { ...settings, part: paths.part }, progress);
      if (why !== undefined) rejection.abort(new RestoreError(why));
      return why === undefined;
    },
  });
  let hasEnded = false;
  extraction.once("eof", () => {
    hasEnded = true;
  });
  // The parser buffers any data after the end of an archive, possibly gigabytes of zeros, and copies all of it on each chunk.
  const untilEnd = new Transform({
    transform: (chunk, _encoding, done) => done(null, hasEnded ? undefined : chunk),
  });
  try {
    const ends = AbortSignal.any([signal, rejection.signal]);
    await pipeline(createReadStream(paths.archive), await createDecompressor(paths.archive), untilEnd, extraction, {
      signal: ends,
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    if (rejection.signal.aborted) throw rejection.signal.reason;
    throw new RestoreError(`the archive can't be unpacked (${(cause as Error).message}); expected a tar archive`, {
      cause,
    });
  }
}

type ArchiveEntry = Readonly<{ type: string; size: number }>;

function checkEntry(
  path: string,
  entry: ArchiveEntry,
  settings: UnpackSettings & Pick<RestoreLocation, "part">,
  progress: Progress,
): string | undefined {
  if (!allowedTypes.has(entry.type)) {
    return `the archive contains ${path}, a ${entry.type}; only files and directories are allowed`;
  }
  if (path.startsWith("/") || path.split("/").includes("..")) {
    return `the archive contains ${path}, which is outside the data directory`;
  }
  const { part } = settings;
  const relativePath = path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .slice(settings.archive.strip);
  if (part !== undefined && relativePath.length > 0 && relativePath[0] !== part) {
    return `the archive contains ${path}; a snapshot of this family has only one top-level directory, ${part}`;
  }
  progress.add(entry.size);
  const { limitBytes } = settings.archive;
  if (progress.doneBytes() <= limitBytes) return undefined;
  return `the archive unpacks to more than ${limitBytes} bytes`;
}

/** Creates the stream that decompresses an archive. The format is detected from the first bytes (RFC 8878, section 3.1.1; RFC 1952, section 2.3.1). */
async function createDecompressor(path: string): Promise<Transform> {
  await using file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
  const magic = buffer.toString("hex");
  if (magic === "28b52ffd") return createZstdDecompress();
  return magic.startsWith("1f8b") ? createGunzip() : new PassThrough();
}

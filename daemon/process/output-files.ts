import { mkdir, open, readdir, rename, stat, truncate, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../log/log.ts";
import { poll } from "../time.ts";
import { skipMissing } from "../skip-missing.ts";

/** Output of one run of a program: descriptors for it to print to, or `ignore` where there can be no file. */
export type ProgramOutput = AsyncDisposable &
  Readonly<{
    descriptors: readonly [out: number | "ignore", errors: number | "ignore"];
    /** Reads the first of what it has printed. */
    read: () => Promise<Readonly<{ output: string; errors: string }>>;
  }>;

/**
 * Files that programs print to which may leave a process behind: that process prints there for as long as it runs, whatever becomes of this one. Disposing
 * of it ends the watch of their sizes.
 */
export type OutputFiles = AsyncDisposable &
  Readonly<{
    /** Opens new files for a run; those of the run before get the ending `.1`. */
    open: (name: string) => Promise<ProgramOutput>;
  }>;

/** Size above which a file is emptied, the time between two looks, and what is read of a run's for a message. */
const limits = { fileBytes: 4_194_304, everyMs: 5_000 };
const readBytesMax = 65_536;

/**
 * Creates the files in a directory, `<name>.out.log` and `<name>.err.log`. They are written by appending, so that emptying one that grows too large takes nothing
 * but its text from the process that writes it.
 */
export function createOutputFiles(
  directory: string,
  {
    deadline,
    log,
  }: Readonly<{ deadline: { call: <T>(what: string, call: () => Promise<T>) => Promise<T> }; log: Logger }>,
  { fileBytes, everyMs } = limits,
): OutputFiles {
  const closing = new AbortController();
  let areKept = true;
  const tryFiles = async <T>(what: string, call: () => Promise<T>): Promise<T | undefined> => {
    try {
      const value = await deadline.call(`${what} ${directory}`, call);
      areKept = true;
      return value;
    } catch (error) {
      if (!areKept) return undefined;
      areKept = false;
      const message = `the output of the node's programs can't be kept in ${directory}; make it writable`;
      log.warn({ event: "program-output-not-saved", err: error }, message);
      return undefined;
    }
  };
  const watching = poll(
    // `tryFiles` reports what fails.
    { name: "program-output", failed: () => undefined, intervalMs: everyMs, signal: closing.signal },
    () => tryFiles("looking at the files in", () => clearLarge(directory, fileBytes)),
    { log },
  );
  return {
    open: async (name) => {
      const files = (await tryFiles("opening files in", () => openNew(directory, name))) ?? [];
      return {
        descriptors: [files[0]?.fd ?? "ignore", files[1]?.fd ?? "ignore"],
        read: async () => {
          const texts = await tryFiles("reading files in", () => Promise.all(files.map(readStart)));
          const [output = "", errors = ""] = texts ?? [];
          return { output, errors };
        },
        [Symbol.asyncDispose]: async () => {
          for (const file of files) await file.close();
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await watching;
    },
  };
}

async function openNew(directory: string, name: string): Promise<readonly FileHandle[]> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await using opened = new AsyncDisposableStack();
  const files: FileHandle[] = [];
  for (const kind of ["out", "err"]) {
    const path = join(directory, `${name}.${kind}.log`);
    await rename(path, `${path}.1`).catch(skipMissing);
    files.push(opened.use(await open(path, "a+", 0o600)));
  }
  opened.move();
  return files;
}

async function readStart(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(readBytesMax), position: 0 });
  return buffer.toString("utf8", 0, bytesRead);
}

async function clearLarge(directory: string, fileBytes: number): Promise<void> {
  const names = (await readdir(directory).catch(skipMissing)) ?? [];
  for (const name of names) {
    const path = join(directory, name);
    const size = (await stat(path).catch(skipMissing))?.size ?? 0;
    if (size > fileBytes) await truncate(path);
  }
}

import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, rename, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "#daemon/log/log.ts";
import { poll } from "#daemon/time.ts";
import { skipMissing } from "#daemon/skip-missing.ts";

/** Output of a program run: descriptors for its output, or `ignore` if no file can be created. */
export type ProgramOutput = AsyncDisposable &
  Readonly<{
    descriptors: readonly [out: number | "ignore", errors: number | "ignore"];
    read: () => Promise<Readonly<{ output: string; errors: string }>>;
  }>;

/**
 * Output files for programs that may leave a process behind. Such a process writes to these files for as long as it runs, even after this
 * process exits. Disposing of the result stops the size checks.
 */
export type OutputFiles = AsyncDisposable &
  Readonly<{
    /** Opens new files for a run; renames the previous run's to `.1`. */
    open: (name: string) => Promise<ProgramOutput>;
  }>;

/** Size at which a file is truncated, the interval between checks, and how much of a run's output is read for a message. */
const limits = { fileBytes: 4_194_304, everyMs: 5_000 };
const readBytesMax = 65_536;

/**
 * Creates the files in a directory, `<name>.out.log` and `<name>.err.log`. They are opened for appending, so that the writing process
 * continues correctly after a large file is truncated.
 */
export function createOutputFiles(
  directory: string,
  {
    deadline,
    log,
  }: Readonly<{ deadline: { call: <T>(what: string, call: () => Promise<T>) => Promise<T> }; log: Logger }>,
  { fileBytes, everyMs } = limits,
): OutputFiles {
  let isComplete = true;
  const tryFiles = async <T>(what: string, call: () => Promise<T>): Promise<T | undefined> => {
    try {
      const value = await deadline.call(`${what} ${directory}`, call);
      isComplete = true;
      return value;
    } catch (error) {
      if (!isComplete) return undefined;
      isComplete = false;
      const message = `the output of the node's programs can't be saved to ${directory}; make it writable`;
      log.warn({ event: "program-output-not-saved", err: error }, message);
      return undefined;
    }
  };
  const sizeWatch = poll(
    // `tryFiles` reports failures.
    { name: "program-output", failed: () => undefined, intervalMs: everyMs },
    () => tryFiles("checking the files in", () => clearLarge(directory, fileBytes)),
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
    [Symbol.asyncDispose]: () => sizeWatch[Symbol.asyncDispose](),
  };
}

async function openNew(directory: string, name: string): Promise<readonly FileHandle[]> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await using openedFiles = new AsyncDisposableStack();
  const files: FileHandle[] = [];
  for (const kind of ["out", "err"]) {
    const path = join(directory, `${name}.${kind}.log`);
    await rename(path, `${path}.1`).catch(skipMissing);
    // Exclusive: a symbolic link that appears in the meantime is not followed.
    files.push(openedFiles.use(await open(path, "ax+", 0o600)));
  }
  openedFiles.move();
  return files;
}

async function readStart(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(readBytesMax), position: 0 });
  return buffer.toString("utf8", 0, bytesRead);
}

/** Truncates large files; follows no symbolic link, which another user may have put in place of a file. */
async function clearLarge(directory: string, fileBytes: number): Promise<void> {
  const names = (await readdir(directory).catch(skipMissing)) ?? [];
  for (const name of names) {
    const path = join(directory, name);
    const found = await lstat(path).catch(skipMissing);
    if (found === undefined || !found.isFile() || found.size <= fileBytes) continue;
    await using file = await open(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if ((await file.stat()).isFile()) await file.truncate();
  }
}

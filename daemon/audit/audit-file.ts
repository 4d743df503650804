import {
  closeSync,
  constants,
  fchmodSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { openFileLock } from "../files/file-lock.ts";
import { parseJson } from "../json-rpc.ts";

/** Path of a file of lines, and bounds on what is kept of it. */
export type AuditFileOptions = Readonly<{
  path: string;
  /** Size from which the file is put aside and another begun. */
  fileBytes: number;
  /** Number of files that are kept, including the one being written: `<path>`, `<path>.1`, … */
  files: number;
  /** Whether another process may write to it as well, under the lock of `<path>.lock`. Default: it has one writer. */
  isShared?: boolean | undefined;
}>;

/** A file of lines. What was appended is on the disk after a sync, and none of it is changed again. */
export type AuditFile = Disposable &
  Readonly<{
    /** Unfinished line of an earlier process, which was cut off; undefined if there was none. */
    torn: string | undefined;
    /**
     * Cuts off the unfinished line of another process that was killed meanwhile, then appends lines, all of them or none.
     * Returns what was cut off; undefined if nothing was.
     */
    append: (lines: string) => string | undefined;
    syncNow: () => void;
    /** Syncs outside this thread; simultaneous ones share it. */
    sync: () => Promise<void>;
  }>;

/** Bytes at the file's end that are searched for the last whole line. */
const tailBytes = 1_048_576;

/** Characters of a torn line that its entry shows. */
const tornShown = 2_000;

const syncConcurrently = promisify(fdatasync);

/**
 * Opens a file of lines, mode 0600, and heals its end: a line that a killed process or a lost machine left half written is cut off.
 *
 * @throws the file system's own error, and an error for anything that is not a file of lines.
 */
export function openAuditFile(options: AuditFileOptions): AuditFile {
  const { path } = options;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lock = options.isShared ? openFileLock(`${path}.lock`) : undefined;
  const runInTurn = <T>(work: () => T): T => (lock === undefined ? work() : lock.hold(work));
  let descriptor: number;
  let torn: string | undefined;
  try {
    descriptor = openLines(path);
    // What another process is writing just now would look torn.
    torn = runInTurn(() => cutTornEnd(descriptor, path));
  } catch (error) {
    lock?.[Symbol.dispose]();
    throw error;
  }
  let syncing: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const reopen = () => {
    const before = descriptor;
    descriptor = openLines(path);
    // One that is being synced is closed after that.
    const close = () => closeSync(before);
    if (syncing === undefined) close();
    else void syncing.then(close, close);
  };
  const sync = (): Promise<void> => {
    if (syncing === undefined) {
      syncing = syncConcurrently(descriptor).finally(() => (syncing = undefined));
      return syncing;
    }
    // The sync that runs may have begun before the last line was there.
    const syncAgain = () => {
      next = undefined;
      return sync();
    };
    next ??= syncing.then(syncAgain, syncAgain);
    return next;
  };
  return {
    torn,
    append: (lines) =>
      runInTurn(() => {
        if (!isSameFile(descriptor, path)) reopen();
        const tornSince = lock === undefined || isEndWhole(descriptor) ? undefined : cutTornEnd(descriptor, path);
        const { size } = fstatSync(descriptor);
        if (size > 0 && size + Buffer.byteLength(lines) > options.fileBytes) {
          fdatasyncSync(descriptor);
          putAside(options);
          reopen();
        }
        writeLines(descriptor, lines);
        return tornSince;
      }),
    syncNow: () => fdatasyncSync(descriptor),
    sync,
    [Symbol.dispose]: () => {
      fdatasyncSync(descriptor);
      closeSync(descriptor);
      lock?.[Symbol.dispose]();
    },
  };
}

function openLines(path: string): number {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const descriptor = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error(`${path} is not a regular file`);
    fchmodSync(descriptor, 0o600);
    syncFolder(path);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  return descriptor;
}

/** Whether the path still leads to the open file: a person, or a program that rotates logs, may have moved it. */
function isSameFile(descriptor: number, path: string): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  const open = fstatSync(descriptor);
  return there?.ino === open.ino && there.dev === open.dev;
}

/** Makes room: the oldest file goes, each other one is a place older. */
function putAside({ path, files }: AuditFileOptions): void {
  const formatAgedPath = (age: number) => (age === 0 ? path : `${path}.${age}`);
  for (let age = files - 1; age > 0; age -= 1) {
    if (statSync(formatAgedPath(age - 1), { throwIfNoEntry: false }) !== undefined)
      renameSync(formatAgedPath(age - 1), formatAgedPath(age));
  }
  syncFolder(path);
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), constants.O_RDONLY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Appends all lines or none: a full disk takes a part of them, which is cut off again. */
function writeLines(descriptor: number, lines: string): void {
  const { size } = fstatSync(descriptor);
  const bytes = Buffer.from(lines);
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
  } catch (error) {
    ftruncateSync(descriptor, size);
    throw error;
  }
}

/** Whether a file is empty or its last line was written to its end. */
function isEndWhole(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  const last = Buffer.alloc(1);
  return size === 0 || (readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] === 10);
}

/** Cuts off what stands after the last whole line, and returns it. */
function cutTornEnd(descriptor: number, path: string): string | undefined {
  const { size } = fstatSync(descriptor);
  const from = Math.max(0, size - tailBytes);
  const tail = Buffer.alloc(size - from);
  readSync(descriptor, tail, 0, tail.length, from);
  const kept = findEndOfLastLine(tail);
  if (kept === tail.length) return undefined;
  if (kept === 0 && !canBeTorn(tail)) {
    throw new Error(`${path} is not an audit log, and is left as it is; let auditLog.path name a separate file`);
  }
  ftruncateSync(descriptor, from + kept);
  fsyncSync(descriptor);
  return tail.toString("utf8", kept, kept + tornShown);
}

/** Whether a file without a whole line can be a first line that was not written to its end, or the zeros that a machine left in its place. */
function canBeTorn(bytes: Buffer): boolean {
  return bytes.length < tailBytes && !bytes.includes(10) && (bytes[0] === 0 || bytes[0] === "{".charCodeAt(0));
}

/** Returns the offset after the last line that is valid JSON. A machine that lost its power may have left zeros in place of a line. */
function findEndOfLastLine(tail: Buffer): number {
  for (let end = tail.length; end > 0;) {
    const before = tail.lastIndexOf(10, end - 2) + 1;
    if (tail[end - 1] === 10 && isObject(parseJson(tail.toString("utf8", before, end)))) return end;
    end = before;
  }
  return 0;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

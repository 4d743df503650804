import { rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { dirname, join } from "node:path";
import { z } from "zod";
import { keepPrivate, replaceFile, syncDirectory } from "#daemon/files/atomic-file.ts";
import { readRegularText } from "#daemon/files/regular-file.ts";

/** Steps to the new image, in order. */
export const forwardStages = ["stopping", "copying", "configuring", "updating", "proving", "cleaning"] as const;

/** Steps back to the image of before, in order. The data come after the configuration: what is begun over them then is the old version. */
export const backwardStages = [
  "back-stopping",
  "back-configuring",
  "back-data",
  "back-updating",
  "back-proving",
] as const;

export type ForwardStage = (typeof forwardStages)[number];
export type BackwardStage = (typeof backwardStages)[number];
export type StackStage = ForwardStage | BackwardStage;

const end = z.enum(["committed", "rolled-back", "stranded"]);

/** What a stack's configuration says of the node, and which version that is. */
const side = z.object({
  image: z.string(),
  /** The key nodeVersion; absent where the image's tag tells the version. */
  nodeVersion: z.string().optional(),
  version: z.string(),
});

export type UpgradeSide = Readonly<z.output<typeof side>>;

/** What was known of the node before it was stopped, to prove either version by. */
const nodeBefore = z.object({
  height: z.number(),
  /** A block that no reorganization reaches any more; absent where the node would not tell it. */
  block: z.object({ number: z.number(), hash: z.string() }).optional(),
  tellsVersion: z.boolean(),
  autoPrune: z.boolean(),
  metrics: z.boolean(),
});

export type NodeBefore = Readonly<z.output<typeof nodeBefore>>;

const recordShape = z.object({
  /** Names the copy of the data in the node's volume. */
  id: z.string().regex(/^[\w-]+$/),
  stack: z.string(),
  project: z.string(),
  /** Begins the names of the stack's containers and volumes. */
  prefix: z.string(),
  engine: z.string(),
  statusUrl: z.string(),
  rpcUrl: z.string(),
  /** Id of the image of Gatehouse that copies the data. */
  toolImage: z.string(),
  from: side,
  to: side,
  before: nodeBefore,
  limits: z.object({ copyMs: z.number(), updateMs: z.number(), proveMs: z.number() }),
  beganMs: z.number(),
  stage: z.enum([...forwardStages, ...backwardStages]),
  stageSinceMs: z.number(),
  /** How often the way back was tried. */
  attempts: z.number(),
  /** How often a run of the command ended in the middle of this stage. */
  interruptions: z.number(),
  /** Whether the new version may have been started, and so may have written to the data. */
  newRan: z.boolean(),
  failure: z.string().optional(),
  end: end.optional(),
  note: z.string().optional(),
});

/** An upgrade of a stack as it is remembered: what was agreed to, and how far it is. */
export type StackRecord = Readonly<z.output<typeof recordShape>>;

/** What is remembered can't be read or written; the message says what to do. */
export class RecordError extends Error {
  override readonly name = "RecordError";
  readonly code = "record_error";
}

const recordBytes = 65_536;

/** Where the upgrade of a stack is remembered: next to its program. */
export function findRecordPath(programDirectory: string, stack: string): string {
  return join(programDirectory, `.gatehouse-upgrade.${stack.replaceAll("/", "-")}.json`);
}

/**
 * Reads the upgrade that is under way; undefined where none is.
 *
 * @throws {RecordError} for a file that can't be read, or holds something else.
 */
export function readRecord(path: string): StackRecord | undefined {
  let text: string;
  try {
    text = readRegularText(path, recordBytes);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new RecordError(`${path} can't be read (${code ?? message})`, { cause: error });
  }
  const parsed = recordShape.safeParse(parseText(text));
  if (parsed.success) return parsed.data;
  throw new RecordError(`${path} holds no upgrade of this version of gatehouse; go on with the version that began it`);
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What is no JSON is no record either, which the shape says.
    return undefined;
  }
}

/**
 * Puts the record on the disk; a kill or a loss of power leaves the old one or this one.
 *
 * @throws {RecordError} when it can't be written.
 */
export async function writeRecord(path: string, record: StackRecord): Promise<void> {
  try {
    await replaceFile(path, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const what = `how far the upgrade is can't be written to ${path} (${code ?? message}); make room or rights for that`;
    throw new RecordError(`${what}, and say: gatehouse upgrade --stack ${record.stack} --continue`, { cause });
  }
}

/** Forgets an upgrade that has ended. */
export async function removeRecord(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}

/** SQLite's result code SQLITE_BUSY, in the lowest byte. */
const busy = 5;

/**
 * Takes the right to carry out a stack's upgrade; the operating system gives it up when the process ends, however it ends. Undefined where
 * another process has it.
 *
 * @throws {RecordError} where nothing can be locked.
 */
export function lockRecord(path: string): Disposable | undefined {
  const lockPath = `${path.replace(/\.json$/, "")}.lock`;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(lockPath, { timeout: 0 });
    keepPrivate(lockPath);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version = 1");
  } catch (cause) {
    database?.close();
    const { errcode = 0, message } = cause as Error & { errcode?: number };
    if ((errcode & 0xff) === busy) return undefined;
    throw new RecordError(`${lockPath} can't be locked (${message}); make the directory writable`, { cause });
  }
  const held = database;
  return {
    [Symbol.dispose]: () => {
      rmSync(lockPath, { force: true });
      held.close();
    },
  };
}

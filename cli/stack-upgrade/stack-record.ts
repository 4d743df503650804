import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { replaceFile, syncDirectory } from "#daemon/files/atomic-file.ts";
import { readRegularText } from "#daemon/files/regular-file.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { pulumiBackend } from "./pulumi/pulumi-backend.ts";
import { formatContinueCommand } from "./stack-commands.ts";
import { stackTarget } from "./stack-target.ts";

/** Steps to the new image, in order. */
export const forwardStages = ["stopping", "copying", "configuring", "updating", "proving", "cleaning"] as const;

/** Steps back to the old image; stack-route.ts chooses and orders them. */
export const backwardStages = [
  "back-stopping",
  "back-discarding",
  "back-starting",
  "back-configuring",
  "back-data",
  "back-updating",
  "back-proving",
  "back-cleaning",
] as const;

export type ForwardStage = (typeof forwardStages)[number];
export type BackwardStage = (typeof backwardStages)[number];
export type StackStage = ForwardStage | BackwardStage;

const end = z.enum(["committed", "rolled-back", "stranded"]);

/** Configuration of the node in a stack, and the version that it implies. */
const side = z.object({
  image: z.string(),
  /** The key nodeVersion; absent if the image's tag specifies the version. */
  nodeVersion: z.string().optional(),
  version: z.string(),
});

export type UpgradeSide = Readonly<z.output<typeof side>>;

/** Facts about the node before it was stopped, for verification of either version. */
const nodeBefore = z.object({
  height: z.number(),
  /** A block too deep for a reorg; absent if the node did not return it. */
  block: z.object({ number: z.number(), hash: z.string() }).optional(),
  tellsVersion: z.boolean(),
  autoPrune: z.boolean(),
  metrics: z.boolean(),
});

export type NodeBefore = Readonly<z.output<typeof nodeBefore>>;

const limits = z.object({ copyMs: z.number(), updateMs: z.number(), proveMs: z.number() });

/** Time limits of the steps. */
export type StackLimits = Readonly<z.output<typeof limits>>;

/** Default limits, and minimums for the rollback. */
export const defaultLimits: StackLimits = { copyMs: 14_400_000, updateMs: 1_800_000, proveMs: 1_800_000 };

/** A `pulumi up` that was started: it continues if the command is killed. */
const runningUpdate = z.object({ pid: z.int().positive(), startedAt: z.string(), beganMs: z.number() });

const recordShape = z.object({
  /** Identifies the copy of the data in the node's volume. */
  id: z.string().regex(/^[\w-]+$/),
  stack: z.string(),
  /** Directory of the Pulumi program and the stack's configuration; absolute. */
  directory: z.string(),
  configFile: z.string(),
  /** Backend that has the stack's state. */
  backend: pulumiBackend,
  project: z.string(),
  /** Name prefix of the stack's containers and volumes; on Kubernetes, a label of its objects. */
  prefix: z.string(),
  target: stackTarget,
  /** Gatehouse image that copies the data: its id on Docker, its reference on Kubernetes. */
  toolImage: z.string(),
  from: side,
  to: side,
  before: nodeBefore,
  limits,
  beganMs: z.number(),
  stage: z.enum([...forwardStages, ...backwardStages]),
  stageSinceMs: z.number(),
  /** Number of failed rollback attempts. */
  attempts: z.number(),
  /** Number of command runs that exited within this stage. */
  interruptions: z.number(),
  /** Whether the new version may have been started, and so may have written to the data. */
  newRan: z.boolean(),
  /** Whether the configuration may specify the new image. */
  configured: z.boolean(),
  /**
   * Identifies the node's last start, read after it was stopped; absent if there was no container. A different value later means that the
   * node was started by another party.
   */
  lastStart: z.string().optional(),
  /** Progress of restoring the old data. */
  restored: z.enum(["begun", "whole"]).optional(),
  update: runningUpdate.optional(),
  /** Earlier updates: a killed one may have left its lock. */
  earlierUpdates: z.array(runningUpdate).optional(),
  /** Reason why the last run waited in this stage: another party's lock on the stack, or something else. */
  waitsFor: z.enum(["lock", "other"]).optional(),
  /** Whether the new version itself reported its version during verification. */
  reportedVersion: z.boolean().optional(),
  failure: z.string().optional(),
  end: end.optional(),
  note: z.string().optional(),
});

/** Record of a stack upgrade: the confirmed plan, and its progress. */
export type StackRecord = Readonly<z.output<typeof recordShape>>;

/** Findings of a step that must outlive the command. */
export type StackAmendment = Readonly<
  Partial<Pick<StackRecord, "lastStart" | "restored" | "update" | "earlierUpdates" | "waitsFor" | "reportedVersion">>
>;

/** The record can't be read or written; the message explains the remedy. */
export class RecordError extends Error {
  override readonly name = "RecordError";
  readonly code = "record_error";
}

const recordBytes = 65_536;

/**
 * Returns the path of a stack's record: next to the stack's program, named only after the last part of the stack's name, because the
 * operator may type just that part.
 */
export function findRecordPath(programDirectory: string, stack: string): string {
  return join(programDirectory, `.gatehouse-upgrade.${stack.split("/").at(-1) ?? stack}.json`);
}

/**
 * Reads the record of the upgrade in flight; undefined if there is none.
 *
 * @throws {RecordError} for a file that can't be read or contains something else.
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
  const parsed = recordShape.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new RecordError(`${path} holds no upgrade of this version of gatehouse; go on with the version that began it`);
}

/**
 * Writes the record to disk atomically: a kill or a power failure leaves the old or the new one.
 *
 * @throws {RecordError} when it can't be written.
 */
export async function writeRecord(path: string, record: StackRecord): Promise<void> {
  try {
    await replaceFile(path, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const what = `how far the upgrade is can't be written to ${path} (${code ?? message}); make room or rights for that`;
    throw new RecordError(`${what}, and say: ${formatContinueCommand(record)}`, { cause });
  }
}

/** Removes the record of a finished upgrade. */
export async function removeRecord(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}

/** A rejected request, with the remedy; nothing was changed. */
export class Refused extends Error {
  override readonly name = "ConnectionRefused";
  readonly code = "refused";
}

import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { replaceFile, syncDirectory } from "#daemon/files/atomic-file.ts";
import { explainUnreadable, readRegularText } from "#daemon/files/regular-file.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { nodeBaseline } from "#sidecar/upgrade/node-baseline.ts";
import { progress, UpgradeError } from "#sidecar/upgrade/progress.ts";
import { formatContinueCommand } from "./stack-commands.ts";

const side = z.object({
  image: z.string(),
  /** The key nodeVersion; absent if the image's tag specifies the version. */
  nodeVersion: z.string().optional(),
  version: z.string(),
});

export type UpgradeSide = Readonly<z.output<typeof side>>;

const target = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("docker"),
    engine: z.string(),
    statusUrl: z.string(),
    rpcUrl: z.string(),
  }),
  z.object({
    kind: z.literal("kubernetes"),
    /** Kubeconfig context; absent if there is none, e.g. in a pod with its own service account. */
    context: z.string().optional(),
    namespace: z.string(),
    /** VolumeSnapshotClass that the stack specifies; absent: the cluster's default. */
    snapshotClass: z.string().optional(),
  }),
]);

export type StackTarget = Readonly<z.output<typeof target>>;
export type DockerTarget = Extract<StackTarget, { kind: "docker" }>;
export type KubernetesTarget = Extract<StackTarget, { kind: "kubernetes" }>;

const limits = z.object({ copyMs: z.number(), updateMs: z.number(), proveMs: z.number() });

export type StackLimits = Readonly<z.output<typeof limits>>;

/** Default time limits of an upgrade; a rollback gets at least these. */
export const defaultLimits: StackLimits = { copyMs: 14_400_000, updateMs: 1_800_000, proveMs: 1_800_000 };

const recordSchema = progress.extend({
  /** Identifies the copy of the data in the node's volume. */
  id: z.string().regex(/^[\w-]+$/),
  stack: z.string(),
  /** Directory of the Pulumi program and the stack's configuration; absolute. */
  directory: z.string(),
  configFile: z.string(),
  /** Address of the backend that has the stack's state. */
  backend: z.string(),
  project: z.string(),
  /** Name prefix of the stack's containers and volumes; on Kubernetes, a label of its objects. */
  prefix: z.string(),
  target,
  /** Gatehouse image that copies the data: its id on Docker, its reference on Kubernetes. */
  toolImage: z.string(),
  from: side,
  to: side,
  before: nodeBaseline.extend({ metrics: z.boolean() }),
  limits,
  /**
   * Identifies the node's last start, read after it was stopped; absent if there was no container. A different value later means that the
   * node was started by another party.
   */
  lastStart: z.string().optional(),
  restored: z.enum(["begun", "whole"]).optional(),
});

/** Record of a stack upgrade: the confirmed plan, and its progress. */
export type StackRecord = Readonly<z.output<typeof recordSchema>>;
export type StackNodeBaseline = StackRecord["before"];

const recordBytes = 65_536;

/** Named only after the last part of the stack's name, because the operator may type just that part. */
export function findRecordPath(programDirectory: string, stack: string): string {
  return join(programDirectory, `.gatehouse-upgrade.${stack.split("/").at(-1) ?? stack}.json`);
}

/** @throws {UpgradeError} for a file that can't be read or contains something else. */
export function readRecord(path: string): StackRecord | undefined {
  let text: string;
  try {
    text = readRegularText(path, recordBytes);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new UpgradeError(`${path} can't be read (${explainUnreadable(cause)})`, "fatal", { cause });
  }
  const { data } = recordSchema.safeParse(parseJson(text));
  if (data !== undefined) return data;
  throw new UpgradeError(
    `${path} contains no upgrade of this version of gatehouse; continue with the version that started it`,
  );
}

/** Writes the record atomically: a kill or a power failure leaves the old or the new one. */
export async function writeRecord(path: string, record: StackRecord): Promise<void> {
  try {
    await replaceFile(path, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const what = `the upgrade's progress can't be written to ${path} (${code ?? message}); free space or fix its permissions`;
    throw new UpgradeError(`${what}, then run: ${formatContinueCommand(record)}`, "fatal", { cause });
  }
}

export async function removeRecord(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}

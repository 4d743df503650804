import type { StageOutcome } from "#sidecar/upgrade/next-stage.ts";
import type { AmendRecord } from "./run-stack-upgrade.ts";
import type { StackRecord } from "./stack-record.ts";

/** How the node's process exited; `unknown` if there is no evidence left. */
export type NodeEnd = "by itself" | "killed" | "unknown";

/** Actions that an engine or a cluster performs on a node to copy and restore its data. Each is idempotent, even if interrupted halfway. */
export type NodeAdapter = Readonly<{
  /** Returns the node's name for messages. */
  name: (record: StackRecord) => string;
  /** Returns whether the node is stopped, and an identifier of its last start; if the identifier differs later, the node was started again. */
  see: (record: StackRecord) => Promise<Readonly<{ isStopped: boolean; lastStart: string | undefined }>>;
  /** Stops sidecar and node within the node's grace period, and returns how the node exited. */
  end: (record: StackRecord) => Promise<NodeEnd>;
  /** Stops sidecar and node, whichever of them runs. */
  stop: (record: StackRecord) => Promise<void>;
  copyData: (record: StackRecord) => Promise<void>;
  restoreData: (record: StackRecord) => Promise<void>;
}> &
  Readonly<
    | {
        /** Removes leftovers of a restore, so that the next one starts over. */ resetRestore: (
          record: StackRecord,
        ) => Promise<void>;
        explainSpoiled?: never;
      }
    | {
        /** Explains where the data is if the node was started on a half-finished restore, which has used up the copy. */ explainSpoiled: (
          record: StackRecord,
        ) => string;
        resetRestore?: never;
      }
  >;

const done = { kind: "done" } as const;

/** Stops the node so that its data can be copied. Fails if the node had to be killed: its data may be incomplete, and a copy useless for a rollback. */
export async function stopToCopy(record: StackRecord, adapter: NodeAdapter, amend: AmendRecord): Promise<StageOutcome> {
  // Skipped if an earlier run saw how the node exited and was killed afterwards.
  if (record.lastStart === undefined || (await adapter.see(record)).lastStart !== record.lastStart) {
    const end = await adapter.end(record);
    const name = adapter.name(record);
    if (end === "killed") return fail(`${name} did not end within its grace and was killed: its data may not be whole`);
    if (end === "unknown") return fail(`how ${name} ended is not known: its data may not be whole`);
    await amend({ lastStart: (await adapter.see(record)).lastStart });
  }
  await adapter.stop(record);
  return done;
}

/** Copies the data of a node that has not run since it was stopped, across all runs of the command. */
export async function copyStopped(record: StackRecord, adapter: NodeAdapter): Promise<StageOutcome> {
  const started = fail(`${adapter.name(record)} was started while its data were copied`);
  if (!(await isStill(record, adapter))) return started;
  await adapter.copyData(record);
  return (await isStill(record, adapter)) ? done : started;
}

/** Stops whichever version runs, to restore the old data. */
export async function stopToRestore(
  record: StackRecord,
  adapter: NodeAdapter,
  amend: AmendRecord,
): Promise<StageOutcome> {
  const isSpoiled = record.restored === "begun" && !(await isStill(record, adapter));
  if (isSpoiled && adapter.explainSpoiled !== undefined) return failSpoiled(record, adapter);
  await adapter.stop(record);
  if (isSpoiled) {
    await adapter.resetRestore?.(record);
    await amend({ restored: undefined });
  }
  await amend({ lastStart: (await adapter.see(record)).lastStart });
  return done;
}

/** Restores the old data once. */
export async function restoreStopped(
  record: StackRecord,
  adapter: NodeAdapter,
  amend: AmendRecord,
): Promise<StageOutcome> {
  if (record.restored !== "whole") {
    if (!(await isStill(record, adapter))) {
      return record.restored === "begun" ? failSpoiled(record, adapter) : failStarted(record, adapter);
    }
    await amend({ restored: "begun" });
    await adapter.restoreData(record);
    if (!(await isStill(record, adapter))) return failSpoiled(record, adapter);
    await amend({ restored: "whole" });
  }
  // Once the node runs, its data may be inaccessible.
  if (adapter.resetRestore !== undefined && (await isStill(record, adapter))) await adapter.resetRestore(record);
  return done;
}

async function isStill(record: StackRecord, adapter: NodeAdapter): Promise<boolean> {
  const { isStopped, lastStart } = await adapter.see(record);
  return isStopped && lastStart === record.lastStart;
}

function failStarted(record: StackRecord, adapter: NodeAdapter): StageOutcome {
  return fail(`${adapter.name(record)} was started while it had to stand still`);
}

function failSpoiled(record: StackRecord, adapter: NodeAdapter): StageOutcome {
  if (adapter.explainSpoiled === undefined) return failStarted(record, adapter);
  return { ...fail(adapter.explainSpoiled(record)), isFinal: true };
}

function fail(why: string) {
  return { kind: "failed", why } as const;
}

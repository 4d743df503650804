import { expect } from "vitest";
import type { RunResult as Result } from "#sidecar/upgrade/run-upgrade.ts";
import { runStackUpgrade } from "../stack-stages.ts";
import type { StackLimits, StackRecord } from "../stack-record.ts";
import type { StackWorld } from "./stack-world.ts";
import { newImage, oldBlock, oldImage, torn } from "./world-state.ts";

type RunResult = Result<StackRecord>;

/** A kill before or after a run's n-th change, or after the first `changes` changes of a stage. */
export type Kill = Readonly<{ at: number; isAfter: boolean } | { inStage: StackRecord["stage"]; changes: number }>;

export type Typing = Readonly<{
  /** Types the command and waits until it exits or is killed; undefined if it was killed. */
  type: (kill?: Kill) => Promise<RunResult | undefined>;
  record: () => StackRecord;
  lines: readonly string[];
}>;

/** Creates an operator who types the command for a confirmed upgrade; `rollbackLimits`: min time limits of its rollback. */
export function createTyping(
  world: StackWorld,
  startedRecord: StackRecord = world.record,
  rollbackLimits: StackLimits = startedRecord.limits,
): Typing {
  let onDisk: StackRecord | undefined;
  const lines: string[] = [];
  const run = (kill: Kill | undefined): Promise<RunResult> => {
    const { signal } = new AbortController();
    const dependencies = { ...world.steps(signal), rollbackLimits, say: (line: string) => void lines.push(line) };
    return runStackUpgrade(
      onDisk ?? startedRecord,
      {
        isResumed: onDisk !== undefined,
        remember: async (record) => {
          onDisk = record;
          if (kill !== undefined && "inStage" in kill && record.stage === kill.inStage) arm(kill.changes);
        },
      },
      dependencies,
    );
  };
  let armed: PromiseWithResolvers<"killed"> | undefined;
  const arm = (changes: number) => {
    const now = armed;
    armed = undefined;
    if (now !== undefined) void world.kills.killAt(changes, true).then(now.resolve);
  };
  return {
    record: () => onDisk ?? startedRecord,
    lines,
    type: async (kill) => {
      if (kill === undefined) return await run(kill);
      const stage = Promise.withResolvers<"killed">();
      armed = "inStage" in kill ? stage : undefined;
      const killEvent = "inStage" in kill ? stage.promise : world.kills.killAt(kill.at, kill.isAfter);
      const ended = await Promise.race([killEvent, run(kill)]);
      armed = undefined;
      world.kills.spare();
      return ended === "killed" ? undefined : ended;
    },
  };
}

/** Types the command, kills it at each of `kills`, and retypes it until it finishes. */
export async function runToEnd(world: StackWorld, kills: readonly Kill[] = []) {
  const typing = createTyping(world);
  for (const kill of kills) {
    const ended = await typing.type(kill);
    if (ended !== undefined) return { ...ended, lines: typing.lines };
  }
  const ended = await typing.type();
  if (ended === undefined) throw new Error("it was not killed");
  return { ...ended, lines: typing.lines };
}

/** Expects the stack's state before the upgrade: the old image on the old data. */
export function expectOld(world: StackWorld, record: StackRecord | undefined): void {
  expect(record?.end).toBe("rolled-back");
  expect([world.image(), world.state.config["gatehouse:nodeImage"]]).toEqual([oldImage, oldImage]);
  expect(world.areRunning()).toBe(true);
  expect(world.state.live[0]).toBe(oldBlock);
  expect(world.state.live).not.toContain(torn);
  expect(world.state.live.join()).not.toContain(newImage);
}

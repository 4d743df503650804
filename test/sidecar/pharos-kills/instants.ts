import { existsSync, readlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { findPharosProcesses, findProcesses } from "#sidecar/testing/fake-node-files.ts";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";

/** Processes to kill, and when: each during a stop, a start and a verification, if it is running at that time. */
export const kills = [
  ["sidecar", "stop"],
  ["sidecar", "start"],
  ["sidecar", "verification"],
  ["node", "stop"],
  ["node", "start"],
  ["node", "verification"],
  ["ops", "start"],
] as const;

export type Kill = (typeof kills)[number];

/** State of a node before a restart, by which the restart's instants are distinguished. */
export type BeforeRestart = Readonly<{ pids: readonly number[]; runs: number }>;

export async function observeBefore(node: FakeNode): Promise<BeforeRestart> {
  return { pids: findPharosProcesses(node.workspace), runs: (await listRuns(node)).length };
}

/**
 * Whether a restart has reached an instant: the old node was told to stop or has exited, a new one exists, or responds;
 * or `ops` is running.
 */
export async function isAt([victim, instant]: Kill, node: FakeNode, before: BeforeRestart): Promise<boolean> {
  if (victim === "ops") return findOps(node).length > 0;
  if (instant === "verification") return (await listRuns(node)).length > before.runs;
  const now = findPharosProcesses(node.workspace);
  if (instant === "start") return now.some((pid) => !before.pids.includes(pid));
  return existsSync(join(node.workspace, "stopping")) || !before.pids.every((pid) => now.includes(pid));
}

/** Finds the processes to kill. */
export function findVictims(victim: "node" | "ops", node: FakeNode): readonly number[] {
  return victim === "ops" ? findOps(node) : findPharosProcesses(node.workspace);
}

/** Lists the configurations with which the node has run long enough to open its port. */
export async function listRuns({ workspace }: FakeNode): Promise<readonly string[]> {
  const text = await readFile(join(workspace, "ran.log"), "utf8").catch(() => "");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as string);
}

function findOps({ workspace }: FakeNode): readonly number[] {
  return findProcesses("./ops").filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === workspace;
    } catch {
      // The process has exited meanwhile.
      return false;
    }
  });
}

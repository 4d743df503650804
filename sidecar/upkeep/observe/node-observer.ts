import type { Logger } from "#daemon/log.ts";
import type { NodeHealth } from "../../health/node-health.ts";
import { poll } from "../../poll.ts";
import type { ConditionBoard } from "../../tell/condition-board.ts";
import type { NodeCli, NodeCliResult } from "./node-cli.ts";
import type { PruneInfo } from "./prune-info.ts";
import { resolveVersion, type VersionResolution } from "./version-resolution.ts";

/** What does not stand in a file. */
export type NodeObserver = Readonly<{
  version: () => VersionResolution;
  /** The last PruneInfo; a new object at each query, undefined when the last query gave none. */
  pruneInfo: () => PruneInfo | undefined;
  /** Asks node_cli now. */
  look: (signal: AbortSignal) => Promise<void>;
  /** Whether the tool has been asked at least once. */
  hasLooked: () => boolean;
  done: Promise<void>;
}>;

export type NodeObserverOptions = Readonly<{
  version?: string | undefined;
  image?: string | undefined;
  intervalMs: number;
  signal: AbortSignal;
}>;

export type NodeObserverDependencies = Readonly<{
  /** Absent when there is no way to run the tool. */
  nodeCli: NodeCli | undefined;
  health: () => NodeHealth;
  board: ConditionBoard;
  log: Logger;
  /** Called when something new was seen. */
  onChange: () => void;
}>;

/** Asks `node_cli` again and again for its version and PruneInfo, and says on the board whether it works. */
export function observeNode(options: NodeObserverOptions, dependencies: NodeObserverDependencies): NodeObserver {
  const { nodeCli, health, board, onChange } = dependencies;
  let cliVersion: string | undefined;
  let pruneInfo: PruneInfo | undefined;
  let hasLooked = nodeCli === undefined;
  const look = async (signal: AbortSignal) => {
    if (nodeCli === undefined) {
      const message = "node_cli is not run (nodeCli.runner is none): pruning is neither seen nor set.";
      board.set({ type: "NodeCliWorking", status: "Unknown", reason: "NotRun", message });
      return;
    }
    const told = await nodeCli.version(signal);
    if (told.ok) cliVersion = told.value;
    const asked = await nodeCli.pruneInfo(signal);
    hasLooked = true;
    if (signal.aborted) return;
    pruneInfo = asked.ok ? asked.value : undefined;
    board.set(nodeCliCondition(asked));
    onChange();
  };
  const version = () =>
    resolveVersion({
      setting: options.version,
      nodeCli: cliVersion,
      clientVersion: health().clientVersion,
      image: options.image,
    });
  const done = poll({ name: "node_cli", intervalMs: options.intervalMs, signal: options.signal }, look, dependencies);
  return { version, pruneInfo: () => pruneInfo, look, hasLooked: () => hasLooked, done };
}

function nodeCliCondition(asked: NodeCliResult<PruneInfo>) {
  const type = "NodeCliWorking" as const;
  if (asked.ok) return { type, status: "True" as const, reason: "Working", message: "node_cli prune --get answers." };
  return { type, status: "False" as const, reason: asked.reason, message: asked.message };
}

import type { Registry } from "prom-client";
import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SendRequest } from "#daemon/http/send-request.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { pollCheck } from "#status/failed-check.ts";
import type { ConditionReport } from "#status/condition.ts";
import { createSampleGauge } from "#status/charts.ts";
import { findFault, type ObservedNode, type RpcState, type ReferenceCheck } from "./rpc-state.ts";
import { createRpcClient, parseQuantity, RpcFailure } from "./rpc-client.ts";

/** References with which the node's height is compared, and how to query them. `maxBlocks`: max lag at which the node still counts as current. */
export type ReferenceWatchOptions = Readonly<{
  references: readonly string[];
  intervalMs: number;
  timeoutMs: number;
  maxBlocks: number;
  signal: AbortSignal;
}>;

export type ReferenceWatchDependencies = Readonly<{
  board: ConditionBoard;
  metrics: Registry;
  log: Logger;
  send: SendRequest;
  clock: Clock;
  health: () => RpcState;
  facts: ObservedNode;
  /** Checks the node once more. */
  check: (signal: AbortSignal) => Promise<RpcState>;
  /** Called with the result of each check. */
  compared: (reference: ReferenceCheck) => void;
}>;

type ReferenceHeight = Readonly<{ url: string; height: number } | { url: string; failure: string }>;

/** Outcome of a comparison: the median of the references and the node's distance from it, if both are known. */
type ComparedHeight = Readonly<{ condition: ConditionReport<"NodeSynced">; median?: number; lagBlocks?: number }>;

/** Compares the node's height with other endpoints at an interval. Settles when the watch has ended. */
export async function watchReferences(
  options: ReferenceWatchOptions,
  dependencies: ReferenceWatchDependencies,
): Promise<void> {
  const { board, metrics, log, clock, health, facts, check } = dependencies;
  const lag = createLagGauge(metrics);
  const failed = () => {
    lag.set(undefined);
    facts.note({ lag: "unknown" });
  };
  const what = "The comparison of the node's height with the references'";
  const { intervalMs, signal: stopped } = options;
  const polling = pollCheck(
    { name: "references", what, types: ["NodeSynced"], failed, intervalMs, signal: stopped },
    async (signal) => {
      const requestedAtMs = clock.monotonicMs();
      const heights = await Promise.all(
        options.references.map((url) => readReference(url, options.timeoutMs, signal, dependencies)),
      );
      if (signal.aborted) return;
      const seen = compareHeights(getKnownHeight(health()), heights, options.maxBlocks);
      // If this process was suspended, the node's height may be older than the references' by the duration of the suspension.
      const isBehind = seen.condition.reason === "Behind";
      const compared = isBehind
        ? compareHeights(getKnownHeight(await check(signal)), heights, options.maxBlocks)
        : seen;
      if (signal.aborted) return;
      dependencies.compared({ height: compared.median, requestedAtMs });
      lag.set(compared.lagBlocks);
      recordLag(compared, facts);
      board.set(compared.condition);
    },
    { board, log },
  );
  await polling.ended;
}

/** Returns the height of a responding node; a height from before the node stopped responding can't be compared. */
function getKnownHeight({ height, failure }: RpcState): number | undefined {
  return failure === undefined ? height : undefined;
}

/** While the node does not respond, the last finding is kept: one slow response must not turn a node that was behind into a healthy one. */
function recordLag({ condition, lagBlocks: blocks = 0 }: ComparedHeight, facts: ObservedNode): void {
  if (condition.reason === "NoHeight") return;
  const fault = findFault(condition);
  facts.note({ lag: fault ? { ...fault, blocks } : condition.status === "True" ? "current" : "unknown" });
}

async function readReference(
  url: string,
  timeoutMs: number,
  signal: AbortSignal,
  dependencies: Readonly<{ send: SendRequest }>,
): Promise<ReferenceHeight> {
  try {
    const rpc = createRpcClient({ url, timeoutMs }, dependencies);
    return { url, height: parseQuantity(await rpc("eth_blockNumber", [], signal), "eth_blockNumber", url) };
  } catch (error) {
    if (error instanceof RpcFailure) return { url, failure: error.message };
    throw error;
  }
}

/** Compares a height with the median of the heights received, so that a single wrong reference does not decide. Pure function. */
export function compareHeights(
  height: number | undefined,
  references: readonly ReferenceHeight[],
  maxBlocks: number,
): ComparedHeight {
  const type = "NodeSynced";
  const heights = references
    .flatMap((reference) => ("height" in reference ? [reference.height] : []))
    .sort((a, b) => a - b);
  const median = heights[Math.floor((heights.length - 1) / 2)];
  if (median === undefined) {
    const failures = references.flatMap((reference) => ("failure" in reference ? [reference.failure] : []));
    const message = `No reference endpoint responded: ${failures.join(" ")}`;
    return { condition: { type, status: "Unknown", reason: "NoReference", message } };
  }
  if (height === undefined) {
    const message = `The references are at ${median}; the node's height is unknown.`;
    return { condition: { type, status: "Unknown", reason: "NoHeight", message }, median };
  }
  const lagBlocks = Math.max(0, median - height);
  if (lagBlocks <= maxBlocks) {
    const message = `The node is at ${height}, ${lagBlocks} blocks behind the references.`;
    return { condition: { type, status: "True", reason: "Synced", message }, median, lagBlocks };
  }
  const message = `The node is at ${height}, ${lagBlocks} blocks behind the references (limit: ${maxBlocks}); check its peers and its disk.`;
  return { condition: { type, status: "False", reason: "Behind", message }, median, lagBlocks };
}

export function createLagGauge(registry: Registry) {
  const help = "Blocks behind the median of the reference endpoints; absent while none responds.";
  return createSampleGauge({ name: "gatehouse_node_lag_blocks", help, registry });
}

import type { Clock } from "#daemon/clock.ts";
import type { RpcState } from "./rpc-state.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { findConditionTitle } from "#status/condition.ts";

export type ReportedNode = Readonly<{
  name: string;
  httpUrl: string;
}>;

/** Sources for any node's status. All data is read from state; nothing queries the node. */
export type NodeStatusSources = Readonly<{ board: ConditionBoard; health: () => RpcState; clock: Clock }>;

/** Describes a node's RPC and its conditions for `/status`. */
export function describeNodeStatus({ name, httpUrl }: ReportedNode, { board, health, clock }: NodeStatusSources) {
  const conditions = board.list();
  const { height, latencyMs, chainId, clientVersion, binaryVersion, syncing, failure, answeredAtMs } = health();
  return {
    /** The service's own time, so that ages do not depend on the reader's clock. */
    at: new Date(clock.wallMs()).toISOString(),
    healthy: conditions.every(({ status }) => status !== "False"),
    node: {
      name,
      rpc: new URL(httpUrl).origin,
      height,
      latencyMs,
      chainId,
      clientVersion,
      /** Version of the running node; a version reported before a restart is not shown. */
      binaryVersion: binaryVersion?.isCurrent === true ? binaryVersion.text : undefined,
      syncing,
      /** Whether the last check succeeded. If not, the fields above date from `answeredAt`. */
      answers: failure === undefined && answeredAtMs !== undefined,
      answeredAt: answeredAtMs === undefined ? undefined : new Date(answeredAtMs).toISOString(),
    },
    conditions: conditions.map(({ type, status, reason, message, since }) => {
      return { type, title: findConditionTitle({ type, status, reason }), status, reason, message, since };
    }),
  };
}

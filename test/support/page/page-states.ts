import type { Traffic } from "#gateway/observe/meter.ts";
import type { ConditionReport, ConditionType } from "#status/condition.ts";
import { servePage, type ServedPageOptions } from "./served-page.ts";

export const secondMs = 1_000;
export const minuteMs = 60_000;

export const sides: readonly ConditionType[] = [
  "RpcResponding",
  "ChainIdMatches",
  "HeightAdvancing",
  "WebSocketResponding",
  "GatewayServing",
  "Reconciling",
  "ConfigReconciled",
  "VersionConsistent",
  "Pruning",
  "MetricsArriving",
  "DiskSpaceSufficient",
  "NoRestartPending",
  "RollbackReady",
  "NotPaused",
];

function buildTraffic(seconds: number): Traffic {
  const call = (method: string, tier: string, outcome: Traffic["calls"][number]["outcome"], perSecond: number) => ({
    method,
    tier,
    outcome,
    count: Math.round(perSecond * seconds),
  });
  return {
    calls: [
      call("eth_call", "public", "node", 18),
      call("eth_getBalance", "public", "cache", 12),
      call("eth_getLogs", "paid", "node", 6),
      call("eth_blockNumber", "paid", "cache", 4),
      call("eth_getLogs", "paid", "failed", 0.6),
      call("eth_call", "public", "limited", 2),
    ],
    limited: [{ limit: "rate", tier: "public", count: Math.round(2 * seconds) }],
  };
}

export const rejected = {
  reason: "ConnectionRefused",
  message:
    "http://127.0.0.1:18100 can't be reached (ECONNREFUSED); check that the node is running and that this is its address.",
} as const;

export const nodeGone: readonly ConditionReport[] = [
  { type: "RpcResponding", status: "False", ...rejected },
  {
    type: "WebSocketResponding",
    status: "False",
    reason: "ConnectionRefused",
    message:
      "ws://127.0.0.1:18200 can't be reached (ECONNREFUSED); subscribers are not served. Enable the node's WebSocket, or correct node.webSocketUrl.",
  },
  { type: "HeightAdvancing", status: "False", reason: "NoNewBlock", message: "No new blocks after a steady rate." },
  {
    type: "GatewayServing",
    status: "Unknown",
    reason: "NodeUnhealthy",
    message: "The gateway is rejecting calls: its node is unfit.",
  },
  { type: "Pruning", status: "False", reason: "PruningStalled", message: "Pruning has stalled." },
  { type: "MetricsArriving", status: "False", reason: "Stale", message: 'The last push of job "node-7" is 75 s old.' },
  { type: "NoRestartPending", status: "False", reason: "BudgetExhausted", message: "A restart waits for its budget." },
];

/** Serves the page of a node that was healthy for some minutes, with a block per second and 40 calls per second. */
export async function serveRightNode(options: ServedPageOptions = {}, minutes = 10) {
  const node = await servePage(options);
  node.setRight(sides);
  const end = minutes * minuteMs;
  await node.live(end, (sinceMs) => ({
    height: 5_400_000 + Math.floor(sinceMs / secondMs),
    latencyMs: 3 + 2 * Math.sin(sinceMs / minuteMs),
    prunable: 90_000 + sinceMs / secondMs,
    pruned: 89_940 + sinceMs / secondMs - 20 * Math.abs(Math.sin(sinceMs / minuteMs)),
    traffic: buildTraffic(sinceMs / secondMs),
  }));
  return { ...node, seconds: end / secondMs, height: 5_400_000 + end / secondMs };
}

export async function serveDeadNode(forMs: number, options: ServedPageOptions = {}) {
  const node = await serveRightNode(options, 8);
  node.set(...nodeGone);
  await node.live(forMs, () => ({ failure: rejected }));
  return node;
}

export const waitingSteps = [
  "node.conf: a renamed to b (the version reads b)",
  "the node is restarted (it reads node.conf at its start)",
];

export async function serveWaitingNode() {
  const plan = { steps: waitingSteps, problems: [], digest: "0" };
  const node = await serveRightNode({ mode: "adopt", plan }, 1);
  node.set(
    {
      type: "NotPaused",
      status: "False",
      reason: "WaitingForApproval",
      message:
        "The sidecar has changed nothing yet and is waiting for your approval. Plan: 1. node.conf: a renamed to b.",
    },
    {
      type: "ConfigReconciled",
      status: "False",
      reason: "Drift",
      message: "node.conf differs from the desired configuration.",
    },
  );
  return node;
}

type OtherState = Readonly<{
  name: string;
  level: string;
  conditions: readonly ConditionReport[];
  title: RegExp;
  cards: readonly string[];
  down?: boolean;
}>;

export const otherStates: readonly OtherState[] = [
  {
    name: "paused",
    level: "paused",
    conditions: [
      ...nodeGone,
      {
        type: "NotPaused",
        status: "False",
        reason: "Paused",
        message: "The node did not recover after a restart. Run `docker exec gatehouse-prod-sidecar gatehouse resume`.",
      },
    ],
    title: /^Node down for 1 min$/,
    cards: ["The sidecar is paused"],
    down: true,
  },
  {
    name: "restarting",
    level: "working",
    conditions: [
      ...nodeGone.slice(0, 4),
      {
        type: "NoRestartPending",
        status: "False",
        reason: "Running",
        message: "Restarting the node: node.conf changed.",
      },
    ],
    title: /^Restarting the node for 1 min$/,
    cards: ["The node is being restarted"],
    down: true,
  },
  {
    name: "reconcile-stopped",
    level: "unknown",
    conditions: [
      {
        type: "Reconciling",
        status: "False",
        reason: "Failing",
        message: "The disk is gone. All reconciles since 03:41 have failed; retrying every second.",
      },
    ],
    title: /^Not reconciled$/,
    cards: ["Reconciliation has stopped"],
  },
  {
    name: "faults",
    level: "degraded",
    conditions: [
      { type: "DiskSpaceSufficient", status: "False", reason: "Low", message: "4.1 GiB (2 %) are free at /data." },
      {
        type: "Pruning",
        status: "False",
        reason: "NotFound",
        message: "/srv/node-7/bin/node_cli does not exist; correct the program's path, or install it there.",
      },
    ],
    title: /^Serving, with a fault$/,
    cards: ["The disk is nearly full", "node_cli fails"],
  },
  {
    name: "starting",
    level: "unknown",
    conditions: [
      {
        type: "Reconciling",
        status: "Unknown",
        reason: "NotReconciledYet",
        message: "The node has not been checked yet.",
      },
    ],
    title: /^Starting$/,
    cards: [],
  },
];

/** Serves the page of a node that was healthy for three minutes and has been in that state for one. */
export async function serveState({ conditions, down }: OtherState) {
  const node = await serveRightNode({}, 3);
  node.set(...conditions);
  await node.live(minuteMs, (sinceMs) =>
    down === true ? { failure: rejected } : { height: node.height + Math.floor(sinceMs / secondMs) },
  );
  return node;
}

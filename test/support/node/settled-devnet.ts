import type { Clock } from "#daemon/clock.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { runUpgradeCommand, type UpgradeOptions } from "#sidecar/upkeep/control/upgrade-command.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { callRpc } from "../call-rpc.ts";
import { startDevnetWorkspace, type DevnetWorkspace } from "./devnet-workspace.ts";

/** Settings of a sidecar with short intervals, next to a devnet node. */
export const quickSidecar = {
  // Without --force, it waits for the node's exit: a killed one loses unsaved blocks.
  GATEHOUSE_SIDECAR_OPS_STOP: '["./ops","stop"]',
  GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "30000",
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
  GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
};

/** Runs the upkeep of a devnet node with short intervals. */
export function runQuickUpkeep(
  node: DevnetWorkspace,
  environment: Environment = {},
  options: Readonly<{ stateDirectory?: string; clock?: Clock }> = {},
): Promise<RunningUpkeep> {
  const quickConstants = {
    GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "500",
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "500",
  };
  return runUpkeep(node, { ...quickSidecar, ...quickConstants, ...environment }, options);
}

/** Waits until an upkeep has nothing left to do, and its node is some blocks high. */
export async function waitUntilSettled(node: DevnetWorkspace, upkeep: RunningUpkeep): Promise<void> {
  await upkeep.reason("Pruning", "Enabled", 40_000);
  await upkeep.reason("NoRestartPending", "NoRestart", 40_000);
  await upkeep.reason("ConfigReconciled", "Reconciled", 40_000);
  await readUntil(
    () => readHeight(node),
    (height) => height > 3,
  );
}

/** Starts a node of 0.15.0 under an upkeep that has nothing left to do. */
export async function startSettledDevnet(environment: Environment = {}) {
  const resources = new AsyncDisposableStack();
  const node = resources.use(await startDevnetWorkspace("0.15.0"));
  const upkeep = resources.use(await runQuickUpkeep(node, environment));
  await waitUntilSettled(node, upkeep);
  return { node, upkeep, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Runs `gatehouse upgrade` against an upkeep's own control API. */
export async function upgradeDevnet(
  upkeep: RunningUpkeep,
  source: string,
  more: Partial<Pick<UpgradeOptions, "dryRun" | "yes" | "json">> = {},
) {
  const { output, printed } = keepPrinted();
  const options = { source, version: undefined, dryRun: false, yes: true, confirm: undefined, ...more };
  const status = await runUpgradeCommand(findControl(upkeep), options, output);
  return { status, ...printed() };
}

/** Returns the address of an upkeep's control API. */
export function findControl({ stateDirectory }: RunningUpkeep) {
  return { kind: "socket", stateDirectories: [stateDirectory] } as const;
}

/** Records a command's output. */
export function keepPrinted() {
  let printed = "";
  let errors = "";
  const output = {
    out: (text: string) => void (printed += text),
    error: (text: string) => void (errors += text),
    isColored: false,
  };
  return { output, printed: () => ({ printed, errors }) };
}

async function call<Result>(
  { httpUrl }: Pick<DevnetWorkspace, "httpUrl">,
  method: string,
  params: readonly unknown[] = [],
) {
  const { result, error } = await callRpc<Result>(httpUrl, method, params);
  if (result === undefined) throw new Error(`${method}: ${error?.message}`);
  return result;
}

/** Queries a devnet node's version. */
export async function readVersion(node: DevnetWorkspace): Promise<string> {
  return (await call<{ binaryVersion: string }>(node, "debug_protocolVersion")).binaryVersion;
}

/** Queries a block's hash. */
export async function readHash(node: Pick<DevnetWorkspace, "httpUrl">, number: number): Promise<string> {
  return (await call<{ hash: string }>(node, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false])).hash;
}

/** Queries a node's height. */
export async function readHeight(node: Pick<DevnetWorkspace, "httpUrl">): Promise<number> {
  return Number(await call<string>(node, "eth_blockNumber"));
}

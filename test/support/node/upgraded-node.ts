import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock, type Clock } from "#daemon/clock.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { captureOutput } from "#daemon/testing/captured-output.ts";
import { runUpgradeCommand, type UpgradeOptions } from "#sidecar/upkeep/control/upgrade-command.ts";
import { callRpc } from "../call-rpc.ts";

export const oldBlocks = "old blocks";

export const chainOf = ({ workspace }: Pick<FakeNode, "workspace">) => join(workspace, "data", "chain");

/**
 * Factor by which time runs faster for a node that must respond and advance, which shortens the wait for a failed start.
 */
const pace = 5;

const seconds = (real: number) => String(real * 1_000 * pace);

/** Runs the upkeep of a fake node, with few checks of its own: each check of pruning starts a process. */
export function runFakeUpkeep(
  node: FakeNode,
  environment: Environment = {},
  { clock = systemClock, ...options }: Readonly<{ stateDirectory?: string; clock?: Clock }> = {},
): Promise<RunningUpkeep> {
  return runUpkeep(
    node,
    {
      GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: seconds(30),
      GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: seconds(5),
      GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
      GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "5000",
      GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "1000",
      ...environment,
    },
    { ...options, clock: { ...clock, monotonicMs: () => clock.monotonicMs() * pace } },
  );
}

export async function waitUntilFakeSettled(upkeep: RunningUpkeep): Promise<void> {
  await upkeep.reason("Pruning", "Enabled");
  await upkeep.reason("NoRestartPending", "NoRestart");
  await upkeep.reason("ConfigReconciled", "Reconciled");
}

export async function startSettledFake(environment: Environment = {}) {
  await using resources = new AsyncDisposableStack();
  const node = resources.use(await createFakeNode());
  await node.install("0.15.0");
  await writeFile(chainOf(node), oldBlocks);
  await node.start();
  const upkeep = resources.use(await runFakeUpkeep(node, environment));
  await waitUntilFakeSettled(upkeep);
  const owned = resources.move();
  return { node, upkeep, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export async function upgradeNode(
  { target }: RunningUpkeep,
  source: string,
  more: Partial<Pick<UpgradeOptions, "dryRun" | "yes" | "json">> = {},
) {
  const { output, printed } = captureOutput();
  const options = { source, version: undefined, dryRun: false, yes: true, confirm: undefined, ...more };
  const status = await runUpgradeCommand(target, options, output);
  return { status, ...printed() };
}

type Reached = Pick<FakeNode, "httpUrl">;

async function call<Result>({ httpUrl }: Reached, method: string, params: readonly unknown[] = []) {
  const { result, error } = await callRpc<Result>(httpUrl, method, params);
  if (result === undefined) throw new Error(`${method}: ${error?.message}`);
  return result;
}

export async function readHash(node: Reached, number: number): Promise<string> {
  return (await call<{ hash: string }>(node, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false])).hash;
}

export async function readHeight(node: Reached): Promise<number> {
  return Number(await call<string>(node, "eth_blockNumber"));
}

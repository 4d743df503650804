import { runUpgradeCommand, type UpgradeOptions } from "#sidecar/upkeep/control/upgrade-command.ts";
import type { RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { callRpc } from "../call-rpc.ts";
import type { DevnetWorkspace } from "./devnet-workspace.ts";

export const quickSidecar = {
  // Without --force, it waits for the node's exit: a killed one loses unsaved blocks.
  GATEHOUSE_SIDECAR_OPS_STOP: '["./ops","stop"]',
  GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "30000",
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
  GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
};

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

export function findControl({ stateDirectory }: RunningUpkeep) {
  return { kind: "socket", stateDirectories: [stateDirectory] } as const;
}

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

export async function readHash(node: Pick<DevnetWorkspace, "httpUrl">, number: number): Promise<string> {
  return (await call<{ hash: string }>(node, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false])).hash;
}

export async function readHeight(node: Pick<DevnetWorkspace, "httpUrl">): Promise<number> {
  return Number(await call<string>(node, "eth_blockNumber"));
}

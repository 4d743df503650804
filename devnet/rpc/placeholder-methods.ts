import type { MethodGroup } from "./method.ts";

/** What is left of proof of work: constants, whatever the parameters (specification, "Placeholder methods"). */
const constants: Readonly<Record<string, unknown>> = {
  eth_coinbase: "0x0",
  eth_mining: false,
  eth_hashrate: "0x0",
  eth_accounts: [],
  eth_pendingTransactions: [],
  eth_getCompilers: [],
  eth_getUncleCountByBlockHash: null,
  eth_getUncleCountByBlockNumber: null,
  eth_getUncleByBlockHashAndIndex: null,
  eth_getUncleByBlockNumberAndIndex: null,
};

/** The ten placeholders. */
export function createPlaceholderMethods(): MethodGroup {
  return Object.fromEntries(Object.entries(constants).map(([name, value]) => [name, async () => value]));
}

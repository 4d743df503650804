import type { Hex } from "./hex.ts";

/** Purposes of the contracts; the names appear in options and output. */
export const contractUses = {
  "exact-permit2": "exact, paid by Permit2",
  upto: "upto",
  "batch-settlement": "batch-settlement",
  batches: "many settlements in one transaction",
} as const;

export type ContractUse = keyof typeof contractUses;

export type CanonicalContract = Readonly<{ name: string; address: Hex; uses: readonly ContractUse[] }>;

/**
 * The contracts that payments call. Sources: the EVM specifications of the schemes `exact`, `upto` and
 * `batch-settlement`, and https://github.com/mds1/multicall3. Signatures of undeployed contracts (ERC-6492) need none:
 * they are verified with an `eth_call` without a `to`.
 */
export const canonicalContracts = {
  create2Deployer: {
    name: "CREATE2 deployer",
    address: "0x4e59b44847b379578588920cA78FbF26c0B4956C",
    // No payment calls it; it determines the addresses of others.
    uses: [],
  },
  multicall3: { name: "Multicall3", address: "0xcA11bde05977b3631167028862bE2a173976CA11", uses: ["batches"] },
  permit2: {
    name: "Permit2",
    address: "0x000000000022D473030F116dDEE9F6B43aC78BA3",
    uses: ["exact-permit2", "upto", "batch-settlement"],
  },
  exactProxy: {
    name: "x402ExactPermit2Proxy",
    address: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
    uses: ["exact-permit2"],
  },
  uptoProxy: { name: "x402UptoPermit2Proxy", address: "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002", uses: ["upto"] },
  batchSettlement: {
    name: "x402BatchSettlement",
    address: "0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003",
    uses: ["batch-settlement"],
  },
  erc3009Collector: {
    name: "ERC3009DepositCollector",
    address: "0x4020806089470a89826cB9fB1f4059150b550004",
    uses: ["batch-settlement"],
  },
  permit2Collector: {
    name: "Permit2DepositCollector",
    address: "0x4020425FAf3B746C082C2f942b4E5159887B0005",
    uses: ["batch-settlement"],
  },
} as const satisfies Record<string, CanonicalContract>;

export type ContractId = keyof typeof canonicalContracts;

export type KnownContracts = Pick<ReadonlySet<string>, "has">;

/** Lists the ids of the contracts for one use, or of all contracts, in deployment order. */
export function listContracts(use?: ContractUse): readonly ContractId[] {
  const ids = Object.keys(canonicalContracts) as ContractId[];
  const isUsed = (id: ContractId) =>
    (canonicalContracts[id].uses as readonly ContractUse[]).includes(use as ContractUse);
  return use === undefined ? ids : ids.filter(isUsed);
}

/** Finds the contracts with code on a chain. `getCode` is `eth_getCode`; its errors are rethrown. */
export async function findDeployedContracts(
  getCode: (address: Hex) => Promise<Hex | undefined>,
): Promise<ReadonlySet<ContractId>> {
  const found = await Promise.all(
    listContracts().map(async (id) => ({ id, code: (await getCode(canonicalContracts[id].address)) ?? "0x" })),
  );
  return new Set(found.filter(({ code }) => code !== "0x").map(({ id }) => id));
}

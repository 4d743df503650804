import * as Value from "ox/Value";
import { findChainTraits } from "#daemon/chain-traits.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { startStep } from "#daemon/process/start-step.ts";
import type { AcceptedAsset } from "#x402/signed-payment.ts";
import { computeDomainSeparator } from "#x402/typed-data.ts";
import { limitCallTime, type BatchingClient, type CallLocation, type connectToNode } from "./chain/batching-client.ts";
import { ChainError } from "./chain/chain-error.ts";
import { createChain } from "./chain/chain.ts";
import { startChainWatch } from "./chain/chain-watch.ts";
import { createFeeQuotes } from "./chain/fees.ts";
import { computeGasCost, createGasLimits } from "./chain/gas-limits.ts";
import { listAddresses } from "./chain/open-signers.ts";
import { createSignerWatch } from "./chain/signer-watch.ts";
import type { NetworkMetrics } from "./facilitator-metrics.ts";
import type { NetworkOptions } from "./network-options.ts";
import { createSuspensions } from "./chain/suspensions.ts";
import type { SettledNetwork } from "./operations.ts";
import { createPaymentChecks } from "./verification/payment-checks.ts";
import { createTransfers, type TransferOptions } from "./transfers.ts";
import { createSellerLimits } from "./seller-limits.ts";
import type { SettlementContext } from "./settlement/context.ts";
import { createRecordChecks } from "./settlement/ledger/ledger.ts";
import type { LedgerStore } from "./settlement/ledger/open-ledger.ts";
import { createSaleStore, sumSpent, type Sales } from "./settlement/ledger/sales.ts";
import { startEngine } from "./settlement/start-engine.ts";
import type { FacilitatorSettings } from "./settings.ts";

/** A node that takes longer to respond to the periodic check counts as down. */
const checkDeadlineMs = 5_000;

export type NetworkDependencies = Pick<
  SettlementContext,
  "signers" | "clock" | "monotonicMs" | "pause" | "random" | "signal" | "log" | "audit"
> &
  LedgerStore &
  Readonly<{ metrics: NetworkMetrics; connect: typeof connectToNode }>;

export type Network = AsyncDisposable &
  SettledNetwork &
  Readonly<{
    checks: () => Readonly<Record<"chain" | "signer" | "ledger", ReadinessCheck>>;
    yieldTerm: () => Promise<void>;
  }>;

/**
 * Connects to a network, and resumes the settlements that an earlier process started there.
 *
 * @throws {StartupError} when the node is on another chain, or its tokens differ from the settings.
 */
export async function startNetwork(
  options: NetworkOptions & Readonly<{ firstChainId: number; compareIntervalMs: number }>,
  dependencies: NetworkDependencies,
): Promise<Network> {
  const { chain: chainOptions, settlement, sellers } = options;
  const { signers, clock, monotonicMs, connect, metrics, log } = dependencies;
  const { id: chainId } = chainOptions;
  const network = `eip155:${chainId}` as const;
  await using resources = new AsyncDisposableStack();
  const rpc = resources.use(connect(chainOptions, { observe: metrics.observeRpc, monotonicMs, log }));
  const chain = createChain({ rpc });
  const fees = createFeeQuotes(settlement, { chain, monotonicMs });
  const assets = listAcceptedAssets(options);
  const watch = resources.use(await startWatches(options, assets, { ...dependencies, rpc }));
  const { chainCheck, signerCheck, decimals, contracts, signerWatch } = watch;
  const { shortage } = signerWatch;
  const addresses = listAddresses(signers);
  const limits = { entriesMax: settlement.inFlightMax };
  const gas = createGasLimits({ ...settlement, ...limits }, { signer: signers[0].address, fees, monotonicMs });
  const checkedRpc = requireChecked(rpc, { contracts, network });
  const chainAt = (location: CallLocation) => createChain({ rpc: checkedRpc, location });
  const records = createRecordChecks({ ...dependencies, chainId });
  const parts = { ...dependencies, ...signerWatch, ...records };
  const suspensions = createSuspensions(parts);
  const checks = createPaymentChecks(limits, { ...parts, chainAt, gas, suspensions });
  const payees = toLowerCase(options.payees);
  const sales = createSaleStore({ chainId, firstChainId: options.firstChainId }, dependencies);
  const recordMined = createGasMeter(chainOptions, { payees, sales: sellers.size > 0 ? sales : undefined, metrics });
  const onChain = { chainId, settlement, chain, fees, gas, contracts, suspensions, signerWatch };
  const context = { ...dependencies, ...onChain, check: checks.checkAgain, recordMined };
  const engine = resources.use(await startEngine(context, options));
  // Disposed first: calls still waiting for a hanging node must not delay shutdown; their settlements are journaled.
  resources.use(rpc);
  metrics.watch({
    ...engine,
    signerBalances: signerWatch.balances,
    signersUsable: signerWatch.usable,
    sellers: [...sellers.keys()],
    dailyGas: async (seller) => toNative(sumSpent(await sales.dailyGas(seller))),
  });
  const minAmount = createMinAmounts(options, signerWatch);
  const sellerLimits = createSellerLimits({ network, sellers }, { ...signerWatch, sales, clock });
  const transfersFor = createTransfers(
    { network, assets, payees, minAmount, signers: toLowerCase(addresses) },
    { ...context, ...checks, ...records, engine, sellers: sellerLimits },
  );
  const ownedResources = resources.move();
  return {
    network,
    signers: addresses,
    transfersFor,
    problem: () => {
      const { ok, message } = chainCheck();
      return ok ? shortage() : message;
    },
    shortage,
    decimals,
    contracts,
    checks: () => ({ chain: chainCheck(), signer: signerCheck(), ledger: engine.readiness() }),
    yieldTerm: engine.yieldTerm,
    [Symbol.asyncDispose]: () => ownedResources.disposeAsync(),
  };
}

type WatchDependencies = Pick<NetworkDependencies, "signers" | "clock" | "monotonicMs" | "pause" | "signal" | "log"> &
  Readonly<{ rpc: BatchingClient }>;

/** Starts the watches of the node and of the signers' balances. Their calls have a short deadline. */
async function startWatches(
  { chain: { id: chainId, ...node }, settlement }: NetworkOptions,
  acceptedAssets: ReadonlyMap<string, AcceptedAsset>,
  { rpc, ...dependencies }: WatchDependencies,
) {
  const chain = createChain({ rpc: limitCallTime(rpc, { deadlineMs: checkDeadlineMs }, dependencies) });
  const signerWatch = createSignerWatch({ ...settlement, chainId }, { ...dependencies, chain });
  const fees = createFeeQuotes(settlement, { ...dependencies, chain });
  const watch = await startStep(`the node at ${new URL(node.rpcUrl).origin}`, () =>
    startChainWatch(
      { ...node, chainId, assets: [...acceptedAssets.values()] },
      { ...dependencies, chain, fees, signers: signerWatch },
    ),
  );
  return { ...watch, signerWatch };
}

/** Creates a client whose calls fail until the chain has been checked. */
function requireChecked(
  rpc: BatchingClient,
  { contracts, network }: Pick<Network, "contracts" | "network">,
): BatchingClient {
  return {
    ...rpc,
    call: async (...query) => {
      if (contracts() !== undefined) return rpc.call(...query);
      throw new ChainError("rejected", `${network} was not checked yet; try again in a second`);
    },
  };
}

/** Creates a meter for the gas costs of settlements, by payee and, with `sales`, by seller. */
function createGasMeter(
  { id, chargesGasLimit = findChainTraits(id).chargesGasLimit }: FacilitatorSettings["chain"],
  {
    payees,
    sales,
    metrics,
  }: Readonly<{ payees: ReadonlySet<string>; sales: Sales | undefined; metrics: NetworkMetrics }>,
): SettlementContext["recordMined"] {
  return async (entries, receipts) => {
    const payments = entries.map(({ settlement, attempts }) => {
      return { ...settlement, wei: computeGasCost(attempts, receipts, { chargesGasLimit }) };
    });
    const bySeller = (await sales?.addGas(new Map(payments.map(({ id: settlement, wei }) => [settlement, wei])))) ?? [];
    for (const [seller, wei] of bySeller) metrics.addSellerGas(seller, toNative(wei));
    for (const { payTo, wei } of payments) {
      const payee = payTo.toLowerCase();
      metrics.addGasCost(payees.has(payee) ? payee : "other", toNative(wei));
    }
  };
}

function toNative(wei: bigint): number {
  return Number(Value.formatEther(wei));
}

function toLowerCase(addresses: readonly string[]): ReadonlySet<string> {
  return new Set(addresses.map((each) => each.toLowerCase()));
}

function listAcceptedAssets({ assets, chain }: NetworkOptions): ReadonlyMap<string, AcceptedAsset> {
  const separateAssets = assets.map((asset) => ({
    ...asset,
    separator: computeDomainSeparator({ ...asset, chainId: chain.id }),
  }));
  return new Map(separateAssets.map((asset) => [asset.address.toLowerCase(), asset]));
}

/**
 * Creates the minimum amounts of tokens: as configured, otherwise a settlement's cost if a price is known, otherwise one unit. Never zero,
 * because a transfer of 0 pays for nothing.
 */
export function createMinAmounts(
  { assets }: Pick<FacilitatorSettings, "assets">,
  { settlementCost }: Readonly<{ settlementCost: () => bigint }>,
): TransferOptions["minAmount"] {
  const byAddress = new Map(assets.map((asset) => [asset.address.toLowerCase(), asset]));
  return (address) => {
    const { minAmount, nativePrice } = byAddress.get(address.toLowerCase()) ?? {};
    if (minAmount !== undefined) return BigInt(minAmount);
    if (nativePrice === undefined) return 1n;
    return (settlementCost() * BigInt(nativePrice)) / Value.fromEther("1") + 1n;
  };
}

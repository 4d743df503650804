import * as Value from "ox/Value";
import type { Registry } from "prom-client";
import { findChainTraits } from "#daemon/chain-traits.ts";
import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import { startStep } from "#daemon/process/start-step.ts";
import { judgeReadiness, type Readiness } from "#daemon/http/readiness.ts";
import type { CallLocation } from "./chain/call-lines.ts";
import { createChain } from "./chain/chain.ts";
import { startChainWatch } from "./chain/chain-watch.ts";
import { createGasLimits } from "./chain/gas-limits.ts";
import { createFeeQuotes } from "./chain/fees.ts";
import { createBatchingClient, requestsInFlightMax, type JsonRpcObserver } from "./chain/batching-client.ts";
import { createFailover } from "./chain/failover.ts";
import { createHttpTransport } from "./chain/http-transport.ts";
import { createTransactionSigner, type TransactionSigner } from "./chain/transaction-signer.ts";
import { createFacilitatorMetrics, type FacilitatorMetrics } from "./facilitator-metrics.ts";
import { followNewHeads } from "./chain/new-heads.ts";
import { pause as systemPause, type Pause } from "#daemon/time.ts";
import { schemes as knownSchemes } from "#x402/schemes.ts";
import { batchSettlement } from "#x402/batch-settlement.ts";
import type { AcceptedAsset } from "#x402/signed-payment.ts";
import { computeDomainSeparator } from "#x402/typed-data.ts";
import { createSuspensions } from "./payment/suspensions.ts";
import { createMinAmounts } from "./schemes/min-amount.ts";
import { createPaymentChecks } from "./schemes/payment-checks.ts";
import { createOperations, type Operations } from "./schemes/operations.ts";
import { createTransfers } from "./schemes/transfers.ts";
import { facilitatorSettings, type FacilitatorSettings } from "./settings.ts";
import type { EngineDependencies } from "./settlement/engine.ts";
import { computeGasCost } from "./settlement/track/mined-gas.ts";
import type { InFlight } from "./settlement/in-flight.ts";
import type { Sales } from "./settlement/ledger/sales.ts";
import { createSellers } from "./sellers/sellers.ts";
import { startEngine } from "./settlement/start-engine.ts";

/** Parsed settings of a facilitator, without those of its process and listener, because the resource server runs one in its own process. */
export type FacilitatorOptions = Pick<
  FacilitatorSettings,
  "chain" | "signer" | "assets" | "payees" | "ledger" | "settlement"
> &
  Partial<Pick<FacilitatorSettings, "sellers">>;

const { shape } = facilitatorSettings.schema;

/** Default settings for a facilitator created without its own settings. */
export const facilitatorDefaults: Readonly<Pick<FacilitatorSettings, "chain" | "ledger" | "settlement">> = {
  chain: shape.chain.parse({}),
  ledger: shape.ledger.parse({}),
  settlement: shape.settlement.parse({}),
};

/** Dependencies that the process provides to a facilitator. */
export type FacilitatorDependencies = Readonly<{
  log: Logger;
  /** Receives each settlement before any other consumer. */
  audit?: AuditLog | undefined;
  metrics: Registry;
  /** Milliseconds since 1970, as in `Date.now`; used for stored times and for comparison with an authorization's times. */
  clock: () => number;
  /** Milliseconds since an arbitrary instant, unaffected by clock changes; used for durations. */
  monotonicMs: () => number;
  /** Aborts when the process is stopping; waiting calls of `settle` then get a response within `settlement.drainMs`. */
  signal: AbortSignal;
  /**
   * Whether a hot restart runs another process next to this one, with a shared ledger. Default: this process uses the ledger exclusively,
   * unless it is a database.
   */
  isHandedOver?: boolean | undefined;
  /** Doubles in a simulation. Default: system timers and randomness, the configured node, and the configured database. */
  pause?: Pause;
  random?: () => number;
  connect?: typeof connectToNode;
  openStore?: EngineDependencies["openStore"];
}>;

/**
 * Verifies and settles x402 version 2 payments with the known schemes (`x402/schemes.ts`), using EIP-3009 on one EVM chain.
 *
 * `verify` and `settle` accept the client's payload, unparsed or already parsed by this process, and throw
 * - `MalformedPaymentError` when it is not a well-formed payment (HTTP 400),
 * - `ChainError` when the node can't be queried or returns no usable response (HTTP 500), which implies nothing about the payment,
 * - `OverloadError` when too many settlements are in flight (HTTP 503),
 * - `StoreError` when the ledger is unavailable (HTTP 503): settle the same payment again to learn its outcome.
 */
export type Facilitator = AsyncDisposable &
  Readonly<{
    /** Account that submits settlements; it needs native currency for gas. */
    signer: `0x${string}`;
    /** Chain in CAIP-2 form, e.g. `eip155:1672`. */
    network: `eip155:${number}`;
    /**
     * Checks whether the payment would settle now. A payment whose settlement has started is valid only for the sale that owns it, or while
     * it has no owner. Changes nothing.
     */
    verify: Operations["verify"];
    /**
     * Settles a payment at most once, however often and from wherever it is called. The first caller owns it; every other caller gets
     * `duplicate_settlement` with the transaction. `settlement_pending` with a `transaction` means that the outcome is still unknown; to
     * get it, call again with the same payment, as the same caller. Never ask the client for another payment then. See `caller.ts` for
     * which responses a caller can get twice.
     */
    settle: Operations["settle"];
    supported: Operations["supported"];
    /** Returns why the signer can't pay for a settlement now; undefined if it can. */
    shortage: () => string | undefined;
    readiness: () => Readiness;
    /** Transfers settling to the successor process. Calls of `settle` still get their outcome, from the ledger. */
    yieldTerm: () => Promise<void>;
  }>;

/**
 * Creates a facilitator: opens its ledger, connects to the chain, and resumes settlements that an earlier process started. Disposal stops
 * all of this; abort `signal` first, so that waiting callers get a response.
 *
 * @throws {StartupError} when the node is on another chain than `chain.id` or its tokens differ from `assets`, or when the ledger can't be
 * used.
 */
export async function createFacilitator(
  options: FacilitatorOptions,
  { metrics: registry, isHandedOver, ...dependencies }: FacilitatorDependencies,
): Promise<Facilitator> {
  const { chain: chainOptions, settlement, ledger } = options;
  const { log, clock, monotonicMs, pause = systemPause, random = Math.random, connect = connectToNode } = dependencies;
  const metrics = createFacilitatorMetrics([registry]);
  const { rpcUrl, webSocketUrl, id: chainId, nativeDecimals } = chainOptions;
  const network = `eip155:${chainId}` as const;
  const signer = createTransactionSigner(options.signer.privateKey);
  await using resources = new AsyncDisposableStack();
  const rpc = resources.use(connect(chainOptions, { observe: metrics.observeRpc, monotonicMs, log }));
  const chain = createChain({ rpc });
  const fees = createFeeQuotes(settlement, { chain, monotonicMs });
  const assets = listAcceptedAssets(options);
  const about = { chainId, rpcUrl, nativeDecimals, gasLimit: settlement.gasLimit };
  const watching = { ...about, signer: signer.address, assets: [...assets.values()] };
  const watch = resources.use(
    await startStep(`the node at ${new URL(rpcUrl).origin}`, () =>
      startChainWatch(watching, { chain, fees, clock, pause, log }),
    ),
  );
  const { shortage, decimals, contracts } = watch;
  const limits = { entriesMax: settlement.inFlightMax };
  const gas = createGasLimits({ ...settlement, ...limits }, { signer: signer.address, monotonicMs });
  const chainAt = (place: CallLocation) => createChain({ rpc, place });
  const suspensions = createSuspensions({ monotonicMs, log });
  const checks = createPaymentChecks(limits, { chainAt, gas, shortage, suspensions, clock, monotonicMs });
  const payees = new Set(options.payees.map((payee) => payee.toLowerCase()));
  const noteMinedIn = createGasMeter(chainOptions, { payees, sellers: options.sellers ?? [], metrics, signer });
  const callers = { check: checks.checkAgain, contracts, pause, random };
  const engineParts = { chain, fees, gas, signer, noteMinedIn, suspensions, ...callers };
  const engine = resources.use(
    await startEngine({ settlement, ledger, chainId, isHandedOver }, { ...dependencies, ...engineParts }),
  );
  if (webSocketUrl !== undefined) {
    resources.use(followNewHeads({ url: webSocketUrl }, { onHead: engine.onHead, log }));
  }
  // Also disposed first: calls still waiting for a hanging node must not delay shutdown; they are journaled.
  resources.use(rpc);
  const { inFlight, oldestMs, nextNonce, comparison } = engine;
  metrics.watch({ inFlight, oldestMs, nextNonce, comparison, signerBalance: watch.signerBalance });
  const minAmount = createMinAmounts({ ...chainOptions, assets: options.assets }, watch);
  const transfersFor = createTransfers(
    { network, assets, payees, minAmount, signer: signer.address },
    { ...checks, engine, contracts, clock, monotonicMs, log },
  );
  const sellers = createSellers(options, { ...engine, metrics, clock, monotonicMs });
  const schemes = await Promise.all(
    [...knownSchemes, batchSettlement].map(async (scheme) => ({ scheme, settling: await scheme.settling() })),
  );
  const operating = { transfersFor: sellers.guard(transfersFor), metrics, shortage, decimals, contracts };
  const owned = resources.move();
  return {
    signer: signer.address,
    network,
    ...sellers.limitRates(createOperations({ network, signer: signer.address, schemes }, operating)),
    shortage,
    readiness: () => judgeReadiness({ ...watch.checks(), ledger: engine.readiness() }),
    yieldTerm: engine.yieldTerm,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Creates the client of the chain's nodes, with the batch size that they accept. */
function connectToNode(
  {
    id,
    rpcUrl,
    fallbackRpcUrls,
    rpcTimeoutMs: timeoutMs,
    batchCallsMax = findChainTraits(id).batchCallsMax,
  }: FacilitatorSettings["chain"],
  { observe, ...times }: Readonly<{ observe: JsonRpcObserver; monotonicMs: () => number; log: Logger }>,
) {
  const connect = (url: string) => createHttpTransport({ url, timeoutMs, connectionsMax: requestsInFlightMax });
  const nodes = [rpcUrl, ...fallbackRpcUrls].map((url) => ({ transport: connect(url), origin: new URL(url).origin }));
  const [first] = nodes;
  const transport =
    nodes.length === 1 && first !== undefined ? first.transport : createFailover(nodes, { chainId: id, ...times });
  return createBatchingClient({ timeoutMs, batchCallsMax }, { transport, observe });
}

/** Creates the meter of the signer's gas costs of settlements, by payee and by seller. */
function createGasMeter(
  { id, chargesGasLimit = findChainTraits(id).chargesGasLimit, nativeDecimals }: FacilitatorSettings["chain"],
  {
    payees,
    sellers,
    metrics,
    signer: { readGasLimit },
  }: Readonly<{
    payees: ReadonlySet<string>;
    sellers: FacilitatorSettings["sellers"];
    metrics: FacilitatorMetrics;
    signer: TransactionSigner;
  }>,
): (sales: Sales) => EngineDependencies["noteMined"] {
  const toNative = (wei: bigint) => Number(Value.format(wei, nativeDecimals));
  return (sales) => async (entries, receipts) => {
    const cost = (entry: InFlight) => computeGasCost(entry, receipts, { chargesGasLimit, readGasLimit });
    const costs = sellers.length === 0 ? [] : entries.map((entry) => [entry.settlement.id, cost(entry)] as const);
    const bySeller = await sales.addGas(new Map(costs));
    for (const [seller, wei] of bySeller) metrics.addSellerGas(seller, toNative(wei));
    for (const entry of entries) {
      const payee = entry.settlement.payTo.toLowerCase();
      metrics.addGasCost(payees.has(payee) ? payee : "other", toNative(cost(entry)));
    }
  };
}

/** Lists the accepted tokens, by lowercase address. */
function listAcceptedAssets({ assets, chain }: FacilitatorOptions): ReadonlyMap<string, AcceptedAsset> {
  const separated = assets.map((asset) => ({
    ...asset,
    separator: computeDomainSeparator({ ...asset, chainId: chain.id }),
  }));
  return new Map(separated.map((asset) => [asset.address.toLowerCase(), asset]));
}

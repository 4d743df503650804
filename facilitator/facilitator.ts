import * as Value from "ox/Value";
import type { Registry } from "prom-client";
import { findChainTraits } from "#daemon/chain-traits.ts";
import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import { startStep } from "#daemon/process/start-step.ts";
import { judgeReadiness, type Readiness } from "#daemon/http/readiness.ts";
import type { Caller } from "./callers/caller.ts";
import type { CallPlace } from "./chain/call-lines.ts";
import { ChainError } from "./chain/chain-error.ts";
import { createChain } from "./chain/chain.ts";
import { startChainWatch, type ChainWatch } from "./chain/chain-watch.ts";
import { createGasLimits } from "./chain/gas-limits.ts";
import { createFeeQuotes } from "./chain/fees.ts";
import { createBatchingClient } from "./chain/batching-client.ts";
import { createTransactionSigner, type TransactionSigner } from "./chain/transaction-signer.ts";
import { createFacilitatorMetrics, type FacilitatorMetrics } from "./facilitator-metrics.ts";
import { followNewHeads } from "./chain/new-heads.ts";
import { createRecentVerdicts } from "./payment/recent-verdicts.ts";
import { pause } from "#daemon/time.ts";
import { schemes as knownSchemes } from "#x402/schemes.ts";
import type { AcceptedAsset, SignedPayment } from "#x402/signed-payment.ts";
import { computeDomainSeparator } from "#x402/typed-data.ts";
import { createMinAmounts } from "./schemes/min-amount.ts";
import { createOperations, type Operations } from "./schemes/operations.ts";
import { createTransfers } from "./schemes/transfers.ts";
import { facilitatorSettings, type FacilitatorSettings } from "./settings.ts";
import type { EngineDependencies } from "./settlement/engine.ts";
import { computeGasCost } from "./settlement/track/mined-gas.ts";
import { startEngine } from "./settlement/start-engine.ts";
import { checkOnChain } from "./schemes/chain-check.ts";

/** Parsed settings of a facilitator, without those of its process and listener: the resource server runs one in its own process. */
export type FacilitatorOptions = Pick<
  FacilitatorSettings,
  "chain" | "signer" | "assets" | "payees" | "ledger" | "settlement"
>;

const { shape } = facilitatorSettings.schema;

/** Default settings, for a facilitator that is created without reading settings for it. */
export const facilitatorDefaults: Readonly<Pick<FacilitatorSettings, "chain" | "ledger" | "settlement">> = {
  chain: shape.chain.parse({}),
  ledger: shape.ledger.parse({}),
  settlement: shape.settlement.parse({}),
};

/** The process's side of a facilitator. */
export type FacilitatorDependencies = Readonly<{
  log: Logger;
  /** Gets each settlement before anybody else does. */
  audit?: AuditLog | undefined;
  metrics: Registry;
  /** Milliseconds since 1970, as `Date.now` has them: for what is stored, and what is held against an authorization's times. */
  clock: () => number;
  /** Milliseconds since some instant, which no clock that is set changes: for how long something took. */
  monotonicMs: () => number;
  /** Aborts when the process is to stop: calls of `settle` that wait are answered within `settlement.drainMs` then. */
  signal: AbortSignal;
  /** Whether another process takes this one's place while it still serves: the two share the ledger. Default: it is this one's alone, unless it is a database. */
  isHandedOver?: boolean | undefined;
}>;

/**
 * Verifies and settles x402 version 2 payments by the schemes that are known (`x402/schemes.ts`), with EIP-3009 on one EVM chain.
 *
 * `verify` and `settle` take what a client sent, unparsed or as this process has read it, and throw
 * - `MalformedPaymentError` when it has not the shape of a payment (HTTP 400),
 * - `ChainError` when the node can't be queried or gives no usable answer (HTTP 500), which says nothing about the payment,
 * - `OverloadError` when too many settlements are under way (HTTP 503),
 * - `StoreError` when the ledger can't be used now (HTTP 503): settle the same payment again to learn its outcome.
 */
export type Facilitator = AsyncDisposable &
  Readonly<{
    /** The account that submits settlements; it has to hold native currency. */
    signer: `0x${string}`;
    /** CAIP-2 name of the chain, e.g. `eip155:1672`. */
    network: `eip155:${number}`;
    /**
     * Checks whether the payment would settle now. One whose settlement was begun is valid only for the sale that owns
     * it, or while nobody does. Changes nothing.
     */
    verify: Operations["verify"];
    /**
     * Settles a payment, at most once however often and from wherever it is called for the same payment. The first caller owns it;
     * every other one gets `duplicate_settlement` with the transaction. `settlement_pending` with a `transaction` means that the
     * outcome is not known yet; call again with the same payment, as the same caller, to get it. It is never right to ask the
     * client for another payment then. See `caller.ts` for what a caller is answered twice.
     */
    settle: Operations["settle"];
    supported: Operations["supported"];
    /** The reason why the signer can't pay for a settlement now; undefined if it can. */
    shortage: () => string | undefined;
    readiness: () => Readiness;
    /** Leaves settling to the process that takes this one's place. Calls of `settle` get their outcome all the same, from the ledger. */
    yieldTerm: () => Promise<void>;
  }>;

/**
 * Creates a facilitator: opens its ledger, connects to the chain, and takes up settlements that an earlier process began. Disposing
 * of it ends all that; abort `signal` first, so that callers who wait are answered.
 *
 * @throws {StartupError} when the node is on another chain than `chain.id` or has other tokens than `assets` there, or when the
 * ledger can't be used.
 */
export async function createFacilitator(
  options: FacilitatorOptions,
  { log, metrics: registry, clock, monotonicMs, signal, audit, isHandedOver }: FacilitatorDependencies,
): Promise<Facilitator> {
  const { chain: chainOptions, settlement, ledger } = options;
  const metrics = createFacilitatorMetrics([registry]);
  const { rpcUrl, webSocketUrl, id: chainId, nativeDecimals } = chainOptions;
  const network = `eip155:${chainId}` as const;
  const signer = createTransactionSigner(options.signer.privateKey);
  await using resources = new AsyncDisposableStack();
  const rpc = resources.use(connectToNode(chainOptions, metrics));
  const chain = createChain({ rpc });
  const fees = createFeeQuotes(settlement, { chain, monotonicMs });
  const assets = listAcceptedAssets(options);
  const about = { chainId, rpcUrl, nativeDecimals, gasLimit: settlement.gasLimit };
  const watching = { ...about, signer: signer.address, assets: [...assets.values()] };
  const watch = resources.use(
    await startStep(`the node at ${new URL(rpcUrl).origin}`, () =>
      startChainWatch(watching, { chain, fees, clock, log }),
    ),
  );
  const gas = createGasLimits(
    { ...settlement, entriesMax: settlement.inFlightMax },
    { signer: signer.address, monotonicMs },
  );
  const checkFrom = (payment: SignedPayment, place: CallPlace) =>
    checkOnChain(payment, { chain: createChain({ rpc, place }), gas });
  const check = async (payment: SignedPayment, { waiting }: Caller) => {
    requireFundedSigner(watch);
    return checkFrom(payment, { line: "verifying", caller: "", ...waiting });
  };
  const recent = createRecentVerdicts({ entriesMax: settlement.inFlightMax }, { monotonicMs });
  const checkAgain = async (payment: SignedPayment) =>
    recent.acquireGood(payment) ? undefined : checkFrom(payment, { line: "settling", caller: "" });
  const payees = new Set(options.payees.map((payee) => payee.toLowerCase()));
  const noteMined = createGasMeter(chainOptions, { payees, metrics, signer });
  const engineParts = { chain, fees, gas, signer, noteMined, check: checkAgain, signal, log, audit };
  const times = { clock, monotonicMs, pause, random: Math.random };
  const engine = resources.use(
    await startEngine({ settlement, ledger, chainId, isHandedOver }, { ...engineParts, ...times }),
  );
  if (webSocketUrl !== undefined) {
    resources.use(followNewHeads({ url: webSocketUrl }, { onHead: engine.onHead, log }));
  }
  // Ends first as well: what still waits for a node that hangs must not hold up the stop; it is journalled.
  resources.use(rpc);
  const { inFlight, oldestMs, nextNonce, comparison } = engine;
  metrics.watch({ inFlight, oldestMs, nextNonce, comparison, signerBalance: watch.signerBalance });
  const minAmount = createMinAmounts({ ...chainOptions, assets: options.assets }, watch);
  const transfersFor = createTransfers(
    { network, assets, payees, minAmount },
    { engine, check, recent, clock, monotonicMs, log },
  );
  const schemes = await Promise.all(
    knownSchemes.map(async (scheme) => ({ scheme, settling: await scheme.settling() })),
  );
  const owned = resources.move();
  return {
    signer: signer.address,
    network,
    ...createOperations(
      { network, signer: signer.address, schemes },
      { transfersFor, metrics, shortage: watch.shortage, decimals: watch.decimals },
    ),
    shortage: watch.shortage,
    readiness: () => judgeReadiness({ ...watch.checks(), ledger: engine.readiness() }),
    yieldTerm: engine.yieldTerm,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Opens the client of the node, whose batches are as large as nodes of its chain take. */
function connectToNode(
  {
    id,
    rpcUrl: url,
    rpcTimeoutMs: timeoutMs,
    batchCallsMax = findChainTraits(id).batchCallsMax,
  }: FacilitatorSettings["chain"],
  { observeRpc: observe }: Pick<FacilitatorMetrics, "observeRpc">,
) {
  return createBatchingClient({ url, timeoutMs, batchCallsMax }, { observe });
}

/**
 * Requires that the signer can pay for a settlement: a payment that is called valid will be settled.
 *
 * @throws {ChainError} when it can't.
 */
function requireFundedSigner({ shortage }: Pick<ChainWatch, "shortage">): void {
  const why = shortage();
  if (why !== undefined) throw new ChainError("refused", `nothing can be settled now: ${why}`);
}

/** Creates the meter of what the signer pays for the gas of settlements, by payee. */
function createGasMeter(
  { id, chargesGasLimit = findChainTraits(id).chargesGasLimit, nativeDecimals }: FacilitatorSettings["chain"],
  {
    payees,
    metrics,
    signer: { readGasLimit },
  }: Readonly<{ payees: ReadonlySet<string>; metrics: FacilitatorMetrics; signer: TransactionSigner }>,
): EngineDependencies["noteMined"] {
  return (entry, receipts) => {
    const cost = computeGasCost(entry, receipts, { chargesGasLimit, readGasLimit });
    const payee = entry.settlement.payTo.toLowerCase();
    metrics.addGasCost(payees.has(payee) ? payee : "other", Number(Value.format(cost, nativeDecimals)));
  };
}

/** Lists the tokens that are settled, by address in lower case. */
function listAcceptedAssets({ assets, chain }: FacilitatorOptions): ReadonlyMap<string, AcceptedAsset> {
  const separated = assets.map((asset) => ({
    ...asset,
    separator: computeDomainSeparator({ ...asset, chainId: chain.id }),
  }));
  return new Map(separated.map((asset) => [asset.address.toLowerCase(), asset]));
}

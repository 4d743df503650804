import type { Registry } from "prom-client";
import type { AuditLog } from "#daemon/audit/audit-log.ts";
import { addFacts, type Logger } from "#daemon/log/log.ts";
import { evaluateReadiness, type Readiness, type ReadinessCheck } from "#daemon/http/readiness.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { pause as systemPause, type Pause } from "#daemon/time.ts";
import { schemes as knownSchemes } from "#x402/schemes.ts";
import { openSigners, type KeySources } from "./chain/open-signers.ts";
import { createFacilitatorMetrics, type FacilitatorMetrics } from "./facilitator-metrics.ts";
import { listNetworks, type NetworkOptions } from "./network-options.ts";
import { connectToNode } from "./chain/batching-client.ts";
import { startNetwork, type Network, type NetworkDependencies } from "./network.ts";
import { createOperations, describeProblems, type Operations } from "./operations.ts";
import { createLedger } from "./settlement/ledger/ledger.ts";
import { openLedgerStore } from "./settlement/ledger/open-ledger.ts";
import { startRetention } from "./settlement/ledger/retention.ts";
import { createSaleStore } from "./settlement/ledger/sales.ts";
import { createOwnership } from "./settlement/ownership.ts";
import { facilitatorSettings, type FacilitatorSettings } from "./settings.ts";

/** Settings of a facilitator, without those of its process: the resource server can run one in its own process. */
export type FacilitatorOptions = Pick<FacilitatorSettings, "chain" | "assets" | "payees" | "ledger" | "settlement"> &
  Partial<Pick<FacilitatorSettings, "sellers" | "networks">> &
  Readonly<{ signer: KeySources }>;

const { shape } = facilitatorSettings.schema;

export const facilitatorDefaults: Readonly<Pick<FacilitatorSettings, "chain" | "ledger" | "settlement">> = {
  chain: shape.chain.parse({}),
  ledger: shape.ledger.parse({}),
  settlement: shape.settlement.parse({}),
};

export type FacilitatorDependencies = Readonly<{
  log: Logger;
  /** Receives each settlement before any other consumer. */
  audit?: AuditLog | undefined;
  metrics: Registry;
  /** Milliseconds since 1970, as in `Date.now`; used for stored times and for comparison with an authorization's times. */
  clock: () => number;
  /** Milliseconds since an arbitrary instant, unaffected by clock changes; used for durations. */
  monotonicMs: () => number;
  /** Aborts when the process is stopping; waiting calls of `settle` then get a response within three seconds. */
  signal: AbortSignal;
  /** Whether, during a hot restart, another process uses the same ledger. Default: false. */
  isHandedOver?: boolean | undefined;
  /** Replaced in a simulation. Default: system timers and randomness, the configured node and database. */
  pause?: Pause;
  random?: () => number;
  connect?: typeof connectToNode;
  openStore?: typeof openLedgerStore;
}>;

/**
 * Verifies and settles x402 version 2 payments with the known schemes (`x402/schemes.ts`) on EVM chains.
 *
 * `verify` and `settle` accept the client's payload, parsed or not, and throw
 * - `MalformedPaymentError` when it is not a well-formed payment (HTTP 400),
 * - `ChainError` when the node can't be queried or returns no usable response (HTTP 500), which implies nothing about the payment,
 * - `OverloadError` when too many settlements are in flight (HTTP 503),
 * - `StoreError` when the ledger is unavailable (HTTP 503): settle the same payment again to learn its outcome.
 */
export type Facilitator = AsyncDisposable &
  Readonly<{
    networks: Networks;
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
    /** Ready while at least one network is. */
    readiness: () => Readiness;
    /** Yields settlement to the successor process. Calls of `settle` still get their outcome, from the ledger. */
    yieldTerm: () => Promise<void>;
  }>;

/**
 * Creates a facilitator: opens its ledger, connects to the chains, and resumes settlements that an earlier process started. Disposal stops
 * all of this; abort `signal` first, so that waiting callers get a response.
 *
 * @throws {StartupError} when a node is on a different chain than configured, or its tokens differ from the settings,
 * or when the ledger can't be used.
 */
export async function createFacilitator(
  options: FacilitatorOptions,
  { metrics: registry, isHandedOver, openStore = openLedgerStore, ...given }: FacilitatorDependencies,
): Promise<Facilitator> {
  const { log, clock, monotonicMs, pause = systemPause } = given;
  const { retentionDays, compareIntervalMs, ...location } = options.ledger;
  const networks = listNetworks(options);
  const metrics = createFacilitatorMetrics([registry]);
  const signers = await openSigners(options.signer, given);
  await using resources = new AsyncDisposableStack();
  const ledger = await openStore({ ...location, isHandedOver }, { log });
  const store = resources.use(ledger.store);
  resources.use(
    startRetention(
      { retentionDays },
      { ...openRecords(options.chain.id, store, clock), clock, monotonicMs, pause, log },
    ),
  );
  const dependencies = {
    random: Math.random,
    connect: connectToNode,
    ...given,
    ...ledger,
    pause,
    signers,
  };
  const startedNetworks = await startNetworks(
    networks,
    { firstChainId: options.chain.id, compareIntervalMs, metrics },
    dependencies,
  );
  resources.defer(() => disposeAll(startedNetworks));
  const schemes = await Promise.all(
    knownSchemes.map(async (scheme) => ({ scheme, settling: await scheme.settling() })),
  );
  const ownedResources = resources.move();
  return {
    networks: startedNetworks,
    ...createOperations({ networks: startedNetworks, schemes, sellers: options.sellers }, { metrics, monotonicMs }),
    readiness: () => evaluateReadiness(mergeChecks(startedNetworks)),
    yieldTerm: async () => void (await Promise.all(startedNetworks.map(({ yieldTerm }) => yieldTerm()))),
    [Symbol.asyncDispose]: () => ownedResources.disposeAsync(),
  };
}

/** Opens the records that retention cleans up; each covers all chains. */
function openRecords(chainId: number, store: SqlStore, clock: () => number) {
  const dependencies = { store, clock, guard: async () => undefined };
  return {
    ledger: createLedger({ chainId }, dependencies),
    ownership: createOwnership({ chainId }, dependencies),
    sales: createSaleStore({ chainId }, dependencies),
  };
}

type Networks = readonly [Network, ...Network[]];

/**
 * Starts the networks concurrently, so that a slow node delays no other network. If one can't start, stops the others. With
 * several networks, each log line names its network.
 */
async function startNetworks(
  networks: readonly NetworkOptions[],
  { metrics, ...shared }: Readonly<{ firstChainId: number; compareIntervalMs: number; metrics: FacilitatorMetrics }>,
  dependencies: Omit<NetworkDependencies, "metrics">,
): Promise<Networks> {
  const networkStarts = networks.map((options) => {
    const network = `eip155:${options.chain.id}`;
    const log = networks.length === 1 ? dependencies.log : addFacts(dependencies.log, { network });
    return startNetwork({ ...options, ...shared }, { ...dependencies, log, metrics: metrics.of(network) });
  });
  const startResults = await Promise.allSettled(networkStarts);
  const failure = startResults.find((each) => each.status === "rejected");
  const [firstNetwork, ...otherNetworks] = startResults.flatMap((each) =>
    each.status === "fulfilled" ? [each.value] : [],
  );
  if (firstNetwork !== undefined && failure === undefined) return [firstNetwork, ...otherNetworks];
  await disposeAll(firstNetwork === undefined ? [] : [firstNetwork, ...otherNetworks]);
  throw failure?.reason;
}

async function disposeAll(networks: readonly AsyncDisposable[]): Promise<void> {
  await Promise.all(networks.map((network) => network[Symbol.asyncDispose]()));
}

/** Merges the networks' checks by name. The failure of one network is tolerated while another one is ready. */
function mergeChecks(
  networks: readonly Pick<Network, "network" | "checks">[],
): Readonly<Record<string, ReadinessCheck>> {
  const byNetwork = networks.map(({ network, checks }) => ({ network, checks: checks() }));
  const tolerated = byNetwork.some(({ checks }) => Object.values(checks).every(({ ok }) => ok));
  const merge = (name: CheckName): ReadinessCheck => {
    const problem = describeProblems(
      byNetwork.map(({ network, checks }) => ({ network, problem: explainFailure(checks[name]) })),
    );
    if (problem !== undefined) return { ok: false, message: problem, ...(tolerated ? { tolerated } : {}) };
    return { ok: true, message: [...new Set(byNetwork.map(({ checks }) => checks[name].message))].join("; ") };
  };
  return { chain: merge("chain"), signer: merge("signer"), ledger: merge("ledger") };
}

function explainFailure({ ok, message }: ReadinessCheck): string | undefined {
  return ok ? undefined : message;
}

type CheckName = keyof ReturnType<Network["checks"]>;

import { Registry } from "prom-client";
import { createLog } from "#daemon/log/log.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { createFacilitator, facilitatorDefaults, type Facilitator } from "#facilitator/facilitator.ts";
import { createChannelLedger } from "#resource-server/claims/channel-ledger.ts";
import { createChannelMetrics } from "#resource-server/channels/channel-metrics.ts";
import { facilitateChannels } from "#resource-server/channels/channel-facilitation.ts";
import { claimChannels } from "#resource-server/channels/claim-loop.ts";
import { createClaimLedger } from "#resource-server/claims/claim-ledger.ts";
import { createSoleClaimOwner } from "#resource-server/claims/claim-owner.ts";
import { FacilitationError, type Facilitation } from "#resource-server/facilitators/facilitation.ts";
import { callInProcess } from "#resource-server/facilitators/facilitator-in-process.ts";
import { createPaymentsInFlight } from "#resource-server/sale/claim-settlement.ts";
import type { SaleOutcome } from "#resource-server/sale/sale-outcome.ts";
import { createSales, type SaleRequest } from "#resource-server/sale/sale.ts";
import { resumeSettlements } from "#resource-server/sale/resume-settlements.ts";
import { schemes } from "#x402/schemes.ts";
import { authorizer } from "./channel-payments.ts";
import type { SignedOffer } from "./signed-offers.ts";
import { chainIds, price, signers, token, withdrawDelay } from "./wallets.ts";
import { requireUncounted, type Watcher } from "./watcher.ts";
import { getChain, type Transaction, type VirtualChains } from "./virtual-chain.ts";
import type { VirtualDisk } from "./virtual-disk.ts";
import { connectVirtualNode } from "./virtual-node.ts";
import { ConnectionLostError, type VirtualProcess } from "./virtual-process.ts";
import { NotReachedError, request, type Callable, type World } from "./world.ts";

// Loaded before the first run: Node loads modules in real time.
await Promise.all(schemes.map(({ settling }) => settling()));

const log = createLog({ service: "simulator", level: "silent" });
const rpcTimeoutMs = 5_000;

/** Max gas price that the facilitator pays, and the gas of one settlement. */
export const caps = { maxFeePerGasGwei: 500, gasLimit: 200_000 };

export type FacilitatorSurroundings = Readonly<{
  world: World;
  chains: VirtualChains;
  ledger: VirtualDisk;
  watcher: Watcher;
  onSend: (transaction: Transaction, by: VirtualProcess, chain: number) => void;
}>;

/** The facilitator as called by sellers; its responses are checked when they are sent. */
export type Operations = Pick<Facilitator, "verify" | "settle">;

export type RunningFacilitator = Operations &
  Pick<Facilitator, "yieldTerm"> &
  Readonly<{
    /** Returns whether it settles on a chain. */
    leads: (chain: number) => Promise<boolean>;
    stop: () => Promise<void>;
  }>;

/** Starts the real facilitator in a virtual process, with a virtual node, disk and clock. */
export async function startFacilitator(
  process: VirtualProcess,
  surroundings: FacilitatorSurroundings,
): Promise<RunningFacilitator> {
  const { world, chains, ledger, watcher, onSend } = surroundings;
  const { time, weather, isUnrest } = world;
  const calm = { unreachable: 0, unanswered: 0, failing: 0, lagging: 0, hiding: 0, forgetting: 0 };
  const node = { time, latencyMs: weather.isCrowded ? 500 : 30, timeoutMs: rpcTimeoutMs };
  const faults = () => (isUnrest() ? weather.node : calm);
  const [chain, ...others] = chainIds.slice(0, weather.chains).map((id) => ({
    ...facilitatorDefaults.chain,
    id,
    rpcUrl: "http://node.example",
  }));
  if (chain === undefined) throw new RangeError("no chain");
  const [registry, stopping] = [new Registry(), new AbortController()];
  const facilitator = await createFacilitator(
    {
      chain,
      networks: others.map((each) => ({ chain: each, assets: [token] })),
      signer: {
        privateKey: signers.slice(0, weather.signers).map(({ key }) => new Secret(`0x${key.toString("hex")}`)),
      },
      assets: [token],
      payees: [],
      ledger: facilitatorDefaults.ledger,
      settlement: {
        ...facilitatorDefaults.settlement,
        ...caps,
        confirmations: weather.confirmations,
        receiptTimeoutMs: 8_000,
        pollIntervalMs: 700,
        bumpAfterMs: 5_000,
        batchMax: 3,
      },
    },
    {
      log,
      metrics: registry,
      clock: time.nowMs,
      monotonicMs: time.nowMs,
      signal: stopping.signal,
      pause: process.pause,
      random: time.random,
      connect: ({ id }) =>
        connectVirtualNode(process, {
          ...node,
          faults,
          chain: getChain(chains, id),
          onSend: (transaction) => onSend(transaction, process, id),
        }),
      openStore: async () => ({ store: ledger.open(process), isShared: ledger.isShared }),
    },
  );
  return {
    ...watcher.watch(facilitator),
    yieldTerm: facilitator.yieldTerm,
    leads: async (id) => {
      const { values } = (await registry.getSingleMetric("gatehouse_facilitator_leader")?.get()) ?? { values: [] };
      return values.some(({ labels, value }) => labels["network"] === `eip155:${id}` && value === 1);
    },
    stop: async () => {
      stopping.abort();
      await facilitator[Symbol.asyncDispose]();
    },
  };
}

export type ServerSurroundings = Readonly<{
  world: World;
  disk: VirtualDisk;
  watcher: Watcher;
  facilitate: (process: VirtualProcess) => Promise<Pick<Facilitation, "verify" | "settle">>;
}>;

/** Services that buyers call. */
export type Selling = Readonly<{
  sell: (offer: SignedOffer, request: Omit<SaleRequest, "payment" | "work" | "memory">) => Promise<SaleOutcome>;
}>;

/**
 * Draws how much of a payment a request used: for `exact` all of it; for `upto` and channels all, some or nothing; the last buyer uses all.
 */
export function drawUsed({ signing: { method, wallet } }: SignedOffer, random: number): bigint {
  return (method === "upto" || method === "channel") && wallet !== "late"
    ? ([price, price / 4n, 0n][Math.floor(random * 3)] ?? 0n)
    : price;
}

/** Parts of a facilitator that no sale uses. */
const unusedParts = {
  supported: () => ({ kinds: [], extensions: [] }),
  readiness: () => ({ ok: true, message: "" }),
  isSettlingPaused: () => false,
};

/** Starts the real resource server, without its HTTP listener, in a virtual process. */
export async function startResourceServer(process: VirtualProcess, surroundings: ServerSurroundings): Promise<Selling> {
  const { world, disk, watcher, facilitate } = surroundings;
  const { time, weather, isUnrest } = world;
  const store = disk.open(process);
  const owner = await createSoleClaimOwner({ store });
  const ledger = createClaimLedger({ responseBytes: 1_000_000 }, { store, owner, clock: time.nowMs });
  const calls = await facilitate(process);
  const pendingCalls: Facilitation = { ...calls, ...unusedParts, [Symbol.asyncDispose]: async () => undefined };
  const facilitation = weather.hasMembers
    ? sellThroughChannels(pendingCalls, process, { store, clock: time.nowMs, retentionMs: weather.channelRetentionMs })
    : pendingCalls;
  const sale = {
    ledger,
    facilitation,
    payments: createPaymentsInFlight(),
    clock: time.nowMs,
    onSettled: watcher.noteCharge,
  };
  void resumeSettlements({ intervalMs: 4_000, retentionMs: 86_400_000 }, { ...sale, log, pause: process.pause });
  const sales = createSales({ inFlightMax: 20 }, sale);
  const work = (offer: SignedOffer) =>
    process.call("the upstream", 400, async () => {
      requireUncounted(offer, disk.database, world);
      const end = watcher.beginWork(offer, process);
      await process.pause(time.random() * 500);
      if (isUnrest() && time.chance(weather.networkFaultRate)) {
        end(false);
        return { kind: "failed", status: 502, message: "the upstream failed" } as const;
      }
      end(true);
      const amount = drawUsed(offer, time.random());
      const body = new TextEncoder().encode(`sold for ${amount} by ${offer.name}`);
      const used = JSON.stringify({ amount: String(amount) });
      return { kind: "resource", response: { status: 200, headers: [], body }, used } as const;
    });
  return {
    sell: (offer, sold) =>
      sales.sell({ ...sold, payment: offer.payment, memory: { tryAcquire: () => true }, work: () => work(offer) }),
  };
}

const metrics = createChannelMetrics(new Registry());

/** Adds channels to a facilitation, and claims their charges, as `open-channels.ts` does. */
function sellThroughChannels(
  facilitation: Facilitation,
  process: VirtualProcess,
  { store, clock, retentionMs }: Readonly<{ store: SqlStore; clock: () => number; retentionMs: number }>,
): Facilitation {
  const ledger = createChannelLedger({ store, clock, log });
  const shared = { ledger, authorizer, clock, metrics };
  const options = { intervalMs: 4_000, claimWithinMs: 15_000, nodeLagMs: 20_000, retentionMs };
  claimChannels(options, { ...shared, facilitation, log, pause: process.pause });
  return facilitateChannels(facilitation, { ...shared, withdrawDelaySeconds: withdrawDelay });
}

/** Creates the calls to a facilitator in another process. */
export function callRemotely(
  process: VirtualProcess,
  service: Callable<Operations>,
  world: World,
): Pick<Facilitation, "verify" | "settle"> {
  const call = <T>(what: string, work: (facilitation: Pick<Facilitation, "verify" | "settle">) => Promise<T>) =>
    process.call(what, 0, async () => {
      try {
        return await request(service, world, (operations) => work(callInProcess(operations)));
      } catch (error) {
        if (error instanceof NotReachedError) throw new FacilitationError("unreachable", error.message);
        if (error instanceof ConnectionLostError) throw new FacilitationError("unknown", error.message);
        throw error;
      }
    });
  return {
    verify: ({ sent }, ...rest) => call("verify", ({ verify }) => verify({ sent }, ...rest)),
    settle: ({ sent }, ...rest) => call("settle", ({ settle }) => settle({ sent }, ...rest)),
  };
}

import { StoreError } from "#daemon/sql/store.ts";
import type { Logger } from "#daemon/log/log.ts";
import { reason } from "#x402/reason.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import { createGasLimits } from "../chain/gas-limits.ts";
import { ChainError } from "../chain/chain-error.ts";
import { createSuspensions } from "../chain/suspensions.ts";
import type { Engine, EngineContext } from "../settlement/engine.ts";
import { createSharedLedger } from "../settlement/leader/shared-ledger.ts";
import { startSharedEngine } from "../settlement/leader/shared-settler.ts";
import type { Settlement } from "../settlement/settlement.ts";
import type { Actor, Scheduler } from "./scheduler.ts";
import type { SimulatedChain } from "./simulated-chain.ts";
import type { Link, SimulatedDatabase } from "./simulated-database.ts";

/** One run of a facilitator process, using shared resources. */
export type SimulatedReplica = Readonly<{
  engine: Engine;
  process: Actor;
  /** Database connections of the replica. */
  link: Actor;
  /** Rejects when the process is killed. */
  gone: Promise<never>;
  kill: () => void;
  stop: () => Promise<void>;
}>;

export type Surroundings = Readonly<{
  scheduler: Scheduler;
  database: SimulatedDatabase;
  chain: SimulatedChain;
  settlements: readonly Settlement[];
  /** Returns the current probability that a statement's or a node's response is an error. */
  faultRate: () => number;
  log: Logger;
}>;

const options = {
  chainId: 1_672,
  settlement: {
    receiptTimeoutMs: 6_000,
    drainMs: 1_000,
    pollIntervalMs: 500,
    confirmations: 1,
    gasLimit: 200_000,
    gasMarginPercent: 20,
    maxFeePerGasGwei: 500,
    bumpAfterMs: 4_000,
    bumpPercent: 25,
    inFlightMax: 6,
    batchMax: 3,
  },
};

/** Time that a replica waits for a statement. */
const statementTimeoutMs = 5_000;

export function startSimulatedReplica(name: string, clockRate: number, shared: Surroundings): SimulatedReplica {
  const { scheduler, database, chain } = shared;
  const process = scheduler.actor(name, clockRate);
  const link = scheduler.actor(`${name}'s link`);
  const pause = scheduler.pauseOf(process);
  const stopping = new AbortController();
  const { promise: gone, reject: vanish } = Promise.withResolvers<never>();
  gone.catch(() => undefined);
  const isFaulty = () => scheduler.random() < shared.faultRate();
  const clock = () => Math.floor(scheduler.nowMs());
  const store = database.connect(createLink(process, link, gone, shared));
  const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
  const context: EngineContext = {
    ...options,
    chain: chain.connect(async () => {
      await scheduler.turn(process);
      if (isFaulty()) throw new ChainError("unreachable", "the node was not reached");
    }),
    fees: { quote: async () => fees },
    gas: createGasLimits(
      { ...options.settlement, entriesMax: 2 },
      { signer: chain.signer.address, monotonicMs: scheduler.nowMs },
    ),
    signers: [chain.signer],
    signerWatch: { shortage: () => undefined, canPay: () => true, recordProblem: () => undefined },
    check: async ({ id }) => {
      await scheduler.turn(process);
      const settlement = shared.settlements.find((one) => one.id === id);
      const isUsed = settlement !== undefined && chain.isUsed(settlement);
      return isUsed ? { reason: reason.nonceUsed, message: "the chain says that it is used" } : undefined;
    },
    clock,
    monotonicMs: scheduler.nowMs,
    pause,
    random: scheduler.random,
    signal: stopping.signal,
    log: shared.log,
    suspensions: createSuspensions({ monotonicMs: scheduler.nowMs, log: shared.log, hasPaid: async () => false }),
    contracts: () => new Set([multicall3Address.toLowerCase()]),
  };
  const engine = startSharedEngine(context, createSharedLedger(options, { store, clock }));
  return {
    engine,
    process,
    link,
    gone,
    kill: () => {
      process.isDead = true;
      vanish(new StoreError(`${name} was killed`));
    },
    stop: async () => {
      stopping.abort();
      await engine[Symbol.asyncDispose]();
    },
  };
}

function createLink(
  process: Actor,
  link: Actor,
  gone: Promise<never>,
  { scheduler, faultRate }: Pick<Surroundings, "scheduler" | "faultRate">,
): Link {
  const fail = (what: string) => {
    if (scheduler.random() < faultRate()) throw new StoreError(`no answer to ${what}`);
  };
  const pause = scheduler.pauseOf(process);
  return {
    replica: process.name,
    send: async (what) => {
      await scheduler.turn(link);
      fail(what);
    },
    goOn: async () => {
      await Promise.race([scheduler.turn(process), gone]);
    },
    receive: async (what) => {
      await scheduler.turn(process);
      fail(what);
    },
    within: async (work) => {
      const isAnswered = new AbortController();
      const timeout = async (): Promise<never> => {
        await pause(statementTimeoutMs, isAnswered.signal);
        throw new StoreError("the database takes too long");
      };
      try {
        return await Promise.race([work, timeout()]);
      } finally {
        isAnswered.abort();
      }
    },
  };
}

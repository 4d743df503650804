import { setTimeout as sleep } from "node:timers/promises";
import { parseEther } from "viem";
import { tokenAddress } from "#devnet/token/address.ts";
import { signPayment, type PaymentChanges } from "../../support/facilitator/signed-payment.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { testAccount } from "../../support/payments/payment-chain.ts";
import { startPostgres, type PostgresServer } from "../../support/postgres.ts";
import { startService, type ServiceProcess } from "../../support/service-process.ts";
import { startFaultyRpc, type FaultyRpc, type NodeTrouble } from "./fault-proxies.ts";
import type { LiveFault } from "./live-fault.ts";
import { repeatAct } from "./repeat-act.ts";
import { quickFacilitator, type WatchedStack } from "./watched-stack.ts";

const signer = testAccount(0).address;
/** Balance of a signer with sufficient funds: more than it spends in seven compressed days at any rate seen here. */
const plentyWei = parseEther("1000000000");

/** Leaves the signer this much, and refills it to repair that. */
function prepareBalance(leftWei: bigint) {
  return async ({ chain }: WatchedStack): Promise<AsyncDisposable> => {
    await chain.setBalance(signer, leftWei);
    return { [Symbol.asyncDispose]: () => chain.setBalance(signer, plentyWei) };
  };
}

/** Sends the facilitator a payment that is valid except for the changes. */
async function post(url: string, changes: PaymentChanges): Promise<void> {
  const body = JSON.stringify(await signPayment(tokenAddress, changes));
  const headers = { "content-type": "application/json" };
  await (await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(120_000) })).text();
}

/** Makes the facilitator verify this many payments, ten at a time. */
async function requestVerifications(
  { facilitatorUrl }: WatchedStack,
  count: number,
  changes: PaymentChanges,
): Promise<void> {
  for (let done = 0; done < count; done += 10) {
    await Promise.all(Array.from({ length: 10 }, () => post(`${facilitatorUrl}/verify`, changes)));
  }
}

const money: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehouseSettlementStuck",
    what: "the node produces no block while a payment settles",
    besides: ["GatehouseHeadStale", "GatehouseConditionFalse"],
    strike: async ({ chain, facilitatorUrl }) => {
      const halted = await chain.halt();
      const settling = post(`${facilitatorUrl}/settle`, {});
      settling.catch(() => undefined);
      return {
        [Symbol.asyncDispose]: async () => {
          await halted[Symbol.asyncDispose]();
          await settling;
        },
      };
    },
  },
  {
    alert: "GatehouseRejectionsUnusual",
    what: "two payments a second for another amount after 300 good ones",
    prepare: (struck) => requestVerifications(struck, 300, {}),
    strike: ({ facilitatorUrl }) =>
      Promise.resolve(repeatAct(500, () => post(`${facilitatorUrl}/verify`, { authorization: { value: "1" } }))),
  },
  {
    alert: "GatehouseSignerLow",
    severity: "warning",
    what: "the signer drained to 0.05 of the native currency",
    strike: prepareBalance(parseEther("0.05")),
    firesWithinMs: 180_000,
  },
  {
    alert: "GatehouseSignerLow",
    severity: "critical",
    what: "the signer drained to nothing",
    strike: prepareBalance(0n),
  },
];

/** A separate facilitator on PostgreSQL, as a replica, on the stack's chain and with another signer. */
type Replicated = WatchedStack &
  Readonly<{
    postgres: PostgresServer;
    replica: () => ServiceProcess;
    replicaUrl: string;
    /** Its own path to the node. */
    replicaRpc: FaultyRpc;
    startReplica: () => Promise<void>;
  }>;

/**
 * Starts one next to the stack, scraped as its own job. It is the last one of a stack: the job is reported as absent
 * afterwards.
 */
export async function startReplicated(stack: WatchedStack): Promise<Replicated> {
  await using started = new AsyncDisposableStack();
  const postgres = started.use(await startPostgres());
  const [port = 0, operationsPort = 0, rpcPort = 0] = await findFreePorts(3);
  const replicaRpc = started.use(await startFaultyRpc(rpcPort, stack.nodeUrl));
  const env = {
    GATEHOUSE_FACILITATOR_LISTEN_PORT: String(port),
    GATEHOUSE_FACILITATOR_OPERATIONS_PORT: String(operationsPort),
    GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: replicaRpc.url,
    GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: testAccount(5).privateKey,
    GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ address: tokenAddress, name: "USDC", version: "2" }]),
    GATEHOUSE_FACILITATOR_LEDGER_URL: await postgres.createDatabase(),
  };
  let running = await startService("facilitator", env, { constants: quickFacilitator });
  started.defer(async () => void (await running.end("SIGTERM")));
  await stack.alsoScrape("replicas", `127.0.0.1:${operationsPort}`);
  const owned = started.move();
  return {
    ...stack,
    postgres,
    replica: () => running,
    replicaUrl: `http://127.0.0.1:${port}`,
    replicaRpc,
    startReplica: async () => {
      running = await startService("facilitator", env, { constants: quickFacilitator });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Prepares a fault of the replica's node, which returns wrong results for some methods. */
function prepareTrouble(fates: NodeTrouble["fates"] & {}) {
  return ({ replicaRpc }: Replicated): Promise<AsyncDisposable> => {
    const made = replicaRpc.trouble({ fates });
    return Promise.resolve({
      [Symbol.asyncDispose]: () => {
        made[Symbol.dispose]();
        return Promise.resolve();
      },
    });
  };
}

/** Longer than the comparison ignores a settlement that a lagging node may not have yet. */
const comparedAfterMs = 65_000;

/** Settles a payment at the replica, long enough ago to be compared with the chain. */
async function makeOldSettlement({ replicaUrl }: Replicated): Promise<void> {
  await post(`${replicaUrl}/settle`, {});
  await sleep(comparedAfterMs);
}

const ledger: readonly LiveFault<Replicated>[] = [
  {
    alert: "GatehouseLedgerMismatch",
    what: "the facilitator's node loses its receipts a minute after a payment settled",
    prepare: makeOldSettlement,
    strike: prepareTrouble({ eth_getTransactionReceipt: "forgets" }),
  },
  {
    alert: "GatehouseLedgerNotReconciled",
    what: "the facilitator's node returns an error for every receipt",
    prepare: makeOldSettlement,
    // Five minutes of real time, which are compared with a clock.
    firesWithinMs: 400_000,
    strike: prepareTrouble({ eth_getTransactionReceipt: "fails" }),
  },
  {
    alert: "GatehouseSettlementStuck",
    what: "the facilitator's node accepts a payment's transactions and loses them",
    // Ten minutes of real time.
    firesWithinMs: 700_000,
    strike: async (struck) => {
      const lost = await prepareTrouble({ eth_sendRawTransaction: "loses" })(struck);
      const validBefore = String(Math.floor(Date.now() / 1_000) + 1_800);
      const settling = post(`${struck.replicaUrl}/settle`, { authorization: { validBefore } });
      // Its caller does not wait that long; the facilitator continues.
      settling.catch(() => undefined);
      return lost;
    },
  },
];

const replicas: readonly LiveFault<Replicated>[] = [
  ...ledger,
  {
    alert: "GatehouseFacilitatorNoLeader",
    what: "PostgreSQL of a replicated facilitator crashed",
    strike: async ({ postgres }) => {
      await postgres.stop();
      return { [Symbol.asyncDispose]: () => postgres.start() };
    },
  },
  {
    alert: "GatehouseServiceDown",
    what: "a facilitator killed (SIGKILL) and not started again",
    strike: async ({ replica, startReplica }) => {
      await replica().end("SIGKILL");
      return { [Symbol.asyncDispose]: startReplica };
    },
  },
];

/** Faults of payments. */
export const paymentFaults = { money, replicas } as const;

import { parseEther } from "viem";
import { tokenAddress } from "#devnet/token/address.ts";
import { signPayment, type PaymentChanges } from "../../facilitator/signed-payment.ts";
import { freePorts } from "../../support/free-ports.ts";
import { testAccount } from "../../support/payment-chain.ts";
import { startPostgres, type PostgresServer } from "../../support/postgres.ts";
import { startService, type ServiceProcess } from "../../support/service-process.ts";
import type { LiveFault } from "./live-fault.ts";
import { quickFacilitator, type WatchedStack } from "./watched-stack.ts";

const signer = testAccount(0).address;
/** What the signer has when it has enough: more than seven compressed days cost at any rate seen here. */
const plentyWei = parseEther("1000000000");

/** Leaves the signer so much, and gives it plenty to mend that. */
function drain(leftWei: bigint) {
  return async ({ chain }: WatchedStack): Promise<AsyncDisposable> => {
    await chain.setBalance(signer, leftWei);
    return { [Symbol.asyncDispose]: () => chain.setBalance(signer, plentyWei) };
  };
}

/** Sends the facilitator a payment, good but for the changes. */
async function post(url: string, changes: PaymentChanges): Promise<void> {
  const body = JSON.stringify(await signPayment(tokenAddress, changes));
  const headers = { "content-type": "application/json" };
  await (await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(120_000) })).text();
}

/** Has the facilitator verify so many payments, ten at a time. */
async function verifyMany({ facilitatorUrl }: WatchedStack, count: number, changes: PaymentChanges): Promise<void> {
  for (let done = 0; done < count; done += 10) {
    await Promise.all(Array.from({ length: 10 }, () => post(`${facilitatorUrl}/verify`, changes)));
  }
}

const money: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehouseSettlementStuck",
    what: "the node makes no block while a payment settles",
    besides: ["GatehouseHeadStale", "GatehouseNotRight"],
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
    alert: "GatehouseRefusalsUnusual",
    what: "30 payments for another amount after 120 good ones",
    prepare: (struck) => verifyMany(struck, 120, {}),
    strike: async (struck) => {
      await verifyMany(struck, 30, { authorization: { value: "1" } });
      return { [Symbol.asyncDispose]: () => Promise.resolve() };
    },
  },
  {
    alert: "GatehouseSignerLow",
    what: "the signer drained to 0.05 of the native currency",
    strike: drain(parseEther("0.05")),
    firesWithinMs: 180_000,
  },
  {
    alert: "GatehouseSignerEmpty",
    what: "the signer drained to nothing",
    besides: ["GatehouseSignerLow"],
    strike: drain(0n),
  },
];

/** A separate facilitator over PostgreSQL, as replicas are, on the stack's chain and with another signer. */
type Replicated = WatchedStack &
  Readonly<{ postgres: PostgresServer; replica: () => ServiceProcess; startReplica: () => Promise<void> }>;

/** Starts one next to the stack, scraped as its own job. It is the last to be done with a stack: the job is told as gone afterwards. */
export async function startReplicated(stack: WatchedStack): Promise<Replicated> {
  await using started = new AsyncDisposableStack();
  const postgres = started.use(await startPostgres());
  const [port = 0, operationsPort = 0] = await freePorts(2);
  const env = {
    ...quickFacilitator,
    GATEHOUSE_FACILITATOR_LISTEN_PORT: String(port),
    GATEHOUSE_FACILITATOR_OPERATIONS_PORT: String(operationsPort),
    GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: stack.nodeUrl,
    GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: testAccount(5).privateKey,
    GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ address: tokenAddress, name: "USDC", version: "2" }]),
    GATEHOUSE_FACILITATOR_LEDGER_URL: await postgres.createDatabase(),
  };
  let running = await startService("facilitator", env);
  started.defer(async () => void (await running.end("SIGTERM")));
  await stack.alsoScrape("replicas", `127.0.0.1:${operationsPort}`);
  const owned = started.move();
  return {
    ...stack,
    postgres,
    replica: () => running,
    startReplica: async () => {
      running = await startService("facilitator", env);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const replicas: readonly LiveFault<Replicated>[] = [
  {
    alert: "GatehouseFacilitatorNoLeader",
    what: "PostgreSQL of a replicated facilitator ended as by a crash",
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

/** Faults of the money. */
export const paymentFaults = { money, replicas } as const;

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ExactEvmScheme } from "@x402/evm";
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { startUpstream, type TestUpstream } from "./test-upstream.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "./payment-chain.ts";
import { startPostgres, type PostgresServer } from "../postgres.ts";
import { startService, type ServiceProcess } from "../service-process.ts";

/** One of several replicas; it can be killed and restarted on its port. */
export type Replica = AsyncDisposable &
  Readonly<{ name: string; url: string; kill: () => Promise<void>; start: () => Promise<void>; output: () => string }>;

/** Two facilitators with one signer and two resource servers, on one PostgreSQL database and one chain. */
export type ReplicatedMarket = AsyncDisposable &
  Readonly<{
    chain: PaymentChain;
    postgres: PostgresServer;
    databaseUrl: string;
    upstream: TestUpstream;
    facilitators: readonly Replica[];
    shops: readonly Replica[];
    signPayments: (count: number) => Promise<readonly string[]>;
  }>;

export const price = 10_000n;

export async function openReplicatedMarket(): Promise<ReplicatedMarket> {
  await using resources = new AsyncDisposableStack();
  const chain = resources.use(await startPaymentChain());
  const postgres = resources.use(await startPostgres());
  const databaseUrl = await postgres.createDatabase();
  const upstream = resources.use(await startUpstream());
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-replicas-"));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const routesPath = join(folder, "routes.json5");
  const accepts = `{ scheme: "exact", price: "0.01", network: "eip155:1672" }`;
  await writeFile(routesPath, `{ "GET /data": { accepts: ${accepts}, upstream: "${upstream.url}/data" } }`);
  const ports = await findFreePorts(4);
  const replica = async (name: string, service: string, port: number, env: Readonly<Record<string, string>>) =>
    resources.use(await startReplica({ name, service, port, env }));
  const facilitators = await Promise.all(
    ports.slice(0, 2).map((port, index) =>
      replica(`facilitator ${index}`, "facilitator", port, {
        GATEHOUSE_FACILITATOR_LISTEN_PORT: String(port),
        GATEHOUSE_FACILITATOR_OPERATIONS_PORT: "0",
        GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: chain.url,
        GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: testAccount(0).privateKey,
        GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ address: chain.token, name: "USDC", version: "2" }]),
        GATEHOUSE_FACILITATOR_LEDGER_URL: databaseUrl,
      }),
    ),
  );
  const shops = await Promise.all(
    ports.slice(2).map((port, index) =>
      replica(`shop ${index}`, "resource-server", port, {
        GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: String(port),
        GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: "0",
        GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routesPath,
        GATEHOUSE_RESOURCE_SERVER_PAY_TO: testAccount(2).address,
        GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: chain.token,
        GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: `http://127.0.0.1:${ports[index]}`,
        GATEHOUSE_RESOURCE_SERVER_LEDGER_URL: databaseUrl,
        GATEHOUSE_RESOURCE_SERVER_PAYMENT_RESUME_INTERVAL_MS: "200",
        GATEHOUSE_RESOURCE_SERVER_PAYMENT_IN_FLIGHT_MAX: "1000",
      }),
    ),
  );
  const owned = resources.move();
  return {
    chain,
    postgres,
    databaseUrl,
    upstream,
    facilitators,
    shops,
    signPayments: (count) => signPayments(`${shops[0]?.url}/data`, count),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Final outcome of a payment for a client: it received the resource, or learned that someone else did. */
export type Purchase = "bought" | "spent";

/** Sends a payment until its outcome is known. Anything else (202, 409, 503, no connection) is retried. */
export async function buyUntilKnown(url: string, header: string, deadlineMs: number): Promise<Purchase> {
  const deadline = performance.now() + deadlineMs;
  let last: unknown;
  while (performance.now() < deadline) {
    try {
      const response = await fetch(url, {
        headers: { "PAYMENT-SIGNATURE": header },
        signal: AbortSignal.timeout(30_000),
      });
      const text = await response.text();
      if (response.status === 200) return "bought";
      last = `${response.status} ${text}`;
      if (response.status === 402 && text.includes("nonce_already_used")) return "spent";
      if (response.status === 402) throw new TypeError(last as string);
    } catch (error) {
      // A rejected or broken connection, or a late response: the server may have just exited.
      last = error;
    }
    await sleep(100);
  }
  throw new Error(`a payment had no outcome within ${deadlineMs} ms`, { cause: last });
}

type ReplicaOptions = Readonly<{ name: string; service: string; port: number; env: Readonly<Record<string, string>> }>;

async function startReplica({ name, service, port, env }: ReplicaOptions): Promise<Replica> {
  let process: ServiceProcess | undefined;
  const printed: string[] = [];
  const start = async () => {
    process = await startService(service, env);
  };
  await start();
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    start,
    kill: async () => {
      await process?.end("SIGKILL");
      printed.push(process?.output() ?? "");
      process = undefined;
    },
    output: () => [...printed, process?.output() ?? ""].join("\n"),
    [Symbol.asyncDispose]: async () => process?.[Symbol.asyncDispose](),
  };
}

async function signPayments(url: string, count: number): Promise<readonly string[]> {
  const unpaidResponse = await fetch(url);
  const { accepts } = decodePaymentRequiredHeader(unpaidResponse.headers.get("PAYMENT-REQUIRED") ?? "");
  const accepted = accepts[0] as PaymentRequirements;
  const scheme = new ExactEvmScheme(testAccount(1).account);
  return Promise.all(
    Array.from({ length: count }, async () => {
      const { payload } = await scheme.createPaymentPayload(2, accepted);
      return encodePaymentSignatureHeader({ x402Version: 2, accepted, payload });
    }),
  );
}

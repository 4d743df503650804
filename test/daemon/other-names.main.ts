import { lookup } from "node:dns";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { createFetch } from "#sidecar/restore/fetch.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { openPostgresStore } from "#daemon/sql/postgres-store.ts";
import { createBatchingClient } from "#facilitator/chain/batching-client.ts";
import { createHttpTransport } from "#facilitator/chain/node-transport.ts";
import { createDockerEngine } from "#sidecar/upkeep/drivers/docker-driver.ts";

/**
 * Uses each client twice, each time on a new connection: first normally, then while no name server responds to queries
 * for other names. Prints, as a line of JSON, which clients got a response in time. Its system queries the name server
 * at the first argument's address, where nothing responds; the second is a database's URL, or nothing.
 */
const [address = "", databaseUrl = ""] = process.argv.slice(2);
const withinMs = 10_000;

const server = createServer((incoming, response) => {
  const answer = incoming.method === "POST" ? { jsonrpc: "2.0", id: 0, result: "0x1" } : { ok: true };
  response.writeHead(200, { "Content-Type": "application/json", Connection: "close" }).end(JSON.stringify(answer));
}).listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://node.test:${(server.address() as AddressInfo).port}`;
const signal = AbortSignal.timeout(60_000);

const chain = createBatchingClient(
  { timeoutMs: withinMs },
  { transport: createHttpTransport({ url, timeoutMs: withinMs, connectionsMax: 6 }), observe: () => undefined },
);
const engine = createDockerEngine({ engine: url, timeoutMs: withinMs });
const fetch = createFetch();
const store =
  databaseUrl === ""
    ? undefined
    : await openPostgresStore(
        {
          url: new Secret(databaseUrl),
          poolSize: 3,
          connectTimeoutMs: withinMs,
          statementTimeoutMs: withinMs,
          schema: "names",
          migrations: [],
          setting: "DATABASE_URL",
        },
        { log: pino({ level: "silent" }) },
      );
const clients: Readonly<Record<string, () => Promise<unknown>>> = {
  undici: () => chain.call("eth_blockNumber", []),
  engine: () => engine.request({ method: "GET", path: "/info", signal }),
  fetch: async () => (await fetch(url, { signal: AbortSignal.timeout(withinMs) })).text(),
  // More concurrent requests than connections.
  ...(store && { postgres: () => Promise.all([1, 2, 3].map(() => store.rows("SELECT pg_sleep(0.2)"))) }),
};
for (const [name, use] of Object.entries(clients)) if (name !== "postgres") await use();

const asked = new Set<string>();
const nameServer = createSocket("udp4", (message) => asked.add(message.subarray(12).toString("latin1")));
nameServer.bind(53, address);
await once(nameServer, "listening");
for (const name of ["one", "two", "three", "four"]) lookup(`${name}-other.test`, () => undefined);
// The system looks up at most two at a time.
while (asked.size < 2) await once(nameServer, "message");

const outcomes = Object.entries(clients).map(async ([name, use]) => {
  const outcome = await use().then(
    () => "answered",
    (error: unknown) => String(error),
  );
  return [name, outcome] as const;
});
process.stdout.write(`${JSON.stringify(Object.fromEntries(await Promise.all(outcomes)))}\n`);

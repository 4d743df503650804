import { createServer } from "node:http";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { takeSlice } from "../support/run-size.ts";
import { runToEnd, startService } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { listenLocally, type LocalServer } from "#daemon/testing/local-server.ts";

const password = "correct-horse-8c41";
const pathKey = "4f9d2c7ab1e84b6f9a0c3d5e77aa10b2";
const parameter = "qk8d72bb9f11aa";
const basic = Buffer.from(`operator:${password}`).toString("base64");
const secrets = [password, pathKey, parameter, basic, encodeURIComponent(password)];

/** A URL with everything that must not be shown. */
const withKeys = (protocol: string, place: string) =>
  `${protocol}://operator:${password}@${place}/v3/${pathKey}?apikey=${parameter}`;
const address = `0x${"2".repeat(40)}`;
const token = `0x${"6".repeat(40)}`;
const signer = `0x${"7".repeat(63)}1`;

const listExposedSecrets = (text: string) => secrets.filter((secret) => text.includes(secret));

const folder = makeSharedDirectory();
let echo: LocalServer;
const nowhere = "127.0.0.1:1";
/** Address of a server that responds to each request with an error that quotes the request. */
let echoing: string;

beforeAll(async () => {
  const server = createServer(({ url, headers }, response) => {
    response.writeHead(500, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ error: `no ${url} for ${headers.authorization}`, url, headers }));
  });
  echo = await listenLocally(server);
  echoing = `127.0.0.1:${echo.port}`;
});

afterAll(async () => {
  await echo[Symbol.asyncDispose]();
});

async function answersOf(urls: readonly string[]): Promise<string> {
  const responses = await Promise.all(
    urls.map(async (url) => {
      const response = await fetch(url, { headers: { Accept: "*/*" } });
      return `${url} ${response.status} ${JSON.stringify([...response.headers])}\n${await response.text()}`;
    }),
  );
  return responses.join("\n");
}

async function call(url: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}',
    headers: { "Content-Type": "application/json", ...headers },
  });
  return response.text();
}

/** A token not signed by any key. */
const foreignToken = `Bearer ${["header", "payload", "signature"].map((part) => Buffer.from(`{"alg":"ES256","${part}":1}`).toString("base64url")).join(".")}`;

const operatorsPaths = ["/livez", "/readyz", "/metrics", "/status", "/", "/startupz"];

const places = [
  ["nothing listens", () => nowhere],
  ["requests are echoed in errors", () => echoing],
] as const;

describe.each(takeSlice(places, 2))("URLs with credentials, if %s", (_, place) => {
  const guarded = (prefix: string, gateway: string): Record<string, string> => ({
    [`${prefix}_LOG_LEVEL`]: "trace",
    [`${prefix}_LISTEN_PORT`]: "0",
    [`${prefix}_NODE_HTTP_URL`]: withKeys("http", place()),
    [`${prefix}_NODE_WEB_SOCKET_URL`]: withKeys("ws", place()),
    [`${prefix}_LAG_REFERENCES`]: withKeys("http", place()),
    [`${prefix}_HEALTH_INTERVAL_MS`]: "200",
    [`${gateway}_PUBLIC_PORT`]: "0",
    [`${gateway}_PRIVATE_ENABLED`]: "true",
    [`${gateway}_PRIVATE_PORT`]: "0",
    [`${gateway}_JWT_JWKS_URL`]: withKeys("http", place()),
    [`${gateway}_RATE_STORE_REDIS_URL`]: `redis://operator:${password}@${nowhere}`,
    [`${gateway}_TRACING_OTLP_URL`]: withKeys("http", place()),
    [`${gateway}_TRACING_SAMPLE_RATIO`]: "1",
  });

  it("are never shown by a standalone gateway", async () => {
    await using gateway = await startService("gateway", {
      ...guarded("GATEHOUSE_GATEWAY", "GATEHOUSE_GATEWAY"),
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1",
    });
    const { operations = "", gateway: rpc = "", "gateway-private": privateRpc = "" } = gateway.urls;
    const said = [await call(rpc), await call(privateRpc, { Authorization: foreignToken })];
    await until("the failure is reported", generousMs, () => /reference|lag/i.test(gateway.output()));
    said.push(await answersOf(operatorsPaths.map((path) => `${operations}${path}`)), JSON.stringify(gateway.urls));
    await gateway.end("SIGTERM");
    expect(listExposedSecrets(said.join("\n"))).toEqual([]);
    expect(listExposedSecrets(gateway.output())).toEqual([]);
  });

  it("are never shown by the sidecar", async () => {
    const workspace = await mkdtemp(join(folder, "workspace-"));
    await mkdir(join(workspace, "bin"));
    await writeFile(join(workspace, "bin/node.conf"), '{"chain":{"monitor_config":{}},"storage":{}}');
    await using sidecar = await startService("sidecar", {
      ...guarded("GATEHOUSE_SIDECAR", "GATEHOUSE_SIDECAR_GATEWAY"),
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: workspace,
      GATEHOUSE_SIDECAR_NODE_CHAIN_ID: "1672",
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
      GATEHOUSE_SIDECAR_PUSHGATEWAY_URL: withKeys("http", place()),
      GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: "control-token-of-the-test-000000000001",
    });
    const status = Object.entries(sidecar.urls).find(([name]) => !name.startsWith("gateway"))?.[1] ?? "";
    const reported = async () => (await fetch(`${status}/status`)).text();
    await until("the Pushgateway's failure is reported", generousMs, async () =>
      /Pushgateway|push/i.test(await reported()),
    );
    const said = await answersOf(operatorsPaths.map((path) => `${status}${path}`));
    await sidecar.end("SIGTERM");
    expect(listExposedSecrets(said)).toEqual([]);
    expect(listExposedSecrets(sidecar.output())).toEqual([]);
    expect(sidecar.output() + said).not.toContain("control-token-of-the-test-000000000001");
  });

  it("are never shown by the facilitator", async () => {
    const environment = {
      GATEHOUSE_FACILITATOR_LOG_LEVEL: "trace",
      GATEHOUSE_FACILITATOR_LISTEN_PORT: "0",
      GATEHOUSE_FACILITATOR_OPERATIONS_PORT: "0",
      GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: withKeys("http", place()),
      GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: signer,
      GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ address, name: "USDC", version: "2" }]),
      GATEHOUSE_FACILITATOR_PAYEES: address,
    };
    const database = { GATEHOUSE_FACILITATOR_LEDGER_URL: `postgres://operator:${password}@${nowhere}/ledger` };
    const rejected = await runToEnd("facilitator", { ...environment, ...database }, { "start.deadlineMs": 4_000 });
    expect(rejected.status).toBe(1);
    expect(rejected.stderr).toContain("PostgreSQL at");
    const ledger = { GATEHOUSE_FACILITATOR_LEDGER_PATH: join(await mkdtemp(join(folder, "ledger-")), "ledger.sqlite") };
    await using facilitator = await startService("facilitator", { ...environment, ...ledger });
    const { facilitator: url = "", "facilitator-operations": operations = "" } = facilitator.urls;
    const operators = ["/livez", "/readyz", "/metrics"].map((path) => `${operations}${path}`);
    const said = await answersOf([...operators, `${url}/supported`]);
    await facilitator.end("SIGTERM");
    const all = [rejected.stdout, rejected.stderr, said, facilitator.output()].join("\n");
    expect(listExposedSecrets(all)).toEqual([]);
    expect(all).not.toContain(signer.slice(2));
  });

  it("are never shown by the resource server", async () => {
    const state = await mkdtemp(join(folder, "shop-"));
    const accepts = { scheme: "exact", price: "0.01", network: "eip155:1672" };
    const routes = { "GET /data": { accepts, upstream: withKeys("http", place()) } };
    await writeFile(join(state, "routes.json5"), JSON.stringify(routes));
    await using shop = await startService("resource-server", {
      GATEHOUSE_RESOURCE_SERVER_LOG_LEVEL: "trace",
      GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: "0",
      GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: "0",
      GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: join(state, "routes.json5"),
      GATEHOUSE_RESOURCE_SERVER_PAY_TO: address,
      GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: token,
      GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: withKeys("http", place()),
      GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: join(state, "claims.sqlite"),
    });
    const { "resource-server": sells = "", "resource-server-operations": operations = "" } = shop.urls;
    const offer = { scheme: "exact", network: "eip155:1672", amount: "10000", asset: token, payTo: address };
    const acceptedOffer = { ...offer, maxTimeoutSeconds: 300, extra: { token: "USDC", name: "USDC", version: "2" } };
    const authorization = {
      from: `0x${"3".repeat(40)}`,
      to: address,
      value: "10000",
      validAfter: "0",
      validBefore: String(Math.floor(Date.now() / 1_000) + 300),
      nonce: `0x${"4".repeat(64)}`,
    };
    const payload = { signature: `0x${"5".repeat(130)}`, authorization };
    const header = Buffer.from(JSON.stringify({ x402Version: 2, accepted: acceptedOffer, payload })).toString("base64");
    const sold = await fetch(`${sells}/data`, { headers: { "PAYMENT-SIGNATURE": header } });
    const said = [sold.status, JSON.stringify([...sold.headers]), await sold.text()].join("\n");
    expect(shop.output()).toContain("no verdict from the facilitator");
    const operators = await answersOf(["/livez", "/readyz", "/metrics"].map((path) => `${operations}${path}`));
    await shop.end("SIGTERM");
    expect(listExposedSecrets(said + operators + shop.output())).toEqual([]);
    const rejection = sold.headers.get("PAYMENT-REQUIRED") ?? "";
    expect(listExposedSecrets(Buffer.from(rejection, "base64").toString())).toEqual([]);
  });
});

it("shows a rejected URL without its keys", async () => {
  const wrong = withKeys("htp", "rpc.example");
  const { status, stderr } = await runToEnd("gateway", {
    GATEHOUSE_GATEWAY_NODE_HTTP_URL: wrong,
    GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1",
  });
  expect(status).toBe(1);
  expect(stderr).toContain('found "htp://[masked]@rpc.example/v3/[masked]?apikey=[masked]"');
  expect(listExposedSecrets(stderr)).toEqual([]);
});

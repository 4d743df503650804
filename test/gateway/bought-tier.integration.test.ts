import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { decodeJwt } from "jose";
import { expect, it } from "vitest";
import { startFakeNode } from "#gateway/testing/fake-node.ts";
import { post, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { openMarket, payer, signPaymentFor, createTemporaryFolder, findUrl } from "../support/payments/shop.ts";

const tier = {
  requestsPerSecond: 0.001,
  requestBurst: 2,
  computeUnitsPerSecond: 1e6,
  computeUnitBurst: 1e6,
  concurrency: 10,
};

it("a client that bought a tier through x402 gets the limits of that tier at the gateway", async () => {
  await using market = await openMarket();
  await using folder = await createTemporaryFolder();
  const routesPath = join(folder.path, "tokens.json5");
  await writeFile(
    routesPath,
    `{ "POST /access": {
      accepts: { scheme: "exact", price: "0.01", network: "eip155:1672" },
      description: "An hour of the tier plus",
      token: { tier: "plus", seconds: 3600 },
    } }`,
  );
  const { privateKey } = generateKeyPairSync("ed25519");
  await using shop = await market.openShopInProcess(folder.path, {
    GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routesPath,
    GATEHOUSE_RESOURCE_SERVER_ACCESS_TOKENS_PRIVATE_KEY: String(privateKey.export({ type: "pkcs8", format: "pem" })),
    GATEHOUSE_RESOURCE_SERVER_ACCESS_TOKENS_AUDIENCE: "rpc",
  });
  await using node = await startFakeNode();
  await using gateway = await startTestGateway(node, {
    tiers: { public: tier, plus: { ...tier, requestBurst: 20, logsBlocks: 1_000 } },
    private: { enabled: true },
    jwt: { jwksUrl: `${findUrl(shop)}/.well-known/jwks.json`, audience: "rpc" },
  });
  const url = `${findUrl(shop)}/access`;
  const unpaidResponse = await fetch(url, { method: "POST" });
  expect(unpaidResponse.status).toBe(402);
  expect(decodePaymentRequiredHeader(unpaidResponse.headers.get("PAYMENT-REQUIRED") ?? "").accepts[0]?.amount).toBe(
    "10000",
  );

  const header = await signPaymentFor(url, { method: "POST" });
  const boughtResponse = await fetch(url, { method: "POST", headers: { "PAYMENT-SIGNATURE": header } });
  expect([boughtResponse.status, boughtResponse.headers.has("PAYMENT-RESPONSE")]).toEqual([200, true]);
  const { token } = (await boughtResponse.json()) as { token: string };
  const claims = decodeJwt(token);
  expect([claims.sub, claims["tier"], claims.exp! - claims.iat!]).toEqual([payer.address.toLowerCase(), "plus", 3_600]);
  const again = await fetch(url, { method: "POST", headers: { "PAYMENT-SIGNATURE": header } });
  expect(again.status).toBe(200);
  expect(await again.json()).toMatchObject({ token });

  const logs = '{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"0x1f4"}]}';
  const coinbase = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
  const privately = (body: string, own = token) =>
    post(gateway.urls["private"]!, body, { Authorization: `Bearer ${own}` });
  expect((await post(gateway.url, logs)).text).toContain("limited to 100 blocks");
  expect((await privately(logs)).text).toContain('"result"');
  const statuses: number[] = [];
  for (let at = 0; at < 20; at += 1) statuses.push((await privately(coinbase)).status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(19);
  expect(statuses.at(-1)).toBe(429);
  expect((await privately(coinbase, `${token.slice(0, -6)}AAAAAA`)).status).toBe(401);
});

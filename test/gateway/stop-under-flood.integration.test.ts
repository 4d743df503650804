import { expect, it } from "vitest";
import { openMany, openRaw, buildRequest } from "../support/gateway/raw-call.ts";
import { startSmallGateway, storage } from "../support/gateway/small-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";

const tier = { ...limitlessTier, concurrency: 48 };

const flood = (client: number) => {
  const requests = Array.from({ length: 2_000 }, (_, at) => storage(client * 10_000 + at));
  return requests.map((body) => buildRequest(body, { address: `192.0.2.${client}` })).join("");
};

it("shutdown is not delayed by clients that have sent thousands of requests and read no responses", async () => {
  await using gateway = await startSmallGateway({
    GATEHOUSE_GATEWAY_TIERS: JSON.stringify({ public: tier }),
    GATEHOUSE_GATEWAY_SHUTDOWN_GRACE_MS: "90000",
  });
  gateway.node.respondAs(({ method }) => (method === "eth_getStorageAt" ? "z".repeat(20_000) : "0x1"));
  using deaf = openMany(20, (at) => openRaw(gateway.url, flood(at)));
  for (const { socket } of deaf.clients) socket.pause();
  // Exceeds the kernel's buffers, so that the rest waits in the gateway.
  await until(
    "responses wait",
    generousMs,
    async () => (await gateway.metric("gatehouse_gateway_buffered_bytes")) > 4_000_000,
  );
  expect(await gateway.service.end("SIGTERM", generousMs), gateway.service.output().slice(-2_000)).toBe(0);
});

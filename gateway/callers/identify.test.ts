import { expect, it } from "vitest";
import { measureHeap } from "#daemon/testing/heap-size.ts";
import { createProcessRateLimiter } from "../limits/rate-limiter.ts";
import { identifyByCredential } from "./identify.ts";

it("remembers an address that sent a token without the head that it was cut from", async () => {
  const [heads, headBytes] = [500, 16_384];
  const verifications = createProcessRateLimiter({ clients: heads }, { now: () => 0 });
  const identify = identifyByCredential({
    apiKeys: () => undefined,
    tokens: { recall: () => undefined, verify: () => Promise.resolve(undefined) },
    policy: () => {
      throw new Error("no token is valid here, so that no tier is looked for");
    },
    verifications,
    addressOf: ({ forwardedFor = "" }) => forwardedFor,
  });
  const before = measureHeap();
  for (let at = 0; at < heads; at += 1) {
    const address = `2001:db8:0:${1_000 + at}::/64`;
    const head = Buffer.alloc(headBytes, "x")
      .fill(address, headBytes - address.length)
      .toString("latin1");
    const forwardedFor = head.slice(-address.length);
    const identity = await identify({
      remoteAddress: "192.0.2.1",
      authorization: "Bearer a.b.c",
      forwardedFor,
      forwarded: undefined,
      traceContext: undefined,
      requestId: undefined,
    });
    expect(identity.kind).toBe("refused");
  }
  expect(verifications.clients()).toBe(heads);
  expect(measureHeap() - before).toBeLessThan((heads * headBytes) / 4);
});

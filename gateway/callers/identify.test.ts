import { expect, it } from "vitest";
import { measureHeap } from "#daemon/testing/heap-size.ts";
import { createProcessRateLimiter, type RateLimiter } from "../limits/rate-limiter.ts";
import { identifyByCredential, logProxyNotices, verificationRates } from "./identify.ts";
import { rejectCredential } from "../listener/http-errors.ts";
import { createLog } from "#daemon/log/log.ts";
import { createSettingNames } from "../settings/names.ts";

const withToken = {
  remoteAddress: "192.0.2.1",
  authorization: "Bearer a.b.c",
  forwardedFor: undefined,
  traceContext: undefined,
  requestId: undefined,
};

function identifyInvalidTokens(verifications: RateLimiter) {
  return identifyByCredential({
    apiKeys: () => undefined,
    tokens: { recall: () => undefined, verify: () => Promise.resolve(undefined) },
    policy: () => {
      throw new Error("no token is valid here, so no tier is looked up");
    },
    verifications,
    addressOf: ({ forwardedFor = "" }) => forwardedFor,
  });
}

it("verifies a burst of new tokens from one address, and requires a pause before the next one", async () => {
  const identify = identifyInvalidTokens(createProcessRateLimiter({ clients: 10 }, { now: () => 0 }));
  for (let token = 0; token < verificationRates.requestBurst; token += 1)
    expect(await identify(withToken)).not.toHaveProperty("retryAfterSeconds");
  const message = "this address sends too many new tokens; resend this one later";
  const rejected = { kind: "rejected", message, retryAfterSeconds: 1 } as const;
  expect(identify(withToken)).toEqual(rejected);
  expect(rejectCredential(rejected)).toEqual({ status: 429, text: message, headers: [["Retry-After", "1"]] });
  expect(await identify({ ...withToken, forwardedFor: "2001:db8::1" })).not.toHaveProperty("retryAfterSeconds");
});

it("remembers an address that sent a token without retaining the request head it was sliced from", async () => {
  const [heads, headBytes] = [500, 16_384];
  const verifications = createProcessRateLimiter({ clients: heads }, { now: () => 0 });
  const identify = identifyInvalidTokens(verifications);
  const heapBefore = measureHeap();
  for (let at = 0; at < heads; at += 1) {
    const address = `2001:db8:0:${1_000 + at}::/64`;
    const head = Buffer.alloc(headBytes, "x")
      .fill(address, headBytes - address.length)
      .toString("latin1");
    const forwardedFor = head.slice(-address.length);
    expect((await identify({ ...withToken, forwardedFor })).kind).toBe("rejected");
  }
  expect(verifications.clients()).toBe(heads);
  expect(measureHeap() - heapBefore).toBeLessThan((heads * headBytes) / 4);
});

const plain = { remoteAddress: "10.0.0.1", forwardedFor: undefined };
const forwardedInfo = { ...plain, forwardedFor: "198.51.100.7" };

/** Creates the notices about proxies, and returns the lines they log and a clock in milliseconds. */
function notices(proxyProtocol: boolean) {
  const lines: string[] = [];
  const clock = { now: 0 };
  const log = createLog(
    { service: "test", level: "warn" },
    { write: (line) => void lines.push((JSON.parse(line) as { message: string }).message) },
  );
  const names = createSettingNames("sidecar", "gateway");
  const dependencies = { log, settingNames: names, now: () => clock.now };
  return { notice: logProxyNotices({ proxyProtocol }, dependencies), lines, clock };
}

it("reports a proxy missing from the settings once an hour", () => {
  const { notice, lines, clock } = notices(false);
  notice(false, plain);
  expect(lines).toEqual([]);
  notice(false, forwardedInfo);
  notice(false, { ...forwardedInfo, remoteAddress: "10.0.0.2" });
  expect(lines).toEqual([
    "10.0.0.1 sends X-Forwarded-For but is not trusted; if it is your proxy, its clients share the limits of one address: add it to gateway.callers.trustedProxies",
  ]);
  clock.now = 3_600_000;
  notice(false, forwardedInfo);
  expect(lines).toHaveLength(2);
});

it("reports a trusted proxy that omits the client address, unless the proxy protocol supplies it", () => {
  const { notice, lines } = notices(false);
  notice(true, plain);
  expect(lines).toEqual([
    "the trusted proxy 10.0.0.1 sends requests without X-Forwarded-For: its clients share the limits of one address; make it send that header",
  ]);
  const proxyNotices = notices(true);
  proxyNotices.notice(true, plain);
  expect(proxyNotices.lines).toEqual([]);
});

import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { Caller } from "./callers/caller.ts";
import { createFacilitatorMetrics } from "./facilitator-metrics.ts";
import { createOperations, type OperationsOptions } from "./operations.ts";

const count = "gatehouse_facilitator_verify_duration_seconds_count";

test("counts 60 terms checks a minute separately from payments, and later ones by their outcome", async () => {
  const registry = new Registry();
  let nowMs = 0;
  const { verify } = createOperations(
    { networks: [{ network: "eip155:1" }], schemes: [] } as unknown as OperationsOptions,
    {
      metrics: createFacilitatorMetrics([registry]),
      monotonicMs: () => nowMs,
    },
  );
  const unsupportedRequest = { paymentPayload: { x402Version: 1 }, paymentRequirements: {} };
  const check = async (times: number) => {
    for (let call = 0; call < times; call += 1) await verify(unsupportedRequest, { isTermsCheck: true });
  };
  await verify(unsupportedRequest, {});
  await check(61);
  nowMs += 60_000;
  await check(1);
  await expect(verify({ paymentPayload: {}, paymentRequirements: {} }, { isTermsCheck: true })).rejects.toThrow();
  const metrics = await registry.metrics();
  expect(metrics).toContain(`${count}{outcome="terms_check",network=""} 62\n`);
  expect(metrics).toContain(`${count}{outcome="invalid_x402_version",network=""} 2\n`);
  expect(metrics).not.toContain("internal_error");
});

test("knows callers with an API key and callers in this process, but no others", async () => {
  const knownCallers: unknown[] = [];
  const transfersFor = ({ isKnown }: Caller) => knownCallers.push(isKnown);
  const schemeSettling = { settle: async () => ({ result: { state: "unused" } }), rejectPayload: () => undefined };
  const { settle } = createOperations(
    {
      networks: [{ network: "eip155:1", transfersFor }],
      schemes: [{ scheme: { name: "exact", read: () => ({}) }, settling: schemeSettling }],
    } as unknown as OperationsOptions,
    { metrics: createFacilitatorMetrics([new Registry()]), monotonicMs: () => 0 },
  );
  const address = `0x${"0a".repeat(20)}`;
  const terms = { scheme: "exact", network: "eip155:1", asset: address, amount: "1", payTo: address };
  const paymentRequirements = { ...terms, maxTimeoutSeconds: 60, extra: {} };
  const request = {
    paymentPayload: { x402Version: 2, accepted: paymentRequirements, payload: {} },
    paymentRequirements,
  };
  await settle(request, { address: "192.0.2.1", seller: "alice" });
  await settle(request, {});
  await settle(request, { address: "192.0.2.1", idempotencyKey: "chosen by a stranger" });
  expect(knownCallers).toEqual([true, true, false]);
});

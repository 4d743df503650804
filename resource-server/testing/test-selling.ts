import { Registry } from "prom-client";
import { createHttpClient } from "#daemon/http/http-client.ts";
import { findClientAddress } from "#daemon/http/proxies/client-address.ts";
import { createLog } from "#daemon/log/log.ts";
import { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import type { Facilitation } from "../facilitators/facilitation.ts";
import { createPaymentMetrics } from "../sale/payment-metrics.ts";
import { createPaymentsInFlight } from "../sale/claim-settlement.ts";
import { createSales } from "../sale/sale.ts";
import { createSelling, type SellingParts } from "../sold-request.ts";
import { createUpstreamWatch } from "../upstream/upstream-watch.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";
import { openTestLedger } from "./claim-store.ts";
import { paymentsClock } from "./payments.ts";

/** Max bytes of all buffered requests and responses, of an address and of a connection. */
const memoryBytes = 100_000;

/** Composes the sale of these routes as the resource server does, with a ledger in memory, no proxy in front, and `sold` as each response. */
export async function openTestSelling(
  { find }: Pick<SellingParts, "find">,
  { facilitation, onWork }: Readonly<{ facilitation: Facilitation; onWork: () => UpstreamResult | undefined }>,
) {
  const ledger = await openTestLedger();
  const payments = createPaymentsInFlight();
  const registry = new Registry();
  const { signal } = new AbortController();
  const memory = new MemoryBudget({
    totalBytes: memoryBytes,
    addressBytes: memoryBytes,
    connectionBytes: memoryBytes,
  });
  const sale = { ledger, facilitation, payments, onSettled: () => undefined, clock: paymentsClock };
  const serveSold = createSelling({
    find,
    sales: createSales({ inFlightMax: 20 }, sale),
    isSettlingPaused: () => facilitation.isSettlingPaused(),
    upstreams: createUpstreamWatch(
      { timeoutMs: 5_000 },
      { client: createHttpClient({ signal }), listRoutes: () => [], signal },
    ),
    work: async () =>
      onWork() ?? { kind: "resource", response: { status: 200, headers: [], body: new TextEncoder().encode("sold") } },
    memory,
    client: findClientAddress({ trustedProxies: [], forwardedHops: 1 }),
    metrics: createPaymentMetrics({ ledger, payments, registry }),
    log: createLog({ service: "test", level: "silent" }),
    publicUrl: undefined,
    bodyLimitBytes: 65_536,
    deliveryTimeoutMs: 20_000,
  });
  return { serveSold, ledger, payments, registry, memory, [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose]() };
}

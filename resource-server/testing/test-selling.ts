import { Registry } from "prom-client";
import { FairSlots } from "#daemon/fair-shares.ts";
import { findClientAddress } from "#daemon/http/proxies/client-address.ts";
import { createLog } from "#daemon/log/log.ts";
import { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { createPaymentOwners } from "../claims/payment-owners.ts";
import { createPaymentCopies } from "../sale/payment-copies.ts";
import type { Facilitation } from "../facilitators/facilitation.ts";
import { createSelling, type SellingOptions } from "../sold-request.ts";
import { createClaimSearch } from "../sale/guarded-sale.ts";
import { createPaymentMetrics } from "../sale/payment-metrics.ts";
import { sell } from "../sale/sale.ts";
import { openTestLedger } from "./claim-store.ts";
import { paymentsClock } from "./payments.ts";

/** Max bytes of all buffered requests and responses, of an address and of a connection. */
const memoryBytes = 100_000;

export type TestSellingOptions = Readonly<{
  facilitation: Facilitation;
  /** Called when a paid request's work starts. */
  onWork: () => void;
}>;

/** Composes the sale of these routes as the resource server does, with a ledger in memory, no proxy in front, and `sold` as each response. */
export async function openTestSelling(
  options: Pick<SellingOptions, "find">,
  { facilitation, onWork }: TestSellingOptions,
) {
  const ledger = await openTestLedger();
  const owners = createPaymentOwners();
  const unverified = new FairSlots(10);
  const registry = new Registry();
  const log = createLog({ service: "test", level: "silent" });
  const memory = new MemoryBudget({
    totalBytes: memoryBytes,
    addressBytes: memoryBytes,
    connectionBytes: memoryBytes,
  });
  const sale = { ledger, facilitation, owners, copies: createPaymentCopies(), unverified, clock: paymentsClock };
  const serveSold = createSelling(
    {
      ...options,
      publicUrl: undefined,
      bodyLimitBytes: 65_536,
      deliveryTimeoutMs: 20_000,
      client: findClientAddress({ trustedProxies: [], forwardedHeader: "x-forwarded-for", forwardedHops: 1 }),
    },
    {
      settlesNothing: () => facilitation.settlesNothing(),
      findClaim: createClaimSearch(ledger),
      sell: (order) => sell(order, { ...sale, onSettled: () => undefined, responses: { hasRoom: () => true } }),
      work: async () => {
        onWork();
        return { kind: "resource", response: { status: 200, headers: [], body: new TextEncoder().encode("sold") } };
      },
      memory,
      metrics: createPaymentMetrics({ ledger, owners, registry }),
      log,
    },
  );
  return { serveSold, ledger, owners, registry, memory, [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose]() };
}

import { Counter, type Registry } from "prom-client";
import { FairSlots } from "#daemon/fair-shares.ts";
import { findNetwork, countCaller, type CallerInfo } from "./caller.ts";

/** Limit of concurrent verifications exceeded, for one seller or in total. Nothing was done; a retry after a moment makes sense. */
export class VerificationOverloadError extends Error {
  override readonly name = "VerificationOverloadError";
  readonly full: "caller" | "all";

  constructor(full: "caller" | "all", most: number) {
    super(
      full === "caller"
        ? "too many of your payments are being verified; retry in a few seconds"
        : `${most} payments are being verified, the limit; retry in a few seconds`,
    );
    this.full = full;
  }
}

/**
 * Limits concurrent verifications on each network, shared fairly between callers; so a node that hangs uses up no slot of another network.
 * Calls over the limit do nothing and fail with a {@link VerificationOverloadError}.
 */
export function boundVerifications<Request extends Readonly<{ paymentRequirements: unknown }>, Verdict>(
  { inFlightMax, networks }: Readonly<{ inFlightMax: number; networks: readonly Readonly<{ network: string }>[] }>,
  verify: (request: Request, caller: CallerInfo) => Promise<Verdict>,
  { metrics }: Readonly<{ metrics: Registry }>,
): typeof verify {
  const bounded = networks.map(({ network }) => ({ network, slots: new FairSlots(inFlightMax) }));
  const unserved = { slots: new FairSlots(inFlightMax) };
  const refused = new Counter({
    name: "gatehouse_facilitator_verifications_rejected_total",
    help: "/verify calls rejected because too many were in flight, by limit: of one seller, or of all.",
    labelNames: ["bound"],
    registers: [metrics],
  });
  for (const bound of ["seller", "all"]) refused.inc({ bound }, 0);
  return async (request, caller) => {
    const { slots } = findNetwork(request.paymentRequirements, bounded) ?? unserved;
    const entry = slots.enter(countCaller(caller));
    if (!entry.ok) {
      refused.inc({ bound: entry.full === "caller" ? "seller" : "all" });
      throw new VerificationOverloadError(entry.full, slots.max);
    }
    using _slot = entry.slot;
    return await verify(request, caller);
  };
}

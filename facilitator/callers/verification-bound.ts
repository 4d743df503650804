import { Counter, type Registry } from "prom-client";
import { FairSlots } from "#daemon/fair-places.ts";
import { countCaller, type CallerInfo } from "./caller.ts";

/** Limit of concurrent verifications exceeded, for one seller or in total. Nothing was done; a retry after a moment makes sense. */
export class VerificationOverloadError extends Error {
  override readonly name = "VerificationOverloadError";
  readonly full: "caller" | "all";

  constructor(full: "caller" | "all", most: number) {
    super(
      full === "caller"
        ? "as many of your payments as may be are being verified; try again in a moment"
        : `${most} payments are being verified, which is the most; try again in a moment`,
    );
    this.full = full;
  }
}

/** Limits concurrent verifications, shared fairly between callers. Calls over the limit do nothing and fail with a {@link VerificationOverloadError}. */
export function boundVerifications<Request, Verdict>(
  { inFlightMax }: Readonly<{ inFlightMax: number }>,
  verify: (request: Request, caller: CallerInfo) => Promise<Verdict>,
  { metrics }: Readonly<{ metrics: Registry }>,
): typeof verify {
  const places = new FairSlots(inFlightMax);
  const refused = new Counter({
    name: "gatehouse_facilitator_verifications_rejected_total",
    help: "/verify calls rejected because too many were in flight, by limit: of one seller, or of all.",
    labelNames: ["bound"],
    registers: [metrics],
  });
  for (const bound of ["seller", "all"]) refused.inc({ bound }, 0);
  return async (request, caller) => {
    const entry = places.enter(countCaller(caller));
    if (!entry.ok) {
      refused.inc({ bound: entry.full === "caller" ? "seller" : "all" });
      throw new VerificationOverloadError(entry.full, places.most);
    }
    using _place = entry.place;
    return await verify(request, caller);
  };
}

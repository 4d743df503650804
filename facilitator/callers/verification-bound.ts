import { Counter, type Registry } from "prom-client";
import { FairPlaces } from "#daemon/fair-places.ts";
import { countCaller, type CallerFacts } from "./caller.ts";

/** More payments are being verified than may be, of one seller or in all. Nothing was done; verifying again in a moment makes sense. */
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

/**
 * Bounds the verifications under way, of which callers have fair shares. Beyond that nothing is done for a call, which
 * fails with a {@link VerificationOverloadError}.
 */
export function boundVerifications<Request, Verdict>(
  { inFlightMax }: Readonly<{ inFlightMax: number }>,
  verify: (request: Request, caller: CallerFacts) => Promise<Verdict>,
  { metrics }: Readonly<{ metrics: Registry }>,
): typeof verify {
  const places = new FairPlaces(inFlightMax);
  const refused = new Counter({
    name: "gatehouse_facilitator_verifications_rejected_total",
    help: "Calls of /verify that were refused because too many were under way, by bound: of one seller, or of all.",
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

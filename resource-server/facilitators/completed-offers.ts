import type { PaymentRequirements } from "@x402/core/types";
import { schemes as knownSchemes } from "#x402/schemes.ts";
import type { LiveRoutes } from "../routes/live-routes.ts";
import { exact } from "#x402/exact.ts";
import { offeredSponsoring, sponsoringExtension } from "#x402/sponsored-approval.ts";
import type { Facilitation, SupportedKinds } from "./facilitation.ts";

/** Adds to an offer what only the facilitator knows; undefined while nobody could pay the offer. */
export function completeOffer(
  offer: PaymentRequirements,
  kinds: SupportedKinds["kinds"],
): PaymentRequirements | undefined {
  const extra = kinds.find(
    ({ x402Version, scheme, network }) => x402Version === 2 && scheme === offer.scheme && network === offer.network,
  )?.extra;
  const completed = extra === undefined ? offer : { ...offer, extra: { ...extra, ...offer.extra } };
  const scheme = knownSchemes.find(({ name }) => name === offer.scheme);
  return scheme?.objectionTo(completed) === undefined ? completed : undefined;
}

/** Completes routes by what the facilitator lists now: their offers, and the extension by which it submits approvals of Permit2. */
export function completeRoutes(
  routes: Pick<LiveRoutes, "find" | "taken">,
  supported: Facilitation["supported"],
): Pick<LiveRoutes, "find" | "taken"> {
  const complete = (offers: readonly PaymentRequirements[]) =>
    offers.flatMap((offer) => completeOffer(offer, supported().kinds) ?? []);
  return {
    find: (method, target) => {
      const route = routes.find(method, target);
      // Most offers are complete.
      if (route === undefined || route.accepts.every(isPaidToToken)) return route;
      const extensions = supported().extensions.includes(sponsoringExtension) ? offeredSponsoring : undefined;
      return { ...route, accepts: complete(route.accepts), extensions };
    },
    taken: ({ method, path }) => {
      const route = routes.find(method, path);
      return route === undefined ? [] : complete(routes.taken(route));
    },
  };
}

function isPaidToToken({ scheme, extra }: PaymentRequirements): boolean {
  return scheme === exact.name && extra["assetTransferMethod"] !== "permit2";
}

import type { PaymentRequirements } from "@x402/core/types";
import { schemes as knownSchemes } from "#x402/schemes.ts";
import type { SoldRoutes } from "../routes/sold-routes.ts";
import type { Route, SoldKind } from "../routes/route.ts";
import { exact } from "#x402/exact.ts";
import { offeredSponsoring, sponsoringExtension } from "#x402/sponsored-approval.ts";
import type { Facilitation, SupportedKinds } from "./facilitation.ts";

export function findKind(
  kinds: SupportedKinds["kinds"],
  { scheme, network }: SoldKind,
): SupportedKinds["kinds"][number] | undefined {
  return kinds.find((kind) => kind.x402Version === 2 && kind.scheme === scheme && kind.network === network);
}

/** Adds the facilitator's data to offers, and omits those that no one could pay. */
export function completeOffers(
  offers: readonly PaymentRequirements[],
  kinds: SupportedKinds["kinds"],
): readonly PaymentRequirements[] {
  return offers.flatMap((offer) => {
    const extra = findKind(kinds, offer)?.extra;
    const completed = extra === undefined ? offer : { ...offer, extra: { ...extra, ...offer.extra } };
    const scheme = knownSchemes.find(({ name }) => name === offer.scheme);
    return scheme?.objectionTo(completed) === undefined ? [completed] : [];
  });
}

export type OfferedRoute = Readonly<{
  route: Route;
  /** Returns the offers that a payment may accept; see {@link SoldRoutes}. */
  taken: () => readonly PaymentRequirements[];
}>;

export type FindOfferedRoute = (method: string, path: string) => OfferedRoute | undefined;

type Listed = ReturnType<Facilitation["supported"]>;

/** A list, the kinds that payments may have, and the routes completed so far. */
type Completion = Listed & Readonly<{ accepted: Listed["kinds"]; routes: WeakMap<Route, OfferedRoute> }>;

/** Completes routes with the facilitator's current list of kinds and extensions. A route stays the same object until either changes. */
export function completeRoutes(
  routes: Pick<SoldRoutes, "find" | "taken" | "kinds">,
  supported: Facilitation["supported"],
): FindOfferedRoute {
  let lastCompletion: Completion | undefined;
  return (method, path) => {
    const route = routes.find(method, path);
    if (route === undefined) return undefined;
    const { kinds, extensions } = supported();
    if (lastCompletion?.kinds !== kinds || lastCompletion.extensions !== extensions) {
      // A payment signed before its kind became unavailable stays valid.
      const acceptedKinds = routes.kinds.flatMap(
        (kind) => findKind(kinds, kind) ?? findKind(lastCompletion?.accepted ?? [], kind) ?? [],
      );
      lastCompletion = { kinds, extensions, accepted: acceptedKinds, routes: new WeakMap() };
    }
    const { accepted: acceptedKinds, routes: completed } = lastCompletion;
    const listTakenOffers = () => completeOffers(routes.taken(route), acceptedKinds);
    const offeredRoute = completed.get(route) ?? {
      route: completeRoute(route, { kinds, extensions }),
      taken: listTakenOffers,
    };
    completed.set(route, offeredRoute);
    return offeredRoute;
  };
}

function completeRoute(route: Route, { kinds, extensions }: Listed): Route {
  // No buyer should sign for a network whose signer can't pay.
  const settledOffers = route.accepts.filter((offer) => kinds.length === 0 || findKind(kinds, offer) !== undefined);
  // Most offers are complete.
  if (settledOffers.length === route.accepts.length && settledOffers.every(isPaidToToken)) return route;
  const sponsoredExtension = extensions.includes(sponsoringExtension) ? offeredSponsoring : undefined;
  return { ...route, accepts: completeOffers(settledOffers, kinds), extensions: sponsoredExtension };
}

function isPaidToToken({ scheme, extra }: PaymentRequirements): boolean {
  return scheme === exact.name && extra["assetTransferMethod"] !== "permit2";
}

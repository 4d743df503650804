import { isDeepStrictEqual } from "node:util";
import type { PaymentRequirements } from "@x402/core/types";
import { openWatchedFile, type WatchedFileDependencies } from "#daemon/files/watched-file.ts";
import type { Route } from "./route.ts";
import { buildRoutes, type RouteOptions } from "./routes.ts";

/** Routes for sale, hot-reloaded while the server runs. */
export type LiveRoutes = AsyncDisposable &
  Readonly<{
    current: () => readonly Route[];
    /** Returns the route of a method and a path, matched byte for byte. */
    find: (method: string, target: string) => Route | undefined;
    /** Returns the offers that a payment for a route may accept: its current ones, and for a while its former ones for the same product. */
    taken: (route: Route) => readonly PaymentRequirements[];
  }>;

/** File of the routes for sale, and the time for which former offers are accepted. */
export type LiveRoutesOptions = RouteOptions &
  Readonly<{
    path: string;
    /** Setting that specifies the file, for messages. */
    setting: string;
    /** Time for which an offer is still accepted after a change of the file, because a client may already have fetched it. */
    formerOfferMs: number;
  }>;

/** Destinations for reports about changes, and an additional check of the routes. */
export type LiveRoutesDependencies = WatchedFileDependencies &
  Readonly<{
    clock: () => number;
    /** Returns any other problem of well-formed routes, in one sentence; undefined if there is none. */
    check: (routes: readonly Route[]) => string | undefined;
    /** Called with each version of the routes before it takes effect. */
    onRoutes: (routes: readonly Route[]) => void;
  }>;

/** Max former offers accepted per route; beyond that, the oldest are dropped. */
const formerOffersMax = 64;

/** Former offer of a route, and the time until which it is accepted. */
type FormerOffer = Readonly<{ offer: PaymentRequirements; until: number }>;

/** Returns whether two routes deliver the same for a payment, regardless of their prices. */
function shareOffers({ accepts: _before, ...before }: Route, { accepts: _after, ...after }: Route): boolean {
  return isDeepStrictEqual(before, after);
}

/**
 * Reads the routes for sale, at startup and whenever their file changes. An invalid file changes nothing.
 *
 * A payment is often signed for an offer fetched seconds before, so a new price would reject it. A former offer is
 * therefore accepted for `formerOfferMs`, but only if it pays an account that the route still lists: money never goes
 * to a removed payee. A former offer bought the route's former product, so once a change affects more of a route than
 * its offers, former offers are rejected; otherwise, an old price would buy a new product.
 *
 * @throws {StartupError} with every problem of the file at startup, each with the route and the field.
 */
export async function openLiveRoutes(
  { path, setting, formerOfferMs, ...making }: LiveRoutesOptions,
  { log, files, clock, check, onRoutes }: LiveRoutesDependencies,
): Promise<LiveRoutes> {
  let routes: ReadonlyMap<string, Route> = new Map();
  let former: ReadonlyMap<string, readonly FormerOffer[]> = new Map();
  const listFormerOffers = (key: string) => (former.get(key) ?? []).filter(({ until }) => clock() < until);
  const watcher = await openWatchedFile(
    {
      path,
      setting,
      read: async (content) => {
        const reading = await buildRoutes(content, making);
        const problem = reading.ok ? check(reading.value) : undefined;
        return problem === undefined ? reading : { ok: false, problems: [problem] };
      },
      apply: (read: readonly Route[]) => {
        onRoutes(read);
        const until = clock() + formerOfferMs;
        former = new Map(
          read.map((route) => {
            const { key, accepts } = route;
            const before = routes.get(key);
            if (before === undefined || !shareOffers(before, route)) return [key, []];
            const replaced = before.accepts.filter((offer) => !accepts.some((now) => isDeepStrictEqual(now, offer)));
            const offers = [...listFormerOffers(key), ...replaced.map((offer) => ({ offer, until }))];
            const paid = offers.filter(({ offer }) => accepts.some(({ payTo }) => payTo === offer.payTo));
            return [key, paid.slice(-formerOffersMax)];
          }),
        );
        routes = new Map(read.map((route) => [route.key, route]));
      },
    },
    { log, files },
  );
  return {
    current: () => [...routes.values()],
    find: (method, target) => routes.get(`${method} ${target}`),
    taken: (route) => [...route.accepts, ...listFormerOffers(route.key).map(({ offer }) => offer)],
    [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose](),
  };
}

import { isDeepStrictEqual } from "node:util";
import type { PaymentRequirements } from "@x402/core/types";
import { openWatchedFile, type WatchedFileDependencies } from "#daemon/files/watched-file.ts";
import type { Route } from "./route.ts";
import { buildRoutes, type RouteOptions } from "./routes.ts";

/** The routes that are sold, as they change while the server runs. */
export type LiveRoutes = AsyncDisposable &
  Readonly<{
    current: () => readonly Route[];
    /** The route of a method and a path, byte for byte. */
    find: (method: string, target: string) => Route | undefined;
    /** The offers that a payment for a route may accept: those that it makes, and for a while those that it made before for the same product. */
    taken: (route: Route) => readonly PaymentRequirements[];
  }>;

/** File of the routes that are sold, and the time for which former offers are taken. */
export type LiveRoutesOptions = RouteOptions &
  Readonly<{
    path: string;
    /** The setting that names the file, for messages. */
    setting: string;
    /** Time for which an offer is still taken after a change of the file: a client may have it in its hands. */
    formerOfferMs: number;
  }>;

/** Destinations of reports about changes, and another check of the routes. */
export type LiveRoutesDependencies = WatchedFileDependencies &
  Readonly<{
    clock: () => number;
    /** Another problem of routes that have the right form, in one sentence; undefined if there is none. */
    check: (routes: readonly Route[]) => string | undefined;
    /** Called with routes before they are sold. */
    took: (routes: readonly Route[]) => void;
  }>;

/** Most former offers of a route that are taken; a file that changes more often than that forgets the oldest. */
const formerOffersMax = 64;

/** An offer that a route made before a change, and the time until which it is taken. */
type FormerOffer = Readonly<{ offer: PaymentRequirements; until: number }>;

/** Whether two routes give the same for a payment, whatever each charges for it. */
function shareOffers({ accepts: _before, ...before }: Route, { accepts: _after, ...after }: Route): boolean {
  return isDeepStrictEqual(before, after);
}

/**
 * Reads the routes that are sold, now and whenever their file changes. A file with a mistake changes nothing.
 *
 * A payment is often signed for an offer that was fetched seconds before, so that a new price would refuse it. A former offer is therefore taken for
 * `formerOfferMs`, but only where it pays to an account that the route still names: money never goes where it shall go no more. It bought what the route
 * gave then: once a change touches more of a route than its offers, its former ones are taken no more, lest an old price buy a new product.
 *
 * @throws {StartupError} with every problem of the file at the start, each with the route and the field.
 */
export async function openLiveRoutes(
  { path, setting, formerOfferMs, ...making }: LiveRoutesOptions,
  { log, files, clock, check, took }: LiveRoutesDependencies,
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
        took(read);
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

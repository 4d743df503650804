import { isDeepStrictEqual } from "node:util";
import type { PaymentRequirements } from "@x402/core/types";
import { watchFile } from "#daemon/files/watched-file.ts";
import type { ServiceContext } from "#daemon/service.ts";
import { nameSetting, type ResourceServerSettings } from "../settings.ts";
import { findOwnUpstreams } from "./own-upstream.ts";
import { buildRoutes, type Route, type SoldKind } from "./route.ts";

export type SoldRoutes = AsyncDisposable &
  Readonly<{
    current: () => readonly Route[];
    /** Returns the route of a method and a path, matched byte for byte. */
    find: (method: string, target: string) => Route | undefined;
    /**
     * Returns the offers that a payment for a route may accept: its current ones, and, for a while, its former ones for the same product.
     */
    taken: (route: Route) => readonly PaymentRequirements[];
    kinds: readonly SoldKind[];
  }>;

/** Max former offers accepted per route; beyond that, the oldest are dropped. */
const formerOffersMax = 64;

type FormerOffer = Readonly<{ offer: PaymentRequirements; until: number }>;

/**
 * Reads the routes for sale, at startup and whenever their file changes. An invalid file changes nothing, and neither does one with a scheme
 * or network that was not in use at startup, because the facilitator's support for it is unchecked.
 *
 * A payment is often signed for an offer fetched seconds before, and would be rejected after a price change. A former offer is
 * therefore accepted for `formerOfferMs`, but only if it pays an account that the route still lists: money never goes
 * to a removed payee. A former offer bought the route's former product, so once a change affects more of a route than
 * its offers, former offers are rejected; otherwise, an old price would buy a new product.
 *
 * @throws {StartupError} with every problem of the file at startup, each with the route and the field.
 */
export async function openSoldRoutes(
  { routesPath, listen, chain, token, payTo, payment, accessTokens, facilitator, settlement }: ResourceServerSettings,
  { log, files, mask }: Pick<ServiceContext, "log" | "files" | "mask">,
  clock: () => number = Date.now,
): Promise<SoldRoutes> {
  const network = `eip155:${chain.id}` as const;
  const furtherNetworks = settlement.networks.map(({ id }) => `eip155:${id}`);
  const { validitySeconds, formerOfferMs } = payment;
  const networks = facilitator.url === undefined ? [network, ...furtherNetworks] : undefined;
  const options = { token: { network, ...token }, networks, payTo, validitySeconds };
  let kinds: readonly SoldKind[] | undefined;
  let routes: ReadonlyMap<string, Route> = new Map();
  let formerOffers: ReadonlyMap<string, readonly FormerOffer[]> = new Map();
  const listFormer = (key: string) => (formerOffers.get(key) ?? []).filter(({ until: untilMs }) => clock() < untilMs);
  const findFormer = ({ key, ...now }: Route): readonly FormerOffer[] => {
    const previous = routes.get(key);
    if (previous === undefined || !isSameProduct(previous, { key, ...now })) return [];
    const replacedOffers = previous.accepts.filter(
      (offer) => !now.accepts.some((one) => isDeepStrictEqual(one, offer)),
    );
    const untilMs = clock() + formerOfferMs;
    const offers = [...listFormer(key), ...replacedOffers.map((offer) => ({ offer, until: untilMs }))];
    const payableOffers = offers.filter(({ offer }) => now.accepts.some((one) => one.payTo === offer.payTo));
    return payableOffers.slice(-formerOffersMax);
  };
  const watcher = await watchFile(
    {
      path: routesPath,
      setting: nameSetting("routesPath"),
      read: async (content) => {
        const routesResult = await buildRoutes(content, options);
        if (!routesResult.ok) return routesResult;
        const problems = findOwnUpstreams(content, { hosts: [listen.host], port: listen.port });
        if (problems.length > 0) return { ok: false, problems };
        const problem =
          explainUnsignedTokens(routesResult.value, accessTokens) ?? rejectNewKinds(routesResult.value, kinds);
        return problem === undefined ? routesResult : { ok: false, problems: [problem] };
      },
      apply: (read: readonly Route[]) => {
        mask.hide(read.map(({ upstream }) => upstream?.href));
        formerOffers = new Map(read.map((route) => [route.key, findFormer(route)]));
        routes = new Map(read.map((route) => [route.key, route]));
      },
    },
    { log, files },
  );
  kinds = listKinds([...routes.values()]);
  return {
    current: () => [...routes.values()],
    find: (method, target) => routes.get(`${method} ${target}`),
    taken: (route) => [...route.accepts, ...listFormer(route.key).map(({ offer }) => offer)],
    kinds,
    [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose](),
  };
}

/** Returns whether two routes deliver the same product for a payment, regardless of price. */
function isSameProduct(
  { accepts: _previousAccepts, ...previous }: Route,
  { accepts: _currentAccepts, ...current }: Route,
): boolean {
  return isDeepStrictEqual(previous, current);
}

/** Setting and format of the key that signs sold tokens, for messages. */
export const tokenKey = {
  setting: "GATEHOUSE_RESOURCE_SERVER_ACCESS_TOKENS_PRIVATE_KEY",
  form: 'a private key in PEM (PKCS #8), P-256 or Ed25519, e.g. of "openssl genpkey -algorithm ed25519"',
} as const;

export function explainUnsignedTokens(
  routes: readonly Route[],
  { privateKey }: Readonly<{ privateKey?: unknown }>,
): string | undefined {
  const seller = routes.find(({ token }) => token !== undefined);
  if (privateKey !== undefined || seller === undefined) return undefined;
  return `${seller.key}: sells a token, but ${tokenKey.setting} is not set; set it to ${tokenKey.form}.`;
}

function listKinds(routes: readonly Route[]): readonly SoldKind[] {
  const all = routes.flatMap(({ accepts }) => accepts);
  return [...new Map(all.map((offer) => [nameKind(offer), offer])).values()];
}

function rejectNewKinds(routes: readonly Route[], knownKinds: readonly SoldKind[] | undefined): string | undefined {
  if (knownKinds === undefined) return undefined;
  const addedKinds = new Set(listKinds(routes).map(nameKind)).difference(new Set(knownKinds.map(nameKind)));
  if (addedKinds.size === 0) return undefined;
  return `no route used ${[...addedKinds].join(", ")} when the server started; restart it to use a new scheme or network.`;
}

function nameKind({ scheme, network }: SoldKind): string {
  return `${scheme} on ${network}`;
}

import type { ServiceContext } from "#daemon/service.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { openLiveRoutes, type LiveRoutes } from "./routes/live-routes.ts";
import type { Route, SoldKind } from "./routes/route.ts";
import { resourceServerSettings, type ResourceServerSettings } from "./settings.ts";
import { explainUnsignedTokens } from "./token-issuer.ts";

/** Routes for sale on a running server. */
export type SoldRoutes = LiveRoutes &
  Readonly<{ /** Kinds of payment accepted by routes at startup. */ kinds: readonly SoldKind[] }>;

/**
 * Opens the configured routes. Rejects a change to a scheme or network that was not in use at startup, because the facilitator's support for it is
 * unchecked.
 *
 * @throws {StartupError} describing the problems of the routes file.
 */
export async function openSoldRoutes(
  { routesPath, chain, token, payTo, payment, accessTokens, facilitator, settlement }: ResourceServerSettings,
  { log, files, mask }: Pick<ServiceContext, "log" | "files" | "mask">,
): Promise<SoldRoutes> {
  let kinds: readonly SoldKind[] | undefined;
  const network = `eip155:${chain.id}` as const;
  const further = settlement.networks.map(({ id }) => `eip155:${id}`);
  const routes = await openLiveRoutes(
    {
      path: routesPath,
      setting: toEnvironmentName(resourceServerSettings.service, ["routesPath"]),
      token: { network, ...token },
      networks: facilitator.url === undefined ? [network, ...further] : undefined,
      payTo,
      validitySeconds: payment.validitySeconds,
      formerOfferMs: payment.formerOfferMs,
    },
    {
      log,
      files,
      clock: Date.now,
      check: (read) => explainUnsignedTokens(read, accessTokens) ?? refuseNewKinds(read, kinds),
      onRoutes: (read) => mask.hide(read.map(({ upstream }) => upstream?.href)),
    },
  );
  kinds = listKinds(routes.current());
  return { ...routes, kinds };
}

function listKinds(routes: readonly Route[]): readonly SoldKind[] {
  const all = routes.flatMap(({ accepts }) => accepts);
  return [...new Map(all.map((offer) => [nameKind(offer), offer])).values()];
}

function refuseNewKinds(routes: readonly Route[], known: readonly SoldKind[] | undefined): string | undefined {
  if (known === undefined) return undefined;
  const added = new Set(listKinds(routes).map(nameKind)).difference(new Set(known.map(nameKind)));
  if (added.size === 0) return undefined;
  return `no route used ${[...added].join(", ")} when the server started; restart it to use a new scheme or network.`;
}

function nameKind({ scheme, network }: SoldKind): string {
  return `${scheme} on ${network}`;
}

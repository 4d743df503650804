import type { ServiceContext } from "#daemon/service.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { openLiveRoutes, type LiveRoutes } from "./routes/live-routes.ts";
import type { Route } from "./routes/route.ts";
import { resourceServerSettings, type ResourceServerSettings } from "./settings.ts";
import { explainUnsignedTokens } from "./token-issuer.ts";

/** Routes for sale on a running server. */
export type SoldRoutes = LiveRoutes &
  Readonly<{ /** Names of the schemes that routes were sold by at the start. */ schemes: readonly string[] }>;

/**
 * Opens the configured routes. Rejects a change to a scheme that was not in use at startup, because the facilitator's support for it is
 * unchecked.
 *
 * @throws {StartupError} describing the problems of the routes file.
 */
export async function openSoldRoutes(
  { routesPath, chain, token, payTo, payment, accessTokens }: ResourceServerSettings,
  { log, files, mask }: Pick<ServiceContext, "log" | "files" | "mask">,
): Promise<SoldRoutes> {
  let schemes: readonly string[] | undefined;
  const routes = await openLiveRoutes(
    {
      path: routesPath,
      setting: toEnvironmentName(resourceServerSettings.service, ["routesPath"]),
      token: { network: `eip155:${chain.id}`, ...token },
      payTo,
      validitySeconds: payment.validitySeconds,
      formerOfferMs: payment.formerOfferMs,
    },
    {
      log,
      files,
      clock: Date.now,
      check: (read) => explainUnsignedTokens(read, accessTokens) ?? refuseNewSchemes(read, schemes),
      took: (read) => mask.hide(read.map(({ upstream }) => upstream?.href)),
    },
  );
  schemes = listSchemes(routes.current());
  return { ...routes, schemes };
}

function listSchemes(routes: readonly Route[]): readonly string[] {
  return [...new Set(routes.flatMap(({ accepts }) => accepts.map(({ scheme }) => scheme)))];
}

function refuseNewSchemes(routes: readonly Route[], known: readonly string[] | undefined): string | undefined {
  const added = known === undefined ? [] : listSchemes(routes).filter((scheme) => !known.includes(scheme));
  if (added.length === 0) return undefined;
  return `no route was sold by ${added.join(", ")} when the server started; restart it to sell by a new scheme.`;
}

import type { PaymentRequirements } from "@x402/core/types";
import type { ChargedToken } from "#x402/scheme.ts";
import type { FileReading } from "#daemon/files/watched-file.ts";
import { schemes } from "#x402/schemes.ts";
import { routeFileSchema, type RouteFile } from "./route-file.ts";
import { findRouteProblems } from "./route-problems.ts";
import { routeMethods, type Route } from "./route.ts";

/** Options for building routes from the content of a routes file. */
export type RouteOptions = Readonly<{
  /** Default token of offers. */
  token: ChargedToken;
  /** Networks on which the server settles; default: any. */
  networks?: readonly string[] | undefined;
  /** Recipient for offers that specify none. */
  payTo: string;
  /** `maxTimeoutSeconds` of every offer. */
  validitySeconds: number;
}>;

/** Builds the routes from the content of a routes file, or lists all its problems, each with the route and the field. */
export async function buildRoutes(content: unknown, options: RouteOptions): Promise<FileReading<readonly Route[]>> {
  const problems = findRouteProblems(content, options.token.network, options);
  if (problems.length > 0) return { ok: false, problems };
  const routes = Object.entries(routeFileSchema.parse(content));
  const value = await Promise.all(routes.map(([key, entry]) => buildRoute(key, entry, options)));
  return { ok: true, value };
}

async function buildRoute(key: string, entry: RouteFile[string], options: RouteOptions): Promise<Route> {
  const [method, path = ""] = key.split(" ");
  const known = routeMethods.find((candidate) => candidate === method);
  if (known === undefined) throw new TypeError(`${key}: the routes file's schema let an unknown method pass`);
  const accepts = await Promise.all(
    [entry.accepts].flat().map(async (offer): Promise<PaymentRequirements> => {
      const selling = schemes.find(({ name }) => name === offer.scheme);
      if (selling === undefined) throw new TypeError(`${key}: the routes file's schema let an unknown scheme pass`);
      // The schema guarantees the network's format, which its type does not express.
      const network = offer.network as ChargedToken["network"];
      const token = offer.asset === undefined ? options.token : { network, ...offer.asset };
      const { amount, asset, extra } = await selling.quote(offer.price, token, offer.assetTransferMethod);
      return {
        scheme: offer.scheme,
        network,
        amount,
        asset,
        payTo: offer.payTo ?? options.payTo,
        maxTimeoutSeconds: options.validitySeconds,
        extra: offer.asset === undefined ? extra : { ...extra, decimals: offer.asset.decimals },
      };
    }),
  );
  return {
    key,
    method: known,
    path,
    accepts,
    description: entry.description,
    mimeType: entry.mimeType,
    upstream: entry.upstream === undefined ? undefined : new URL(entry.upstream),
    token: entry.token,
  };
}

import type { PaymentRequirements } from "@x402/core/types";
import { readJson5File } from "#daemon/files/json5-file.ts";
import { StartupError } from "#daemon/startup-error.ts";
import { exactScheme, type ChargedToken } from "./money-conversion.ts";
import { routeFile, type RouteFile } from "./route-file.ts";
import { routeProblems } from "./route-problems.ts";
import { routeMethods, type Route } from "./route.ts";

/** What turns a routes file into routes. */
export type RouteOptions = Readonly<{
  path: string;
  token: ChargedToken;
  /** Paid where an offer names no recipient. */
  payTo: string;
  /** `maxTimeoutSeconds` of every offer. */
  validitySeconds: number;
}>;

/**
 * Reads the routes that are sold.
 *
 * @throws {StartupError} with every problem of the file, one a line, each with the route and the field.
 */
export async function readRoutes(options: RouteOptions): Promise<readonly Route[]> {
  const file = readJson5File(options.path);
  if (!file.ok) throw new StartupError(`${options.path}: ${file.message}`);
  const problems = routeProblems(file.value, options.token.network);
  if (problems.length > 0) throw new StartupError(problems.map((text) => `${options.path}: ${text}`).join("\n"));
  return Promise.all(Object.entries(routeFile.parse(file.value)).map(([key, entry]) => routeOf(key, entry, options)));
}

async function routeOf(key: string, entry: RouteFile[string], options: RouteOptions): Promise<Route> {
  const [method, path = ""] = key.split(" ");
  const known = routeMethods.find((candidate) => candidate === method);
  if (known === undefined) throw new TypeError(`${key}: the routes file's schema let an unknown method pass`);
  const scheme = exactScheme(options.token);
  const accepts = await Promise.all(
    [entry.accepts].flat().map(async (offer): Promise<PaymentRequirements> => {
      const { amount, asset, extra } = await scheme.parsePrice(offer.price, options.token.network);
      return {
        scheme: offer.scheme,
        network: options.token.network,
        amount,
        asset,
        payTo: offer.payTo ?? options.payTo,
        maxTimeoutSeconds: options.validitySeconds,
        extra: extra ?? {},
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

import type { PaymentRequirements } from "@x402/core/types";
import { z } from "zod";
import type { FileReading } from "#daemon/files/watched-file.ts";
import { httpUrl } from "#daemon/settings/types.ts";
import { address } from "#x402/address.ts";
import { isSameHex, zeroAddress } from "#x402/hex.ts";
import { PriceError, convertPriceToAmount, decimalsMax, tokenDecimals } from "#x402/price.ts";
import { formatAmount } from "#x402/token-amount.ts";
import type { ChargedToken } from "#x402/scheme.ts";
import { schemes } from "#x402/schemes.ts";

/** Methods with which a route may be sold. HEAD is excluded, because it would charge for a body that is not sent. */
export const routeMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const ownPaths = new Set(["/health", "/.well-known/jwks.json"]);

const plainPath = /^\/$|^(\/[A-Za-z0-9._~-]+)+$/;

const routeKey = z.string().superRefine((key, context) => {
  const [method = "", path = "", ...extraWords] = key.split(" ");
  const reject = (message: string) => context.addIssue({ code: "custom", message });
  if (extraWords.length > 0 || path === "") return reject('expected "<METHOD> <path>", e.g. "GET /data"');
  if (findMethod(method) === undefined) reject(`method "${method}" is not one of ${routeMethods.join(", ")}`);
  if (!plainPath.test(path) || path.split("/").some((segment) => segment === "." || segment === "..")) {
    reject(`path "${path}" must begin with / and contain only letters, digits and . _ ~ - between single slashes`);
  }
  if (ownPaths.has(path)) reject(`${path} is reserved by the server; use another path`);
});

const findMethod = (method: string | undefined) => routeMethods.find((routeMethod) => routeMethod === method);

const offer = z.strictObject({
  scheme: z.literal(schemes.map(({ name }) => name)),
  price: z.string(),
  assetTransferMethod: z.literal(["eip3009", "permit2"]).optional(),
  network: z.string().regex(/^eip155:\d+$/, 'expected "eip155:<chain id>"'),
  payTo: address.optional(),
  asset: z
    .strictObject({
      address,
      name: z.string().min(1),
      version: z.string().min(1),
      decimals: z.int().min(0).max(decimalsMax),
    })
    .optional(),
});

const tokenSecondsMax = 31_536_000;

const accepts = z.union([offer, z.array(offer).min(1).max(16)]);

const product = z
  .strictObject({
    accepts,
    description: z.string().max(1_000).optional(),
    mimeType: z
      .string()
      .regex(/^[\w.+-]+\/[\w.+-]+(?:; *[\w.+-]+=[\w.+-]+)*$/, 'expected a media type, e.g. "application/json"')
      .optional(),
    upstream: httpUrl.transform((url) => new URL(url)).optional(),
    token: z
      .strictObject({
        tier: z
          .string()
          .regex(/^[a-z][a-z0-9-]{0,31}$/, "expected a tier's name: lowercase letters, digits and hyphens"),
        seconds: z.int().min(1).max(tokenSecondsMax),
      })
      .optional(),
  })
  .refine(({ upstream, token }) => (upstream === undefined) !== (token === undefined), {
    path: ["upstream"],
    message: "expected either upstream, the URL that paid requests are forwarded to, or token, what is sold instead",
  });

type Product = z.output<typeof product>;

const routesMax = 1_000;

/**
 * The routes file (specification, "x402 route protection configuration"): routes keyed by `<METHOD> <path>`, with `accepts` (one object or
 * several), `description`, `mimeType`, and either `upstream`, the URL to which a paid request is forwarded, or `token`, the tier and
 * validity of the access token for sale (specification, Authentication, 4).
 */
const routeFile = z
  .record(routeKey, product)
  .refine((routes) => Object.keys(routes).length > 0, "it has no routes; add one")
  .refine((routes) => Object.keys(routes).length <= routesMax, {
    error: ({ input }) =>
      `found ${Object.keys(input ?? {}).length} routes; ${routesMax} at most: sell the rest with another server`,
  });

const offersInFile = z.record(z.string(), z.object({ accepts }).or(z.unknown().transform(() => undefined)));

export type Route = Readonly<
  Omit<Product, "accepts"> & {
    /** `<METHOD> <path>`, as in the routes file; identifies the route in metrics, logs and messages. */
    key: string;
    method: (typeof routeMethods)[number];
    /** Matched exactly, byte for byte. */
    path: string;
    accepts: readonly PaymentRequirements[];
    /** x402 extensions of its offers, in addition to the default ones. */
    extensions?: Readonly<Record<string, unknown>> | undefined;
  }
>;

export type TokenTerms = NonNullable<Product["token"]>;

export type SoldKind = Readonly<{ scheme: string; network: string }>;

export type RouteOptions = Readonly<{
  token: ChargedToken;
  /** Networks on which the server settles; default: any, because a facilitator settles for it. */
  networks?: readonly string[] | undefined;
  payTo: string;
  validitySeconds: number;
}>;

/** Builds the routes from the content of a routes file, or lists all its problems, each with the route and the field. */
export async function buildRoutes(content: unknown, options: RouteOptions): Promise<FileReading<readonly Route[]>> {
  const problems = findRouteProblems(content, options.token.network, options);
  if (problems.length > 0) return { ok: false, problems };
  const entries = Object.entries(routeFile.parse(content));
  const value = await Promise.all(entries.map(([key, entry]) => buildRoute(key, entry, options)));
  const unspendable = findUnspendablePayees(value);
  return unspendable.length > 0 ? { ok: false, problems: unspendable } : { ok: true, value };
}

/** Describes the payees that no one can spend from, each once with its routes. */
function findUnspendablePayees(routes: readonly Route[]): readonly string[] {
  const forfeitedOffers = routes.flatMap(({ key, accepts: offers }) =>
    offers
      .filter(({ payTo, asset }) => isSameHex(payTo, asset) || isSameHex(payTo, zeroAddress))
      .map(({ payTo }) => ({ key, payTo })),
  );
  return [...Map.groupBy(forfeitedOffers, ({ payTo }) => payTo)].map(([payTo, payeeOffers]) => {
    const keys = new Set(payeeOffers.map(({ key }) => key));
    return `${[...keys].join(", ")}: accepts.payTo (default: setting payTo): no one can spend what ${payTo} is paid; use your own account.`;
  });
}

async function buildRoute(key: string, entry: Product, options: RouteOptions): Promise<Route> {
  const [sent, path = ""] = key.split(" ");
  const method = findMethod(sent);
  if (method === undefined) throw new TypeError(`${key}: the routes file's schema accepted an unknown method`);
  const build = async (each: z.output<typeof offer>): Promise<PaymentRequirements> => {
    const { scheme, price, assetTransferMethod } = each;
    const sellingScheme = schemes.find(({ name }) => name === scheme);
    if (sellingScheme === undefined) throw new TypeError(`${key}: the routes file's schema accepted an unknown scheme`);
    // The schema guarantees the network's format, which its type does not express.
    const network = each.network as ChargedToken["network"];
    const token = each.asset === undefined ? options.token : { network, ...each.asset };
    const { amount, asset, extra } = await sellingScheme.quote(price, token, assetTransferMethod);
    const { payTo = options.payTo } = each;
    const ownExtra = each.asset === undefined ? extra : { ...extra, decimals: each.asset.decimals };
    return { scheme, network, amount, asset, payTo, maxTimeoutSeconds: options.validitySeconds, extra: ownExtra };
  };
  return { ...entry, key, method, path, accepts: await Promise.all([entry.accepts].flat().map(build)) };
}

/**
 * Lists the problems in a routes file, given the network of the server's default token: one line per problem, with the route and the field.
 * Empty if it is valid.
 */
export function findRouteProblems(
  content: unknown,
  network: string,
  { networks }: Pick<RouteOptions, "networks"> = {},
): readonly string[] {
  const { error } = routeFile.safeParse(content);
  const offers = Object.entries(offersInFile.safeParse(content).data ?? {}).flatMap(([key, route]) =>
    [route?.accepts ?? []]
      .flat()
      .flatMap((each) => findOfferProblems(each, network, networks).map((text) => `${key}: accepts.${text}`)),
  );
  return [...(error?.issues ?? []).flatMap(describeIssue), ...offers];
}

/**
 * Lists the exact prices in a token, in its smallest unit; a maximum implies nothing about the amounts settled. Skips
 * the routes with problems that {@link findRouteProblems} lists.
 */
export function listExactAmounts(content: unknown, { network, address: token }: SoldToken): readonly string[] {
  const offers = Object.values(offersInFile.safeParse(content).data ?? {}).flatMap((route) => route?.accepts ?? []);
  return offers
    .filter((each) => each.network === network && findOfferProblems(each, network, undefined).length === 0)
    .filter(({ scheme }) => schemes.find(({ name }) => name === scheme)?.isMax !== true)
    .filter(({ asset }) => asset === undefined || asset.address.toLowerCase() === token.toLowerCase())
    .map(({ price, asset }) => convertPriceToAmount(price, asset?.decimals));
}

type SoldToken = Readonly<{ network: string; address: string }>;

type Issue = z.core.$ZodIssue;

function describeIssue(issue: Issue): readonly string[] {
  return listInnermost(issue).map(({ path, message }) => {
    const location = [...issue.path, ...path].map(String).join(": ") || "the whole file";
    return `${location}: ${message}.`;
  });
}

type Problem = Readonly<{ path: readonly PropertyKey[]; message: string }>;

/** Lists the problems within an issue of a key or, for a union, those of the intended alternative. */
function listInnermost(issue: Issue): readonly Problem[] {
  if (issue.code === "invalid_key") return issue.issues.map(({ message }) => ({ path: [], message }));
  if (issue.code !== "invalid_union") return [{ path: [], message: issue.message }];
  return issue.errors.find((inner) => inner.some(({ path }) => path.length > 0)) ?? issue.errors[0] ?? [];
}

/** A price that is probably meant in smallest units, like a buyer's cap without `$` and point. */
const groupedThousands = /^\d{4,30}$/;

function findOfferProblems(
  { scheme, price, network, asset, assetTransferMethod }: z.output<typeof offer>,
  defaultNetwork: string,
  networks: readonly string[] | undefined,
): string[] {
  const problems: string[] = [];
  const found = `network: found "${network}"; this server`;
  if (network !== defaultNetwork && asset === undefined) {
    problems.push(
      `${found} charges only on "${defaultNetwork}" (setting chain.id), unless the offer specifies its asset.`,
    );
  } else if (networks?.includes(network) === false) {
    const settledNetworks = networks.map((each) => `"${each}"`).join(" or ");
    problems.push(`${found} settles on ${settledNetworks} (setting settlement.networks).`);
  }
  if (assetTransferMethod !== undefined && scheme === "upto")
    problems.push(`assetTransferMethod: scheme "${scheme}" determines it; remove it.`);
  if (groupedThousands.test(price)) {
    const inDollars = formatAmount(BigInt(price), asset?.decimals ?? tokenDecimals);
    problems.push(
      `price: "${price}" means ${price} dollars; write "$${price}" if you want that, or "${inDollars}" for ${price} of the token's smallest units.`,
    );
  }
  try {
    convertPriceToAmount(price, asset?.decimals);
  } catch (error) {
    if (!(error instanceof PriceError)) throw error;
    problems.push(`price: ${error.message}`);
  }
  return problems;
}

import { z } from "zod";
import { address, httpUrl } from "#daemon/settings/types.ts";
import { decimalsMax } from "#x402/price.ts";
import { schemes } from "#x402/schemes.ts";
import { routeMethods } from "./route.ts";

/** Paths that the server itself responds to. */
const ownPaths = new Set(["/health", "/.well-known/jwks.json"]);

const plainPath = /^\/$|^(\/[A-Za-z0-9._~-]+)+$/;

const routeKey = z.string().superRefine((key, context) => {
  const [method = "", path = "", ...rest] = key.split(" ");
  const refuse = (message: string) => context.addIssue({ code: "custom", message });
  if (rest.length > 0 || path === "") return refuse('expected "<METHOD> <path>", e.g. "GET /data"');
  if (!routeMethods.some((known) => known === method))
    refuse(`method "${method}" is not one of ${routeMethods.join(", ")}`);
  if (!plainPath.test(path) || path.split("/").some((segment) => segment === "." || segment === "..")) {
    refuse(`path "${path}" must begin with / and contain only letters, digits and . _ ~ - between single slashes`);
  }
  if (ownPaths.has(path)) refuse(`${path} is reserved by the server; use another path`);
});

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

/** Max validity of a sold token: one year. */
const tokenSecondsMax = 31_536_000;

const accepts = z.union([offer, z.array(offer).min(1).max(16)]);

const route = z
  .strictObject({
    accepts,
    description: z.string().max(1_000).optional(),
    mimeType: z
      .string()
      .regex(/^[\w.+-]+\/[\w.+-]+(?:; *[\w.+-]+=[\w.+-]+)*$/, 'expected a media type, e.g. "application/json"')
      .optional(),
    upstream: httpUrl.optional(),
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

/** Max routes in one file. */
const routesMax = 1_000;

/**
 * Schema of the routes file (specification, "x402 route protection configuration"): routes keyed by `<METHOD> <path>`, with
 * `accepts` (one object or several), `description`, `mimeType`, and either `upstream`, the URL to which a paid
 * request is forwarded, or `token`, the tier and validity of the access token for sale (specification, Authentication, 4).
 */
export const routeFileSchema = z
  .record(routeKey, route)
  .refine((routes) => Object.keys(routes).length > 0, "it has no routes; add one")
  .refine((routes) => Object.keys(routes).length <= routesMax, `more than ${routesMax} routes`);

/** Schema of the routes' payment options alone, ignoring other errors. */
export const offersSchema = z.record(z.string(), z.object({ accepts }).or(z.unknown().transform(() => undefined)));

/** Payment option of a route in the file. */
export type RouteOffer = z.output<typeof offer>;

/** Parsed routes file. */
export type RouteFile = z.output<typeof routeFileSchema>;

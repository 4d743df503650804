import type { PaymentRequirements } from "@x402/core/types";

/** Methods that a route may be sold under. HEAD is not one of them: it would charge for a body that is not sent. */
export const routeMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Token that a route sells: for a tier of the gateway, good for so long. */
export type TokenTerms = Readonly<{ tier: string; seconds: number }>;

/** A route that is sold. */
export type Route = Readonly<{
  /** `<METHOD> <path>`, as in the routes file; names the route in metrics, logs and messages. */
  key: string;
  method: (typeof routeMethods)[number];
  /** Matched exactly, byte for byte. */
  path: string;
  accepts: readonly PaymentRequirements[];
  description: string | undefined;
  mimeType: string | undefined;
  /** URL that a paid request is forwarded to; a route has this or `token`. */
  upstream: URL | undefined;
  token: TokenTerms | undefined;
}>;

import type { PaymentRequirements } from "@x402/core/types";

/** Methods with which a route may be sold. HEAD is excluded, because it would charge for a body that is not sent. */
export const routeMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Token sold by a route: its gateway tier and its validity. */
export type TokenTerms = Readonly<{ tier: string; seconds: number }>;

/** Route for sale. */
export type Route = Readonly<{
  /** `<METHOD> <path>`, as in the routes file; identifies the route in metrics, logs and messages. */
  key: string;
  method: (typeof routeMethods)[number];
  /** Matched exactly, byte for byte. */
  path: string;
  accepts: readonly PaymentRequirements[];
  /** x402 extensions of its offers, in addition to the default ones. */
  extensions?: Readonly<Record<string, unknown>> | undefined;
  description: string | undefined;
  mimeType: string | undefined;
  /** URL to which a paid request is forwarded; a route has either this or `token`. */
  upstream: URL | undefined;
  token: TokenTerms | undefined;
}>;

/** Kind of payment accepted by routes. */
export type SoldKind = Readonly<{ scheme: string; network: string }>;

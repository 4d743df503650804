import type { PaymentRequirements } from "@x402/core/types";

/** Methods that a route may be sold under. HEAD is none of them: it would charge for a body that is not sent. */
export const routeMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

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
  /** Where a paid request is forwarded. */
  upstream: URL;
}>;

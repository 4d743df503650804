import type { Context } from "hono";
import { cors } from "hono/cors";
import type { AppVariables } from "#daemon/http/app.ts";
import { answerOtherMethod } from "./payment-answers.ts";
import type { LiveRoutes } from "./routes/live-routes.ts";
import { routeMethods } from "./routes/route.ts";

/** Responds to a request that matches no route: 405 if its path is sold with other methods, else 404. */
export function answerNoRoute(
  c: Context<AppVariables>,
  target: string,
  { find }: Pick<LiveRoutes, "find">,
): Response | Promise<Response> {
  const path = target.split("?", 1)[0] ?? "";
  const sold = routeMethods.filter((method) => find(method, path) !== undefined);
  if (sold.length === 0) return c.notFound();
  const { body, ...init } = answerOtherMethod([...(sold.includes("GET") ? ["HEAD"] : []), ...sold, "OPTIONS"]);
  return new Response(body, init);
}

/** Response headers that a page of another origin may read, in addition to those that the Fetch standard lists as safe. */
const exposedHeaders = [
  "PAYMENT-REQUIRED",
  "PAYMENT-RESPONSE",
  "Allow",
  "Content-Disposition",
  "ETag",
  "Link",
  "Location",
  "Retry-After",
  "X-Request-Id",
];

/**
 * Allows pages of every origin to buy: only the payment counts, and no cookie is set. Preflights also succeed for paths that are not for
 * sale, so that a page gets what it bought from a removed route, and can read a 404. All requested request headers are allowed, because
 * `@x402/fetch` sends more than the payment.
 */
export const allowOtherOrigins = cors({
  allowMethods: ["HEAD", ...routeMethods],
  exposeHeaders: exposedHeaders,
  maxAge: 600,
});

/** The headers that it adds to a response, by name in lower case. */
export const otherOriginHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": exposedHeaders.join(","),
} as const;

import type { Context } from "hono";
import { cors } from "hono/cors";
import type { AppVariables } from "#daemon/http/app.ts";
import { answerOtherMethod } from "./payment-answers.ts";
import type { LiveRoutes } from "./routes/live-routes.ts";
import { routeMethods } from "./routes/route.ts";

/** Answers a request that no route is for: 405 where its path is sold by other methods, else 404. */
export function answerNoRoute(
  c: Context<AppVariables>,
  target: string,
  { find }: Pick<LiveRoutes, "find">,
): Response | Promise<Response> {
  const path = target.split("?", 1)[0] ?? "";
  const sold = routeMethods.filter((method) => find(method, path) !== undefined);
  if (sold.length === 0) return c.notFound();
  return answerOtherMethod([...(sold.includes("GET") ? ["HEAD"] : []), ...sold, "OPTIONS"]);
}

/** Headers that a page of another origin may read besides those that the Fetch standard lists as safe. */
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
 * Lets pages of every origin buy: what counts is the payment, and no cookie is set. Preflights succeed for paths that are not sold, too, so that a page
 * gets what it bought from a route that is gone, and can read a 404. Request headers are allowed as they are requested: `@x402/fetch` sends more
 * than the payment.
 */
export const allowOtherOrigins = cors({
  allowMethods: ["HEAD", ...routeMethods],
  exposeHeaders: exposedHeaders,
  maxAge: 600,
});

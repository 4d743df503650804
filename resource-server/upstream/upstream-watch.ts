import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Route } from "../routes/route.ts";
import type { UpstreamResult } from "./upstream.ts";

/** Failed requests in a row from which an upstream counts as failing. */
const failuresMin = 3;

/** Time after a failed connection for which no payment is requested; then the next buyer's request tries the upstream again. */
const unsoldMs = 10_000;

type Failures = Readonly<{ count: number; message: string; unreachableAtMs: number | undefined }>;

export type UpstreamWatch = ReturnType<typeof createUpstreamWatch>;

/** Follows the routes' upstreams by their responses to paid requests; sends none of its own. */
export function createUpstreamWatch({ monotonicMs }: Readonly<{ monotonicMs: () => number }>) {
  const failing = new Map<string, Failures>();
  const find = ({ upstream }: Route): Failures | undefined => {
    const failures = upstream && failing.get(upstream.origin);
    return failures === undefined || failures.count < failuresMin ? undefined : failures;
  };
  return {
    record({ upstream }: Route, result: UpstreamResult): void {
      // 503 is the server's own: it is stopping.
      if (upstream === undefined || result.kind === "busy" || (result.kind === "failed" && result.status === 503))
        return;
      if (result.kind !== "failed") return void failing.delete(upstream.origin);
      const { message, isUnreachable = false } = result;
      const count = (failing.get(upstream.origin)?.count ?? 0) + 1;
      failing.set(upstream.origin, { count, message, unreachableAtMs: isUnreachable ? monotonicMs() : undefined });
    },
    /** Returns whether an upstream accepted no connection lately; no client should sign a payment then. A client can't cause it. */
    isUnreachable(route: Route): boolean {
      const { unreachableAtMs } = find(route) ?? {};
      return unreachableAtMs !== undefined && monotonicMs() - unreachableAtMs < unsoldMs;
    },
    /** Names the failing upstreams. Tolerated: no other replica could reach them, and their buyers are not charged. */
    check(routes: readonly Route[]): ReadinessCheck {
      const problems = routes.flatMap((route) => {
        const failures = find(route);
        if (failures === undefined) return [];
        return [
          `the last ${failures.count} paid requests to ${route.upstream?.origin} failed, uncharged: ${failures.message}`,
        ];
      });
      if (problems.length === 0) return { ok: true, message: "no upstream fails" };
      return { ok: false, message: [...new Set(problems)].join("; "), tolerated: true };
    },
  };
}

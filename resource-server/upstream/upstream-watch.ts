import type { HttpClient } from "#daemon/http/http-client.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { pauseInBackground } from "#daemon/time.ts";
import type { Route } from "../routes/route.ts";
import { createUpstreamProbe, type UpstreamResult } from "./upstream.ts";

/** Failed requests in a row from which an upstream counts as failing. */
const failuresMin = 3;

/** Time after a failed request or probe until a failing upstream is probed. */
const probeIntervalMs = 5_000;

type Failures = Readonly<{
  route: Route;
  count: number;
  message: string;
  /** Whether the last paid request found no connection; other failures are disproved only by a response that could be sold. */
  lackedConnection: boolean;
  isUnreachable: boolean;
}>;

type WatchParts = Readonly<{ client: HttpClient; listRoutes: () => readonly Route[]; signal: AbortSignal }>;

export type UpstreamWatch = ReturnType<typeof createUpstreamWatch>;

/**
 * Follows the routes' upstreams by their responses to paid requests. A failing upstream is probed, because buyers may stay away; after a
 * successful probe, a single failed request makes it failing again, as in a half-open circuit breaker. A failed request other than GET can
 * be disproved only by a paid one, unless no connection was accepted.
 */
export function createUpstreamWatch(
  options: Readonly<{ timeoutMs: number }>,
  { client, listRoutes, signal }: WatchParts,
) {
  const probe = createUpstreamProbe(options, client);
  const failingOrigins = new Map<string, Failures>();
  const find = ({ upstream }: Route): Failures | undefined => {
    const failures = upstream && failingOrigins.get(upstream.origin);
    return failures === undefined || failures.count < failuresMin ? undefined : failures;
  };
  const probeUntilRecovered = async (origin: string, firstFailures: Failures): Promise<void> => {
    for (let failures = firstFailures; isProbed(failures); failingOrigins.set(origin, failures)) {
      await pauseInBackground(probeIntervalMs, signal);
      if (signal.aborted || failingOrigins.get(origin) !== failures) return;
      const soldRoutes = listRoutes().filter(({ upstream }) => upstream?.origin === origin);
      const route = soldRoutes.find(({ key }) => key === failures.route.key) ?? soldRoutes[0];
      if (route === undefined) return void failingOrigins.delete(origin);
      const probeResult = await probe(route);
      if (failingOrigins.get(origin) !== failures) return;
      const hasRecovered = probeResult === "sells" || (probeResult === "responds" && failures.lackedConnection);
      failures = { ...failures, route, isUnreachable: probeResult === "unreachable" };
      if (hasRecovered) return void failingOrigins.set(origin, { ...failures, count: failuresMin - 1 });
    }
  };
  return {
    record(route: Route, result: UpstreamResult): void {
      const origin = route.upstream?.origin;
      // 503 is the server's own: it is stopping.
      if (origin === undefined || result.kind === "busy" || (result.kind === "failed" && result.status === 503)) return;
      if (result.kind !== "failed") return void failingOrigins.delete(origin);
      const { message, isUnreachable = false } = result;
      const count = (failingOrigins.get(origin)?.count ?? 0) + 1;
      const failures = { route, count, message, lackedConnection: isUnreachable, isUnreachable };
      failingOrigins.set(origin, failures);
      if (count >= failuresMin) void probeUntilRecovered(origin, failures);
    },
    /** Returns whether an upstream accepted no connection lately; no client should sign a payment then. A client can't cause it. */
    isUnreachable(route: Route): boolean {
      return find(route)?.isUnreachable === true;
    },
    /** Names the failing upstreams. Tolerated: no other replica could reach them, and their buyers are not charged. */
    check(): ReadinessCheck {
      const problems = listRoutes().flatMap((route) => {
        const failures = find(route);
        if (failures === undefined) return [];
        const failureText = `the last ${failures.count} paid requests to ${route.upstream?.origin} failed, uncharged: ${failures.message}`;
        return [
          `${failureText}; ${isProbed(failures) ? "it is probed every 5 s" : "the next one that succeeds clears this"}`,
        ];
      });
      if (problems.length === 0) return { ok: true, message: "no upstream fails" };
      return { ok: false, message: [...new Set(problems)].join("; "), tolerated: true };
    },
  };
}

function isProbed({ route, lackedConnection }: Failures): boolean {
  return lackedConnection || route.method === "GET";
}

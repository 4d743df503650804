import type { Registry } from "prom-client";
import type { App } from "#daemon/http/app.ts";
import type { Readiness } from "#daemon/http/readiness.ts";
import { listPageLinks } from "#daemon/http/page-links.ts";
import { createPaymentWatch, readPaymentCounts, type PaidService } from "./payment-figures.ts";
import { addAssets } from "./static-routes.ts";

export type ServicePage = Readonly<{
  service: PaidService;
  /** What the service does and who uses it, for its page header. */
  tags: readonly string[];
  /** Pages to which the page links, each `name=URL`. */
  pages: readonly string[];
  /** Code with which stock clients can pay this seller; default: no client pays it. */
  describeBuyers?: () => Readonly<{ typescript: string; python: string }> | undefined;
}>;

type ServicePageSources = Readonly<{ readiness: () => Readiness; metrics: Registry }>;

/** Creates the function that adds the page for a service without a node: `GET /`, the same page as a node's, and `GET /status`, its data source. */
export function createServicePage({ service, tags, pages, describeBuyers }: ServicePage) {
  return (app: App, { readiness, metrics }: ServicePageSources): void => {
    const payments = createPaymentWatch();
    payments.add({
      atMs: performance.now(),
      pending: 0,
      settled: 0,
      rejected: new Map(),
      unpaid: 0,
      balances: new Map(),
    });
    const count = async () => {
      const figures = payments.add(readPaymentCounts(service, await metrics.metrics(), performance.now()));
      return { service, ...figures };
    };
    app.get("/status", async (c) => {
      const at = new Date().toISOString();
      const figures = { payments: await count() };
      const body = { at, service, ...describeReadiness(readiness()), figures, tags };
      return c.json({ ...body, pages: listPageLinks(pages), buyers: describeBuyers?.() }, 200, {
        "Cache-Control": "no-store",
      });
    });
    addAssets(app, "status/page/assets");
  };
}

const readyWords = {
  ok: { level: "healthy", state: "Ready" },
  degraded: { level: "degraded", state: "Ready, with a fault" },
  unready: { level: "down", state: "Not ready" },
} as const;

function describeReadiness({ ready, checks }: Readiness) {
  const listed = Object.entries(checks);
  const failing = listed.filter(([, { ok }]) => !ok);
  const { level, state } = readyWords[ready ? (failing.length === 0 ? "ok" : "degraded") : "unready"];
  const passing = listed.length === 1 ? "Its check passes." : `All ${listed.length} checks pass.`;
  const cause = failing.map(([name, { message }]) => `${name}: ${message}`).join(" ") || passing;
  return {
    healthy: failing.length === 0,
    verdict: { level },
    headline: { state, cause },
    conditions: listed.map(([name, { ok, message }]) => ({ title: name, status: ok ? "True" : "False", message })),
  } as const;
}

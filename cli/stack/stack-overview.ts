import { systemClock } from "#daemon/clock.ts";
import { formatAuthority } from "#daemon/http/address.ts";
import type { HttpListener } from "#daemon/http/listener.ts";
import { createLog } from "#daemon/log/log.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { isOperatedService } from "#infra/stack-services.ts";
import { startOverview } from "#sidecar/overview/overview.ts";
import { parseTargets } from "#sidecar/overview/targets.ts";
import type { StackPlan } from "./stack-plan.ts";

/**
 * Serves one page about the services of the stack from this process.
 *
 * @throws {StartupError} when the port is taken.
 */
export function startStackOverview({ scraped }: Pick<StackPlan, "scraped">, port: number): Promise<HttpListener> {
  // A Pushgateway has metrics but no page to link to.
  const shown = scraped.filter(({ service }) => isOperatedService(service));
  const targets = shown.map(
    ({ service, host, port: listens }) => `${service}=http://${formatAuthority(host, listens)}`,
  );
  const mask = createMask();
  const log = createLog({ service: "overview", level: "error", mask });
  return startOverview(
    parseTargets(targets),
    { host: "127.0.0.1", port, setting: "--overview", allowedHosts: [] },
    { clock: systemClock, log, mask },
  );
}

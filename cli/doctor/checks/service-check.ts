import { isLoopback } from "#daemon/http/address.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import type { InspectedService } from "../inspect-service.ts";
import type { Judgement } from "../finding.ts";
import { defaultSource } from "../known-service.ts";

/** Returns whether no service was specified, and none listens on the default ports. */
export function hasNoServices(services: readonly InspectedService[]): boolean {
  return services.every((service) => service.source === defaultSource && isRejected(service));
}

export const noServicesFound =
  "no service specified, and none listens on the default ports; run this with a service's variables, or specify one with --url sidecar=http://10.0.0.7:9600 or --settings facilitator=facilitator.json5";

export function* checkService(service: InspectedService): Generator<Judgement> {
  const { service: name, url, source, responses: answers, configuration, readiness } = service;
  if (url === undefined || answers === undefined) {
    return yield ["unknown", `its address is unknown because its settings (${source}) are invalid`];
  }
  const so = "so its version and conditions are unknown";
  if (isRejected(service)) {
    if (source === defaultSource) return yield ["skipped", `nothing listens at ${url}, its default address`];
    if (source !== "--url" && isLoopback(new URL(url).hostname)) {
      const start = `start it: ${formatOwnCommand()} ${name}`;
      return yield ["failed", `is not running: nothing listens at ${url}, ${so}; ${start}`];
    }
    const fix = `specify its address with --url ${name}=…`;
    return yield ["unknown", `nothing listens at ${url}, or it can't be reached from here, ${so}; ${fix}`];
  }
  const response = answers["configuration.json"];
  if (!response.ok) return yield ["unknown", `${url} can't be queried (${response.why}), ${so}; check its log`];
  if (configuration === undefined) {
    const fix = `find it with \`ss -ltnp 'sport = :${new URL(url).port}'\``;
    const what = `${url} returned HTTP ${response.status}, but doesn't look like a Gatehouse service`;
    return yield ["failed", `${what}; another process uses its port: ${fix}`];
  }
  if (configuration.service !== name) {
    const fix = `give this service its own port, or specify its address with --url ${name}=…`;
    return yield ["failed", `${url} belongs to the ${configuration.service}; ${fix}`];
  }
  yield* judgeReadiness(url, readiness);
}

function* judgeReadiness(url: string, readiness: InspectedService["readiness"]): Generator<Judgement> {
  if (readiness === undefined) return yield ["unknown", `${url}/readyz does not report whether it is ready`];
  const unmet = Object.entries(readiness.checks).filter(([, { ok }]) => !ok);
  if (unmet.length === 0) yield ["ok", `runs at ${url} and is ready`];
  for (const [check, { message, tolerated }] of unmet) {
    yield ["failed", `${tolerated === true ? "is degraded" : "is not ready"}: ${check}: ${message}`];
  }
}

function isRejected({ responses: answers }: InspectedService): boolean {
  const response = answers?.["configuration.json"];
  return response !== undefined && !response.ok && response.why === "ECONNREFUSED";
}

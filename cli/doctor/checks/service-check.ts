import { isLoopback } from "#daemon/http/address.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import type { InspectedService } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import { defaultSource } from "../known-service.ts";
import type { Finding } from "../finding.ts";

const createFinding = createFindings("service");

/** Checks that each service runs, is ready for traffic, and has accepted its files. */
export const serviceCheck: Check = async ({ services }) => {
  const guessed = services.filter(({ source }) => source === defaultSource);
  const silent = guessed.filter((service) => isRefused(service));
  if (guessed.length > 0 && silent.length === guessed.length) return [nothingFound];
  return services.flatMap((service) => checkService(service));
};

const nothingFound = createFinding(
  "services",
  "unknown",
  "no service specified, and none listens on the default ports; run this with a service's variables or in the folder of `gatehouse stack`, or specify one with --url sidecar=http://10.0.0.7:9600 or --settings facilitator=facilitator.json5",
);

function checkService(service: InspectedService): readonly Finding[] {
  const { service: name, url, source, answers, configuration, readiness } = service;
  if (url === undefined || answers === undefined) {
    return [createFinding(name, "unknown", `its address is unknown because its settings (${source}) can't be read`)];
  }
  if (isRefused(service)) {
    if (source === defaultSource)
      return [createFinding(name, "skipped", `nothing listens at ${url}, its default address`)];
    if (source === "--url" || !isLoopback(new URL(url).hostname)) {
      return [
        createFinding(
          name,
          "unknown",
          `nothing listens at ${url}, or it can't be reached from here, so its version and conditions are unknown; specify its address with --url ${name}=…`,
        ),
      ];
    }
    return [
      createFinding(
        name,
        "wrong",
        `is not running: nothing listens at ${url}, so its version and conditions are unknown; start it: ${formatStartCommand(source, name)}`,
      ),
    ];
  }
  const answer = answers["configuration.json"];
  if (!answer.ok)
    return [
      createFinding(
        name,
        "unknown",
        `${url} can't be queried (${answer.why}), so its version and conditions are unknown; check its log`,
      ),
    ];
  if (configuration === undefined) {
    return [
      createFinding(
        name,
        "wrong",
        `${url} returned HTTP ${answer.status}, but not like a Gatehouse service; another process uses its port: find it with \`ss -ltnp 'sport = :${new URL(url).port}'\``,
      ),
    ];
  }
  if (configuration.service !== name) {
    return [
      createFinding(
        name,
        "wrong",
        `${url} belongs to the ${configuration.service}; give this service its own port, or specify its address with --url ${name}=…`,
      ),
    ];
  }
  const refused = configuration.files.flatMap(({ setting, path, refused: why }) =>
    why === undefined
      ? []
      : [
          createFinding(
            name,
            "wrong",
            `${path} (${setting}) is invalid: ${why}; its previous content stays active until you fix it`,
          ),
        ],
  );
  return [...checkReadiness(service, readiness), ...refused];
}

function checkReadiness(
  { service, url }: InspectedService,
  readiness: InspectedService["readiness"],
): readonly Finding[] {
  if (readiness === undefined)
    return [createFinding(service, "unknown", `${url}/readyz does not report whether it is ready`)];
  const unmet = Object.entries(readiness.checks).filter(([, { ok }]) => !ok);
  if (unmet.length === 0) return [createFinding(service, "right", `runs at ${url} and is ready`)];
  return unmet.map(([check, { message, tolerated }]) =>
    createFinding(service, "wrong", `${tolerated === true ? "is degraded" : "is not ready"}: ${check}: ${message}`),
  );
}

function isRefused({ answers }: InspectedService): boolean {
  const answer = answers?.["configuration.json"];
  return answer !== undefined && !answer.ok && answer.why === "ECONNREFUSED";
}

function formatStartCommand(source: string, name: string): string {
  return source.startsWith("the stack in ") ? `${formatOwnCommand()} stack` : `${formatOwnCommand()} ${name}`;
}

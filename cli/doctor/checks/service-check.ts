import { isLoopback } from "#daemon/http/address.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import type { InspectedService } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import { defaultSource } from "../known-service.ts";
import type { Finding } from "../finding.ts";

const look = createFindings("service");

/** Checks that each service runs, is ready for traffic, and has accepted its files. */
export const serviceCheck: Check = async ({ services }) => {
  const guessed = services.filter(({ source }) => source === defaultSource);
  const silent = guessed.filter((service) => isRefused(service));
  if (guessed.length > 0 && silent.length === guessed.length) return [nothingFound];
  return services.flatMap((service) => checkService(service));
};

const nothingFound = look(
  "services",
  "unknown",
  "none is named, and nothing listens where services listen by default; run this with a service's variables, in the folder of `gatehouse stack`, or name one by --url sidecar=http://10.0.0.7:9600 or --settings facilitator=facilitator.json5",
);

function checkService(service: InspectedService): readonly Finding[] {
  const { service: name, url, source, answers, configuration, readiness } = service;
  if (url === undefined || answers === undefined) {
    return [
      look(
        name,
        "unknown",
        `its address is not known before its settings (${source}) can be read, nor anything else of it`,
      ),
    ];
  }
  if (isRefused(service)) {
    if (source === defaultSource) return [look(name, "skipped", `nothing listens at ${url}, its default address`)];
    if (source === "--url" || !isLoopback(new URL(url).hostname)) {
      return [
        look(
          name,
          "unknown",
          `nothing listens at ${url}, or it can't be reached from here, so its version and conditions are not known; name where it does by --url ${name}=…`,
        ),
      ];
    }
    return [
      look(
        name,
        "wrong",
        `does not run: nothing listens at ${url}; start it: ${formatStartCommand(source, name)}; until then its version and conditions are not known`,
      ),
    ];
  }
  const answer = answers["configuration.json"];
  if (!answer.ok)
    return [
      look(
        name,
        "unknown",
        `${url} can't be queried (${answer.why}); its log says whether it hangs; its version and conditions are not known`,
      ),
    ];
  if (configuration === undefined) {
    return [
      look(
        name,
        "wrong",
        `${url} answers HTTP ${answer.status}, and not as a service of Gatehouse does; something else has its port: \`ss -ltnp 'sport = :${new URL(url).port}'\` names it`,
      ),
    ];
  }
  if (configuration.service !== name) {
    return [
      look(
        name,
        "wrong",
        `${url} is the ${configuration.service}'s; give it its own port, or name its address by --url ${name}=…`,
      ),
    ];
  }
  const refused = configuration.files.flatMap(({ setting, path, refused: why }) =>
    why === undefined
      ? []
      : [
          look(
            name,
            "wrong",
            `${path} (${setting}) can't be used: ${why}; what stood there before is in force until you fix it`,
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
    return [look(service, "unknown", `${url}/readyz gives no answer that says whether it is ready`)];
  const unmet = Object.entries(readiness.checks).filter(([, { ok }]) => !ok);
  if (unmet.length === 0) return [look(service, "right", `runs at ${url} and is ready`)];
  return unmet.map(([check, { message, tolerated }]) =>
    look(service, "wrong", `${tolerated === true ? "is degraded" : "is not ready"}: ${check}: ${message}`),
  );
}

function isRefused({ answers }: InspectedService): boolean {
  const answer = answers?.["configuration.json"];
  return answer !== undefined && !answer.ok && answer.why === "ECONNREFUSED";
}

function formatStartCommand(source: string, name: string): string {
  return source.startsWith("the stack in ") ? `${formatOwnCommand()} stack` : `${formatOwnCommand()} ${name}`;
}

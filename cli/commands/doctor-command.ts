import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createTerminalOutput } from "../terminal.ts";
import { isHttpUrl } from "./option-values.ts";

type ByService = Readonly<Record<string, string>>;

/** Creates `gatehouse doctor`: a read-only check of running services. */
export function createDoctorCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("doctor")
    .summary("Check settings, keys, signer, ports and versions; change nothing")
    .description(
      "Checks settings, keys, ports, services and what they report, versions and the signer. Checks the services of this environment, --settings and --url, or else those that run on this machine. With --drift it checks the running services of a deployed stack for changes that Pulumi's refresh can't see. Exits 0 when nothing is wrong, 2 when something is, 1 when a check could not run.",
    )
    .option("--settings <service=file>", "settings file of a service; may be repeated", collectFile, {})
    .option(
      "--url <service=url>",
      "URL of a service's admin port, e.g. sidecar=http://127.0.0.1:9600; may be repeated",
      collectUrl,
      {},
    )
    .option("--bundle <file>", "also write everything to a new tar.gz for a bug report, without secrets")
    .option("--log <file>", "log file whose tail goes into the bundle; may be repeated", collect, [])
    .option("--drift", "only compare the running services of a deployed stack with their deployed configuration", false)
    .option(
      "--outputs <file>",
      'with --drift: file with the output of "pulumi stack output --json"; - is standard input',
    )
    .option("--json", "print JSON for machines", false)
    .action(async ({ drift, outputs, url: urls, settings, json, bundle, log: logs }) => {
      const output = createTerminalOutput({ mask });
      const { diagnose, diagnoseDrift } = await import("../doctor/diagnose.ts");
      if (drift) {
        process.exitCode = await diagnoseDrift({ outputs: outputs ?? "-", urls, json }, output);
        return;
      }
      const problem = findMisuse({ outputs, urls, settings, bundle, logs });
      if (problem !== undefined) {
        output.error(`doctor: ${problem}\n`);
        process.exitCode = 1;
        return;
      }
      const options = { urls, settings, env: process.env, json, bundle, logs };
      process.exitCode = await diagnose(options, { ...output, mask, clock: Date.now });
    });
}

type DoctorOptions = Readonly<{
  outputs: string | undefined;
  urls: ByService;
  settings: ByService;
  bundle: string | undefined;
  logs: readonly string[];
}>;

const defaultServices = ["sidecar", "gateway", "facilitator", "resource-server"];

/** Describes conflicting options; undefined if there are none. */
function findMisuse({ outputs, urls, settings, bundle, logs }: DoctorOptions): string | undefined {
  if (outputs !== undefined) return "--outputs requires --drift.";
  if (logs.length > 0 && bundle === undefined) return "--log requires --bundle.";
  const unknownName = [...Object.keys(urls), ...Object.keys(settings)].find(
    (service) => !defaultServices.includes(service),
  );
  if (unknownName !== undefined)
    return `unknown service ${unknownName}; the services are ${defaultServices.join(", ")}.`;
  return undefined;
}

function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

function collectUrl(text: string, before: ByService): ByService {
  const [, name, url] = /^([a-z-]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined || url === undefined || !isHttpUrl(url)) {
    throw new InvalidArgumentError("Expected <service>=<http or https URL>, e.g. sidecar=http://127.0.0.1:9600.");
  }
  return { ...before, [name]: url };
}

function collectFile(text: string, before: ByService): ByService {
  const [, name, file] = /^([a-z-]+)=(.+)$/.exec(text) ?? [];
  if (name !== undefined && file !== undefined) return { ...before, [name]: file };
  throw new InvalidArgumentError("Expected <service>=<file>, e.g. facilitator=facilitator.json5.");
}

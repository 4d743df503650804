import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { findReachedHost, formatAuthority } from "#daemon/http/address.ts";
import { listKilledServices, listRunningServices, type AnnouncedService } from "#daemon/running-services.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { listOperatedServices } from "#infra/stack-services.ts";
import { inspectService, formatServiceName, type InspectedService } from "./inspect-service.ts";
import { writeBundle } from "./bundle.ts";
import { checks } from "./checks/checks.ts";
import { hasNoServices, noServicesFound } from "./checks/service-check.ts";
import { findDrift } from "./drift.ts";
import { formatFindings, toExitStatus, type Check, type Finding } from "./finding.ts";
import {
  defaultSource,
  runningHereSource,
  checkedServices,
  isCheckedService,
  readKnownSettings,
  type CheckedService,
  type KnownService,
} from "./known-service.ts";
import { readStackOutputs } from "./stack-outputs.ts";

type Printing = Readonly<{ json: boolean }>;
type Dependencies = CommandOutput & Readonly<{ mask: Mask; clock: () => number }>;

/** Compares a stack's running services with their deployed configuration, prints the findings, and returns the exit status. */
export async function diagnoseDrift(
  { outputs, urls, json }: Printing & Readonly<{ outputs: string; urls: Readonly<Record<string, string>> }>,
  output: CommandOutput,
): Promise<number> {
  let findings: readonly Finding[];
  try {
    findings = await findDrift(readStackOutputs(outputs, urls));
  } catch (problem) {
    output.error(`doctor: ${(problem as Error).message}\n`);
    return exitStatus.error;
  }
  return printFindings(findings, { json }, output);
}

type NamedServices = Readonly<{
  urls: Readonly<Record<string, string>>;
  settings: Readonly<Record<string, string>>;
  env: Readonly<Record<string, string | undefined>>;
}>;

export type DiagnoseOptions = Printing &
  NamedServices &
  Readonly<{
    /** Path of a bundle for a bug report; undefined to write none. */
    bundle: string | undefined;
    logs: readonly string[];
  }>;

export async function diagnose(options: DiagnoseOptions, dependencies: Dependencies): Promise<number> {
  const { mask, clock, error: print } = dependencies;
  const { bundle, json, logs } = options;
  const { known, killed: killedServices } = findServices(options, { mask });
  const services = await Promise.all(known.map(inspectService));
  const findings: Finding[] = [...killedServices];
  for (const [name, check] of Object.entries(checks)) findings.push(...(await runCheck(name, check, services)));
  const status = printFindings(findings, { json }, dependencies);
  if (bundle === undefined) return status;
  try {
    await writeBundle(bundle, { services, findings, logs, clock, mask });
    print(
      `doctor: ${bundle} was written, with secrets and anything like them removed; review it before you publish it.\n`,
    );
    return status;
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    const isTaken = code === "EEXIST";
    const advice = `it can't be written (${code}); specify a writable path`;
    print(`doctor: --bundle ${bundle}: ${isTaken ? "it already exists; specify another file" : advice}.\n`);
    return Math.max(status, exitStatus.error);
  }
}

async function runCheck(check: string, run: Check, services: readonly InspectedService[]): Promise<readonly Finding[]> {
  if (check === "service" && services.length > 0 && hasNoServices(services)) {
    return [{ check, subject: "services", state: "unknown", message: noServicesFound }];
  }
  const found = services.map(async (service) => {
    const subject = formatServiceName(service, services);
    try {
      const judgements = await Array.fromAsync(run(service, services));
      return judgements.map(([state, message]): Finding => ({ check, subject, state, message }));
    } catch (error) {
      // A failing check is reported as such and does not hide the others.
      return [{ check, subject, state: "unknown", message: `the check failed: ${String(error)}` } as const];
    }
  });
  return (await Promise.all(found)).flat();
}

function printFindings(findings: readonly Finding[], { json }: Printing, { out }: CommandOutput): number {
  out(json ? `${JSON.stringify({ findings }, undefined, 2)}\n` : formatFindings(findings));
  return toExitStatus(findings);
}

type FoundServices = Readonly<{ known: readonly KnownService[]; killed: readonly Finding[] }>;

/** The services named by the options or the environment; otherwise those announced on this machine; otherwise the default ports. */
function findServices(named: NamedServices, { mask }: Readonly<{ mask: Mask }>): FoundServices {
  mask.hide(named.urls);
  const known = checkedServices.flatMap((service) => findNamedService(service, named, { mask }));
  if (known.length > 0) return { known, killed: [] };
  const killedServices = listKilledServices(named.env).map(describeKilled);
  const here = listRunningServices(named.env).flatMap(({ service, url }) =>
    isCheckedService(service) ? [{ service, url, source: runningHereSource, settings: undefined }] : [],
  );
  if (here.length > 0 || killedServices.length > 0) return { known: here, killed: killedServices };
  const atDefaults = listOperatedServices().map(({ name: service, port }) => {
    return { service, source: defaultSource, url: `http://127.0.0.1:${port}`, settings: undefined };
  });
  return { known: atDefaults, killed: killedServices };
}

function describeKilled({ path, service: { service, pid, url } }: AnnouncedService): Finding {
  const fix = `start it: ${formatOwnCommand()} ${service}, or, if it was killed on purpose, remove ${path}`;
  const message = `announced at ${url}, but its process ${pid} exited without removing its announcement; ${fix}`;
  return { check: "service", subject: service, state: "failed", message };
}

function findNamedService(
  service: CheckedService,
  { urls, settings: files, env }: NamedServices,
  { mask }: Readonly<{ mask: Mask }>,
): readonly KnownService[] {
  const [url, file] = [urls[service], files[service]];
  const prefix = `${toEnvironmentName(service, [])}_`;
  if (file === undefined && !Object.keys(env).some((name) => name.startsWith(prefix))) {
    return url === undefined ? [] : [{ service, source: "--url", url, settings: undefined }];
  }
  const settings = readKnownSettings(service, { env, file }, { mask });
  const source = file ?? "the environment";
  if (url !== undefined || !settings.ok) return [{ service, source, url, settings }];
  const { host, port } = settings.facts.operations;
  return [{ service, source, url: `http://${formatAuthority(findReachedHost(host), port)}`, settings }];
}

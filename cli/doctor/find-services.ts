import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Mask } from "#daemon/secrets/mask.ts";
import { findReachedHost, formatAuthority } from "#daemon/http/address.ts";
import { listRunningServices, type RunningService } from "#daemon/running-services.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { listOperatedServices } from "#infra/stack-services.ts";
import { deriveEmbeddedAccounts } from "../stack/accounts.ts";
import { planStack } from "../stack/stack-plan.ts";
import { locateStateDirectory } from "../stack/state-directory.ts";
import {
  defaultSource,
  checkedServices,
  isCheckedService,
  type CheckedService,
  type KnownService,
  type KnownSettings,
} from "./known-service.ts";
import { readKnownSettings } from "./service-facts.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** Services to check, as specified by options and environment. */
export type NamedServices = Readonly<{
  /** URL of each service's operations listener, by service. */
  urls: Readonly<Record<string, string>>;
  /** Settings files by service. */
  settings: Readonly<Record<string, string>>;
  /** Directory of a local stack. */
  stateDirectory: string;
  env: Variables;
}>;

/**
 * Finds the services to check: those of the stack in its state directory, if that stack is running and no URL or settings file specifies
 * others; otherwise those specified by URL, settings file or environment variable; otherwise those running on this machine; otherwise those
 * at the default ports.
 */
export function findServices(named: NamedServices, { mask }: Readonly<{ mask: Mask }>): readonly KnownService[] {
  const { urls, settings, stateDirectory: folder, env } = named;
  mask.hide(urls);
  const areNamed = Object.keys(urls).length > 0 || Object.keys(settings).length > 0;
  // A stack prefers the user's environment variables over its own, so the user's describe the stack.
  const running = areNamed ? [] : listRunningServices(env);
  const ofStack = areNamed || !existsSync(join(folder, "stack.lock")) ? [] : listStackServices(folder, env, { mask });
  if (ofStack.some(({ url }) => running.some((service) => isAt(service, url)))) return ofStack;
  const known = checkedServices.flatMap((service) => findNamedService(service, named, { mask }));
  if (known.length > 0) return known;
  const source = "found running here";
  const here = running.flatMap(({ service, url }) =>
    isCheckedService(service) ? [{ service, url, source, settings: undefined }] : [],
  );
  return here.length > 0 ? here : servicesByDefault;
}

function isAt(service: RunningService, url: string | undefined): boolean {
  return url !== undefined && new URL(service.url).origin === new URL(url).origin;
}

function findNamedService(
  service: CheckedService,
  { urls, settings, env }: NamedServices,
  { mask }: Readonly<{ mask: Mask }>,
): readonly KnownService[] {
  const [url, file] = [urls[service], settings[service]];
  if (file !== undefined || isInEnvironment(service, env)) {
    const own = readKnownSettings(service, { env, file }, { mask });
    return [{ service, source: file ?? "the environment", url: url ?? findOperationsUrl(own), settings: own }];
  }
  return url === undefined ? [] : [{ service, source: "--url", url, settings: undefined }];
}

/** Finds the URL of a service's operations listener in its settings. */
function findOperationsUrl(settings: KnownSettings): string | undefined {
  if (!settings.ok) return undefined;
  const { host, port } = settings.facts.operations;
  return `http://${formatAuthority(findReachedHost(host), port)}`;
}

function isInEnvironment(service: CheckedService, env: Variables): boolean {
  const prefix = `${toEnvironmentName(service, [])}_`;
  return Object.keys(env).some((name) => name.startsWith(prefix));
}

function listStackServices(
  folder: string,
  env: Variables,
  { mask }: Readonly<{ mask: Mask }>,
): readonly KnownService[] {
  const directory = locateStateDirectory(folder);
  const source = `the stack in ${folder}`;
  try {
    const signerKeyFile = join(directory.keys, "signer");
    const { environments } = planStack({ directory, accounts: deriveEmbeddedAccounts(), signerKeyFile, env });
    return listOperatedServices().map(({ name: service }) => {
      const settings = readKnownSettings(service, { env: environments[service] }, { mask });
      return { service, source, url: findOperationsUrl(settings), settings };
    });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const settings = { ok: false, problems: error.lines } as const;
    return [{ service: "sidecar", source, url: undefined, settings }];
  }
}

/** Local services at their default ports. */
const servicesByDefault: readonly KnownService[] = listOperatedServices().map(({ name: service, port }) => ({
  service,
  source: defaultSource,
  url: `http://127.0.0.1:${port}`,
  settings: undefined,
}));

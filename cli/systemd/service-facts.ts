import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { readSettings } from "#daemon/settings/settings.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { sidecarSettings, type SidecarSettings } from "#sidecar/settings.ts";
import { serviceDefinitions } from "../service-definitions.ts";
import { locateCredential, type UnitOptions } from "./unit.ts";
import type { InstalledService } from "./installed-services.ts";

/** A request that can't be met; the message says what to do. */
export class InstallError extends Error {
  override readonly name = "InstallError";
}

/** A service to install. */
export type InstallRequest = Readonly<{
  service: InstalledService;
  user: string | undefined;
  settings: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Node and `gatehouse.js` as it is installed, or the single executable. */
  program: readonly [string, ...string[]];
}>;

/** Content of the files to write: the unit, and the variables of its environment file. */
export type ServiceFacts = Readonly<{
  unit: Omit<UnitOptions, "environmentFile">;
  variables: Readonly<Record<string, string>>;
}>;

/**
 * Reads the settings as the service will, and derives its unit from them.
 *
 * @throws {SettingsError} when the service would refuse them.
 * @throws {InstallError} when it could not run with them from a unit.
 */
export function readServiceFacts(request: InstallRequest): ServiceFacts {
  const { service, env } = request;
  const file = request.settings === undefined ? undefined : resolve(request.settings);
  const definition = serviceDefinitions[service];
  const settings = readSettings(definition, { env, file });
  const given = listOwnVariables(service, env);
  refuseRelativePaths(service, given);
  if (request.user !== undefined && !/^[\w.-]+$/.test(request.user)) {
    throw new InstallError(`--user ${request.user} is not a user's name or number.`);
  }
  const secretFiles = Object.entries(given).filter(([name]) => name.endsWith("_FILE"));
  const credentials = Object.fromEntries(secretFiles.map(([name, path]) => [nameCredential(name), path]));
  const shown = secretFiles.map(([name]) => [name, locateCredential(service, nameCredential(name))]);
  const program = request.program.map((path) => realpathSync(path));
  for (const path of program) refusePassingPlace(path);
  refuseQuotes(program[0] ?? "");
  const command = [...program, service, ...(file === undefined ? [] : ["--settings", file])];
  const sidecar = service === "sidecar" ? readSettings(sidecarSettings, { env, file }) : undefined;
  const workspace = sidecar?.node.workspace;
  return {
    unit: {
      service,
      command,
      user: request.user ?? (sidecar === undefined ? undefined : findOwner(sidecar.node)),
      writablePaths: workspace === undefined ? [] : [resolve(workspace)],
      credentials,
      stopSeconds: Math.ceil(readStopMs(settings) / 1_000) + 10,
      hasLowPort: hasLowPort(settings),
      readsHome: [...command, workspace ?? ""].some((path) => /^\/(home|root|run\/user)\//.test(path)),
      startsNode: sidecar?.restart.driver === "ops",
    },
    variables: { ...given, ...Object.fromEntries(shown) },
  };
}

/** Lists the service's own variables in this environment; an empty one counts as absent, as for the service. */
function listOwnVariables(service: string, env: InstallRequest["env"]): Readonly<Record<string, string>> {
  const prefix = toEnvironmentName(service, [""]);
  const own = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[0].startsWith(prefix) && entry[1] !== undefined && entry[1] !== "",
  );
  return Object.fromEntries(own.toSorted(([one], [other]) => one.localeCompare(other)));
}

/** Refuses relative paths, which would name other files, or none, in the directory that the service runs in. */
function refuseRelativePaths(service: string, variables: Readonly<Record<string, string>>): void {
  const relative = Object.entries(variables).filter(
    ([name, value]) => !isAbsolute(value) && (/_(FILE|PATH|DIRECTORY|WORKSPACE)$/.test(name) || value.startsWith("./")),
  );
  if (relative.length === 0) return;
  const lines = relative.map(([name, value]) => `  ${name}=${value}; here that is ${resolve(value)}`);
  throw new InstallError(
    `these are relative, and the service runs in /var/lib/gatehouse-${service}; give whole paths:\n${lines.join("\n")}`,
  );
}

/** Refuses a program in npm's cache, which may be cleared. */
function refusePassingPlace(path: string): void {
  if (!path.includes("/_npx/")) return;
  throw new InstallError(
    `${path} is not there to stay; install it first (\`npm install --global\` with the package's file), and say \`gatehouse install-service\` again.`,
  );
}

/** Refuses a program's path that systemd takes from no unit, however it is quoted (systemd.service(5), "Command lines"). */
function refuseQuotes(path: string): void {
  if (!/["'\\]/.test(path)) return;
  throw new InstallError(
    `systemd starts no program whose path has a quote or a backslash in it, as ${path} has; install it in another directory, and say \`gatehouse install-service\` again.`,
  );
}

/** Finds the owner of the node's files, which the sidecar writes; it also starts the node. */
function findOwner({ workspace, configPath }: SidecarSettings["node"]): string {
  const places = [
    ...(configPath === undefined ? [] : [configPath]),
    ...(workspace === undefined ? [] : [join(workspace, "bin/node.conf"), workspace]),
  ];
  const config = places.find((path) => existsSync(path));
  if (config === undefined) {
    const [expected] = places;
    throw new InstallError(
      expected === undefined
        ? "as which user does the node run? Name it with --user, or name its workspace with GATEHOUSE_SIDECAR_NODE_WORKSPACE."
        : `there is no ${expected}, whose owner the node runs as; correct GATEHOUSE_SIDECAR_NODE_WORKSPACE, or name the user with --user.`,
    );
  }
  return String(statSync(config).uid);
}

function nameCredential(variable: string): string {
  return basename(variable).toLowerCase().replaceAll("_", "-");
}

/** Reads the time that the service itself takes to stop at most, in ms. */
function readStopMs(settings: unknown): number {
  return (settings as { shutdown: { graceMs: number } }).shutdown.graceMs;
}

function hasLowPort(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) =>
    key === "port" ? typeof inner === "number" && inner > 0 && inner < 1_024 : hasLowPort(inner),
  );
}

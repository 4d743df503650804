import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { z } from "zod";
import type { Logger } from "./log/log.ts";
import { createDirectory } from "./files/create-directory.ts";
import { findUserStateDirectory } from "./files/user-state-directory.ts";
import { parseJson } from "./json-rpc.ts";
import { isProcessAlive } from "./process/send-signal.ts";

type Variables = Readonly<Record<string, string | undefined>>;

const entry = z.object({
  service: z.string(),
  pid: z.int().positive(),
  stopPid: z
    .int()
    .positive()
    .describe("PID to send SIGTERM to: the service's own, or that of the stack that supervises it"),
  url: z.string().describe("URL of its admin port"),
  stateDirectory: z.string().optional().describe("State directory of a sidecar"),
});

/** A service running on this machine, as announced by the service itself. */
export type RunningService = Readonly<z.output<typeof entry>>;

/** Data that commands on this machine use to find a service. */
export type Announcement = Omit<RunningService, "service" | "pid" | "stopPid">;

/**
 * Announces a service, until the result is disposed of, in a file that this user's commands read. The file is in `RUNTIME_DIRECTORY`
 * (systemd), `XDG_RUNTIME_DIR`, or the user's state directory. A killed process leaves its file behind.
 *
 * @throws the file system's own error.
 */
export function announceService(service: RunningService, env: Variables): Disposable {
  const [directory = ""] = listRuntimeDirectories(env);
  const path = join(directory, `${service.service}-${service.pid}.json`);
  createDirectory(directory);
  removeLeftovers(directory, service);
  writeFileSync(path, JSON.stringify(service), { mode: 0o600 });
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

/** Announces this process's service until its resources are disposed of; if that fails, the service can be found only by its address. */
export function announceProcess(
  service: Omit<RunningService, "pid" | "stopPid">,
  { log, resources }: Readonly<{ log: Pick<Logger, "debug">; resources: AsyncDisposableStack }>,
  env: Variables,
): void {
  try {
    const stopPid = process.connected ? process.ppid : process.pid;
    resources.use(announceService({ ...service, pid: process.pid, stopPid }, env));
  } catch (err) {
    log.debug({ err }, "commands on this machine can't find this service automatically");
  }
}

/** Lists the services running on this machine whose announcements this user can read. */
export function listRunningServices(env: Variables): readonly RunningService[] {
  const found = listRuntimeDirectories(env).flatMap(listEntries);
  const runningServices = found.filter(({ service }) => isProcessAlive(service.pid));
  // In a hot restart, two processes serve one URL; so may two sidecars in separate network namespaces.
  const byLocation = runningServices.map(
    ({ service }) => [`${service.url} ${service.stateDirectory}`, service] as const,
  );
  return [...new Map(byLocation).values()];
}

/** A service's announcement and its file. */
export type AnnouncedService = Readonly<{ path: string; service: RunningService }>;

/** Lists the services that exited without removing their announcements, except those that run again at the same URL. */
export function listKilledServices(env: Variables): readonly AnnouncedService[] {
  const runningUrls = new Set(listRunningServices(env).map(({ url }) => url));
  const found = listRuntimeDirectories(env).flatMap(listEntries);
  return found.filter(({ service }) => !isProcessAlive(service.pid) && !runningUrls.has(service.url));
}

function listRuntimeDirectories(env: Variables): readonly string[] {
  const { RUNTIME_DIRECTORY: own = "", XDG_RUNTIME_DIR: user = "" } = env;
  return [
    ...(isAbsolute(own) ? [own] : []),
    ...(isAbsolute(user) ? [join(user, "gatehouse")] : []),
    join(findUserStateDirectory(env), "run"),
    // Contains a directory for each systemd unit in examples/systemd.
    "/run/gatehouse",
  ];
}

/** Max announcements of other killed services that are kept. */
const leftoversMax = 32;

/**
 * Removes the announcements left by killed processes: all of this service's, and other services' except the newest, which show that those
 * services are down.
 */
function removeLeftovers(directory: string, own: RunningService): void {
  const left = listEntries(directory).filter(({ service }) => !isProcessAlive(service.pid));
  const { own: replacedServices = [], others = [] } = Object.groupBy(left, ({ service }) =>
    isSameService(service, own) ? "own" : "others",
  );
  const surplus = others.toSorted((a, b) => readChangedMs(b.path) - readChangedMs(a.path)).slice(leftoversMax);
  for (const { path } of [...replacedServices, ...surplus]) rmSync(path, { force: true });
}

function isSameService(one: RunningService, other: RunningService): boolean {
  const isMoved = one.stateDirectory !== undefined && one.stateDirectory === other.stateDirectory;
  return one.service === other.service && (one.url === other.url || isMoved);
}

function readChangedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function listEntries(directory: string): readonly AnnouncedService[] {
  return listFiles(directory).flatMap((path) => {
    const service = readEntry(path);
    return service === undefined ? [] : [{ path, service }];
  });
}

function listFiles(directory: string): readonly string[] {
  try {
    const names = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".json"),
    );
    return names.map((name) => join(directory, name));
  } catch {
    // The directory doesn't exist, or belongs to another user.
    return [];
  }
}

function readEntry(path: string): RunningService | undefined {
  try {
    return entry.safeParse(parseJson(readFileSync(path, "utf8"))).data;
  } catch {
    // The service has just stopped, or its file belongs to another user.
    return undefined;
  }
}

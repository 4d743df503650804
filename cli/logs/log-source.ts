import { basename, join } from "node:path";
import { readStackLogs } from "../stack/state-directory.ts";

/** A log, and the program that prints it. */
export type LogSource = Readonly<{ name: string; command: readonly [string, ...string[]] }>;

/** Logs to show, as named in options. */
export type NamedLogs = Readonly<{
  /** Services of a stack on this machine; empty: all of them. */
  services: readonly string[];
  /** Folder of that stack. */
  stateDirectory: string;
  files: readonly string[];
  /** Containers of the Docker engine. */
  containers: readonly string[];
  /** Pods, or other resources that `kubectl logs` accepts, such as `deploy/dev-sidecar`. */
  pods: readonly string[];
  namespace: string | undefined;
  /** Most past lines of each log. */
  lines: number;
  follow: boolean;
}>;

/**
 * Finds the logs to show: files, containers and pods if any is named, else those of the stack in its folder.
 *
 * @throws {Error} that lists the stack's logs, if none has that name.
 */
export async function findLogSources(named: NamedLogs): Promise<readonly LogSource[]> {
  const { services, stateDirectory, files, containers, pods, namespace, lines, follow } = named;
  const count = String(lines);
  const following = follow ? ["--follow"] : [];
  const tail = (name: string, path: string): LogSource => ({
    name,
    // By name, so that a rotated or truncated log is still followed.
    command: ["tail", "-n", count, ...(follow ? ["-F"] : []), "--", path],
  });
  const inNamespace = namespace === undefined ? [] : ["--namespace", namespace];
  const others: readonly LogSource[] = [
    ...files.map((path) => tail(basename(path), path)),
    ...containers.map((name) => ({ name, command: ["docker", "logs", "--tail", count, ...following, name] as const })),
    ...pods.map((name) => ({
      name,
      command: ["kubectl", "logs", `--tail=${count}`, "--all-containers", ...inNamespace, ...following, name] as const,
    })),
  ];
  if (others.length > 0) return others;
  const paths = await readStackLogs(stateDirectory);
  const known = paths.map((path) => basename(path, ".log"));
  if (known.length === 0) {
    throw new Error(
      `${join(stateDirectory, "log")} has no logs; run this in the folder of \`gatehouse stack\`, or name a log by --file, --container, --pod or --state-dir.`,
    );
  }
  const unknown = services.find((service) => !known.includes(service));
  if (unknown !== undefined) throw new Error(`there is no log of ${unknown}; there are ${known.join(", ")}.`);
  return paths
    .map((path) => tail(basename(path, ".log"), path))
    .filter(({ name }) => services.length === 0 || services.includes(name));
}

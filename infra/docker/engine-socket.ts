import { statSync } from "node:fs";
import { ConfigError } from "../config/config-problem.ts";

const scheme = "unix://";

/**
 * The path of the engine's socket on its own host: where it is on this machine, as configured, otherwise where Docker puts it.
 *
 * @throws {ConfigError} when the configured socket is not there, before the provider waits for it.
 */
export function engineSocketPath(dockerEngine: string): string {
  if (!dockerEngine.startsWith(scheme)) return "/var/run/docker.sock";
  const path = dockerEngine.slice(scheme.length);
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() === true) return path;
  const message = `found ${dockerEngine}, where no socket is; start the Docker engine, or set its address with \`pulumi config set dockerEngine …\`.`;
  throw new ConfigError([{ key: "dockerEngine", message }]);
}

/** The group that may use the engine's socket, where the engine is on this machine; the engine proxy joins it. */
export function socketGroup(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.gid;
}

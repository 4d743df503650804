import { statSync } from "node:fs";
import { z } from "zod";
import { ConfigError, describeProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { findImageArchitecture, type ImageArchitecture } from "../images/image-architecture.ts";
import { createEngineClient } from "../preflight/engine-client.ts";

const scheme = "unix://";

/**
 * Finds the path of the engine's socket on its own host: the configured one if the engine is on this machine, otherwise Docker's default.
 *
 * @throws {ConfigError} if the configured socket is not there, before the provider waits for it.
 */
export function findEngineSocket(dockerEngine: string): string {
  if (!dockerEngine.startsWith(scheme)) return "/var/run/docker.sock";
  const path = dockerEngine.slice(scheme.length);
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() === true) return path;
  const key = "dockerEngine";
  const remedy = ["start the Docker engine, or set its address", { kind: "set", key }, "."] as const;
  throw new ConfigError([describeProblem(key, { wrong: `found ${dockerEngine}, where no socket is;`, remedy })]);
}

/** Finds the group that may use the engine's socket, which the engine proxy joins; undefined if this machine has no such file. */
export function findSocketGroup(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.gid;
}

/** Docker's two builders, by the provider's names. */
export type ImageBuilder = "BuilderV1" | "BuilderBuildKit";

/** Features of an engine that depend on its age. */
export type EngineTraits = Readonly<{
  builder: ImageBuilder;
  /** Whether a health check may have a start interval; the provider refuses to request one from an older engine. */
  startInterval: boolean;
}>;

/** The oldest minor version of the Engine API 1 that knows a start interval: Docker 25. */
const startIntervalMinor = 44;

/**
 * Queries the engine at `/_ping` (Docker Engine API, "Ping") for the builder that it recommends, unless the configuration names one, and for its
 * API version. Engines before 23 name no builder, and the classic one is their default. An engine that is not on this machine is not
 * asked: BuildKit, and no start interval.
 *
 * @throws {Error} when the engine does not answer.
 */
export async function readEngineTraits({
  imageBuilder,
  dockerEngine,
}: Pick<StackConfig, "imageBuilder" | "dockerEngine">): Promise<EngineTraits> {
  const requestEngine = dockerEngine.startsWith("unix:") ? createEngineClient(dockerEngine, false) : undefined;
  const headers = (await requestEngine?.("/_ping"))?.headers;
  const recommended = headers === undefined || headers["builder-version"] === "2" ? "buildkit" : "classic";
  const chosen = imageBuilder === "auto" ? recommended : imageBuilder;
  return {
    builder: chosen === "classic" ? "BuilderV1" : "BuilderBuildKit",
    startInterval: Number(String(headers?.["api-version"]).split(".")[1] ?? 0) >= startIntervalMinor,
  };
}

const engineVersion = z.object({ Arch: z.string() });

/**
 * Finds the processor that a stack's images are built for: the configured one, or the engine's own (Docker Engine API, "GetVersion"). An
 * engine that is not on this machine is not queried; one on another kind of processor is expected to emulate: amd64.
 *
 * @throws {Error} when the engine does not answer.
 */
export async function readImageArchitecture({
  imageArchitecture,
  dockerEngine,
}: Pick<StackConfig, "imageArchitecture" | "dockerEngine">): Promise<ImageArchitecture> {
  if (imageArchitecture !== "auto") return imageArchitecture;
  const requestEngine = dockerEngine.startsWith("unix:") ? createEngineClient(dockerEngine, false) : undefined;
  const version = engineVersion.safeParse((await requestEngine?.("/version"))?.body);
  return findImageArchitecture(version.data?.Arch) ?? "amd64";
}

/**
 * Values as the Docker provider reads them back. It compares text, so the same amount written otherwise would replace or update
 * the container at every `pulumi up`.
 */

/** Formats a number of processors: the shortest decimal form that has a fraction, e.g. `1.0`, `0.25`. */
export function formatEngineCpus(cpus: number): string {
  return Number.isInteger(cpus) ? `${cpus}.0` : String(cpus);
}

/** Formats a duration as Go prints it, e.g. `5s`, `2m0s`, `1h0m0s`. */
export function formatEngineDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

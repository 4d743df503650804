import { statSync } from "node:fs";
import { z } from "zod";
import { ConfigError, describeProblem, setKey } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { findImageArchitecture, type ImageArchitecture } from "../images/image-dependencies.ts";
import type { IncomingHttpHeaders } from "node:http";
import { createEngineClient as createClient, parseEngineBody, type EngineRequest } from "#daemon/http/docker-engine.ts";

const scheme = "unix://";

/**
 * Returns the path of the engine's socket on its host: the configured path for a local engine, otherwise Docker's default.
 *
 * @throws {ConfigError} if the configured socket doesn't exist, before the provider waits for it.
 */
export function findEngineSocket(dockerEngine: string): string {
  if (!dockerEngine.startsWith(scheme)) return "/var/run/docker.sock";
  const path = dockerEngine.slice(scheme.length);
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() === true) return path;
  const key = "dockerEngine";
  const wrong = `found ${dockerEngine}, which is not a socket;`;
  throw new ConfigError([describeProblem(key, wrong, "start the Docker engine, or set its address", setKey(key), ".")]);
}

/** Returns the group that has access to the engine's socket and that the engine proxy joins; returns `undefined` if this machine has no such file. */
export function findSocketGroup(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.gid;
}

/** Docker's two builders, as named by the provider. */
export type ImageBuilder = "BuilderV1" | "BuilderBuildKit";

/** Properties of an engine that determine how images are built and checked. */
export type EngineTraits = Readonly<{
  builder: ImageBuilder;
  architecture: ImageArchitecture;
  /** Whether health checks may have a start interval; the provider rejects a start interval for an older engine. */
  startInterval: boolean;
}>;

/** First minor version of Engine API 1 that supports a start interval: Docker 25. */
const startIntervalMinor = 44;

const engineVersion = z.object({ Arch: z.string() });

/**
 * Queries the engine at `/_ping` and `/version` (Docker Engine API) for its API version and, unless they are configured, for its recommended
 * builder and its architecture. Engines before version 23 recommend no builder and default to the classic one. A remote engine is not
 * queried: it is assumed to use BuildKit, not to support a start interval, and to be amd64 (other architectures run the images under
 * emulation).
 *
 * @throws {Error} if the engine does not respond.
 */
export async function readEngineTraits({
  imageArchitecture,
  dockerEngine,
}: Pick<StackConfig, "imageArchitecture" | "dockerEngine">): Promise<EngineTraits> {
  const requestEngine = dockerEngine.startsWith("unix:") ? createEngineClient(dockerEngine, false) : undefined;
  const headers = (await requestEngine?.("/_ping"))?.headers;
  const builder = headers === undefined || headers["builder-version"] === "2" ? "BuilderBuildKit" : "BuilderV1";
  const version = engineVersion.safeParse((await requestEngine?.("/version"))?.body).data;
  return {
    builder,
    architecture: imageArchitecture === "auto" ? (findImageArchitecture(version?.Arch) ?? "amd64") : imageArchitecture,
    startInterval: Number(String(headers?.["api-version"]).split(".")[1] ?? 0) >= startIntervalMinor,
  };
}

/**
 * Values in the form in which the Docker provider reads them back. The provider compares text, so a different notation for the same amount
 * would replace or update the container on every `pulumi up`.
 */

/** Formats a number of CPUs as the shortest decimal with a fraction, e.g. `1.0`, `0.25`. */
export function formatEngineCpus(cpus: number): string {
  return Number.isInteger(cpus) ? `${cpus}.0` : String(cpus);
}

/** Formats a duration the way Go does, e.g. `5s`, `2m0s`, `1h0m0s`. */
export function formatEngineDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

/** An engine's response to an Engine API request; the body is text if it can't be parsed. */
export type EngineAnswer = Readonly<{ status: number; headers: IncomingHttpHeaders; body: unknown }>;

/** Sends a request to an engine, by default a GET without a body; `path` starts with a slash. Rejects on a timeout. */
export type EngineClient = (
  path: string,
  how?: Readonly<{ method?: EngineRequest["method"]; body?: unknown }>,
) => Promise<EngineAnswer>;

/** Timeout for a response from an engine, which queries a registry for images that it does not have. */
const deadlineMs = 10_000;

/** Creates a client for an engine; returns `undefined` if only the engine's own client can connect (ssh, named pipes, TLS). */
export function createEngineClient(dockerEngine: string, hasCertificates: boolean): EngineClient | undefined {
  const { protocol, hostname, port, pathname } = new URL(dockerEngine);
  const isSocket = protocol === "unix:";
  if (!isSocket && (protocol !== "tcp:" || hasCertificates)) return undefined;
  const send = createClient(isSocket ? `unix://${pathname}` : `http://${hostname}:${port === "" ? 2375 : port}`);
  return async (path, { method = "GET", body } = {}) => {
    const response = await send({ method, path, body, signal: AbortSignal.timeout(deadlineMs) });
    if (response.isTruncated) throw new Error(`${path}: the engine's response is too large`);
    return { status: response.status, headers: response.headers, body: parseEngineBody(response) };
  };
}

const created = z.object({ Id: z.string() });

/**
 * Runs a command in a container and returns its output (Docker Engine API, "Exec"). Allocates a TTY, so that the engine returns the raw stream instead of multiplexed frames.
 * Returns `undefined` if the container isn't running.
 */
export async function runInContainer(
  engine: EngineClient,
  container: string,
  command: readonly string[],
): Promise<string | undefined> {
  const body = { Cmd: command, Tty: true, AttachStdout: true, AttachStderr: true };
  const made = await engine(`/containers/${container}/exec`, { method: "POST", body });
  const id = created.safeParse(made.body).data?.Id;
  if (id === undefined) return undefined;
  const { body: printed } = await engine(`/exec/${id}/start`, { method: "POST", body: { Detach: false, Tty: true } });
  return typeof printed === "string" ? printed : undefined;
}

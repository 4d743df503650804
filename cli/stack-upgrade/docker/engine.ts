import { z } from "zod";
import {
  createEngineClient,
  parseEngineBody,
  readEngineMessage,
  splitContainerOutput,
  type EngineResponse,
} from "#daemon/http/docker-engine.ts";
import { requestFailureCode } from "#daemon/http/send-request.ts";
import { PlatformError } from "../stack-platform.ts";
import { explainJobEnd } from "../workspace-report.ts";

const containerSchema = z.object({
  Id: z.string(),
  Image: z.string(),
  State: z.object({ Running: z.boolean(), StartedAt: z.string(), ExitCode: z.number(), OOMKilled: z.boolean() }),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish(), StopTimeout: z.number().nullish() }),
  Mounts: z.array(z.object({ Name: z.string().optional(), Destination: z.string() })),
});

/** A container as the engine describes it (Docker Engine API, "Inspect a container"). */
export type EngineContainer = Readonly<z.output<typeof containerSchema>>;

export type EngineJob = Readonly<{
  name: string;
  image: string;
  /** Includes the owner as {@link ownerLabel}. */
  labels: Readonly<Record<string, string>>;
  command: readonly string[];
  volumes: Readonly<Record<string, string>>;
  withinMs: number;
}>;

/** Docker engine calls that an upgrade needs. Each has a deadline and throws {@link PlatformError}. */
export type Engine = ReturnType<typeof createEngine>;

export const ownerLabel = "io.gatehouse.upgrade";

const responseTimeoutMs = 60_000;
/** Extra time after a container's grace period, in which the engine kills it. */
const killMs = 60_000;
const defaultGraceSeconds = 300;
const mebibyte = 1_048_576;

/** @throws {PlatformError} for the address of an engine on another machine. */
export function createEngine(address: string) {
  if (!address.startsWith("unix://"))
    throw new PlatformError(`the stack's engine is at ${address}; run this command on that engine's machine`, false);
  const call = createCall(address);
  const find = async <Shape>(shape: z.ZodType<Shape>, path: string) => {
    const response = await call("GET", path, { allowed: [404] });
    return response.status === 404 ? undefined : read(shape, response, path);
  };
  const inspect = (container: string): Promise<EngineContainer | undefined> =>
    find(containerSchema, `/containers/${container}/json`);
  const remove = async (container: string): Promise<void> =>
    void (await call("DELETE", `/containers/${container}?force=true`, { allowed: [404] }));
  return {
    inspect,
    remove,
    /** Stops a container, and kills its process after the container's grace period; no-op if it was removed or already stopped. */
    stop: async (container: string) => {
      const graceMs = ((await inspect(container))?.Config.StopTimeout ?? defaultGraceSeconds) * 1_000;
      await call("POST", `/containers/${container}/stop`, { allowed: [304, 404], withinMs: graceMs + killMs });
    },
    start: async (container: string): Promise<void> =>
      void (await call("POST", `/containers/${container}/start`, { allowed: [304] })),
    findImage: async (reference: string) =>
      (await find(z.object({ Id: z.string() }), `/images/${encodeURIComponent(reference)}/json`))?.Id,
    /** Returns a job's output and removes it. Throws its last line unless it exits with 0, on a timeout, or if another owner runs that job. */
    run: async (job: EngineJob) => {
      const { name, labels, withinMs } = job;
      const left = await inspect(name);
      const owner = left?.Config.Labels?.[ownerLabel];
      if (left?.State.Running === true && owner !== labels[ownerLabel]) {
        throw new PlatformError(`${name} runs for another upgrade (${owner ?? "unnamed"}); wait for it to exit`, true);
      }
      // A job left by a killed run may still be running.
      if (left !== undefined) await remove(name);
      await call("POST", `/containers/create?name=${name}`, { body: buildJobBody(job) });
      try {
        await call("POST", `/containers/${name}/start`);
        const late = `${name} did not finish within ${withinMs} ms, and was removed`;
        const waitResponse = await call("POST", `/containers/${name}/wait`, { withinMs, late });
        const logs = await call("GET", `/containers/${name}/logs?stdout=true&stderr=true`);
        const { StatusCode: status } = read(z.object({ StatusCode: z.number() }), waitResponse, name);
        const { output, errors } = splitContainerOutput(logs.body);
        if (status === 0) return output;
        const program = job.command[0] ?? "";
        throw new PlatformError(explainJobEnd(name, { status, printed: `${output}${errors}`, program }), false);
      } finally {
        await remove(name);
      }
    },
  };
}

type CallOptions = Readonly<{
  body?: unknown;
  allowed?: readonly number[];
  withinMs?: number;
  /** Error message for a timeout that the engine did not cause. */
  late?: string;
}>;

function createCall(address: string) {
  const send = createEngineClient(address);
  return async (
    method: "GET" | "POST" | "DELETE",
    path: string,
    { body, allowed = [], withinMs = responseTimeoutMs, late }: CallOptions = {},
  ): Promise<EngineResponse> => {
    const signal = AbortSignal.timeout(withinMs);
    const response = await send({ method, path, body, signal }).catch((cause: unknown) => {
      if (signal.aborted && late !== undefined) throw new PlatformError(late, false, { cause });
      const why = signal.aborted ? `no response within ${withinMs} ms` : requestFailureCode(cause);
      throw new PlatformError(`the Docker engine at ${address} did not respond to ${path} (${why})`, true, { cause });
    });
    if (response.isTruncated) throw new PlatformError(`the Docker engine's response to ${path} is too large`, false);
    if (response.status < 300 || allowed.includes(response.status)) return response;
    const said = readEngineMessage(response);
    throw new PlatformError(`the Docker engine rejected ${method} ${path} (HTTP ${said})`, false);
  };
}

/** Builds a container that runs as root, to preserve the data's owners and modes, with only the capabilities for that and no network. */
function buildJobBody({ image, labels, command, volumes }: EngineJob) {
  return {
    Image: image,
    Entrypoint: ["node"],
    Cmd: [...command],
    User: "0:0",
    Labels: labels,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: "none",
      Binds: Object.entries(volumes).map(([place, volume]) => `${volume}:${place}`),
      ReadonlyRootfs: true,
      Tmpfs: { "/tmp": "rw,noexec,nosuid,nodev,size=64m" },
      CapDrop: ["ALL"],
      CapAdd: ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
      SecurityOpt: ["no-new-privileges:true"],
      Memory: 256 * mebibyte,
      MemorySwap: 256 * mebibyte,
      Init: true,
      // The job's output is read back, which not every log driver supports.
      LogConfig: { Type: "json-file", Config: { "max-size": "8m", "max-file": "1" } },
      RestartPolicy: { Name: "no" },
    },
  };
}

function read<Shape>(shape: z.ZodType<Shape>, response: EngineResponse, what: string): Shape {
  const { data } = shape.safeParse(parseEngineBody(response));
  if (data !== undefined) return data;
  throw new PlatformError(`the Docker engine described ${what} in a form that this version does not know`, false);
}

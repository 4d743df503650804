import { z } from "zod";
import { formatShellWords } from "#daemon/command-line/shell-word.ts";
import {
  readEngineMessage,
  createEngineClient,
  type EngineRequest,
  type EngineResponse,
  splitContainerOutput,
} from "#daemon/http/docker-engine.ts";
import { DriverError, type NodeDriver } from "./driver.ts";
import { createTimeoutSignal } from "#daemon/time.ts";
import { reportSuccess, takeFirstLine, type ProcessResult } from "#daemon/process/bounded-process.ts";
import {
  explainAbandoned,
  explainExit,
  explainStillRunning,
  type NodeCliRunner,
  type ToolLocation,
} from "./node-cli.ts";

type DockerDriverOptions = Readonly<{ container: string; stopTimeoutSeconds: number }>;

const inspection = z.object({ State: z.object({ Running: z.boolean(), StartedAt: z.string() }) });

export function createDockerDriver(options: DockerDriverOptions, engine: DockerEngine): NodeDriver {
  const container = `/containers/${encodeURIComponent(options.container)}`;
  return {
    name: "docker",
    startCommand: () => formatShellWords(["docker", "start", options.container]),
    restart: async (signal) => {
      const path = `${container}/restart?t=${options.stopTimeoutSeconds}`;
      const response = await engine.request({ method: "POST", path, signal });
      if (response.status === 204) return {};
      throw new DriverError(`container ${options.container} could not be restarted: ${readEngineMessage(response)}`);
    },
    startedAt: async (signal) => {
      const response = await engine.request({ method: "GET", path: `${container}/json`, signal });
      if (response.status !== 200) {
        throw new DriverError(`container ${options.container} can't be inspected: ${readEngineMessage(response)}`);
      }
      const parsed = inspection.safeParse(JSON.parse(new TextDecoder().decode(response.body)));
      if (!parsed.success) return "unknown";
      return parsed.data.State.Running ? Date.parse(parsed.data.State.StartedAt) : "not-running";
    },
  };
}

type DockerEngineOptions = Readonly<{
  engine: string;
  timeoutMs: number;
}>;

export type DockerEngine = ReturnType<typeof createDockerEngine>;

const defaultResponseLimitBytes = 1_048_576;

class EngineTimeout extends DriverError {
  override readonly name = "EngineTimeout";
}

/** A request throws {@link EngineTimeout} after `timeoutMs`, and {@link DriverError} if the engine can't be reached. */
export function createDockerEngine({ engine, timeoutMs }: DockerEngineOptions) {
  const send = createEngineClient(engine);
  return {
    request: async ({
      signal,
      responseLimitBytes = defaultResponseLimitBytes,
      ...request
    }: EngineRequest): Promise<EngineResponse> => {
      // One deadline covers the whole response, so a tool that prints nothing for a while isn't terminated earlier.
      const deadline = createTimeoutSignal(timeoutMs);
      try {
        return await send({ ...request, responseLimitBytes, signal: AbortSignal.any([signal, deadline]) });
      } catch (cause) {
        if (deadline.aborted && !signal.aborted) {
          throw new EngineTimeout(`the Docker engine at ${engine} did not respond within ${timeoutMs} ms.`, { cause });
        }
        const code = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
        const remedy =
          code === "EACCES"
            ? "run the sidecar with a group that may use the socket"
            : "check that the engine, or the engine proxy in front of it, is running, and that docker.engine is its address";
        throw new DriverError(`the Docker engine at ${engine} can't be queried (${code}); ${remedy}.`, { cause });
      }
    },
  };
}

type DockerNodeCliOptions = Readonly<{
  container: string;
  timeoutMs: number;
  outputLimitBytes: number;
}>;

type Run = Readonly<{ name: string; command: readonly string[]; directory: string; signal: AbortSignal }>;

/** Outcome of a run; `leftRunning` is the exec that was abandoned. */
type Ran = Readonly<{ result: ProcessResult; leftRunning?: string }>;

const execSchema = z.object({ Id: z.string() });
const execState = z.object({ Running: z.boolean(), ExitCode: z.number().nullable(), Pid: z.number().optional() });

/** Allowance for the engine's frame headers on top of the output itself. */
const streamOverheadFactor = 2;

/** Runs the tool with an exec of the Engine API, which can't kill it: no other is started while an abandoned one is running. */
export function createDockerNodeCli(
  options: DockerNodeCliOptions,
  locateTool: () => ToolLocation,
  engine: DockerEngine,
): NodeCliRunner {
  let leftRunning: string | undefined;
  return async (args, signal) => {
    const { command, directory } = locateTool();
    const name = `./${command} in container ${options.container}`;
    try {
      if (leftRunning !== undefined) {
        const runningMessage = await checkStillRunning(leftRunning, name, engine, signal);
        if (runningMessage !== undefined) return runningMessage;
      }
      const run = { name, command: [`./${command}`, ...args], directory, signal };
      const ran = await runExec(run, options, engine);
      leftRunning = ran.leftRunning;
      return ran.result;
    } catch (error) {
      if (error instanceof DriverError) return { ok: false, reason: "Failed", message: error.message };
      throw error;
    }
  };
}

async function checkStillRunning(
  id: string,
  name: string,
  engine: DockerEngine,
  signal: AbortSignal,
): Promise<ProcessResult | undefined> {
  const response = await engine.request({ method: "GET", path: `/exec/${id}/json`, signal });
  // The engine forgets the programs of a restarted container (404), and an engine proxy rejects execs that it didn't create (403).
  if (response.status === 404 || response.status === 403) return undefined;
  const { Running, Pid } = parse(execState, expectStatus(response, 200));
  if (!Running) return undefined;
  return explainStillRunning(name, Pid === undefined ? "" : ` (process ${Pid} on the engine's host)`);
}

async function runExec(
  { name, command, directory, signal }: Run,
  { container, timeoutMs, outputLimitBytes }: DockerNodeCliOptions,
  engine: DockerEngine,
): Promise<Ran> {
  const path = `/containers/${encodeURIComponent(container)}/exec`;
  const body = { AttachStdout: true, AttachStderr: true, Tty: false, Cmd: command, WorkingDir: directory };
  const { Id: id } = parse(execSchema, expectStatus(await engine.request({ method: "POST", path, body, signal }), 201));
  const exec = await startExec(id, outputLimitBytes * streamOverheadFactor, engine, signal);
  if (exec === "timed-out") return { result: explainAbandoned(name, timeoutMs), leftRunning: id };
  const { output, errors } = splitContainerOutput(expectStatus(exec, 200).body);
  if (exec.isTruncated || output.length > outputLimitBytes) {
    const message = `${name} printed more than the limit of ${outputLimitBytes} bytes; check that it is the right binary.`;
    return { result: { ok: false, reason: "TooMuchOutput", message }, leftRunning: id };
  }
  const ended = await engine.request({ method: "GET", path: `/exec/${id}/json`, signal });
  const { ExitCode: exitCode } = parse(execState, expectStatus(ended, 200));
  if (exitCode === 0) return { result: reportSuccess(output, errors) };
  return { result: explainExit(name, exitCode, takeFirstLine(errors) || takeFirstLine(output)) };
}

async function startExec(
  id: string,
  responseLimitBytes: number,
  engine: DockerEngine,
  signal: AbortSignal,
): Promise<EngineResponse | "timed-out"> {
  try {
    const body = { Detach: false, Tty: false };
    return await engine.request({ method: "POST", path: `/exec/${id}/start`, body, responseLimitBytes, signal });
  } catch (error) {
    if (error instanceof EngineTimeout) return "timed-out";
    throw error;
  }
}

function expectStatus(response: EngineResponse, status: number): EngineResponse {
  if (response.status === status) return response;
  throw new DriverError(`the Docker engine rejected running node_cli: ${readEngineMessage(response)}`);
}

function parse<T>(schema: z.ZodType<T>, response: EngineResponse): T {
  const parsed = schema.safeParse(JSON.parse(new TextDecoder().decode(response.body)));
  if (parsed.success) return parsed.data;
  throw new DriverError("unexpected response to a Docker exec; check that docker.engine is a Docker engine.");
}

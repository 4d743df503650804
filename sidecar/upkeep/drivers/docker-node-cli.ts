import { z } from "zod";
import { readEngineMessage, splitContainerOutput, type EngineResponse } from "#daemon/http/docker-engine.ts";
import { reportSuccess, takeFirstLine, type ProcessResult } from "#daemon/process/bounded-process.ts";
import {
  explainAbandoned,
  explainExit,
  explainLeftRunning,
  type NodeCliRunner,
  type ToolLocation,
} from "./node-cli.ts";
import { EngineTimeout, type DockerEngine } from "./docker-engine.ts";
import { DriverError } from "./driver.ts";

/** Settings for running the tool inside the node's container. */
export type DockerNodeCliOptions = Readonly<{
  container: string;
  timeoutMs: number;
  outputLimitBytes: number;
}>;

/** One run of the tool; `name` is used in messages. */
type Run = Readonly<{ name: string; command: readonly string[]; directory: string; signal: AbortSignal }>;

/** Outcome of a run; `leftRunning` is the exec that was abandoned. */
type Ran = Readonly<{ result: ProcessResult; leftRunning?: string }>;

const created = z.object({ Id: z.string() });
const inspected = z.object({ Running: z.boolean(), ExitCode: z.number().nullable(), Pid: z.number().optional() });

/** Allowance for the engine's frame headers on top of the output itself. */
const streamOverheadFactor = 2;

/**
 * Runs the tool in the node's container (Engine API exec), in its bin directory, without a shell. The engine can't kill a program that it
 * started, so no other program is started while an abandoned one is still running. `engine`'s own time limit applies to each run.
 */
export function createDockerNodeCli(
  options: DockerNodeCliOptions,
  place: () => ToolLocation,
  engine: DockerEngine,
): NodeCliRunner {
  let leftRunning: string | undefined;
  return async (args, signal) => {
    const { command, directory } = place();
    const name = `./${command} in container ${options.container}`;
    try {
      if (leftRunning !== undefined) {
        const still = await checkLeftRunning(leftRunning, name, engine, signal);
        if (still !== undefined) return still;
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

async function checkLeftRunning(
  id: string,
  name: string,
  engine: DockerEngine,
  signal: AbortSignal,
): Promise<ProcessResult | undefined> {
  const response = await engine.request({ method: "GET", path: `/exec/${id}/json`, signal });
  // The engine forgets the programs of a restarted container (404), and an engine proxy rejects execs that it didn't create (403).
  if (response.status === 404 || response.status === 403) return undefined;
  const { Running, Pid } = parse(inspected, expectStatus(response, 200));
  if (!Running) return undefined;
  return explainLeftRunning(name, Pid === undefined ? "" : ` (process ${Pid} on the engine's host)`);
}

async function runExec(
  { name, command, directory, signal }: Run,
  { container, timeoutMs, outputLimitBytes }: DockerNodeCliOptions,
  engine: DockerEngine,
): Promise<Ran> {
  const path = `/containers/${encodeURIComponent(container)}/exec`;
  const body = { AttachStdout: true, AttachStderr: true, Tty: false, Cmd: command, WorkingDir: directory };
  const { Id: id } = parse(created, expectStatus(await engine.request({ method: "POST", path, body, signal }), 201));
  const started = await startExec(id, outputLimitBytes * streamOverheadFactor, engine, signal);
  if (started === "timed-out") return { result: explainAbandoned(name, timeoutMs), leftRunning: id };
  const { output, errors } = splitContainerOutput(expectStatus(started, 200).body);
  if (started.isTruncated || output.length > outputLimitBytes) {
    const message = `${name} printed more than ${outputLimitBytes} bytes, the limit; check that it is the right binary.`;
    return { result: { ok: false, reason: "TooMuchOutput", message }, leftRunning: id };
  }
  const inspection = await engine.request({ method: "GET", path: `/exec/${id}/json`, signal });
  const { ExitCode: exitCode } = parse(inspected, expectStatus(inspection, 200));
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

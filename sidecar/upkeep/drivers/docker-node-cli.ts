import { z } from "zod";
import type { ProcessResult } from "../bounded-process.ts";
import type { NodeCliRunner } from "../observe/node-cli.ts";
import { engineMessage, type DockerEngine, type EngineResponse } from "./docker-engine.ts";
import { DriverError } from "./driver.ts";
import { standardOutput } from "./docker-stream.ts";

/** How the tool is run inside the node's container. */
export type DockerNodeCliOptions = Readonly<{ container: string; command: string; outputLimitBytes: number }>;

const created = z.object({ Id: z.string() });
const ended = z.object({ Running: z.boolean(), ExitCode: z.number().nullable() });

/** Frame headers of the engine's stream come on top of the output itself. */
const streamOverheadFactor = 2;

/** Runs the tool in the node's container (Engine API exec) in its bin directory; no shell. */
export function dockerNodeCli(
  options: DockerNodeCliOptions,
  binDirectory: () => string,
  engine: DockerEngine,
): NodeCliRunner {
  return async (args, signal) => {
    try {
      return await exec([`./${options.command}`, ...args], binDirectory(), options, engine, signal);
    } catch (error) {
      if (error instanceof DriverError) return { ok: false, reason: "Failed", message: error.message };
      throw error;
    }
  };
}

async function exec(
  command: readonly string[],
  directory: string,
  { container, outputLimitBytes }: DockerNodeCliOptions,
  engine: DockerEngine,
  signal: AbortSignal,
): Promise<ProcessResult> {
  const path = `/containers/${encodeURIComponent(container)}/exec`;
  const body = { AttachStdout: true, AttachStderr: true, Tty: false, Cmd: command, WorkingDir: directory };
  const { Id: id } = parse(created, expectStatus(await engine.request({ method: "POST", path, body, signal }), 201));
  const started = await engine.request({
    method: "POST",
    path: `/exec/${id}/start`,
    body: { Detach: false, Tty: false },
    responseLimitBytes: outputLimitBytes * streamOverheadFactor,
    signal,
  });
  const { output, errors } = standardOutput(expectStatus(started, 200).body);
  const name = `${command[0]} in container ${container}`;
  if (started.isTruncated || output.length > outputLimitBytes) {
    const message = `${name} printed more than ${outputLimitBytes} bytes and was no longer read; is it the right program?`;
    return { ok: false, reason: "TooMuchOutput", message };
  }
  const state = parse(
    ended,
    expectStatus(await engine.request({ method: "GET", path: `/exec/${id}/json`, signal }), 200),
  );
  if (state.ExitCode === 0) return { ok: true, output };
  const said = (errors.trim() || output.trim()).split("\n")[0]?.slice(0, 300) ?? "";
  return exitFailure(name, state.ExitCode, said);
}

/** Exit statuses by which a container's runtime tells that a program is not there, or can't be executed. */
function exitFailure(name: string, exitCode: number | null, said: string): ProcessResult {
  if (exitCode === 127) return { ok: false, reason: "NotFound", message: `${name} is not there: ${said}` };
  if (exitCode === 126) return { ok: false, reason: "NotExecutable", message: `${name} can't be executed: ${said}` };
  return { ok: false, reason: "Failed", message: `${name} exited with status ${exitCode}: ${said}` };
}

function expectStatus(response: EngineResponse, status: number): EngineResponse {
  if (response.status === status) return response;
  throw new DriverError(`the Docker engine refused to run node_cli: ${engineMessage(response)}`);
}

function parse<T>(schema: z.ZodType<T>, response: EngineResponse): T {
  const parsed = schema.safeParse(JSON.parse(new TextDecoder().decode(response.body)));
  if (parsed.success) return parsed.data;
  throw new DriverError("the Docker engine answered an exec with another shape; is docker.engine a Docker engine?");
}

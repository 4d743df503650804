import { findShortSocketPath } from "#daemon/http/short-socket-path.ts";
import { existsSync } from "node:fs";
import { Agent } from "undici";
import { z } from "zod";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { lookupName } from "#daemon/http/name-lookup.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { createTimeoutSignal } from "#daemon/time.ts";
import { controlPath, controlView, type ControlView } from "./control-responses.ts";
import type { ControlOptions } from "./control-options.ts";
import { locateSocket } from "./control-socket.ts";

/** Address of a running sidecar: the socket in its state directory, or its URL with its token. */
export type ControlTarget = Readonly<
  ({ kind: "socket"; stateDirectories: readonly string[] } | { kind: "url"; url: string; token: string }) & {
    options?: ControlOptions;
  }
>;

/** Failure of a control request: no sidecar did what was requested. The message contains the reason and the remedy. */
export class ControlError extends Error {
  override readonly name: string = "ControlError";
  readonly code = "control_failed";
}

export async function runControlCommand(
  name: "adopt" | "restart" | "resume" | "upgrade",
  output: CommandOutput,
  run: () => Promise<number>,
): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.error(`${name}: ${error.message}\n`);
    return exitStatus.error;
  }
}

/** Requests the view of a running sidecar. @throws {ControlError} as {@link requestControl}. */
export function requestView(target: ControlTarget): Promise<ControlView> {
  return requestControl(target, { path: "", schema: controlView });
}

type ControlRequest<Schema extends z.ZodType> = Readonly<{
  path: "" | "/resume" | "/restart" | "/adopt" | "/upgrade";
  body?: unknown;
  timeoutMs?: number;
  schema: Schema;
}>;

const defaultTimeoutMs = 10_000;
/** Time limit for planning an upgrade: the sidecar first hashes programs and measures data. */
export const checkWithinMs = 180_000;
const responseLimitBytes = 1_048_576;

/** @throws {ControlError} when no sidecar responds, it rejects the request, or another program responds. */
export async function requestControl<Schema extends z.ZodType>(
  target: ControlTarget,
  request: ControlRequest<Schema>,
): Promise<z.output<Schema>> {
  if (target.kind === "url")
    return requestAt(target.url, target.url, { connect: { lookup: lookupName } }, request, target.token);
  const directories = target.stateDirectories.filter((directory) => existsSync(locateSocket(directory)));
  let failure: ControlError | undefined;
  // A sidecar that was killed leaves its socket behind; the running sidecar may have its state in the next directory.
  for (const directory of directories) {
    try {
      return await requestBySocket(directory, request);
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      failure ??= error;
    }
  }
  throw (
    failure ??
    new ControlError(
      `no running sidecar has its state in ${target.stateDirectories.join(" or in ")}. Start it, or specify a running one: --state-directory, ` +
        "--settings with its settings, or --url with its token. Inside a container, run the command there (docker exec, kubectl exec).",
    )
  );
}

async function requestBySocket<Schema extends z.ZodType>(
  stateDirectory: string,
  request: ControlRequest<Schema>,
): Promise<z.output<Schema>> {
  await using socket = await findShortSocketPath(locateSocket(stateDirectory));
  return requestAt("http://sidecar", locateSocket(stateDirectory), { connect: { socketPath: socket.path } }, request);
}

class NoResponse extends ControlError {}

const unconnectedCodes: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOENT", "EACCES", "ENOTSOCK"]);

async function requestAt<Schema extends z.ZodType>(
  origin: string,
  socketPath: string,
  options: Agent.Options,
  { path, body, schema: answer, timeoutMs = defaultTimeoutMs }: ControlRequest<Schema>,
  token?: string,
): Promise<z.output<Schema>> {
  const agent = new Agent({ ...options, maxResponseSize: responseLimitBytes });
  const deadline = createTimeoutSignal(timeoutMs);
  try {
    const response = await agent.request({
      origin: new URL(origin).origin,
      path: `${controlPath}${path}`,
      method: path === "" ? "GET" : "POST",
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: path === "" ? null : JSON.stringify(body ?? {}),
      signal: deadline,
    });
    const text = await response.body.text();
    if (response.statusCode !== 200) throw new ControlError(explainRejection(socketPath, response.statusCode, text));
    const parsed = answer.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
    throw new ControlError(
      `${socketPath} does not respond like a sidecar of this version; run the gatehouse command of the sidecar's own version.`,
    );
  } catch (cause) {
    if (cause instanceof ControlError) throw cause;
    if (deadline.aborted) {
      const sent = path === "" ? "" : ", but may still act on the request";
      throw new ControlError(
        `the sidecar at ${socketPath} did not respond within ${timeoutMs} ms${sent}; check its log and whether its process hangs.`,
        { cause },
      );
    }
    const message = `no sidecar responds at ${socketPath} (${readErrorCode(cause)}); check that it is running and that this user may connect.`;
    throw unconnectedCodes.has(readErrorCode(cause))
      ? new NoResponse(message, { cause })
      : new ControlError(message, { cause });
  } finally {
    await agent.destroy();
  }
}

const rejectionBody = z.object({ error: z.string() });

function explainRejection(socketPath: string, status: number, text: string): string {
  if (status === 404)
    return `${socketPath} accepts no commands: set the sidecar's upkeep.controlToken, or use --state-directory.`;
  const rejection = status === 400 || status === 503 ? rejectionBody.safeParse(parseJson(text)).data : undefined;
  if (rejection !== undefined) return `${socketPath} rejected the request: ${rejection.error}.`;
  // A rejected token has no such body. Status 400 is included because a malformed Authorization header also means a wrong token.
  if (status === 401 || status === 400)
    return `${socketPath} rejected the token; it must equal the sidecar's upkeep.controlToken.`;
  return `${socketPath} returned HTTP ${status}; check the sidecar's log.`;
}

function readErrorCode(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  return code ?? message;
}

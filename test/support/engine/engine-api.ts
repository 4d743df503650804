import { Client } from "undici";

const answerDeadlineMs = 120_000;

export class EngineApiError extends Error {
  override readonly name = "EngineApiError";
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

type Method = "GET" | "POST" | "PUT" | "DELETE";

export type EngineApi = AsyncDisposable &
  Readonly<{
    /** Sends JSON and returns the response's JSON. @throws {EngineApiError} if the engine rejects it. */
    call: (method: Method, path: string, body?: unknown) => Promise<unknown>;
    read: (path: string) => Promise<Buffer>;
    putArchive: (container: string, archive: Buffer) => Promise<void>;
    /**
     * Runs a command in a container as the container's user, and returns its output. @throws {Error} if its exit status
     * is not 0.
     */
    run: (container: string, command: readonly string[]) => Promise<string>;
  }>;

export function connectEngine(url: string): EngineApi {
  const client = new Client("http://docker", {
    socketPath: url.slice("unix://".length),
    headersTimeout: answerDeadlineMs,
    bodyTimeout: answerDeadlineMs,
  });
  const send = async (method: Method, path: string, body?: Buffer | string, type = "application/json") => {
    const headers = body === undefined ? {} : { "content-type": type };
    const response = await client.request({
      method,
      path,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    if (response.statusCode >= 400) {
      throw new EngineApiError(
        `${method} ${path}: HTTP ${response.statusCode}: ${bytes.toString()}`,
        response.statusCode,
      );
    }
    return bytes;
  };
  const call: EngineApi["call"] = async (method, path, body) => {
    const text = (await send(method, path, body === undefined ? undefined : JSON.stringify(body))).toString();
    return text === "" ? undefined : (JSON.parse(text) as unknown);
  };
  return {
    call,
    read: (path) => send("GET", path),
    putArchive: async (container, archive) =>
      void (await send("PUT", `/containers/${container}/archive?path=%2F`, archive, "application/x-tar")),
    run: async (container, command) => {
      const made = { Cmd: command, AttachStdout: true, AttachStderr: true };
      const { Id: id } = (await call("POST", `/containers/${container}/exec`, made)) as { Id: string };
      const printed = withoutFrames(await send("POST", `/exec/${id}/start`, "{}"));
      const { ExitCode: status } = (await call("GET", `/exec/${id}/json`)) as { ExitCode: number };
      if (status !== 0) throw new Error(`${command.join(" ")} in ${container} ended with ${status}: ${printed}`);
      return printed;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/**
 * Reads the text of a stream that the engine splits into frames of an 8-byte header and a payload (Engine API, "Attach
 * to a container").
 */
function withoutFrames(stream: Buffer): string {
  const payloads: Buffer[] = [];
  for (let at = 0; at + 8 <= stream.length; at += 8 + stream.readUInt32BE(at + 4)) {
    payloads.push(stream.subarray(at + 8, at + 8 + stream.readUInt32BE(at + 4)));
  }
  return Buffer.concat(payloads).toString();
}

import { request, type IncomingHttpHeaders } from "node:http";

/** What an engine answers. */
export type EngineAnswer = Readonly<{ status: number; headers: IncomingHttpHeaders; text: string }>;

const answerDeadlineMs = 30_000;
const answerLimitBytes = 16_777_216;

const scheme = "unix://";

/** The socket of an engine on this machine; nothing for one that is reached over a network. */
export function localSocket(dockerEngine: string): string | undefined {
  return dockerEngine.startsWith(scheme) ? dockerEngine.slice(scheme.length) : undefined;
}

/**
 * Asks an engine on this machine (Docker Engine API) before anything is made with it.
 *
 * @throws {Error} with the system's `code` when the socket can't be used, or when no whole answer came in time.
 */
export function askEngine(socketPath: string, path: string): Promise<EngineAnswer> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(answerDeadlineMs);
    const outgoing = request({ socketPath, path, agent: false, signal }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > answerLimitBytes) outgoing.destroy(new Error(`more than ${answerLimitBytes} bytes`));
        else chunks.push(chunk);
      });
      response.once("error", reject);
      response.once("end", () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString("utf8"),
        });
      });
    });
    outgoing.once("error", reject).end();
  });
}

import { request, type IncomingHttpHeaders, type RequestOptions } from "node:http";

/** An engine's answer to a question of the Engine API. */
export type EngineAnswer = Readonly<{ status: number; headers: IncomingHttpHeaders; body: unknown }>;

/** How an engine is asked: GET without a body, unless told otherwise. */
export type EngineRequest = Readonly<{ method?: "GET" | "HEAD" | "POST" | "DELETE"; body?: unknown }>;

/** Asks an engine; `path` begins with a slash. Rejects when it does not answer in time. */
export type EngineClient = (path: string, how?: EngineRequest) => Promise<EngineAnswer>;

/** How long an engine may take; it asks a registry for an image that it does not have. */
const deadlineMs = 10_000;

const answerLimitBytes = 8_388_608;

/** The way to ask an engine from here; `undefined` where only its own client knows the way (ssh, named pipes, TLS). */
export function createEngineClient(dockerEngine: string, hasCertificates: boolean): EngineClient | undefined {
  const { protocol, hostname, port, pathname } = new URL(dockerEngine);
  if (protocol === "unix:") return (path, how) => ask({ socketPath: pathname, path }, how);
  if (protocol !== "tcp:" || hasCertificates) return undefined;
  return (path, how) => ask({ hostname, port: port === "" ? 2375 : Number(port), path }, how);
}

function ask(
  target: Pick<RequestOptions, "socketPath" | "hostname" | "port" | "path">,
  { method = "GET", body }: EngineRequest = {},
): Promise<EngineAnswer> {
  const sent = body === undefined ? "" : JSON.stringify(body);
  const described =
    sent === "" ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(sent) };
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(deadlineMs);
    const outgoing = request({ ...target, method, headers: described, agent: false, signal }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > answerLimitBytes) outgoing.destroy(new Error(`more than ${answerLimitBytes} bytes`));
        else chunks.push(chunk);
      });
      response.once("error", reject);
      response.once("end", () => {
        const { statusCode = 0, headers } = response;
        resolve({ status: statusCode, headers, body: parse(Buffer.concat(chunks)) });
      });
    });
    outgoing.once("error", reject).end(sent);
  });
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    // `/_ping` answers text, and a proxy in between may answer anything: the status says enough.
    return undefined;
  }
}

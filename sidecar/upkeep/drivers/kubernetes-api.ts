import { truncateText } from "#daemon/secrets/mask.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "undici";
import { readText, type Body } from "#daemon/bytes.ts";
import { lookupName } from "#daemon/http/name-lookup.ts";
import { DriverError } from "./driver.ts";
import { createTimeoutSignal } from "#daemon/time.ts";

export type KubernetesApiOptions = Readonly<{
  apiUrl: string;
  namespace?: string | undefined;
  serviceAccountDirectory: string;
  timeoutMs: number;
}>;

/** Credentials for the API server; re-read each time, because tokens are rotated. */
type KubernetesCredentials = Readonly<{ token: string; ca: string | undefined; namespace: string }>;

export type KubernetesApi = AsyncDisposable &
  Readonly<{
    credentials: () => Promise<KubernetesCredentials>;
    /** Sends a request about objects; `path` starts after the namespace, e.g. `/pods/node-0`. */
    request: (
      method: keyof typeof contentTypes,
      path: string,
      signal: AbortSignal,
      content?: KubernetesContent,
    ) => Promise<KubernetesResponse>;
  }>;

type KubernetesContent = Readonly<{
  group?: string;
  body?: unknown;
}>;

const contentTypes = {
  GET: undefined,
  DELETE: undefined,
  POST: "application/json",
  PATCH: "application/merge-patch+json",
} as const;

export type KubernetesResponse = Readonly<{ status: number; body: unknown }>;

const responseLimitBytes = 4_194_304;

/** Connects to the API server on the first request. Requests throw {@link DriverError} when the server can't be reached. */
export function createKubernetesApi(options: KubernetesApiOptions): KubernetesApi {
  const { apiUrl, serviceAccountDirectory: directory, timeoutMs } = options;
  let agent: Readonly<{ ca: string | undefined; agent: Agent }> | undefined;
  const readCredentials = async (): Promise<KubernetesCredentials> => {
    try {
      const token = (await readFile(join(directory, "token"), "utf8")).trim();
      const ca = apiUrl.startsWith("https:") ? await readFile(join(directory, "ca.crt"), "utf8") : undefined;
      const namespace = options.namespace ?? (await readFile(join(directory, "namespace"), "utf8")).trim();
      return { token, ca, namespace };
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      const message = `the service account in ${directory} can't be read (${code}); mount it.`;
      throw new DriverError(message, { cause });
    }
  };
  // Loaded on first use: it takes 6 MiB of memory, which a sidecar outside a cluster doesn't need.
  const openAgent = async (ca: string | undefined) => {
    const { Agent } = await import("undici");
    if (agent === undefined || agent.ca !== ca) {
      agent = { ca, agent: new Agent({ connect: { lookup: lookupName, ...(ca === undefined ? {} : { ca }) } }) };
    }
    return agent.agent;
  };
  return {
    credentials: readCredentials,
    request: async (method, path, signal, { group = "/api/v1", body } = {}) => {
      const { token, ca, namespace } = await readCredentials();
      const url = `${apiUrl.replace(/\/$/, "")}${group}/namespaces/${encodeURIComponent(namespace)}${path}`;
      try {
        const client = await openAgent(ca);
        const response = await client.request({
          origin: new URL(url).origin,
          path: `${new URL(url).pathname}${new URL(url).search}`,
          method,
          headers: {
            authorization: `Bearer ${token}`,
            accept: "application/json",
            ...(body === undefined ? {} : { "content-type": contentTypes[method] }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: AbortSignal.any([signal, createTimeoutSignal(timeoutMs)]),
        });
        return await readKubernetesResponse(response.statusCode, response.body);
      } catch (cause) {
        const code = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
        const remedy = "check the cluster's DNS and the pod's network policies";
        throw new DriverError(`the API server at ${apiUrl} can't be queried (${code}); ${remedy}.`, { cause });
      }
    },
    [Symbol.asyncDispose]: async () => agent?.agent.close(),
  };
}

/** Reads a response from the API server. @throws {Error} when the response is larger than any that is expected here. */
export async function readKubernetesResponse(status: number, stream: Body): Promise<KubernetesResponse> {
  return { status, body: parse(await readText(stream, responseLimitBytes)) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text is not JSON from the API server, but perhaps a proxy's response; it is shown unchanged.
    return { message: truncateText(text, 200) };
  }
}

export function readKubernetesMessage({ status, body }: KubernetesResponse): string {
  const message = (body as { message?: unknown } | null)?.message;
  return `${status}: ${typeof message === "string" ? message : "no message"}`;
}

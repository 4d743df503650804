import { readText } from "../bytes.ts";
import { parseJson } from "../json-rpc.ts";
import { parseHttpEndpoint } from "./endpoint.ts";
import { requestFailureCode, sendRequest } from "./send-request.ts";

/** A command's request to a running service, and its limits. */
export type GetOptions = Readonly<{
  timeoutMs: number;
  answerBytesMax: number;
  headers?: Readonly<Record<string, string>>;
  /** Aborts `timeoutMs` after the first of several requests that share the timeout; by default each request has its own. */
  deadline?: AbortSignal;
}>;

/** Result of a request: a response with any status, or a brief reason why there is none. */
export type GetResult<Body> = Readonly<{ ok: true; status: number; body: Body } | { ok: false; why: string }>;

/** Fetches text over HTTP. Credentials in the URL become Basic authentication; redirects are not followed. Never throws. */
export async function getText(
  url: string,
  { timeoutMs, answerBytesMax, headers, deadline: signal = AbortSignal.timeout(timeoutMs) }: GetOptions,
): Promise<GetResult<string>> {
  try {
    const endpoint = parseHttpEndpoint(url);
    const sent = { ...headers, ...endpoint.headers };
    const answer = await sendRequest({ url: endpoint.url, method: "GET", headers: sent, signal });
    return { ok: true, status: answer.statusCode ?? 0, body: await readText(answer, answerBytesMax) };
  } catch (error) {
    return { ok: false, why: signal.aborted ? `no response within ${timeoutMs} ms` : requestFailureCode(error) };
  }
}

/** Fetches a JSON document, like {@link getText}; the body is undefined if it isn't JSON. */
export async function getJson(url: string, options: GetOptions): Promise<GetResult<unknown>> {
  const got = await getText(url, { ...options, headers: { Accept: "application/json", ...options.headers } });
  return got.ok ? { ...got, body: parseJson(got.body) } : got;
}

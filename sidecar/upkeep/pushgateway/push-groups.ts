import type { IncomingMessage } from "node:http";
import { BodyTooLargeError, boundChunks } from "#daemon/bytes.ts";
import { requestFailureCode, type SendRequest } from "#daemon/http/send-request.ts";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { createRunningTimeout } from "#daemon/time.ts";

/** One group at a Pushgateway: its job and when it was last pushed to (seconds since 1970). */
type PushGroup = Readonly<{ job: string; labels: string; pushTimeSeconds: number }>;

/** Groups of a Pushgateway, or why it could not be read. */
export type PushGroupsResult = Readonly<{ ok: true; groups: readonly PushGroup[] } | { ok: false; message: string }>;

/** Address of the Pushgateway, and the limits of a query. */
export type PushgatewayOptions = Readonly<{ url: string; timeoutMs: number; responseLimitBytes: number }>;

/** Reads `push_time_seconds` of every group. */
export async function readPushGroups(
  options: PushgatewayOptions,
  signal: AbortSignal,
  dependencies: Readonly<{ send: SendRequest }>,
): Promise<PushGroupsResult> {
  const { url, headers } = parseHttpEndpoint(`${options.url.replace(/\/$/, "")}/metrics`);
  const shown = new URL(url);
  const where = `${shown.origin}${shown.pathname}`;
  const deadline = AbortSignal.any([signal, createRunningTimeout(options.timeoutMs)]);
  try {
    const answer = await dependencies.send({ url, method: "GET", headers, signal: deadline });
    if (answer.statusCode !== 200) {
      answer.destroy();
      return { ok: false, message: `${where} answered ${answer.statusCode}; is pushgateway.url a Pushgateway?` };
    }
    return { ok: true, groups: await parseGroups(answer, options.responseLimitBytes) };
  } catch (error) {
    if (error instanceof BodyTooLargeError) {
      const limit = `${options.responseLimitBytes} bytes (pushgateway.responseLimitBytes)`;
      return { ok: false, message: `${where} answered more than ${limit}; raise the limit, or is it no Pushgateway?` };
    }
    const why = deadline.aborted ? `no answer within ${options.timeoutMs} ms` : requestFailureCode(error);
    return { ok: false, message: `${where} can't be read (${why}); is the Pushgateway running?` };
  }
}

async function parseGroups(answer: IncomingMessage, limitBytes: number): Promise<readonly PushGroup[]> {
  const groups: PushGroup[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of boundChunks(answer, limitBytes)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    groups.push(...lines.flatMap((line) => parseLine(line) ?? []));
  }
  const last = parseLine(rest);
  return last === undefined ? groups : [...groups, last];
}

function parseLine(line: string): PushGroup | undefined {
  const found = /^push_time_seconds\{(.*)\}\s+(\S+)/.exec(line);
  if (found === null) return undefined;
  const [, labels = "", value = ""] = found;
  const job = /(?:^|,)job="((?:[^"\\]|\\.)*)"/.exec(labels)?.[1];
  const pushTimeSeconds = Number(value);
  if (job === undefined || !Number.isFinite(pushTimeSeconds)) return undefined;
  return { job: job.replace(/\\(.)/g, (_, char: string) => (char === "n" ? "\n" : char)), labels, pushTimeSeconds };
}

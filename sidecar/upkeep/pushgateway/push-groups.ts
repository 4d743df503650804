import type { IncomingMessage } from "node:http";
import { BodyTooLargeError, limitChunks } from "#daemon/bytes.ts";
import { requestFailureCode, type SendRequest } from "#daemon/http/send-request.ts";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { createTimeoutSignal } from "#daemon/time.ts";

/** Times of the last successful and failed push: seconds since 1970; absent if there was none. */
export type PushGroup = Readonly<{
  job: string;
  instance: string;
  labels: string;
  pushTimeSeconds?: number;
  failureTimeSeconds?: number;
}>;

export type PushGroupsResult = Readonly<{ ok: true; groups: readonly PushGroup[] } | { ok: false; message: string }>;

export type PushgatewayOptions = Readonly<{ url: string; timeoutMs: number; responseLimitBytes: number }>;

export async function readPushGroups(
  options: PushgatewayOptions,
  signal: AbortSignal,
  dependencies: Readonly<{ send: SendRequest }>,
): Promise<PushGroupsResult> {
  const { url, headers } = parseHttpEndpoint(`${options.url.replace(/\/$/, "")}/metrics`);
  const shown = new URL(url);
  const where = `${shown.origin}${shown.pathname}`;
  const deadline = AbortSignal.any([signal, createTimeoutSignal(options.timeoutMs)]);
  try {
    const response = await dependencies.send({ url, method: "GET", headers, signal: deadline });
    if (response.statusCode !== 200) {
      response.destroy();
      return {
        ok: false,
        message: `${where} returned HTTP ${response.statusCode}; check that pushgateway.url is a Pushgateway.`,
      };
    }
    return { ok: true, groups: await parseGroups(response, options.responseLimitBytes) };
  } catch (error) {
    if (error instanceof BodyTooLargeError) {
      const limit = `${options.responseLimitBytes} bytes`;
      return {
        ok: false,
        message: `${where} returned more than ${limit}; check that pushgateway.url is a Pushgateway.`,
      };
    }
    const why = deadline.aborted ? `no response within ${options.timeoutMs} ms` : requestFailureCode(error);
    return { ok: false, message: `${where} can't be queried (${why}); check that the Pushgateway is running.` };
  }
}

async function parseGroups(response: IncomingMessage, limitBytes: number): Promise<readonly PushGroup[]> {
  const groups = new Map<string, PushGroup>();
  const decoder = new TextDecoder();
  let rest = "";
  const add = (line: string) => {
    const found = parseLine(line);
    if (found !== undefined) groups.set(found.labels, { ...groups.get(found.labels), ...found });
  };
  for await (const chunk of limitChunks(response, limitBytes)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(add);
  }
  add(rest);
  return [...groups.values()];
}

function parseLine(line: string): PushGroup | undefined {
  const found = /^push_(failure_)?time_seconds\{(.*)\}\s+(\S+)/.exec(line);
  if (found === null) return undefined;
  const [, failure, labels = "", value = ""] = found;
  const job = readLabel(labels, "job");
  const seconds = Number(value);
  if (job === undefined || !Number.isFinite(seconds)) return undefined;
  const group = { job, instance: readLabel(labels, "instance") ?? "", labels };
  // The Pushgateway writes 0 if the event never happened.
  if (seconds === 0) return group;
  return failure === undefined ? { ...group, pushTimeSeconds: seconds } : { ...group, failureTimeSeconds: seconds };
}

function readLabel(labels: string, name: "job" | "instance"): string | undefined {
  const labelValue = new RegExp(`(?:^|,)${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(labels)?.[1];
  return labelValue?.replace(/\\(.)/g, (_, char: string) => (char === "n" ? "\n" : char));
}

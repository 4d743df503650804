import type { z } from "zod";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { getJson } from "#daemon/http/send-request.ts";
import { defaultPorts } from "#daemon/default-ports.ts";

const timeoutMs = 5_000;
/** Max size of a response; a sidecar's response, with all its charts, is about 200 KB. */
const responseBytesMax = 8 * 1_024 * 1_024;

/** A status listener's response, raw and parsed; or the reason why there is none, and what to do about it. */
export type StatusResponse<Status> = Readonly<
  { ok: true; raw: unknown; status: Status } | { ok: false; message: string }
>;

/** Requests a node's status from its sidecar's or gateway's listener, which `option` specifies. Never throws because of a response. */
export async function requestStatus<Status>(
  listenerUrl: string,
  shape: z.ZodType<Status>,
  option = "--url",
): Promise<StatusResponse<Status>> {
  const { href } = new URL("/status", listenerUrl);
  const { url: shownUrl } = parseHttpEndpoint(href);
  const advice = `specify the status listener of the sidecar or gateway with ${option} (setting listen.port, default ${defaultPorts.sidecar.status}).`;
  const fail = (what: string) => ({ ok: false, message: `${shownUrl} ${what}; ${advice}` }) as const;
  const got = await getJson(href, { timeoutMs, responseBytesMax });
  if (!got.ok) return fail(`can't be queried (${got.why})`);
  if (got.status !== 200) return fail(`returned HTTP ${got.status}`);
  if (got.body === undefined) return fail("can't be queried (its response is not JSON)");
  const read = shape.safeParse(got.body);
  return read.success ? { ok: true, raw: got.body, status: read.data } : fail("returned something other than a status");
}

import { Pool } from "undici";
import { readCpuMs } from "../gateway/wrk.ts";
import { quantile } from "../measurement.ts";
import type { Side } from "./sides.ts";

/** Operation of a facilitator, and the field of its response that has to be `good`. */
export type Operation = Readonly<{ path: "/verify" | "/settle"; field: "isValid" | "success"; good: boolean }>;

/** Results of sending each body once. */
export type LoadResult = Readonly<{
  perSecond: number;
  /** CPU of the facilitator per request, user and system. */
  cpuMicros: number;
  p99Ms: number;
  /** Share of the responses that have the expected value. */
  goodShare: number;
  /** Another response, as an example. */
  example: string | undefined;
}>;

/** Time after which a load is ended: what has no response by then has failed. */
const loadTimeoutMs = 20_000;

/** Posts each body once, `atOnce` at a time, and measures the process behind the URL. */
export async function postAll(
  { url, pid }: Pick<Side, "url" | "pid">,
  bodies: readonly string[],
  { path, field, good, atOnce }: Operation & Readonly<{ atOnce: number }>,
): Promise<LoadResult> {
  const pool = new Pool(url, { connections: atOnce });
  const late = setTimeout(() => void pool.destroy(new Error("no response in time")), loadTimeoutMs);
  const headers = { "content-type": "application/json" };
  const expected = `"${field}":${good}`;
  const times: number[] = [];
  let example: string | undefined;
  let sent = 0;
  const post = async (): Promise<void> => {
    for (let body = bodies[sent++]; body !== undefined; body = bodies[sent++]) {
      const began = performance.now();
      const text = await pool
        .request({ path, method: "POST", headers, body })
        .then((response) => response.body.text())
        .catch(String);
      if (text.includes(expected)) times.push(performance.now() - began);
      else example ??= text.slice(0, 300);
    }
  };
  const cpuMs = readCpuMs(pid);
  const began = performance.now();
  await Promise.all(Array.from({ length: atOnce }, post));
  const seconds = (performance.now() - began) / 1_000;
  const usedMs = readCpuMs(pid) - cpuMs;
  clearTimeout(late);
  await pool.destroy();
  return {
    perSecond: Math.round(times.length / seconds),
    cpuMicros: Math.round((usedMs * 1_000) / bodies.length),
    p99Ms: Math.round(quantile(times, 0.99)),
    goodShare: times.length / bodies.length,
    example,
  };
}

import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";

/** Levels of a log, lowest first. */
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
export type LogLevel = (typeof logLevels)[number];

/** A line of a log; level and time are known if a service of Gatehouse wrote it. */
export type LogLine = Readonly<{ text: string; level: LogLevel | undefined; timeMs: number | undefined }>;

/** Lowest level and earliest time of the lines to show. */
export type LineFilter = Readonly<{ level: LogLevel | undefined; sinceMs: number | undefined }>;

const shape = z.object({ "log.level": z.enum(logLevels), "@timestamp": z.iso.datetime() });

/** Longest line that is read as JSON; a longer one is shown as it is. */
const lineMax = 262_144;

export function readLogLine(text: string): LogLine {
  const read = text.startsWith("{") && text.length <= lineMax ? shape.safeParse(parseJson(text)) : undefined;
  if (read?.success !== true) return { text, level: undefined, timeMs: undefined };
  return { text, level: read.data["log.level"], timeMs: Date.parse(read.data["@timestamp"]) };
}

/** Whether a line is shown. One without a level, such as a trace of an error, may be the most important of all. */
export function isShown({ level, timeMs }: LogLine, filter: LineFilter): boolean {
  if (filter.sinceMs !== undefined && timeMs !== undefined && timeMs < filter.sinceMs) return false;
  if (filter.level === undefined || level === undefined) return true;
  return logLevels.indexOf(level) >= logLevels.indexOf(filter.level);
}

const unitsMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads a time as people write it: `10m` (ago; s, m, h or d) or RFC 3339. Undefined for anything else. */
export function readSince(text: string, nowMs: number): number | undefined {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return nowMs - Number(count) * unitsMs[unit as keyof typeof unitsMs];
  const read = z.iso.datetime({ offset: true }).safeParse(text);
  return read.success ? Date.parse(read.data) : undefined;
}

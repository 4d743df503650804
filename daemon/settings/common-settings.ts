import { z } from "zod";
import { logFormats } from "../log/log-format.ts";
import { fixed, section } from "./section.ts";

export const commandSections = {
  log: section({
    level: z
      .enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"])
      .default("info")
      .describe("Minimum log level")
      .meta({ expected: "one of fatal, error, warn, info, debug, trace, silent" }),
    format: z
      .enum(logFormats)
      .default("auto")
      .describe("json: one object per line; pretty: human-readable; auto: pretty on a terminal, otherwise json")
      .meta({ expected: "auto, json or pretty" }),
  }),
};

/** Additional sections of every service. */
export const serviceSections = {
  start: section({
    deadlineMs: fixed(120_000),
  }),
  shutdown: section({
    graceMs: z
      .int()
      .min(100)
      .max(600_000)
      .default(5_000)
      .describe("Shutdown timeout; the process then exits regardless")
      .meta({ expected: "milliseconds, a whole number from 100 to 600000" }),
  }),
};

/** The shutdown of a service whose remaining work is empty or constant. */
export function defineShutdown(graceMs: number) {
  return section({
    /** Shutdown timeout; the process then exits regardless. */
    graceMs: fixed(graceMs),
  });
}

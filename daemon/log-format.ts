import type { DestinationStream } from "pino";

/** How a log is written: one JSON object a line for programs, or lines for a person; auto takes the latter on a terminal. */
export const logFormats = ["auto", "json", "pretty"] as const;
export type LogFormat = (typeof logFormats)[number];

/** Where a log goes, as far as its format depends on it. */
type LogReader = Readonly<{ isTTY?: boolean }>;

/**
 * Turns the JSON lines of a log into lines for a person where the format and the reader want that: local time, level, message, and a fact a line.
 * Undefined where the lines stay JSON. Loaded only then, because a service without a terminal has no use for it. Colours follow `NO_COLOR`
 * (https://no-color.org).
 */
export async function prettyLines(
  format: LogFormat,
  reader: LogReader,
  env: Readonly<Record<string, string | undefined>>,
): Promise<((line: string) => string) | undefined> {
  if (format === "json" || (format === "auto" && reader.isTTY !== true)) return undefined;
  const { prettyFactory } = await import("pino-pretty");
  return prettyFactory({
    colorize: reader.isTTY === true && !env["NO_COLOR"],
    translateTime: "SYS:HH:MM:ss.l",
    ignore: "service",
    singleLine: true,
  });
}

/** Writes to a destination what a function makes of each line. */
export function rewriting(output: DestinationStream, rewrite: (line: string) => string): DestinationStream {
  return { write: (line) => output.write(rewrite(line)) };
}

import type { DestinationStream } from "pino";
import { parseJson } from "../json-rpc.ts";

/** Formats of a log: one JSON object a line for programs, or lines for a person; auto chooses the latter on a terminal. */
export const logFormats = ["auto", "json", "pretty"] as const;
export type LogFormat = (typeof logFormats)[number];

/** Stream that a log is written to, as far as its format depends on it. */
type LogReader = Readonly<{ isTTY?: boolean }>;

/**
 * Creates a function that turns a JSON line of a log into lines for a person, if the format and the reader want that:
 * local time, level, message and facts on one, an error on more. Undefined if the lines stay JSON. Loaded only if they
 * do not, because a service without a terminal has no use for it. Colours follow `NO_COLOR` (https://no-color.org).
 */
export async function formatPrettyLines(
  format: LogFormat,
  reader: LogReader,
  env: Readonly<Record<string, string | undefined>>,
): Promise<((line: string) => string) | undefined> {
  if (format === "json" || (format === "auto" && reader.isTTY !== true)) return undefined;
  const { prettyFactory } = await import("pino-pretty");
  const pretty = prettyFactory({
    colorize: reader.isTTY === true && !env["NO_COLOR"],
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
  });
  return (line) => pretty(toShown(line));
}

/** Picks what a person is shown of a line: its fields under short names, without those that are the same in all lines. */
function toShown(line: string): string | Record<string, unknown> {
  const fields = line.startsWith("{") ? parseJson(line) : undefined;
  if (!isLine(fields)) return line;
  const { "log.level": level, "@timestamp": time, message: msg, gatehouse, ...others } = fields;
  const {
    "event.action": event,
    "event.reference": runbook,
    "http.request.id": requestId,
    "trace.id": traceId,
  } = others;
  const { "error.type": type, "error.message": failure, "error.stack_trace": stack } = others;
  const problem =
    failure === undefined ? {} : isSystemError(others) ? { failure } : { err: { type, message: failure, stack } };
  // The message says what the condition of the event says.
  const facts = { ...gatehouse, condition: undefined };
  const shown = { level, time, msg, event, runbook, requestId, traceId, ...facts, ...problem };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
}

/** Whether an error is the system's, such as ECONNREFUSED, whose stack shows Node's own functions alone. */
function isSystemError({ "error.code": code }: Readonly<Record<string, unknown>>): boolean {
  return typeof code === "string" && /^E[A-Z]+$/.test(code);
}

type Line = Readonly<Record<string, unknown> & { gatehouse?: object }>;

function isLine(fields: unknown): fields is Line {
  return typeof fields === "object" && fields !== null && "log.level" in fields && "@timestamp" in fields;
}

/** Writes to a destination what a function makes of each line. */
export function rewriteLines(output: DestinationStream, rewrite: (line: string) => string): DestinationStream {
  return { write: (line) => output.write(rewrite(line)) };
}

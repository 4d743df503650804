import { parseJson } from "../json-rpc.ts";

/** Log formats: one JSON object per line for programs, or readable lines for people; auto selects the latter on a terminal. */
export const logFormats = ["auto", "json", "pretty"] as const;
export type LogFormat = (typeof logFormats)[number];

/** The log's output stream; only whether it is a terminal affects the format. */
type LogReader = Readonly<{ isTTY?: boolean }>;

/**
 * Creates a function that converts a JSON log line to readable lines: local time, level, message and facts on one line, an error on further
 * lines. Returns undefined if the format and the reader require JSON. Loaded only on demand, because a service without a terminal doesn't
 * need it. Colours follow `NO_COLOR` (https://no-color.org).
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

/** Selects the fields of a line to display: gives them short names, and omits those shared by all lines. */
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
  // The message repeats the event's condition.
  const facts = { ...gatehouse, condition: undefined };
  const shown = { level, time, msg, event, runbook, requestId, traceId, ...facts, ...problem };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
}

/** Checks whether an error is the system's, such as ECONNREFUSED, whose stack contains only Node's own functions. */
function isSystemError({ "error.code": code }: Readonly<Record<string, unknown>>): boolean {
  return typeof code === "string" && /^E[A-Z]+$/.test(code);
}

type Line = Readonly<Record<string, unknown> & { gatehouse?: object }>;

function isLine(fields: unknown): fields is Line {
  return typeof fields === "object" && fields !== null && "log.level" in fields && "@timestamp" in fields;
}

import { pino, stdSerializers, type DestinationStream } from "pino";
import { createBoundedOutput, ignoreStreamErrors } from "./bounded-output.ts";
import { logEvents, type LogEvent } from "./events/all-events.ts";
import { version } from "../version.ts";
import type { Mask } from "../secrets/mask.ts";

/** Facts to log with a named event. */
export type EventInfo<Name extends LogEvent> = Readonly<{ event: Name; err?: unknown; [fact: string]: unknown }>;

type Write<Name extends LogEvent> = (facts: EventInfo<Name>, message: string) => void;

/** Writes a line that needs no operator action, with or without a named event. */
type WriteFreely<Name extends LogEvent> = {
  (facts: Readonly<{ event?: Name; err?: unknown; [fact: string]: unknown }>, message: string): void;
  (message: string): void;
};

/**
 * The log of a service. Anything that an operator may have to act on is an event in `events/` with a fixed level: logging it
 * at another level doesn't compile.
 */
export type Logger = {
  level: string;
  fatal: Write<LogEvent<"fatal">>;
  error: Write<LogEvent<"error">>;
  warn: Write<LogEvent<"warn">>;
  info: WriteFreely<LogEvent<"info">>;
  debug: WriteFreely<never>;
  /** Creates a log with its own level, optionally its own fields, and the same destination. */
  child: (
    bindings: Readonly<Record<string, never>>,
    options: Readonly<{
      level: string;
      formatters?: { log: (facts: object) => object };
    }>,
  ) => Logger;
};

/** Creates a log that adds facts to each of its lines. */
export function addFacts(log: Logger, added: Readonly<Record<string, unknown>>): Logger {
  const formatters = { log: (facts: object) => toFields({ ...added, ...facts }) };
  return log.child({}, { level: log.level, formatters });
}

/**
 * Creates a service's log: one JSON object per line, on standard output unless there is a `destination`, with the fields of {@link toFields}
 * but without host name or process id; `pretty` reformats the lines. `mask` removes secrets from every line. A slow or closed reader of
 * standard output doesn't block the service: see {@link createBoundedOutput}.
 */
export function createLog(
  options: Readonly<{
    service: string;
    level: string;
    mask?: Mask;
    pretty?: ((line: string) => string) | undefined;
  }>,
  destination?: DestinationStream,
): Logger {
  const { mask, pretty, service } = options;
  const settings = {
    level: options.level,
    base: createBaseFields(service),
    timestamp: () => `,"@timestamp":"${new Date().toISOString()}"`,
    messageKey: "message",
    formatters: { level: (label: string) => ({ "log.level": label }), log: toFields },
  };
  const output =
    destination ??
    createBoundedOutput(process.stdout, {
      dropped: (lines) => {
        const facts = { event: "log-lines-dropped", lines } as const;
        log.warn(facts, "log lines were dropped because standard output was not read");
      },
      failed: ({ message }) => {
        // The reader of standard error has usually closed as well.
        ignoreStreamErrors(process.stderr);
        process.stderr.write(`${service}: the log can't be written (${message}); the service continues without it.\n`);
      },
    });
  const readable = pretty === undefined ? output : rewriteLines(output, pretty);
  const log: Logger = pino(settings, mask === undefined ? readable : rewriteLines(readable, mask.text));
  return log;
}

function rewriteLines(output: DestinationStream, rewrite: (line: string) => string): DestinationStream {
  return { write: (line) => output.write(rewrite(line)) };
}

/**
 * The fields of a log line, named by the Elastic Common Schema (https://www.elastic.co/docs/reference/ecs). Names are dotted, not nested,
 * as ECS loggers write them; facts without an ECS field go into a single object, to avoid clashes with ECS names.
 */
export const ecsVersion = "8.17.0";

export function createBaseFields(service: string): Readonly<Record<string, string>> {
  return { "ecs.version": ecsVersion, "service.name": service, "service.version": version };
}

/** Keys whose values are never logged, at the top level of an event's facts and up to two levels deeper. */
const neverLogged: ReadonlySet<string> = new Set([
  "privateKey",
  "signature",
  "authorization",
  "secret",
  "password",
  "mnemonic",
  "rawTransaction",
]);

/** Facts that have an ECS field. */
const named: Readonly<Record<string, string>> = {
  requestId: "http.request.id",
  traceId: "trace.id",
  spanId: "span.id",
  runbook: "event.reference",
};

/** Converts an event's facts to log fields: the event's name and runbook, the error, the facts that have an ECS field, and the others. */
export function toFields(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { event, err, ...others } = facts;
  const fields: Record<string, unknown> = typeof event === "string" ? buildEventFields(event) : {};
  const rest: Record<string, unknown> = {};
  let hasRest = false;
  for (const [name, value] of Object.entries(others)) {
    const field = named[name];
    if (field !== undefined) fields[field] = value;
    else if (value !== undefined) {
      rest[name] = value;
      hasRest = true;
    }
  }
  if (err !== undefined) Object.assign(fields, buildErrorFields(err));
  if (hasRest) fields["gatehouse"] = censor(rest, 2);
  return fields;
}

/** Replaces the values that are never logged. pino's `redact` uses five times as much CPU as the rest of a log line. */
function censor(facts: object, levelsBelow: number): object {
  let shown = facts;
  for (const [name, value] of Object.entries(facts)) {
    const isNested = levelsBelow > 0 && typeof value === "object" && value !== null;
    const allowedValue: unknown = neverLogged.has(name)
      ? "[secret]"
      : isNested
        ? censor(value as object, levelsBelow - 1)
        : value;
    if (allowedValue === value) continue;
    if (shown === facts) shown = Array.isArray(facts) ? [...facts] : { ...facts };
    Object.assign(shown, { [name]: allowedValue });
  }
  return shown;
}

function buildEventFields(event: string): Record<string, unknown> {
  const runbook = logEvents[event as LogEvent]?.runbook;
  return runbook === undefined
    ? { "event.action": event }
    : { "event.action": event, "event.reference": `docs/runbooks/${runbook}.md` };
}

function buildErrorFields(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { "error.message": String(error) };
  // Includes the causes in message and stack.
  const { type, message, stack } = stdSerializers.err(error);
  const { code } = error as NodeJS.ErrnoException;
  const coded = typeof code === "string" || typeof code === "number" ? { "error.code": String(code) } : {};
  return { "error.type": type, "error.message": message, ...coded, "error.stack_trace": stack };
}

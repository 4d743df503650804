import { pino, type DestinationStream } from "pino";

import { createBoundedOutput, outlivesReader } from "./bounded-output.ts";
import type { LogEvent } from "./events/all-events.ts";
import { createBaseFields, toFields } from "./log-fields.ts";
import { rewriteLines } from "./log-format.ts";
import type { Mask } from "../secrets/mask.ts";

/** Facts of a named event of a level. */
export type EventInfo<Name extends LogEvent> = Readonly<{ event: Name; err?: unknown; [fact: string]: unknown }>;

/** Writes an event's line. */
type Write<Name extends LogEvent> = (facts: EventInfo<Name>, message: string) => void;

/** Writes a line, with or without an event, that needs no operator action. */
type WriteFreely<Name extends LogEvent> = {
  (facts: Readonly<{ event?: Name; err?: unknown; [fact: string]: unknown }>, message: string): void;
  (message: string): void;
};

/**
 * The log of a service. Anything that an operator may have to act on is an event in `events/all-events.ts` with a fixed level: logging it
 * at another level doesn't compile.
 */
export type Logger = {
  level: string;
  fatal: Write<LogEvent<"fatal">>;
  error: Write<LogEvent<"error">>;
  warn: Write<LogEvent<"warn">>;
  info: WriteFreely<LogEvent<"info">>;
  debug: WriteFreely<never>;
  /** Creates a log with its own level, and perhaps its own fields, and the same destination. */
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
 * Creates a service's log: one JSON object per line, on standard output unless there is a `destination`, with the fields of `log-fields.ts`
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
        outlivesReader(process.stderr);
        process.stderr.write(`${service}: the log can't be written (${message}); the service continues without it.\n`);
      },
    });
  const readable = pretty === undefined ? output : rewriteLines(output, pretty);
  const log: Logger = pino(settings, mask === undefined ? readable : rewriteLines(readable, mask.text));
  return log;
}

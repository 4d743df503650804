import { pino, type DestinationStream } from "pino";

import { createBoundedOutput, outlivesReader } from "./bounded-output.ts";
import type { LogEvent } from "./events/all-events.ts";
import { createBaseFields, neverLogged, toFields } from "./log-fields.ts";
import { rewriteLines } from "./log-format.ts";
import type { Mask } from "../secrets/mask.ts";

/** Facts of an event that has a name, of a level. */
export type EventFacts<Name extends LogEvent> = Readonly<{ event: Name; err?: unknown; [fact: string]: unknown }>;

/** Writes a line of an event. */
type Write<Name extends LogEvent> = (facts: EventFacts<Name>, message: string) => void;

/** Writes a line that may be of an event, and that nobody has to look for. */
type WriteFreely<Name extends LogEvent> = {
  (facts: Readonly<{ event?: Name; err?: unknown; [fact: string]: unknown }>, message: string): void;
  (message: string): void;
};

/**
 * The log of a service. What a person may have to act on is an event of `events/all-events.ts`, which has its level: a line of another does not compile.
 */
export type Logger = {
  level: string;
  fatal: Write<LogEvent<"fatal">>;
  error: Write<LogEvent<"error">>;
  warn: Write<LogEvent<"warn">>;
  info: WriteFreely<LogEvent<"info">>;
  debug: WriteFreely<never>;
  /** Creates a log with a level of its own, to the same destination. */
  child: (bindings: Readonly<Record<string, never>>, options: Readonly<{ level: string }>) => Logger;
};

/**
 * Creates the log of a service: one JSON object a line, on standard output unless there is a `destination`, with the fields of
 * `log-fields.ts`, no host name or process id; `pretty` makes other lines of them. What `mask` knows is in no line. A reader of standard output that is slow or gone holds nothing up: see
 * {@link createBoundedOutput}.
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
    redact: {
      paths: neverLogged.flatMap((key) => [`gatehouse.${key}`, `gatehouse.*.${key}`, `gatehouse.*.*.${key}`]),
      censor: "[secret]",
    },
  };
  const output =
    destination ??
    createBoundedOutput(process.stdout, {
      dropped: (lines) => {
        const facts = { event: "log-lines-dropped", lines } as const;
        log.warn(facts, "lines of this log were dropped: nothing read standard output");
      },
      failed: ({ message }) => {
        // Its reader is gone as well, as a rule.
        outlivesReader(process.stderr);
        process.stderr.write(`${service}: the log can't be written (${message}); the service goes on without it.\n`);
      },
    });
  const readable = pretty === undefined ? output : rewriteLines(output, pretty);
  const log: Logger = pino(settings, mask === undefined ? readable : rewriteLines(readable, mask.text));
  return log;
}

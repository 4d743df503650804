import { stdSerializers } from "pino";
import { logEvents, type LogEvent } from "./events/all-events.ts";
import { version } from "../version.ts";

/**
 * The fields of a line, named as the Elastic Common Schema does (https://www.elastic.co/docs/reference/ecs). Names are dotted and not nested, as its
 * loggers write them; facts that it has no name for stand in one object, so that none takes a name of the schema for something else.
 */
export const ecsVersion = "8.17.0";

/** Fields that are the same in all lines of a service. */
export function createBaseFields(service: string): Readonly<Record<string, string>> {
  return { "ecs.version": ecsVersion, "service.name": service, "service.version": version };
}

/** Keys whose values never reach a line, among an event's facts and up to two levels down. */
export const neverLogged: readonly string[] = [
  "privateKey",
  "signature",
  "authorization",
  "secret",
  "password",
  "mnemonic",
  "rawTransaction",
];

/** Facts that the schema has a name for. */
const named: Readonly<Record<string, string>> = {
  requestId: "http.request.id",
  traceId: "trace.id",
  spanId: "span.id",
};

/** Converts an event's facts to fields: its name with its runbook, its error, what has a name in the schema, and the rest. */
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
  if (hasRest) fields["gatehouse"] = rest;
  return fields;
}

function buildEventFields(event: string): Record<string, unknown> {
  const runbook = logEvents[event as LogEvent]?.runbook;
  return runbook === undefined
    ? { "event.action": event }
    : { "event.action": event, "event.reference": `docs/runbooks/${runbook}.md` };
}

function buildErrorFields(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { "error.message": String(error) };
  // With the causes in its message and stack.
  const { type, message, stack } = stdSerializers.err(error);
  const { code } = error as NodeJS.ErrnoException;
  const coded = typeof code === "string" || typeof code === "number" ? { "error.code": String(code) } : {};
  return { "error.type": type, "error.message": message, ...coded, "error.stack_trace": stack };
}

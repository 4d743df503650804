import { pino, type DestinationStream, type Logger } from "pino";

import type { Mask } from "./mask.ts";

export type { Logger } from "pino";

/** Keys whose values never reach the log, at the top level and one and two levels down. */
const neverLogged = ["privateKey", "signature", "authorization", "secret", "password", "mnemonic", "rawTransaction"];

/**
 * Creates the log of a service: one JSON object a line, on standard output unless there is a `destination`, with the service's
 * name, no host name or process id. What `mask` knows is in no line.
 */
export function createLog(
  options: Readonly<{ service: string; level: string; mask?: Mask }>,
  destination: DestinationStream = pino.destination(1),
): Logger {
  const settings = {
    level: options.level,
    base: { service: options.service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: neverLogged.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: "[secret]" },
  };
  const { mask } = options;
  return pino(settings, mask === undefined ? destination : { write: (line) => destination.write(mask.text(line)) });
}

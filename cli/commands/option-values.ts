import { InvalidArgumentError, type Command } from "@commander-js/extra-typings";
import { defaultPorts } from "#daemon/default-ports.ts";

/** Default URL of a local sidecar's status listener. */
export const defaultStatusUrl = `http://127.0.0.1:${defaultPorts.sidecar.status}`;

export function addControlOptions(command: Command) {
  return command
    .option("--state-directory <path>", "the sidecar's state directory, as shown on its page and in its log")
    .option("--settings <file>", "JSON5 file with the sidecar's settings; environment variables win over it")
    .option("--url <url>", "the sidecar's status listener, e.g. http://10.0.0.7:9600, where upkeep.controlToken is set")
    .option("--token-file <path>", "file with that token; default: GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN");
}

/**
 * Parses a listener URL from an option.
 *
 * @throws {InvalidArgumentError} if it isn't an http or https URL.
 */
export function parseListenerUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new InvalidArgumentError(`Expected a URL such as ${defaultStatusUrl}.`);
}

/**
 * Parses a URL to send requests to.
 *
 * @throws {InvalidArgumentError} if it isn't an http or https URL.
 */
export function parseHttpUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new InvalidArgumentError("Expected an http:// or https:// URL.");
}

/** Checks for an `http:` or `https:` URL. */
export function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "");
}

/**
 * Parses the port of a running server.
 *
 * @throws {InvalidArgumentError} if it isn't a whole number from 1 to 65535.
 */
export function parsePort(text: string): number {
  return parseWholeNumber(text, { what: "a port, a whole number", min: 1, max: portMax });
}

/**
 * Parses a port to listen on; 0 picks a free one.
 *
 * @throws {InvalidArgumentError} if it isn't a whole number from 0 to 65535.
 */
export function parseListenPort(text: string): number {
  return parseWholeNumber(text, { what: "a port, a whole number", min: 0, max: portMax });
}

/**
 * Parses a polling interval in seconds.
 *
 * @throws {InvalidArgumentError} if it isn't a number from 1 to 3600.
 */
export function parseIntervalSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError("Expected seconds, a number from 1 to 3600.");
}

/**
 * Parses a time limit in seconds, up to a week.
 *
 * @throws {InvalidArgumentError} if it isn't a whole number from 1 to 604800.
 */
export function parseLimitSeconds(text: string): number {
  return parseWholeNumber(text, { what: "whole seconds", min: 1, max: limitSecondsMax });
}

/**
 * Like {@link parseLimitSeconds}, but at least two minutes: a node is verified only after it has been healthy for a while, and an update
 * waits for that.
 *
 * @throws {InvalidArgumentError} if it isn't a whole number from 120 to 604800.
 */
export function parseLongLimitSeconds(text: string): number {
  return parseWholeNumber(text, { what: "whole seconds", min: longLimitSecondsMin, max: limitSecondsMax });
}

const portMax = 65_535;
const limitSecondsMax = 604_800;
const longLimitSecondsMin = 120;

/**
 * Parses a whole number within limits.
 *
 * @throws {InvalidArgumentError} if it isn't one; `what` describes what is expected.
 */
export function parseWholeNumber(
  text: string,
  { what, min, max }: Readonly<{ what: string; min: number; max: number }>,
) {
  const number = Number(text);
  if (text.trim() !== "" && Number.isInteger(number) && number >= min && number <= max) return number;
  throw new InvalidArgumentError(`Expected ${what} from ${min} to ${max}.`);
}

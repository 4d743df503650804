import { InvalidArgumentError } from "@commander-js/extra-typings";
import { httpUrl } from "#daemon/settings/types.ts";
import { stackServices } from "#daemon/stack-services.ts";

/** Default URL of a local sidecar's status listener. */
export const defaultStatusUrl = `http://127.0.0.1:${stackServices.sidecar.ports.status}`;

/**
 * Parses a listener URL from an option.
 *
 * @throws {InvalidArgumentError} if it isn't an http or https URL.
 */
export function parseListenerUrl(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
  throw new InvalidArgumentError(`Expected a URL such as ${defaultStatusUrl}.`);
}

/**
 * Parses a URL to send requests to.
 *
 * @throws {InvalidArgumentError} if it isn't an http or https URL.
 */
export function parseHttpUrl(text: string): string {
  if (httpUrl.safeParse(text).success) return text;
  throw new InvalidArgumentError(`Expected ${httpUrl.meta()?.["expected"]}.`);
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

function parseWholeNumber(text: string, { what, min, max }: Readonly<{ what: string; min: number; max: number }>) {
  const number = Number(text);
  if (text.trim() !== "" && Number.isInteger(number) && number >= min && number <= max) return number;
  throw new InvalidArgumentError(`Expected ${what} from ${min} to ${max}.`);
}

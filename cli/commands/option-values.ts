import { InvalidArgumentError } from "@commander-js/extra-typings";
import { stackServices } from "#daemon/stack-services.ts";

/** Where a sidecar on this machine answers by default. */
export const defaultStatusUrl = `http://127.0.0.1:${stackServices.sidecar.ports.status}`;

/**
 * Reads the URL of a listener from an option.
 *
 * @throws {InvalidArgumentError} for what is no http or https URL.
 */
export function parseListenerUrl(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
  throw new InvalidArgumentError(`Expected a URL such as ${defaultStatusUrl}.`);
}

/**
 * Reads a time between two looks from an option, in seconds.
 *
 * @throws {InvalidArgumentError} for what is no number from 1 to 3600.
 */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError("Expected seconds, a number from 1 to 3600.");
}

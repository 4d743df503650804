import { InvalidArgumentError, type Command } from "@commander-js/extra-typings";
import { defaultPorts } from "#daemon/default-ports.ts";
import { isShellPath, shellPathAdvice } from "#daemon/files/shell-path.ts";

export const defaultStatusUrl = `http://127.0.0.1:${defaultPorts.sidecar.status}`;

export function addControlOptions(command: Command) {
  return command
    .option("--state-directory <path>", "the sidecar's state directory, as shown on its page and in its log")
    .option("--settings <file>", "JSON5 file with the sidecar's settings; environment variables override it")
    .option("--url <url>", "the sidecar's status listener, e.g. http://10.0.0.7:9600, where upkeep.controlToken is set")
    .option("--token-file <path>", "file with that token; default: GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN");
}

/** Parses the path of a directory that the command creates. */
export function parseDirectory(path: string): string {
  if (isShellPath(path)) throw new InvalidArgumentError(`${shellPathAdvice}.`);
  return path;
}

export function parseListenerUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new InvalidArgumentError(`Expected an http:// or https:// URL such as ${defaultStatusUrl}.`);
}

export function parseHttpUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new InvalidArgumentError("Expected an http:// or https:// URL.");
}

export function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "");
}

export function parsePort(text: string): number {
  return parseWholeNumber(text, { what: "a port, a whole number", min: 1, max: portMax });
}

/** Parses a port to listen on; 0 picks a free one. */
export function parseListenPort(text: string): number {
  return parseWholeNumber(text, { what: "a port, a whole number", min: 0, max: portMax });
}

export function parseIntervalSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError("Expected seconds, a number from 1 to 3600.");
}

export function parseLimitSeconds(text: string): number {
  return parseWholeNumber(text, { what: "whole seconds", min: 1, max: limitSecondsMax });
}

/** At least two minutes: a node is verified only after it has been healthy for a while. */
export function parseLongLimitSeconds(text: string): number {
  return parseWholeNumber(text, { what: "whole seconds", min: longLimitSecondsMin, max: limitSecondsMax });
}

const portMax = 65_535;
const limitSecondsMax = 604_800;
const longLimitSecondsMin = 120;

export function parseWholeNumber(
  text: string,
  { what, min, max }: Readonly<{ what: string; min: number; max: number }>,
) {
  const number = Number(text);
  if (text.trim() !== "" && Number.isInteger(number) && number >= min && number <= max) return number;
  throw new InvalidArgumentError(`Expected ${what} from ${min} to ${max}.`);
}

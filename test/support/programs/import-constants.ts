import { pathToFileURL } from "node:url";
import type { ServiceName } from "../../../cli/service-definitions.ts";
import type { ConstantOverrides } from "../constant-overrides.ts";
import { findTestProgram } from "./place.ts";

/** Formats the Node option that changes constants in a service's process. */
export function importConstants(service: ServiceName, constants: ConstantOverrides): string {
  const { href } = pathToFileURL(findTestProgram("replaced-constants.main.ts"));
  return `--import=${href}?service=${service}&constants=${encodeURIComponent(JSON.stringify(constants))}`;
}

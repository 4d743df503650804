import { pathToFileURL } from "node:url";
import type { ServiceName } from "../../../cli/service-definitions.ts";
import type { ConstantOverrides } from "../constant-overrides.ts";
import { findTestProgram } from "./place.ts";

/** The Node option that gives a service's process other constants. */
export function importConstants(service: ServiceName, constants: ConstantOverrides): string {
  const { href } = pathToFileURL(findTestProgram("replaced-constants.main.ts"));
  return `--import=${href}?service=${service}&constants=${encodeURIComponent(JSON.stringify(constants))}`;
}

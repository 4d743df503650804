import { join } from "node:path";
import type { StackUpgradeOptions } from "../begin-upgrade.ts";
import { newImage } from "./world-state.ts";

/** Builds the options of `gatehouse upgrade --stack prod --node-image node:0.17.0 --yes`, typed in a program's directory, plus additional ones. */
export function buildTypedOptions(directory: string, more: Partial<StackUpgradeOptions>): StackUpgradeOptions {
  return {
    stack: "prod",
    requested: { image: newImage, version: undefined },
    directory,
    configFile: undefined,
    statusUrl: undefined,
    stateDirectory: join(directory, "state"),
    limits: {},
    dryRun: false,
    yes: true,
    confirm: undefined,
    ...more,
  };
}

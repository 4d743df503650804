import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StackUpgradeOptions } from "../begin-upgrade.ts";
import { runStackUpgradeCommand, type StackUpgradeDependencies } from "../stack-upgrade-command.ts";
import type { StackWorld } from "./stack-world.ts";
import { newImage } from "./world-state.ts";

/** Creates the directory of a Pulumi program with a stack `prod`. */
export async function createProgramDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-program-"));
  await writeFile(join(directory, "Pulumi.prod.yaml"), "");
  return directory;
}

export const removeDirectory = (directory: string) => rm(directory, { recursive: true, force: true });

/** Runs `gatehouse upgrade --stack prod --node-image node:0.17.0 --yes` in a program's directory. */
export async function typeUpgrade(
  directory: string,
  options: Partial<StackUpgradeOptions>,
  dependencies: Omit<StackUpgradeDependencies, "output">,
) {
  const printedLines: string[] = [];
  const typed: StackUpgradeOptions = {
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
    ...options,
  };
  const print = (text: string) => void printedLines.push(text);
  const output = { out: print, error: print, isColored: false };
  const status = await runStackUpgradeCommand(typed, { ...dependencies, output });
  return { status, printed: printedLines.join("") };
}

/** Runs that command on a world's stack; `useConfig` is called with the configuration file of each Pulumi run. */
export function typeInWorld(
  world: StackWorld,
  directory: string,
  options: Partial<StackUpgradeOptions>,
  { signal = new AbortController().signal, useConfig = (_file: string) => {} } = {},
) {
  const { platform: _, pulumi, queries, ...rest } = world.steps(signal);
  return typeUpgrade(directory, options, {
    ...rest,
    currentContext: async () => "production",
    connect: (_prefix, target) => ({ platform: world.createPlatform(target), queries }),
    pulumi: ({ configFile }) => {
      useConfig(configFile);
      return pulumi;
    },
  });
}

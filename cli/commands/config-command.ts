import { Argument, Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { serviceNames } from "../service-definitions.ts";
import { createTerminalOutput } from "../terminal.ts";
import { createLintCommand } from "./lint-command.ts";
import { createPlanCommand } from "./plan-command.ts";

/** Creates `gatehouse config`: checks and corrects a node.conf, and shows the settings that a service would start with and their sources. */
export function createConfigCommand({ mask }: Readonly<{ mask: Mask }>) {
  const dump = new Command("dump")
    .summary("Show every setting of a service with its value and its source")
    .description(
      "Reads the settings as the service would, from this environment and the settings file, and prints each with its origin: default, the file and line, or the variable. A secret is shown as [secret]. Exits 1 when the service would reject them.",
    )
    .addArgument(new Argument("<service>", "service whose settings to print").choices(serviceNames))
    .option("--settings <file>", "JSON5 file with the settings; environment variables win over it")
    .option("--changed", "only settings that differ from their defaults", false)
    .option("--json", "one JSON document: [{ key, value, origin }]", false)
    .action(async (service, { settings: file, changed, json }) => {
      const { printConfigDump } = await import("../config-dump.ts");
      process.exitCode = await printConfigDump(
        { service, file, changed, json },
        { mask, output: createTerminalOutput({ mask }) },
      );
    });
  return new Command("config")
    .summary("Check or correct a node.conf; show a service's effective settings")
    .addCommand(createLintCommand({ mask }))
    .addCommand(createPlanCommand({ mask }))
    .addCommand(dump);
}

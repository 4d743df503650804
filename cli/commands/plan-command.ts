import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse config plan`: prints the changes that the sidecar would make to a node.conf, for an operator or a pipeline. */
export function createPlanCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("plan")
    .summary("Show or apply the changes that a node.conf needs for a version")
    .description(
      "Compares a node.conf with what the sidecar's settings (GATEHOUSE_SIDECAR_…) require for a node of the given version. Exits 0 when there is nothing to do, 2 on drift, 1 on an error.",
    )
    .requiredOption("--config <path>", "the node.conf")
    .requiredOption("--node-version <version>", "version of the node, e.g. 0.16.2")
    .option("--settings <file>", "JSON5 file with the sidecar's settings; environment variables win over it")
    .option("--json", "print JSON for machines", false)
    .option("--write", "apply the plan to the file, atomically", false)
    .action(async ({ config, nodeVersion, settings: file, json, write }) => {
      const { readSidecarSettings } = await import("./sidecar-settings.ts");
      const settings = readSidecarSettings(file, { mask });
      if (settings === undefined) return;
      const { findControlLocations } = await import("#sidecar/upkeep/control/control-locations.ts");
      const { findUserStateDirectory } = await import("#daemon/files/user-state-directory.ts");
      const node = { ...settings.node, configPath: settings.node.configPath ?? config };
      const stateDirectories = findControlLocations({ ...settings, node }, findUserStateDirectory(process.env)) ?? [];
      const { runPlanCommand: run } = await import("#sidecar/upkeep/plan-command.ts");
      process.exitCode = await run(
        { configPath: config, nodeVersion, stateDirectories, json, write },
        settings,
        createTerminalOutput({ mask }),
      );
    });
}

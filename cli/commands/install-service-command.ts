import { Argument, Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { installedServices } from "../systemd/installed-services.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse install-service`: installs a service of systemd on this machine. */
export function createInstallServiceCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("install-service")
    .summary("Run a service by systemd: write its unit and its settings")
    .description(
      "Reads the settings as the service would, from this environment and the settings file, shows the unit and the environment file that it will write, asks, and writes them. Starts nothing without --start. An environment file that is there is kept.",
    )
    .addArgument(new Argument("<service>", "which service").choices(installedServices))
    .option("--settings <file>", "JSON5 file with the settings; the service reads it there")
    .option(
      "--user <user>",
      "who the service runs as; default: who owns the node.conf of a sidecar, a user of systemd's own making for others",
    )
    .option("--root <directory>", "install into another system's root, e.g. an image's", "/")
    .option("--start", "start it too, now and at each boot", false)
    .option("--uninstall", "stop the service and remove its unit; settings, keys and data stay", false)
    .option("--dry-run", "only show what would be done", false)
    .option("--yes", "without asking for confirmation", false)
    .option("--json", "with --dry-run or --yes: one JSON document, { steps, kept, commands, isDone }", false)
    .action(async (service, options) => {
      const { installService } = await import("../systemd/install-service.ts");
      process.exitCode = await installService({ service, ...options }, createTerminalOutput({ mask }));
    });
}

import { Command } from "@commander-js/extra-typings";
import type { z } from "zod";
import { runService, type Service } from "#daemon/service.ts";
import type { SettingsDefinition } from "#daemon/settings.ts";
import { settingsHelp } from "./settings-help.ts";

/** How a long-running service appears on the command line. */
export type ServiceCommand<Schema extends z.ZodObject> = Readonly<{
  summary: string;
  definition: SettingsDefinition<Schema>;
  /** Loads the service; only the command that is run pays for its imports. */
  load: () => Promise<Service<Schema>>;
}>;

/** Makes `gatehouse <service>`: runs the service until SIGINT or SIGTERM; its `--help` lists its settings. */
export function serviceCommand<Schema extends z.ZodObject>(options: ServiceCommand<Schema>) {
  return new Command(options.definition.service)
    .summary(options.summary)
    .description(options.summary)
    .option("--settings <file>", "JSON5 file with the settings; environment variables win over it")
    .addHelpText("after", () => settingsHelp(options.definition))
    .action(async ({ settings }) => {
      // Whatever a library still holds open, the process ends when its service has.
      process.exit(await runService(await options.load(), { settingsFile: settings }));
    });
}

import type { Command } from "@commander-js/extra-typings";
import type { z } from "zod";
import { endProcess } from "#daemon/process/end-process.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import type { Service } from "#daemon/service.ts";

/** Command of a long-running service. */
export type ServiceCommand<Schema extends z.ZodObject> = Readonly<{
  /** Subcommand and service name. */
  name: string;
  summary: string;
  /** Loads the service lazily, so that only its own command pays for its imports and its settings' schema. */
  load: () => Promise<Service<Schema>>;
  /**
   * Whether the service supports a hot restart. With "or-serves-on", if no new process can start, the running one keeps serving and reports
   * what it can't do. The sidecar can't do this: its node would be unattended.
   */
  handsOver?: "or-ends" | "or-serves-on";
  /** Hides the command from `--help`: only a deployment starts it. */
  hidden?: boolean;
}>;

/** Adds `gatehouse <service>`: runs the service until SIGINT or SIGTERM. */
export function addServiceCommand<Schema extends z.ZodObject>(
  program: Command,
  { name, summary, load, handsOver, hidden = false }: ServiceCommand<Schema>,
  { mask }: Readonly<{ mask: Mask }>,
): void {
  const command = program
    .command(name, { hidden })
    .summary(summary)
    .description(summary)
    .option("--settings <file>", "JSON5 file with the settings; environment variables override it")
    .option("--all", "with --help: explain every setting");
  if (handsOver !== undefined) {
    command.option("--hand-over", "apply settings file changes by hot restart, without downtime");
  }
  command.action(async ({ settings, all }) => {
    if (all === true) command.error(`${name}: --all requires --help: gatehouse ${name} --help --all`);
    const { handOver } = command.opts() as Readonly<{ handOver?: true }>;
    if (handOver === true) {
      const { toEnvironmentName } = await import("#daemon/settings/leaf.ts");
      const settingsPath = settings ?? process.env[toEnvironmentName(name, ["settingsPath"])];
      if (settingsPath === undefined) {
        return command.error(`${name}: --hand-over requires a settings file; specify one with --settings`);
      }
      const { superviseService } = await import("#daemon/hand-over/supervisor.ts");
      const supervised = {
        service: name,
        settingsPath,
        environment: process.env,
        servesOn: handsOver === "or-serves-on",
      };
      await endProcess(await superviseService(supervised));
    }
    // Imported here, so that no other command loads logging, metrics and their libraries.
    const { runService } = await import("#daemon/service.ts");
    // Exits the process once the service has stopped, even if a library keeps a handle open.
    await endProcess(await runService(await load(), { settingsFile: settings }, { mask }));
  });
}

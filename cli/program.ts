import completeOnTab from "@bomb.sh/tab/commander";
import type { Command } from "@commander-js/extra-typings";
import type { Command as UntypedCommand } from "commander";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createAdoptCommand, createRestartCommand, createResumeCommand } from "./commands/control-commands.ts";
import { createConfigCommand } from "./commands/config-command.ts";
import { createContractsCommand } from "./commands/contracts-command.ts";
import { createDoctorCommand } from "./commands/doctor-command.ts";
import { createLedgerCommand } from "./commands/ledger-command.ts";
import { createPayCommand } from "./commands/pay-command.ts";
import { createRestoreCommand, createVolumeSnapshotCommand } from "./commands/job-commands.ts";
import { addService, helperNames, productNames } from "./commands/service-commands.ts";
import { createUpgradeCommand } from "./commands/upgrade-command.ts";
import { createStatusCommand } from "./commands/status-command.ts";
import { createStackCommand } from "./commands/stack-command.ts";
import { completeProgram, createEmptyProgram } from "./service-program.ts";

/** Creates the whole command line. `mask` contains the secrets that no command may print. */
export function createProgram({ mask }: Readonly<{ mask: Mask }>): UntypedCommand {
  const program = createEmptyProgram();
  program.addCommand(createStackCommand());
  for (const name of productNames) addService(program, name, mask);
  program.addCommand(createStatusCommand({ mask }));
  program.addCommand(createDoctorCommand({ mask }));
  program.addCommand(createAdoptCommand({ mask }));
  program.addCommand(createResumeCommand({ mask }));
  program.addCommand(createRestartCommand({ mask }));
  program.addCommand(createUpgradeCommand({ mask }));
  program.addCommand(createRestoreCommand({ mask }));
  program.addCommand(createConfigCommand({ mask }));
  program.addCommand(createContractsCommand({ mask }));
  program.addCommand(createPayCommand({ mask }));
  program.addCommand(createLedgerCommand({ mask }));
  program.addCommand(createVolumeSnapshotCommand({ mask }), { hidden: true });
  for (const name of helperNames) addService(program, name, mask);
  groupCommands(program);
  // The typed commands are commander's own objects.
  addCompletion(program as unknown as UntypedCommand);
  return completeProgram(program);
}

const commandGroups: Readonly<Record<string, readonly string[]>> = {
  "Start:": ["stack", "sidecar", "gateway", "facilitator", "resource-server"],
  "Watch:": ["status", "doctor"],
  "Change:": ["adopt", "resume", "restart", "upgrade", "restore"],
  "Deploy:": ["config", "contracts"],
  "Pay:": ["pay", "ledger"],
};

function groupCommands(program: Command): void {
  for (const [heading, names] of Object.entries(commandGroups)) {
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);
  }
}

/** Adds the command that prints completion scripts; `--help` mentions it at the end, not in the list of commands. */
function addCompletion(program: UntypedCommand): void {
  completeOnTab(program, { completionCommandName: "completion" });
  const help = program.createHelp();
  program.configureHelp({
    visibleCommands: (command) => help.visibleCommands(command).filter((each) => each.name() !== "completion"),
  });
}

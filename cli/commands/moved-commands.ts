import { Command } from "@commander-js/extra-typings";

/** Commands that are another's subcommand or option now. */
const movedCommands: Readonly<Record<string, string>> = {
  lint: "config lint",
  plan: "config plan",
  refund: "ledger refund",
  dashboard: "status --page",
};

/** Makes a moved command's old name fail with the new one. */
export function addMovedCommands(program: Command): void {
  for (const [name, now] of Object.entries(movedCommands)) {
    const moved = new Command(name).argument("[args...]").allowUnknownOption().helpOption(false);
    moved.action((_args, _options, command) => command.error(`gatehouse ${name} is now: gatehouse ${now}`));
    program.addCommand(moved, { hidden: true });
  }
}

import { watchOutput } from "#daemon/command-line/lost-output.ts";
import { maskUncaughtErrors } from "#daemon/process/end-process.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { isServiceCommand } from "./commands/service-commands.ts";
import { createServiceProgram } from "./service-program.ts";
import { completeFileWrites } from "./terminal.ts";

/** Secrets that this process must not print, for any command. */
const mask = createMask();
maskUncaughtErrors(mask);
completeFileWrites(process.stdout);
const reportLostOutput = watchOutput(process.stdout);
process.once("exit", reportLostOutput);
const [, , name = ""] = process.argv;
// A service loads no other command: it stays in memory.
const program = isServiceCommand(name)
  ? createServiceProgram(name, { mask })
  : (await import("./program.ts")).createProgram({ mask });
program.hook("preAction", (_, command) => {
  // A service whose log can't be written keeps serving, and its log reports that.
  if (isServiceCommand(command.name())) process.off("exit", reportLostOutput);
});
await program.parseAsync();

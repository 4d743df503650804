import { maskUncaughtErrors } from "#daemon/process/end-process.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { isServiceCommand } from "./commands/service-commands.ts";
import { createProgram } from "./program.ts";
import { completeFileWrites, watchOutput } from "./terminal.ts";

/** Secrets that this process must not print, for any command. */
const mask = createMask();
maskUncaughtErrors(mask);
completeFileWrites(process.stdout);
const reportLostOutput = watchOutput(process.stdout);
process.once("exit", reportLostOutput);
const program = createProgram({ mask });
program.hook("preAction", (_, command) => {
  // A service whose log can't be written keeps serving, and its log reports that.
  if (isServiceCommand(command.name())) process.off("exit", reportLostOutput);
});
await program.parseAsync();

import { isSea } from "node:sea";
import type { Command } from "commander";

/** Commands that run the devnet, whose chain is a native program of an npm package. */
const devnetCommands: ReadonlySet<string> = new Set(["stack", "devnet"]);

/** Has the single executable refuse, in one line, the commands that need what is not in it. */
export function refuseLeftOut(program: Command): void {
  if (!isSea()) return;
  program.hook("preAction", (_, command) => {
    const name = command.name();
    if (!devnetCommands.has(name)) return;
    const without = `${name}: this executable has no anvil in it, which the devnet runs`;
    command
      .showHelpAfterError(false)
      .error(`${without}; run it in a clone, or install the npm package with @foundry-rs/anvil.`);
  });
}

import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/mask.ts";
import { confirmed } from "./confirmed.ts";
import { controlTarget, addControlOptions } from "./control-target.ts";
import { terminalOutput } from "./terminal-output.ts";

/** Makes `gatehouse adopt`: shows what a sidecar would change at a node that it meets for the first time, and lets it. */
export function adoptCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("adopt")
    .summary("Show what the sidecar would change at a node that is new to it, and let it act")
    .description(
      "Asks the running sidecar for its plan, shows it, and lets the sidecar act on this node from now on once you agree. Exits 0 when it may act.",
    );
  return addControlOptions(command)
    .option("--yes", "agree without being asked", false)
    .action(async ({ yes, ...options }) => {
      const target = controlTarget("adopt", options, { mask });
      if (target === undefined) return;
      const { adoptCommand: run } = await import("#sidecar/upkeep/control/adopt-command.ts");
      const confirm = process.stdin.isTTY ? confirmed : undefined;
      process.exitCode = await run(target, { yes, confirm }, terminalOutput({ mask }));
    });
}

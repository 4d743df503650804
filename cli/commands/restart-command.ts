import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { askToConfirm, createTerminalOutput } from "../terminal.ts";
import { addControlOptions } from "./option-values.ts";

/** Creates `gatehouse restart`: makes a sidecar restart its node safely. */
export function createRestartCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("restart")
    .summary("Restart the node through its sidecar; roll back if it does not recover")
    .description(
      "Requests a restart from the running sidecar. Like an automatic restart, it respects the node's stop timeout, is verified by an advancing height, and is rolled back to the last working node.conf if the node does not recover. It runs even if the restart budget is used up. Exits 0 when the sidecar accepted it, 1 when it did not or the restart was not confirmed.",
    );
  return addControlOptions(command)
    .option("--yes", "agree without asking for confirmation", false)
    .option(
      "--json",
      "one JSON document: { result: requested, shown, busy, paused, waits, observes or no-driver, waitsFor, node }; requests no confirmation",
      false,
    )
    .action(async ({ yes, json, ...options }) => {
      const { findControlTarget } = await import("./control-target.ts");
      const target = findControlTarget("restart", options, { mask });
      if (target === undefined) return;
      const { runRestartCommand: run } = await import("#sidecar/upkeep/control/restart-command.ts");
      const confirm = process.stdin.isTTY ? askToConfirm : undefined;
      process.exitCode = await run(target, { yes, json, confirm }, createTerminalOutput({ mask }));
    });
}

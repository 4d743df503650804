import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { askToConfirm, createTerminalOutput } from "../terminal.ts";
import { addControlOptions } from "./option-values.ts";

/** Creates `gatehouse adopt`: shows and approves the changes that a sidecar would make to a node that it doesn't manage yet. */
export function createAdoptCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("adopt")
    .summary("Show what the sidecar would change on a new node, and approve it")
    .description(
      "Shows the running sidecar's plan and, once you agree, lets the sidecar act on this node from now on. Exits 0 when it may act.",
    );
  return addControlOptions(command)
    .option("--yes", "agree without asking for confirmation", false)
    .option(
      "--json",
      "one JSON document, { result, view }: the sidecar, its plan and the result; requests no confirmation",
      false,
    )
    .action(async ({ yes, json, ...options }) => {
      const { findControlTarget } = await import("./control-target.ts");
      const target = findControlTarget("adopt", options, { mask });
      if (target === undefined) return;
      const { runAdoptCommand: run } = await import("#sidecar/upkeep/control/adopt-command.ts");
      const confirm = process.stdin.isTTY ? askToConfirm : undefined;
      process.exitCode = await run(target, { yes, json, confirm }, createTerminalOutput({ mask }));
    });
}

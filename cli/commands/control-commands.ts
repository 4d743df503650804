import { Command } from "@commander-js/extra-typings";
import type { CommandOutput } from "#daemon/command-line/command-output.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import type { ControlOptions } from "#sidecar/upkeep/control/control-options.ts";
import { createTerminalOutput, findConfirmation } from "../terminal.ts";
import type { findControlTarget } from "./control-target.ts";
import { addControlOptions } from "./option-values.ts";

type ControlTarget = NonNullable<ReturnType<typeof findControlTarget>>;

export async function runOnTarget(
  name: string,
  options: ControlOptions,
  mask: Mask,
  run: (target: ControlTarget, output: CommandOutput) => Promise<number>,
): Promise<void> {
  const { findControlTarget } = await import("./control-target.ts");
  const target = findControlTarget(name, options, { mask });
  if (target !== undefined) process.exitCode = await run(target, createTerminalOutput({ mask }));
}

const agree = ["--yes", "don't ask for confirmation", false] as const;

/** Creates `gatehouse adopt`: shows and approves the changes that a sidecar would make to a node that it doesn't manage yet. */
export function createAdoptCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("adopt")
    .summary("Show what the sidecar would change on a new node, and approve it")
    .description(
      "Shows the running sidecar's plan and, once you agree, lets the sidecar act on this node from now on. Exits 0 when it may act.",
    );
  return addControlOptions(command)
    .option(...agree)
    .option(
      "--json",
      "one JSON document, { result, view }: the sidecar, its plan and the result; asks for no confirmation",
      false,
    )
    .action(({ yes, json, ...options }) =>
      runOnTarget("adopt", options, mask, async (target, output) => {
        const { runAdoptCommand: run } = await import("#sidecar/upkeep/control/adopt-command.ts");
        return run(target, { yes, json, confirm: findConfirmation() }, output);
      }),
    );
}

export function createRestartCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("restart")
    .summary("Restart the node through its sidecar; roll back if it does not recover")
    .description(
      "Requests a restart from the running sidecar. Like an automatic restart, it respects the node's stop timeout, is verified by an advancing height, and is rolled back to the last working node.conf if the node does not recover. It runs even if the restart budget is used up. Exits 0 when the sidecar accepted the request, 1 when it did not or you did not confirm.",
    );
  return addControlOptions(command)
    .option(...agree)
    .option(
      "--json",
      "one JSON document: { result: requested, shown, busy, paused, waits, observes or no-driver, waitsFor, node }; asks for no confirmation",
      false,
    )
    .action(({ yes, json, ...options }) =>
      runOnTarget("restart", options, mask, async (target, output) => {
        const { runRestartCommand: run } = await import("#sidecar/upkeep/control/restart-command.ts");
        return run(target, { yes, json, confirm: findConfirmation() }, output);
      }),
    );
}

/** Creates `gatehouse resume`: lifts the pause that the sidecar set after a node failed to recover. */
export function createResumeCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("resume")
    .summary("Resume a sidecar that paused after a failed restart or upgrade")
    .description(
      "Resumes the running sidecar, once the cause is fixed. Exits 0 only when that sidecar reports that it has resumed or is not paused.",
    );
  return addControlOptions(command)
    .option("--json", "one JSON document: { result: lifted, none or busy, hold, next, node }", false)
    .action(({ json, ...options }) =>
      runOnTarget("resume", options, mask, async (target, output) => {
        const { runResumeCommand: run } = await import("#sidecar/upkeep/control/resume-command.ts");
        return run(target, output, { json });
      }),
    );
}

import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { addControlOptions } from "./option-values.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse resume`: lifts the pause that the sidecar set after a node failed to recover. */
export function createResumeCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("resume")
    .summary("Resume a sidecar that paused after a failed restart or upgrade")
    .description(
      "Resumes the running sidecar, once the cause is fixed. Exits 0 only when that sidecar reports that it has resumed or is not paused.",
    );
  return addControlOptions(command)
    .option("--json", "one JSON document: { result: lifted, none or busy, hold, next, node }", false)
    .action(async ({ json, ...options }) => {
      const { findControlTarget } = await import("./control-target.ts");
      const target = findControlTarget("resume", options, { mask });
      if (target === undefined) return;
      const { runResumeCommand: run } = await import("#sidecar/upkeep/control/resume-command.ts");
      process.exitCode = await run(target, createTerminalOutput({ mask }), { json });
    });
}

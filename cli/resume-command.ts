import { Command } from "@commander-js/extra-typings";
import { commandSidecarSettings } from "./sidecar-settings.ts";
import { terminalOutput } from "./terminal-output.ts";

/** Makes `gatehouse resume`: lets the sidecar act again after a node that did not come back. */
export function resumeCommand() {
  return new Command("resume")
    .summary("Lift the hold that the sidecar set when the node did not come back")
    .description(
      "Run it where the sidecar's state is, with the sidecar's settings, once the cause is mended. Exits 0 when no hold is in force any more.",
    )
    .option("--settings <file>", "JSON5 file with the sidecar's settings; environment variables win over it")
    .action(async ({ settings: file }) => {
      const settings = commandSidecarSettings(file);
      if (settings === undefined) return;
      const { resumeCommand: run } = await import("#sidecar/upkeep/resume-command.ts");
      process.exitCode = run({ stateDirectory: settings.upkeep.stateDirectory }, terminalOutput());
    });
}

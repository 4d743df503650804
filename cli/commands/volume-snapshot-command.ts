import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { volumeSnapshotSettings } from "#sidecar/volume-snapshot/settings.ts";
import { formatSettingsHelp } from "../settings-help.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse volume-snapshot`, which a CronJob runs in the cluster. */
export function createVolumeSnapshotCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("volume-snapshot")
    .summary("Take a snapshot of a node's volume on Kubernetes, and keep the last ones")
    .description(
      "Requests a VolumeSnapshot of a claim from the cluster, and deletes the oldest that it made beyond the number that is kept. Exits 0 when it is taken, 1 when the API server refuses.",
    )
    .option("--settings <file>", "JSON5 file with the settings; environment variables win over it")
    .option("--json", "one JSON document: { result: taken, claim, name, deleted }", false)
    .addHelpText("after", () => formatSettingsHelp(volumeSnapshotSettings, "all"))
    .action(async ({ settings, json }) => {
      const { runVolumeSnapshotCommand: run } = await import("#sidecar/volume-snapshot/volume-snapshot-command.ts");
      const { out, error } = createTerminalOutput({ mask });
      const sources = { env: process.env, settingsFile: settings };
      process.exitCode = await run({ ...sources, json }, { signal: createStopSignal(), out, error, mask });
    });
}

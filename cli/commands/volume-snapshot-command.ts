import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse volume-snapshot`, which a CronJob runs in the cluster. */
export function createVolumeSnapshotCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("volume-snapshot")
    .summary("Take a snapshot of a node's volume on Kubernetes, and delete old ones")
    .description(
      "Creates a VolumeSnapshot of a claim, and deletes the oldest of its own beyond the number to retain. Exits 0 when the snapshot was created, 1 when the API server rejects it.",
    )
    .option("--settings <file>", "JSON5 file with the settings; environment variables win over it")
    .option("--json", "one JSON document: { result: taken, claim, name, deleted }", false)
    .action(async ({ settings, json }) => {
      const { runVolumeSnapshotCommand: run } = await import("#sidecar/volume-snapshot/volume-snapshot-command.ts");
      const { out, error } = createTerminalOutput({ mask });
      const sources = { env: process.env, settingsFile: settings };
      process.exitCode = await run({ ...sources, json }, { signal: createStopSignal(), out, error, mask });
    });
}

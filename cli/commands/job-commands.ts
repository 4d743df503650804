import { Command } from "@commander-js/extra-typings";
import { endProcess } from "#daemon/process/end-process.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { createTerminalOutput } from "../terminal.ts";

const settingsOption = [
  "--settings <file>",
  "JSON5 file with the settings; environment variables override it",
] as const;

/** Creates `gatehouse restore`: fills an empty data directory before a node's first start. */
export function createRestoreCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("restore")
    .summary("Fill an empty data directory from a snapshot")
    .description(
      "Downloads an archive with a checksum, unpacks it next to the data directory and moves it into place atomically. An interrupted run is continued by the next one; a directory that contains data is left unchanged. Exits 0 when there is data, 1 when it could not be restored.",
    )
    .option(...settingsOption)
    .option("--json", "one JSON document at the end: { result, dataPath }", false)
    .action(async ({ settings: settingsFile, json }) => {
      const { runRestoreCommand: run } = await import("#sidecar/restore/restore-command.ts");
      const dependencies = { signal: createStopSignal(), ...createTerminalOutput({ mask }), mask };
      // An aborted download may still keep a connection open.
      await endProcess(await run({ env: process.env, settingsFile, json }, dependencies));
    });
}

/** Creates `gatehouse volume-snapshot`, which a CronJob runs in the cluster. */
export function createVolumeSnapshotCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("volume-snapshot")
    .summary("Take a snapshot of a node's volume on Kubernetes, and delete old ones")
    .description(
      "Creates a VolumeSnapshot of a PVC, and deletes its own oldest snapshots beyond the number to retain. Exits 0 when the snapshot was created, 1 when the API server rejects it.",
    )
    .option(...settingsOption)
    .option("--json", "one JSON document: { result: taken, claim, name, deleted }", false)
    .action(async ({ settings: settingsFile, json }) => {
      const { runVolumeSnapshotCommand: run } = await import("#sidecar/volume-snapshot/volume-snapshot-command.ts");
      const dependencies = { signal: createStopSignal(), ...createTerminalOutput({ mask }), mask };
      process.exitCode = await run({ env: process.env, settingsFile, json }, dependencies);
    });
}

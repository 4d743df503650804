import { Command } from "@commander-js/extra-typings";
import { endProcess } from "#daemon/process/end-process.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse restore`: fills an empty data directory before a node's first start. */
export function createRestoreCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("restore")
    .summary("Fill an empty data directory from a snapshot")
    .description(
      "Downloads an archive with a checksum, unpacks it next to the data directory and moves it into place atomically. An interrupted run is continued by the next one; a directory that contains data is left unchanged. Exits 0 when there is data, 1 when it could not be restored.",
    )
    .option("--settings <file>", "JSON5 file with the settings; environment variables win over it")
    .option("--json", "one JSON document at the end: { result, dataPath }", false)
    .action(async ({ settings: settingsFile, json }) => {
      const { runRestoreCommand: run } = await import("#sidecar/restore/restore-command.ts");
      const signal = createStopSignal();
      const { out, error } = createTerminalOutput({ mask });
      // An aborted download may still keep a connection open.
      await endProcess(await run({ env: process.env, settingsFile, json }, { signal, out, error, mask }));
    });
}

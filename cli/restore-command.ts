import { Command } from "@commander-js/extra-typings";
import { endProcess } from "#daemon/end-process.ts";
import type { Mask } from "#daemon/mask.ts";
import { stopSignal } from "#daemon/stop-signal.ts";
import { restoreSettings } from "#sidecar/restore/settings.ts";
import { formatSettingsHelp } from "./settings-help.ts";
import { createTerminalOutput } from "./terminal-output.ts";

/** Creates `gatehouse restore`: fills an empty data directory from a snapshot, before a node's first start. */
export function createRestoreCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("restore")
    .summary("Fill a node's empty data directory from a snapshot, before its first start")
    .description(
      "Downloads an archive with a checksum, unpacks it beside the data directory and puts it in place at once. A run that was ended at any instant is gone on with by the next one; a directory that holds anything is left as it is. Exits 0 when there are data, 1 when they could not be restored.",
    )
    .option("--settings <file>", "JSON5 file with the settings; environment variables win over it")
    .addHelpText("after", () => formatSettingsHelp(restoreSettings, "all"))
    .action(async ({ settings }) => {
      const { runRestoreCommand: run } = await import("#sidecar/restore/restore-command.ts");
      const signal = stopSignal();
      const { error } = createTerminalOutput({ mask });
      // A download that was given up may still hold a connection open.
      await endProcess(await run({ env: process.env, settingsFile: settings }, { signal, error, mask }));
    });
}

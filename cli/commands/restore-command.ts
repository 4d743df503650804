import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { endProcess } from "#daemon/process/end-process.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { restoreSettings } from "#sidecar/restore/settings.ts";
import type { ControlOptions } from "#sidecar/upkeep/control/control-options.ts";
import { askToConfirm, createTerminalOutput } from "../terminal.ts";
import { findControlTarget } from "./control-target.ts";
import { formatSettingsHelp } from "../settings-help.ts";

/** Creates `gatehouse restore`: fills an empty data directory before a node's first start, or makes a sidecar restore its node's data. */
export function createRestoreCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("restore")
    .summary("Fill an empty data directory from a snapshot, or restore a guarded node's data")
    .description(
      "Downloads an archive with a checksum, unpacks it next to the data directory and moves it into place atomically. An interrupted run is continued by the next one; a directory that contains data is left unchanged. Exits 0 when there is data, 1 when it could not be restored. With --snapshot the running sidecar does it instead: it stops its node, replaces the data with a copy of the snapshot, starts and verifies the node, and rolls back otherwise.",
    )
    .option(
      "--settings <file>",
      "JSON5 file with the settings (with --snapshot those of the sidecar); environment variables win over it",
    )
    .option(
      "--snapshot [path]",
      "restore a node's data from a directory or a tar archive on the sidecar's machine; without a path: from the copy that the last upgrade kept",
    )
    .option("--dry-run", "with --snapshot: show the steps, and do nothing", false)
    .option("--yes", "with --snapshot: agree without asking for confirmation", false)
    .option(
      "--json",
      "one JSON document at the end: { result, dataPath }, or with --snapshot { result, plan, node, upgrade }; requests no confirmation",
      false,
    )
    .option(
      "--state-directory <path>",
      "with --snapshot: the sidecar's state directory, as shown on its page and in its log",
    )
    .option("--url <url>", "with --snapshot: the sidecar's status listener, where upkeep.controlToken is set")
    .option("--token-file <path>", "file with that token; default: GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN")
    .addHelpText("after", () => formatSettingsHelp(restoreSettings, "all"))
    .action(async ({ snapshot, dryRun, yes, json, ...options }) => {
      if (snapshot !== undefined) {
        const path = snapshot === true ? undefined : resolve(snapshot);
        process.exitCode = await restoreData({ snapshot: path, dryRun, yes, json }, options, mask);
        return;
      }
      const { runRestoreCommand: run } = await import("#sidecar/restore/restore-command.ts");
      const signal = createStopSignal();
      const { out, error } = createTerminalOutput({ mask });
      const sources = { env: process.env, settingsFile: options.settings };
      // An aborted download may still keep a connection open.
      await endProcess(await run({ ...sources, json }, { signal, out, error, mask }));
    });
}

async function restoreData(
  choices: Readonly<{ snapshot: string | undefined; dryRun: boolean; yes: boolean; json: boolean }>,
  options: ControlOptions,
  mask: Mask,
): Promise<number> {
  const target = findControlTarget("restore", options, { mask });
  if (target === undefined) return 1;
  const { runRestoreDataCommand: run } = await import("#sidecar/upkeep/control/restore-data-command.ts");
  const confirm = process.stdin.isTTY ? askToConfirm : undefined;
  return run(target, { ...choices, confirm }, createTerminalOutput({ mask }));
}

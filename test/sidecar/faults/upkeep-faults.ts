import { chmod, rm, symlink, writeFile } from "node:fs/promises";
import { writeOwnedConfig } from "../../support/node/owned-node.ts";
import type { Fault, FaultyNode } from "./fault.ts";

/** Replaces node_cli with another program. */
const toolIs =
  (script: string) =>
  async ({ node }: FaultyNode) => {
    const path = node.programs.tool;
    await rm(path);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
  };

const tool = (what: string, reason: string, reads: string, strike: NonNullable<Fault["strike"]>): Fault => ({
  what,
  strike,
  condition: ["Pruning", reason],
  reads,
});

/** Faults of the sidecar's tools: node_cli, the data disk. */
export const upkeepFaults: readonly Fault[] = [
  tool(
    "node_cli does not exist",
    "NotFound",
    "…/node_cli does not exist; correct the program's path, or install it there.",
    ({ node }) => rm(node.programs.tool),
  ),
  tool(
    "node_cli is not executable",
    "NotExecutable",
    "…/node_cli can't be executed (EACCES); run chmod +x on it.",
    ({ node }) => chmod(node.programs.tool, 0o644),
  ),
  tool(
    "node_cli is a circular link",
    "Failed",
    "…/node_cli can't be run (ELOOP): it is a circular link; `ls -l …/node_cli` shows it. Replace it with the program.",
    async ({ node }) => {
      const path = node.programs.tool;
      await rm(path);
      await symlink(path, path);
    },
  ),
  tool(
    "node_cli hangs",
    "TimedOut",
    "…/node_cli did not finish within 3000 ms and was killed; run it manually to see why.",
    toolIs("exec sleep 600"),
  ),
  tool(
    "node_cli fails",
    "Failed",
    "…/node_cli exited with status 3: out of order",
    toolIs("echo out of order >&2; exit 3"),
  ),
  tool(
    "node_cli prints something other than PruneInfo",
    "UnexpectedOutput",
    "node_cli prune --get printed",
    toolIs("echo hello"),
  ),
  tool(
    "node_cli prints endlessly",
    "TooMuchOutput",
    "…/node_cli printed more than the limit of 65536 bytes and was killed; check that it is the right program.",
    toolIs("exec yes"),
  ),
  {
    what: "node_cli claims to enable auto-pruning but does not",
    prepare: toolIs('echo "enable_auto_prune: 0"; echo "auto_prune_reserved_window: 100000"'),
    condition: ["Pruning", "EnableFailed"],
    reads:
      "`node_cli prune --c …/node.conf --enable_auto_prune` exited with status 0, but enable_auto_prune is not 1; run it manually to see why.",
  },
  {
    what: "Auto-pruning is off while the sidecar only observes",
    settings: () => ({ GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe" }),
    condition: ["Pruning", "Disabled"],
    reads:
      "Auto-pruning is off, and upkeep.mode is observe: enable it with `node_cli prune --c …/node.conf --enable_auto_prune`.",
  },
  {
    what: "The disk of the node's data is nearly full",
    settings: () => ({ GATEHOUSE_SIDECAR_HEALTH_DISK_FREE_RATIO: "1" }),
    condition: ["DiskSpaceSufficient", "Low"],
    reads: "… GiB (… %) are free at …. Expand the disk, or check that auto-pruning is on and advances.",
  },
  {
    what: "The node's data directory can't be read",
    settings: () => ({ GATEHOUSE_SIDECAR_NODE_DATA_PATH: "/nowhere" }),
    condition: ["DiskSpaceSufficient", "ReadFailed"],
    reads: "The node's data directory /nowhere can't be read (ENOENT); set node.dataPath, or mount it in the sidecar.",
  },
  {
    what: "node.conf was edited, but no driver may restart the node",
    strike: ({ node }) =>
      writeFile(node.configPath, writeOwnedConfig(node.workspace, "node-7").replace('"18100"', '"18101"')),
    condition: ["NoRestartPending", "NoDriver"],
    reads: "A restart is pending (…); restart.driver is none, so restart it manually.",
  },
];

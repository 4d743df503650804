import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { mountHangingDisk } from "#sidecar/testing/small-disk.ts";
import type { Fault, StruckNode } from "./fault.ts";

const seenData = ({ workspace }: StruckNode["node"]) => join(workspace, "seen-data");

/** File systems that do not answer any more. */
export const hangingFaults: readonly Fault[] = [
  {
    what: "The file system of node.conf hangs (NFS without its server)",
    mounts: true,
    settings: () => ({ GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none" }),
    strike: ({ node, resources }) => Promise.resolve(resources.use(mountHangingDisk(dirname(node.configPath)))),
    shown: {
      verdict: "unknown",
      condition: ["ConfigValid", "Hanging"],
      readyz: 200,
      reads:
        "…/node.conf can't be read: … has not come back since … (allowed: 2000 ms, upkeep.fileTimeoutMs): its file system hangs.",
    },
  },
  {
    what: "The file system of the node's data hangs, and that of node.conf does not",
    mounts: true,
    // The data are looked at four times in the second. The node itself reads elsewhere, so that it goes on.
    settings: async ({ node }) => {
      await mkdir(seenData(node));
      return {
        GATEHOUSE_SIDECAR_NODE_DATA_PATH: seenData(node),
        GATEHOUSE_SIDECAR_UPGRADE_AUTO_RESTORE_AFTER_MS: "1000",
      };
    },
    strike: ({ node, resources }) => Promise.resolve(resources.use(mountHangingDisk(seenData(node)))),
    shown: {
      verdict: "unknown",
      condition: ["DataSound", "NotLooked"],
      readyz: 200,
      reads:
        "The node's data can't be looked at: looking at …/seen-data has not come back since … (allowed: 2000 ms, upkeep.fileTimeoutMs): its file system hangs. See that its server or disk answers (stat -f, dmesg), or mount it again.",
    },
  },
];

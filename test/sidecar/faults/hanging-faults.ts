import { copyFile, mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { mountHangingDisk } from "#sidecar/testing/small-disk.ts";
import type { Fault, StruckNode } from "./fault.ts";

const seenData = ({ workspace }: StruckNode["node"]) => join(workspace, "seen-data");

/**
 * Directory of node.conf. If that is the whole workspace, which the node itself reads, another path of its family is
 * used.
 */
const findConfigDirectory = ({ workspace, configPath }: StruckNode["node"]) =>
  dirname(configPath) === workspace ? join(workspace, "conf") : dirname(configPath);

/** File systems that do not respond any more. */
export const hangingFaults: readonly Fault[] = [
  {
    what: "The file system of node.conf hangs (NFS without its server)",
    mounts: true,
    settings: async ({ node }) => {
      const path = join(findConfigDirectory(node), basename(node.configPath));
      await mkdir(dirname(path), { recursive: true });
      if (path !== node.configPath) await copyFile(node.configPath, path);
      return { GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none", GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: path };
    },
    strike: ({ node, resources }) => Promise.resolve(resources.use(mountHangingDisk(findConfigDirectory(node)))),
    shown: {
      verdict: "unknown",
      condition: ["ConfigReconciled", "Unresponsive"],
      readyz: 200,
      reads: "…/node.conf can't be read: … has hung since … (limit: 2000 ms): the file system does not respond.",
    },
  },
  {
    what: "The file system of the node's data hangs, and that of node.conf does not",
    mounts: true,
    // The data is checked once in sixty checks of the RPC. The node itself reads elsewhere, so it continues.
    settings: async ({ node }) => {
      await mkdir(seenData(node));
      return {
        GATEHOUSE_SIDECAR_NODE_DATA_PATH: seenData(node),
        GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "20",
      };
    },
    strike: ({ node, resources }) => Promise.resolve(resources.use(mountHangingDisk(seenData(node)))),
    shown: {
      verdict: "unknown",
      condition: ["DataIntact", "NotInspected"],
      readyz: 200,
      reads:
        "The node's data can't be read: checking …/seen-data has hung since … (limit: 2000 ms): the file system does not respond. Check its server or disk (stat -f, dmesg), or remount it.",
    },
  },
];

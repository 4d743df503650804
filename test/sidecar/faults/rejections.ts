import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createWriterLock } from "#sidecar/upkeep/config/writer-lock.ts";
import type { Rejection } from "./fault.ts";

/** Faults that keep the sidecar from starting. */
export const rejections: readonly Rejection[] = [
  {
    what: "A different sidecar manages the node",
    settings: ({ node, resources }) => {
      const lock = resources.use(createWriterLock(node.configPath));
      lock.acquire();
      return Promise.resolve({ GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" });
    },
    reads:
      "another process manages …/node.conf (process … on host …, since …Z, holds …/.node.conf.lock); stop it: only one process may write the file.",
  },
  {
    what: "A different program uses the gateway's port",
    settings: async ({ resources }) => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      resources.defer(() => void server.close());
      return { GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: String((server.address() as AddressInfo).port) };
    },
    reads: "port … on 127.0.0.1 is in use; ",
  },
  {
    what: "The state directory can't be created",
    settings: () => Promise.resolve({ GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: "/dev/null/state" }),
    reads:
      "the state directory /dev/null/state can't be created (ENOTDIR); set GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY to a directory that this user can write to.",
  },
];

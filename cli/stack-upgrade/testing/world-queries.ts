import type { SidecarStatus, StackQueries } from "../node-status.ts";
import { names, newImage, oldBlock, type WorldParts } from "./world-state.ts";

export function createWorldQueries({ state, newVersion, time, meet }: WorldParts): StackQueries {
  return {
    checkNode: async () => {
      const node = state.containers.get(names.node);
      const isNew = node?.image === newImage;
      if (state.containers.get(names.sidecar)?.running !== true) return { ok: false, message: "no sidecar responds" };
      state.checkCount += 1;
      const isQuiet = time.clock.monotonicMs() < state.nodeStartedMs + state.quietMs;
      const isResponding = node?.running === true && !(isNew && newVersion === "silent") && !isQuiet;
      const binaryVersion = isNew && newVersion !== "another version" ? "0.17.0" : "0.16.2";
      const types = ["RpcResponding", "ConfigReconciled", "NoRestartPending", "VersionConsistent"];
      const said: SidecarStatus = {
        node: {
          answers: isResponding,
          height: 101 + state.checkCount,
          ...(newVersion === "reports no version" ? {} : { binaryVersion }),
        },
        conditions: types.map((type) => ({
          type,
          status: isResponding ? "True" : "False",
          reason: "Said",
          message: type,
        })),
      };
      meet("look");
      return { ok: true, said };
    },
    blockHash: async (number) => (state.live[0] === oldBlock ? `hash of ${number}` : "another hash"),
    peers: async () => 3,
  };
}

import type { StackRecord } from "../stack-record.ts";
import type { NodeAdapter } from "../stopped-node.ts";
import { buildNames } from "./docker-names.ts";
import type { Engine } from "./engine.ts";
import { runWorkspaceJob } from "./workspace-job.ts";

/** Exit status of a killed process (128 + SIGKILL). */
const killedStatus = 137;

/** Creates the adapter for a node in a container, whose data is copied within its volume. */
export function createDockerNode(engine: Engine): NodeAdapter {
  const inspect = async (record: StackRecord) => (await engine.inspect(buildNames(record).node))?.State;
  // Otherwise the sidecar would restart the node, which doesn't respond while its data is copied.
  const stop = async (record: StackRecord) => {
    const { node, sidecar } = buildNames(record);
    await engine.stop(sidecar);
    await engine.stop(node);
  };
  const work = (record: StackRecord, action: "copy" | "restore") =>
    runWorkspaceJob(record, action, { engine, withinMs: record.limits.copyMs });
  return {
    name: (record) => buildNames(record).node,
    see: async (record) => {
      const state = await inspect(record);
      return { isStopped: state?.Running !== true, lastStart: state?.StartedAt };
    },
    end: async (record) => {
      await stop(record);
      const state = await inspect(record);
      if (state === undefined) return "unknown";
      return state.ExitCode === killedStatus || state.OOMKilled ? "killed" : "by itself";
    },
    stop,
    copyData: (record) => work(record, "copy"),
    restoreData: (record) => work(record, "restore"),
    explainSpoiled: (record) => {
      const { node, volume } = buildNames(record);
      const path = `.gatehouse-upgrade/${record.id}`;
      return `${node} was started while the old data were put back into ${volume}: they may not be whole. What was not put back yet is in ${path}/copy on that volume, what made way for it in ${path}/aside. Stop the node, look at them, or let it sync from nothing; to go on is to put back the rest of the copy, and to take the data as they are then`;
    },
  };
}

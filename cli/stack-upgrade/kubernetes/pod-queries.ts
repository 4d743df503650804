import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import { nodeCheckSchema, type StackQueries } from "../node-status.ts";
import { explainMissingProgram } from "../workspace-report.ts";
import { PlatformError } from "../stack-platform.ts";
import type { Cluster } from "./kubectl.ts";
import { names } from "./kubernetes-names.ts";

/** Program in the sidecar's image that sends the queries. Its path must not change, because the image may be from an earlier release. */
const program = "/app/cli/stack-upgrade/ask-node.main.ts";

/** Queries from within the sidecar's pod, which no network policy of the namespace can prevent. */
export function createPodQueries(cluster: Pick<Cluster, "exec">): StackQueries {
  const query = async <T>(shape: z.ZodType<T>, ...args: readonly string[]) => {
    try {
      const programOutput = await cluster.exec(names.pod, names.sidecar, ["node", program, ...args]);
      const message = `${program} printed something unexpected in the pod ${names.pod}`;
      return { data: shape.safeParse(parseJson(programOutput)).data, message };
    } catch (error) {
      // A pod that was removed or isn't running yet counts as not responding.
      if (!(error instanceof PlatformError)) throw error;
      const missingProgram = explainMissingProgram(error.message, program);
      return {
        data: undefined,
        message: missingProgram ?? `the sidecar can't be queried in its pod: ${error.message}`,
      };
    }
  };
  return {
    checkNode: async () => {
      const { data, message } = await query(nodeCheckSchema, "look");
      return data ?? { ok: false, message };
    },
    blockHash: async (number) => (await query(z.string(), "block", String(number))).data,
    peers: async () => (await query(z.number(), "peers")).data,
  };
}

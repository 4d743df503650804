import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import { looked, type StackQueries } from "../node-status.ts";
import { explainMissingProgram } from "../workspace-report.ts";
import { PlatformError } from "../stack-platform.ts";
import type { Cluster } from "./cluster.ts";
import { names } from "./kubernetes-names.ts";

/** Program in the sidecar's image that sends the queries. Its path must not change: the image may be from an earlier release. */
const program = "/app/cli/stack-upgrade/ask-node.main.ts";

/**
 * Creates the queries for a stack on Kubernetes. They reach the sidecar from within its own pod, regardless of the namespace's network
 * policies, and the node through that pod's gateway.
 */
export function createPodQueries(cluster: Pick<Cluster, "exec">): StackQueries {
  const query = async (...words: readonly string[]) => {
    const printed = await cluster.exec({ pod: names.pod, container: names.sidecar }, ["node", program, ...words]);
    return parseJson(printed);
  };
  const queryIfThere = async <T>(shape: z.ZodType<T>, ...words: readonly string[]) => {
    try {
      return shape.safeParse(await query(...words)).data;
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      return undefined;
    }
  };
  return {
    look: async () => {
      try {
        const read = looked.safeParse(await query("look"));
        if (read.success) return read.data;
        return { ok: false, message: `${program} printed something unexpected in the pod ${names.pod}` };
      } catch (error) {
        // A pod that was removed or isn't running yet counts as not responding.
        if (error instanceof PlatformError) return { ok: false, message: explain(error) };
        throw error;
      }
    },
    blockHash: (number) => queryIfThere(z.string(), "block", String(number)),
    peers: () => queryIfThere(z.number(), "peers"),
  };
}

function explain({ message }: PlatformError): string {
  return explainMissingProgram(message, program) ?? `the sidecar can't be queried in its pod: ${message}`;
}

import { z } from "zod";
import { createNodeRpc, type NodeRpc } from "#sidecar/upgrade/node-rpc.ts";
import { identifyProgram, knownCommits, listImageCommits, parseBinaryVersion } from "#node/versions.ts";
import { requestStatus } from "#status/request-status.ts";

const statusShape = z.object({
  node: z.object({ answers: z.boolean(), height: z.number().optional(), binaryVersion: z.string().optional() }),
  conditions: z.array(z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() })),
});

export type SidecarStatus = Readonly<z.output<typeof statusShape>>;

export const nodeCheckSchema = z.discriminatedUnion("ok", [
  z.object({ ok: z.literal(true), said: statusShape }),
  z.object({ ok: z.literal(false), message: z.string() }),
]);

/** Queries to a running stack; queries to the node go through the gateway. */
export type StackQueries = NodeRpc & Readonly<{ checkNode: () => Promise<Readonly<z.output<typeof nodeCheckSchema>>> }>;

/** Creates the queries for a stack: to its sidecar's status listener, and to the node through the public gateway. */
export function createStackQueries(statusUrl: string, rpcUrl: string): StackQueries {
  return {
    checkNode: async () => {
      const reportedStatus = await requestStatus(statusUrl, statusShape);
      return reportedStatus.ok ? { ok: true, said: reportedStatus.status } : reportedStatus;
    },
    ...createNodeRpc(rpcUrl),
  };
}

export function findCondition({ conditions }: SidecarStatus, type: string) {
  return conditions.find((condition) => condition.type === type);
}

export function hasCondition(nodeStatus: SidecarStatus, type: string): boolean {
  return findCondition(nodeStatus, type)?.status === "True";
}

/** Returns the version that the running node reports, or that matches its reported commit; undefined if it reports none. Pure. */
export function readReportedVersion({ node }: SidecarStatus, image: string) {
  const commits = { ...knownCommits, ...listImageCommits(image) };
  return node.answers ? identifyProgram(node.binaryVersion, parseBinaryVersion, commits)?.version : undefined;
}

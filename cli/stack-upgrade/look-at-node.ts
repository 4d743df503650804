import type { Pause } from "#daemon/time.ts";
import { parseNodeVersion } from "#node/versions.ts";
import { findCondition, readReportedVersion, type SidecarLook, type StackQueries } from "./node-status.ts";
import type { StackPlace } from "./stack-place.ts";

export type LookAtNodeDependencies = Readonly<{
  queries: Pick<StackQueries, "look">;
  pause: Pause;
  signal: AbortSignal;
}>;

/** Latest status of a node from its sidecar, and problems that keep it from an upgrade. */
export type NodeLook = Readonly<{ said: SidecarLook | undefined; problems: readonly string[] }>;

/** Most looks at a node that is not well before an upgrade is refused; its sidecar looks more often. */
const looksMax = 4;
const betweenLooksMs = 5_000;

/** Reads a node's status until it has no problems, a few times: a busy node may miss one answer and still be well. */
export async function lookAtNode(
  place: StackPlace,
  { queries, pause, signal }: LookAtNodeDependencies,
): Promise<NodeLook> {
  for (let looks = 1; ; looks += 1) {
    const looked = await queries.look();
    const said = looked.ok ? looked.said : undefined;
    const problems = looked.ok ? [...findNodeProblems(looked.said, place)] : [looked.message];
    if (problems.length === 0 || looks >= looksMax || signal.aborted) return { said, problems };
    await pause(betweenLooksMs, signal);
  }
}

/** Conditions that must not be False before an upgrade: only a node that runs well now can be judged worse afterwards. */
const needed = ["RpcAnswering", "ConfigValid", "ConfigCurrent", "RestartSettled", "VersionAgreed", "Unheld"] as const;

function* findNodeProblems(said: SidecarLook, { from }: StackPlace): Generator<string> {
  if (!said.node.answers || said.node.height === undefined) yield "the node does not answer";
  const reported = readReportedVersion(said, from.image);
  if (reported !== undefined && reported.release !== parseNodeVersion(from.version)?.release) {
    yield `the node runs as ${reported.text}, and the stack says ${from.version}; bring them together first`;
  }
  for (const type of needed) {
    const condition = findCondition(said, type);
    // Conditions are absent while a sidecar has nothing to report: no hold, no restart.
    if (condition?.status === "False") yield `${type}: ${condition.message}`;
  }
  for (const type of ["HeightAdvancing", "HeightCurrent"]) {
    const condition = findCondition(said, type);
    if (condition?.status === "False") yield `the node is not current: ${condition.message}`;
  }
  const upgrade = findCondition(said, "UpgradeProved");
  if (upgrade?.reason === "Upgrading") yield `an upgrade is under way: ${upgrade.message}`;
}

import { findConditionTitle, type Condition } from "./condition.ts";
import type { Incident } from "./incident.ts";
import { isUnattended, servesTraffic, type Verdict } from "./verdict.ts";

/** The first text on the page: a state in two or three words, followed by its cause and the sidecar's reaction in a sentence or two. */
export type Headline = Readonly<{ state: HeadlineState; cause: string }>;

type PausedState = "Paused after a failed restart" | "Paused after a failed upgrade";

export type HeadlineState =
  | "Healthy"
  | "Node down"
  | PausedState
  | "Waiting for your approval"
  | "Serving, with a fault"
  | "Upgrading the node"
  | "Restarting the node"
  | "Starting"
  | "Not reconciled"
  | "Partly unknown";

export function writeHeadline(
  verdict: Verdict,
  conditions: readonly Condition[],
  incidents: readonly Incident[],
): Headline {
  const serves = servesTraffic(conditions);
  const first = incidents[0];
  const why = first === undefined ? "" : describeCause(first);
  const doing = describeAction(conditions);
  const others = incidents.length > 1 ? ` ${incidents.length - 1} more below.` : "";
  switch (verdict.level) {
    case "healthy":
      return { state: "Healthy", cause: describeChecks(conditions) };
    case "down":
      return { state: "Node down", cause: `${why}${doing}${others}` };
    case "paused":
      return {
        state: serves ? findPausedState(conditions) : "Node down",
        cause: `${describeHold(serves)} ${why}${others}`,
      };
    case "waiting":
      return {
        state: "Waiting for your approval",
        cause: "The node serves. Gatehouse has changed nothing yet.",
      };
    case "working": {
      const isUpgrading = conditions.some(({ reason }) => reason === "Upgrading");
      const cause = serves ? "The node keeps serving." : "The node is not serving.";
      return {
        state: isUpgrading ? "Upgrading the node" : "Restarting the node",
        cause: `${cause} No action needed yet.`,
      };
    }
    case "degraded":
      return { state: "Serving, with a fault", cause: `${why}${others}` };
    case "unknown":
      return describeUnknown(verdict, conditions, `${why}${others}`);
  }
}

function findPausedState(conditions: readonly Condition[]): PausedState {
  const isUpgrade = conditions.some(({ type, status }) => type === "UpgradeVerified" && status === "False");
  return isUpgrade ? "Paused after a failed upgrade" : "Paused after a failed restart";
}

function describeHold(serves: boolean): string {
  const pausedText = "Gatehouse makes no changes until you resume it.";
  return serves ? `The node serves. ${pausedText}` : pausedText;
}

function describeUnknown({ awaited }: Verdict, conditions: readonly Condition[], cause: string): Headline {
  if (conditions.some(isUnattended)) return { state: "Not reconciled", cause: `The node serves. ${cause}` };
  if (awaited.length > 0) {
    const checks = awaited.join(", ");
    return { state: "Starting", cause: `The sidecar has just started and has not checked everything yet: ${checks}.` };
  }
  if (conditions.some(({ reason }) => reason === "Upgrading")) return { state: "Upgrading the node", cause };
  return { state: "Partly unknown", cause: `All completed checks pass. ${cause}` };
}

function describeChecks(conditions: readonly Condition[]): string {
  const passing = conditions.filter(({ status }) => status === "True").length;
  const off = conditions.length - passing;
  return off === 0 ? `All ${passing} checks pass.` : `${passing} checks pass; ${off} not known or off.`;
}

/** Causes whose title alone is not informative enough if the node is down. */
const shortCauses: Readonly<Record<string, string>> = {
  "RpcResponding ConnectionRefused": "Its RPC refuses connections.",
  "RpcResponding ConnectionClosed": "Its RPC closes connections before responding.",
  "RpcResponding Unreachable": "Its RPC can't be reached from here.",
  "RpcResponding NameNotResolved": "Its name can't be resolved.",
  "RpcResponding TimedOut": "Its RPC timed out.",
  "RpcResponding NotJsonRpc": "Something other than a node responds at its address.",
  "RpcResponding RpcError": "Its RPC returns errors.",
  "HeightAdvancing Stalled": "It has no new blocks, but the references do.",
  "HeightAdvancing WentBackwards": "It has lost blocks.",
  "ChainIdMatches WrongChain": "It is on the wrong chain.",
  "NodeSynced Behind": "It is behind the references.",
  "NotPaused Paused": "A restart failed.",
};

function describeCause({ cause }: Incident): string {
  return shortCauses[`${cause.type} ${cause.reason}`] ?? `${findConditionTitle(cause)}.`;
}

/** What the sidecar does about a node that is down, keyed by the reason of `NoRestartPending`. */
const actions: Readonly<Record<string, string>> = {
  Running: "Gatehouse is restarting it.",
  Settling: "Gatehouse is about to restart it.",
  WaitingForWindow: "Gatehouse is waiting for the maintenance window.",
  BudgetExhausted: "Gatehouse has used up this hour's restarts.",
  StateNotWritable: "Gatehouse can't restart it while it can't store its state.",
  StartRewrites: "Gatehouse does not restart it: its start script overwrites node.conf.",
  Contested: "Gatehouse does not restart it while another program writes node.conf.",
  NoDriver: "Gatehouse can't restart it: restart.driver is none.",
  ProgramMissing: "Gatehouse can't restart it: a required binary is missing.",
  ConfigUnusable: "Gatehouse does not restart it with a node.conf that can't be used.",
  EditRejected: "Gatehouse does not restart it with this node.conf.",
  EditNotChecked: "Gatehouse does not restart it until it can check node.conf.",
  Observing: "Gatehouse only observes.",
  WaitingForApproval: "Gatehouse is waiting for your approval.",
};

function describeAction(conditions: readonly Condition[]): string {
  const restart = conditions.find(({ type, status }) => type === "NoRestartPending" && status === "False");
  const text = restart && actions[restart.reason];
  return text === undefined ? "" : ` ${text}`;
}

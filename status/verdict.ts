import { findConditionTitle, type Condition, type ConditionType } from "./condition.ts";

/** Mode of the sidecar: wait for `gatehouse adopt`, act at once, or only observe. */
export type UpkeepMode = "adopt" | "enforce" | "observe";

/**
 * State of the node as a whole, worst first: `held` (the sidecar has stopped acting), `down` (the node serves no traffic), `waiting` (it
 * serves, and the sidecar acts once a person says so), `wrong` (it serves, but not all is right), `working` (the sidecar is about to put
 * it right), `unknown` (nobody looks after it, or something was not or could not be looked at), `right`.
 */
export type VerdictLevel = (typeof verdictLevels)[number];

export const verdictLevels = ["paused", "down", "waiting", "degraded", "working", "unknown", "healthy"] as const;

/** Judgement of the node: its state, and whether a person has to do anything. */
export type Verdict = Readonly<{ level: VerdictLevel; title: string; message: string }>;

export type VerdictScope = Readonly<{
  mode: UpkeepMode;
  /** Conditions that are watched according to the settings: before all of them were looked at, nothing is called right. */
  watched: readonly ConditionType[];
}>;

/** Conditions that the node needs to take traffic; `/readyz` requires the same. */
export const neededForTraffic = ["RpcResponding", "ChainIdMatches", "HeightAdvancing", "GatewayServing"] as const;

/**
 * Whether a condition that is needed for traffic stands in its way. A node serves what it has while no reference says that it misses a block; a
 * gateway whose node is unfit does not serve, although another condition says what is wrong.
 */
export function barsTraffic({ status, reason }: Pick<Condition, "status" | "reason">): boolean {
  return reason === "NodeUnhealthy" || (status === "False" && reason !== "NoNewBlock");
}

/** Reasons of `NoRestartPending` under which the sidecar itself is at work. */
const atWork: ReadonlySet<string> = new Set(["Running", "Settling"]);

/**
 * Reasons for which a condition is Unknown because settings say so, the node has nothing to be known, or what is not known is only how well a
 * later fault could be repaired. Every other one keeps the node from being called right.
 */
const excusedReasons: ReadonlySet<string> = new Set([
  "NotRun",
  "NoPruneInfo",
  "Disabled",
  "NotReported",
  "NotPushing",
  "NotCounted",
  "NoRestarts",
  "Assumed",
  "NotYet",
  "Preparing",
  "NeverHealthy",
  "NotChecked",
  "TooFewCalls",
  "NotServing",
]);

/** Whether the sidecar itself is at work on the node's process. */
export function isAtWork({ type, status, reason }: Condition): boolean {
  return type === "NoRestartPending" && status === "False" && atWork.has(reason);
}

/** Whether a condition is Unknown although it should be known. */
export function isBlind({ status, reason }: Condition): boolean {
  return status === "Unknown" && !excusedReasons.has(reason);
}

/** Whether nothing that is known bars the node from traffic. */
export function servesTraffic(conditions: readonly Condition[]): boolean {
  return findBarring(conditions).length === 0;
}

function findBarring(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.filter(
    (condition) => neededForTraffic.some((type) => type === condition.type) && barsTraffic(condition),
  );
}

/** Judges the node as a whole by its conditions. Pure. */
export function judgeVerdict(conditions: readonly Condition[], { mode, watched }: VerdictScope): Verdict {
  const find = (type: ConditionType) => conditions.find((condition) => condition.type === type);
  const wrong = conditions.filter(({ status }) => status === "False");
  const bars = findBarring(conditions);
  const serves = bars.length === 0;
  if (find("NotPaused")?.status === "False") return buildHeldVerdict(serves);
  const upkeep = find("Reconciling");
  const isLookedAfter = upkeep?.status !== "False";
  const restart = find("NoRestartPending");
  if (isLookedAfter && restart !== undefined && isAtWork(restart)) {
    const message = `Nothing for you to do yet. ${restart.message}`;
    return { level: "working", title: "The sidecar is fixing the node", message };
  }
  if (!serves) {
    const failed = bars.filter(({ status }) => status === "False");
    const causes = [failed, wrong].find((some) => some.length > 0) ?? bars;
    const message = `It is not fit for traffic: ${formatTitles(causes)}. What to do about it stands below.`;
    return { level: "down", title: "The node is down", message };
  }
  if (upkeep !== undefined && !isLookedAfter) return buildUnattendedVerdict(upkeep, wrong);
  if (find("Adopted")?.status === "False") return waiting;
  if (wrong.length > 0) return buildFaultyVerdict(wrong);
  return findUnknownVerdict(conditions, watched) ?? buildRightVerdict(conditions, mode);
}

function buildHeldVerdict(serves: boolean): Verdict {
  const message =
    "A restart or an upgrade went wrong, and the sidecar changes nothing more until you let it. " +
    (serves ? "The node serves meanwhile." : "The node does not serve.");
  return { level: "paused", title: "Paused: the node needs you", message };
}

const waiting: Verdict = {
  level: "waiting",
  title: "The node serves; the sidecar waits for your approval",
  message: "It has changed nothing. What it would change, and the command that lets it, stand below.",
};

/** Builds the verdict for a failing upkeep. Other faults were seen before that, or are seen by other parts of the sidecar. */
function buildUnattendedVerdict({ message }: Condition, wrong: readonly Condition[]): Verdict {
  const others = wrong.filter(({ type }) => type !== "Reconciling");
  const also = others.length === 0 ? "" : ` Wrong as far as is known: ${formatTitles(others)}.`;
  return { level: "unknown", title: "Not known: reconciliation has stopped", message: `${message}${also}` };
}

function buildFaultyVerdict(wrong: readonly Condition[]): Verdict {
  const sides = wrong.length === 1 ? "one check fails" : `${wrong.length} checks fail`;
  const isServed = wrong.every(({ type }) => type !== "CallsSucceeding");
  const served = isServed ? "Clients are served meanwhile" : "Not every client gets an answer";
  const message = `${served}. ${formatTitles(wrong)}: what to do about it stands below.`;
  return { level: "degraded", title: `The node serves, but ${sides}`, message };
}

function findUnknownVerdict(conditions: readonly Condition[], watched: readonly ConditionType[]): Verdict | undefined {
  const waitsFor = watched.filter((type) => !conditions.some((condition) => condition.type === type));
  const isNew = conditions.some(({ type, reason }) => type === "Reconciling" && reason === "NotReconciledYet");
  if (waitsFor.length > 0 || isNew) {
    const message = `The sidecar has just started and has not seen everything yet: ${waitsFor.join(", ") || "node.conf"}.`;
    return { level: "unknown", title: "Not known yet", message };
  }
  const blind = conditions.filter(isBlind);
  if (blind.length === 0) return undefined;
  const message = `What is looked at is right. ${blind.map((condition) => condition.message).join(" ")}`;
  return { level: "unknown", title: "Not known: not everything can be looked at", message };
}

function buildRightVerdict(conditions: readonly Condition[], mode: UpkeepMode): Verdict {
  const unasked = conditions.filter(({ status }) => status === "Unknown");
  const checked = `${conditions.length - unasked.length} of ${conditions.length} conditions are True`;
  const others = unasked.length === 0 ? "" : ` Not looked at: ${unasked.map(({ type }) => type).join(", ")}.`;
  const observing = mode === "observe" ? " The sidecar only observes (upkeep.mode)." : "";
  return { level: "healthy", title: "The node is right", message: `Nothing to do: ${checked}.${others}${observing}` };
}

function formatTitles(conditions: readonly Condition[]): string {
  return conditions.map((condition) => findConditionTitle(condition)).join("; ");
}

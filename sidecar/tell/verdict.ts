import type { Condition, ConditionType } from "./condition.ts";

/** What the sidecar was set to do: wait for `gatehouse adopt`, act at once, or only observe. */
export type UpkeepMode = "adopt" | "enforce" | "observe";

/**
 * How the node is as a whole, worst first: `held` (the sidecar has stopped acting), `down` (the node serves no traffic), `waiting` (it
 * serves, and the sidecar acts once a person says so), `wrong` (it serves, but not all is right), `working` (the sidecar is about to put
 * it right), `unknown` (too early to say), `right`.
 */
export type VerdictLevel = "held" | "down" | "waiting" | "wrong" | "working" | "unknown" | "right";

/** One look's worth of the node: what is so, and whether a person has to do anything. */
export type Verdict = Readonly<{ level: VerdictLevel; title: string; message: string }>;

/** What has to be so before the node takes traffic; `/readyz` asks for the same. */
export const neededForTraffic: readonly ConditionType[] = ["RpcAnswering", "ChainIdExpected", "HeightAdvancing"];

/** Whether a side that is needed for traffic stands in its way. A node serves what it has while no reference says that it misses a block. */
export function barsTraffic({ status, reason }: Pick<Condition, "status" | "reason">): boolean {
  return status === "False" && reason !== "NoNewBlock";
}

/** What has to be said before anything can be said of the whole. */
const neededForVerdict: readonly ConditionType[] = ["RpcAnswering", "ConfigValid"];

/** Reasons of `RestartSettled` under which the sidecar itself is at work. */
const atWork: ReadonlySet<string> = new Set(["Running", "Settling"]);

/** Judges the whole by its sides. Pure. */
export function verdictOf(conditions: readonly Condition[], mode: UpkeepMode): Verdict {
  const find = (type: ConditionType) => conditions.find((condition) => condition.type === type);
  const wrong = conditions.filter(({ status }) => status === "False");
  const serves = !conditions.some((condition) => neededForTraffic.includes(condition.type) && barsTraffic(condition));
  if (find("Unheld")?.status === "False") return held(serves);
  const restart = find("RestartSettled");
  if (restart?.status === "False" && atWork.has(restart.reason)) {
    const message = `Nothing for you to do yet. ${restart.message}`;
    return { level: "working", title: "The sidecar is putting the node right", message };
  }
  if (!serves) {
    const message = "It is not fit for traffic. What is wrong, and what to do about it, stands below.";
    return { level: "down", title: "The node is down", message };
  }
  const adopted = find("Adopted");
  if (adopted?.status === "False") return waiting;
  if (wrong.length > 0) return servingButWrong(wrong.length);
  if (neededForVerdict.some((type) => find(type) === undefined)) {
    const message = "The sidecar has just started and has not seen everything yet.";
    return { level: "unknown", title: "Not known yet", message };
  }
  return right(conditions, mode);
}

function held(serves: boolean): Verdict {
  const message =
    "A restart went wrong, and the sidecar changes nothing more until you let it. " +
    (serves ? "The node serves meanwhile." : "The node does not serve.");
  return { level: "held", title: "Held: the node needs you", message };
}

const waiting: Verdict = {
  level: "waiting",
  title: "The node serves; the sidecar waits for your word",
  message: "It has changed nothing. What it would change, and the command that lets it, stand below.",
};

function servingButWrong(count: number): Verdict {
  const sides = count === 1 ? "one thing about it is not right" : `${count} things about it are not right`;
  const message = "Clients are served meanwhile. What is wrong, and what to do about it, stands below.";
  return { level: "wrong", title: `The node serves, but ${sides}`, message };
}

function right(conditions: readonly Condition[], mode: UpkeepMode): Verdict {
  const unknown = conditions.filter(({ status }) => status === "Unknown").length;
  const checked = `${conditions.length - unknown} of ${conditions.length} sides are checked and right`;
  const observing = mode === "observe" ? " The sidecar only observes (upkeep.mode)." : "";
  return { level: "right", title: "The node is right", message: `Nothing to do: ${checked}.${observing}` };
}

import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { waitUntil } from "#daemon/time.ts";
import { isAgreedTo, type Agreement } from "#sidecar/upkeep/control/agreement.ts";
import type { Member, MemberEnd, MemberLook, MemberWork } from "./member.ts";
import { createTurnReport, describeEnd, describeLook, type MemberState, type TurnCommands } from "./turn-report.ts";

/** The nodes to upgrade, and the way in which a person confirms it. */
export type TurnOptions = Agreement & Readonly<{ members: readonly Member[]; commands: TurnCommands; dryRun: boolean }>;

export type TurnDependencies = Readonly<{
  output: CommandOutput;
  /** Once aborted, no further upgrade is begun. */
  signal: AbortSignal;
  /** Time for nodes to become well before the next one begins: one that was just proved may miss an answer. */
  wellWithinMs?: number;
}>;

const defaultWellWithinMs = 60_000;
/** Shorter at first, because a person waits for the plans; lasting problems are shown with them. */
const wellAtFirstWithinMs = 15_000;
const lookEveryMs = 2_000;

/**
 * Upgrades several nodes one after the other: all are checked and shown first, and if one can't be upgraded, none is. Stops at the first
 * that is not proved. Returns the exit status: 0 if all have the new version (dry run: if all could), else 1.
 */
export async function upgradeInTurn(options: TurnOptions, dependencies: TurnDependencies): Promise<number> {
  const { members, commands, dryRun, yes, json = false } = options;
  const { output } = dependencies;
  const report = createTurnReport({ commands, isJson: json }, output);
  const isOnlyShown = dryRun || (json && !yes);
  const runner = createRunner(report.say, dependencies);
  const { ended } = runner;

  let looks = await lookAtAll(members, dependencies);
  for (const [{ name }, look] of isOnlyShown ? [] : looks) {
    if (look.kind !== "under-way") continue;
    // It was confirmed earlier, and its node may be stopped: it is finished whatever the state of the others.
    const why = await runner.work(name, look.goOn);
    if (why !== undefined) return report.stop(listStates(looks, ended), why);
  }
  if (ended.size > 0) looks = await lookAtAll(members, dependencies);
  for (const [{ name }, look] of looks) report.showLook(name, look);
  const refused = [...looks].filter(([, { kind }]) => kind === "refused").map(([{ name }]) => name);
  if (refused.length > 0) return report.refuse(listStates(looks, ended), refused);
  if (isOnlyShown) {
    const states = [...looks].map(([{ name }, look]) => describeLook(name, look));
    return report.endShown(states, dryRun ? exitStatus.clean : exitStatus.error);
  }
  const ready = [...looks].flatMap(([member, look]) => (look.kind === "ready" ? [{ member, look }] : []));
  if (ready.length > 0) {
    const names = ready.map(({ member }) => member.name).join(", then ");
    const question = `Upgrade ${names} now, each once the one before is proved? [y/N] `;
    const nothing = ended.size === 0 ? "nothing was changed" : "nothing else was begun";
    if (!(await isAgreedTo({ question, refused: `upgrade: ${nothing}` }, options, output))) {
      return exitStatus.error;
    }
  }
  for (const { member, look } of ready) {
    const others = members.filter((other) => other !== member);
    const trouble = await findTrouble(others, dependencies);
    const why = trouble === undefined ? await runner.work(member.name, look.begin) : trouble;
    if (why !== undefined) return report.stop(listStates(looks, ended), why);
  }
  return report.endProved(listStates(looks, ended));
}

async function lookAt(member: Member): Promise<readonly [Member, MemberLook]> {
  return [member, await member.look()];
}

/** Looks at all members at once: each is on its own machine, and may take minutes to measure its data. Looks again later at those that are not well. */
async function lookAtAll(
  members: readonly Member[],
  { signal, wellWithinMs = wellAtFirstWithinMs }: TurnDependencies,
): Promise<ReadonlyMap<Member, MemberLook>> {
  const looks = new Map(await Promise.all(members.map(lookAt)));
  const unwell = members.filter((member) => {
    const found = looks.get(member);
    return found?.kind === "refused" && found.mayPass === true;
  });
  await findTrouble(unwell, { signal, wellWithinMs });
  // An existing key keeps its place in the map.
  for (const [member, found] of await Promise.all(unwell.map(lookAt))) looks.set(member, found);
  return looks;
}

function createRunner(say: (text: string) => void, { signal }: Pick<TurnDependencies, "signal">) {
  const ended = new Map<string, MemberEnd>();
  return {
    ended,
    /** Upgrades one node; returns why it is the last one, or undefined. */
    work: async (name: string, carryOut: MemberWork): Promise<string | undefined> => {
      if (signal.aborted) return "it was ended by a signal";
      const end = await carryOut((text) => say(text.replaceAll(/^(?=.)/gm, `${name}: `)), signal);
      ended.set(name, end);
      if (end.kind !== "proved") return `${name} is not proved`;
      // The final report on all nodes may be hours away.
      say(`${name}: Proved.\n`);
      return undefined;
    },
  };
}

function listStates(
  looks: ReadonlyMap<Member, MemberLook>,
  ended: ReadonlyMap<string, MemberEnd>,
): readonly MemberState[] {
  return [...looks].map(([{ name }, look]) => {
    const end = ended.get(name);
    if (end !== undefined) return describeEnd(name, end);
    return look.kind === "ready" ? { name, state: "not-begun", words: "not begun" } : describeLook(name, look);
  });
}

/** Waits for the others to be well; returns why they are not, so that no node should be stopped now, or undefined. */
async function findTrouble(
  others: readonly Member[],
  { signal, wellWithinMs = defaultWellWithinMs }: Pick<TurnDependencies, "signal" | "wellWithinMs">,
): Promise<string | undefined> {
  const look = async () => {
    const found = await Promise.all(others.map(async ({ name, findTrouble: find }) => [name, await find()] as const));
    const words = found.flatMap(([name, trouble]) =>
      trouble === undefined ? [] : [`${name} is not well: ${trouble}`],
    );
    return words.length === 0 ? undefined : words.join("; ");
  };
  const bounds = { everyMs: lookEveryMs, withinMs: wellWithinMs, signal };
  return waitUntil(look, (trouble) => trouble === undefined, bounds);
}

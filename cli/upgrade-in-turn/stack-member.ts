import { findStack, isReady, lookAtStack, readAgreedPlan } from "../stack-upgrade/begin-upgrade.ts";
import { findConfigFile } from "../stack-upgrade/config-file.ts";
import { lookAtNode } from "../stack-upgrade/look-at-node.ts";
import {
  buildWork,
  explainBusy,
  isExpected,
  runStack,
  type StackRun,
  type StackUpgradeDependencies,
  type StackUpgradeOptions,
  type StackWork,
} from "../stack-upgrade/run-stack.ts";
import { describePlatform } from "../stack-upgrade/platform-words.ts";
import { formatContinueCommand } from "../stack-upgrade/stack-commands.ts";
import { lockStack } from "../stack-upgrade/stack-lock.ts";
import { decideNewSide, type RequestedVersion, type StackPlace } from "../stack-upgrade/stack-place.ts";
import { describeRecord, formatEnd, formatStackPlan } from "../stack-upgrade/stack-plan.ts";
import { defaultLimits, findRecordPath, readRecord, type UpgradeSide } from "../stack-upgrade/stack-record.ts";
import { createMember, createSettle, type Member, type MemberEnd, type MemberLook, type MemberWork } from "./member.ts";

/** One of several stacks, and the version that all of them are upgraded to. */
export type StackMemberOptions = Omit<StackUpgradeOptions, "agreed" | "confirm" | "dryRun" | "isContinued" | "yes"> &
  Readonly<{ requested: RequestedVersion }>;

/** A stack whose state can't be read has that as its finding. */
const settle = createSettle(isExpected);

/** Creates a node that is upgraded with its stack. */
export function createStackMember(options: StackMemberOptions, dependencies: StackUpgradeDependencies): Member {
  const work = buildWork(dependencies);
  return createMember(
    {
      name: options.stack,
      look: () => lookAtMember(options, work),
      findTrouble: () => findTrouble(options, work),
    },
    settle,
  );
}

async function lookAtMember(options: StackMemberOptions, work: StackWork): Promise<MemberLook> {
  const { stack, directory, requested, limits } = options;
  const known = readRecord(findRecordPath(directory, stack));
  if (known !== undefined) {
    if (known.to.image === requested.image) {
      return { kind: "under-way", words: describeRecord(known), goOn: createWork(options, work) };
    }
    const configFile = await findConfigFile(options, known);
    const goOn = formatContinueCommand({ ...known, directory, configFile });
    return { kind: "refused", words: `${describeRecord(known)}; go on with it: ${goOn}` };
  }
  const { place, pulumi } = await findPlace(options, work);
  if (isBusy(options, place)) return { kind: "refused", words: explainBusy(place) };
  const to = decideNewSide(place, requested);
  if (to !== undefined && place.from.image === to.image && place.from.version === to.version) {
    const words = `it has ${to.version} (${to.image}) already`;
    const trouble = (await findOtherImage(place, to, work)) ?? (await findNodeTrouble(place, work));
    if (trouble === undefined) return { kind: "has-version", words };
    return { kind: "refused", words: `${words}, and is not well: ${trouble}` };
  }
  const look = await lookAtStack(place, options, { ...work, pulumi });
  const shown = formatStackPlan(look.place, look.to, look.check, { ...defaultLimits, ...limits });
  if (!isReady(look)) return { kind: "refused", words: look.check.problems.join("; "), shown };
  return { kind: "ready", shown, begin: createWork({ ...options, agreed: readAgreedPlan(look) }, work) };
}

/** Returns the work of a stack's upgrade: begins the confirmed plan, or resumes it. */
function createWork(options: StackMemberOptions & Pick<StackUpgradeOptions, "agreed">, work: StackWork): MemberWork {
  const { stack, directory } = options;
  const typed = { ...options, isContinued: false, dryRun: false, yes: true, confirm: undefined };
  return (say, signal) =>
    settle<MemberEnd>(
      async () =>
        describeRun(
          await runStack(typed, { ...work, output: { out: say, error: say, isColored: false }, signal }),
          stack,
        ),
      (words) => {
        const isBegun = readRecord(findRecordPath(directory, stack)) !== undefined;
        return { kind: isBegun ? "unknown" : "refused", words };
      },
    );
}

function describeRun(run: StackRun, stack: string): MemberEnd {
  // Only a dry run, or a no, begins nothing.
  if (typeof run === "number") return { kind: "refused", words: `the upgrade of ${stack} was not begun` };
  const { record, waits } = run;
  if (waits !== undefined) return { kind: "unknown", words: `it has not ended: ${waits}` };
  const kind = record.end === "committed" ? "proved" : (record.end ?? "stranded");
  return { kind, words: formatEnd(record).replace(/^[A-Z][a-z ]+: /, "") };
}

async function findTrouble(options: StackMemberOptions, work: StackWork): Promise<string | undefined> {
  const known = readRecord(findRecordPath(options.directory, options.stack));
  if (known !== undefined) return `${describeRecord(known)}, and is not over`;
  const { place } = await findPlace(options, work);
  return isBusy(options, place) ? explainBusy(place) : findNodeTrouble(place, work);
}

async function findPlace(options: StackMemberOptions, work: StackWork) {
  const { stack, directory } = options;
  const configFile = await findConfigFile(options, undefined);
  const pulumi = work.pulumi({ stack, directory, configFile });
  return { place: await findStack(options, { ...work, pulumi }), pulumi };
}

/** Whether another run of the command has the right to work on it now. */
function isBusy({ stateDirectory }: StackMemberOptions, place: StackPlace): boolean {
  using lock = lockStack(stateDirectory, place);
  return lock === undefined;
}

/** Says that the node runs another image; undefined if it runs this one. The configuration may name one that is not deployed yet. */
async function findOtherImage(place: StackPlace, to: UpgradeSide, work: StackWork): Promise<string | undefined> {
  if (await work.platform(place.target).runsImage(place, to.image)) return undefined;
  return `${describePlatform(place).node} does not run that image; run pulumi up`;
}

async function findNodeTrouble(place: StackPlace, { queries, pause, signal }: StackWork): Promise<string | undefined> {
  const { problems } = await lookAtNode(place, { queries: queries(place.target), pause, signal });
  return problems.length === 0 ? undefined : problems.join("; ");
}

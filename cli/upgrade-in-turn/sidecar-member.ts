import { parseNodeVersion } from "#node/versions.ts";
import {
  controlView,
  upgradeAnswer,
  type ControlView,
  type UpgradeAnswer,
} from "#sidecar/upkeep/control/control-answers.ts";
import { followUpgrade, formatPlan } from "#sidecar/upkeep/control/follow-upgrade.ts";
import {
  checkWithinMs,
  ControlError,
  requestControl,
  type ControlTarget,
} from "#sidecar/upkeep/control/request-control.ts";
import { createMember, createSettle, type Member, type MemberEnd, type MemberLook, type MemberWork } from "./member.ts";

export type SidecarUpgrade = Readonly<{
  /** Absolute path of the directory with the new programs, as each sidecar sees it. */
  source: string;
  version: string | undefined;
  /** `now-if-open`: a closed window refuses it. Sidecars that begin by themselves when it opens would all do so at once. */
  at: "now" | "now-if-open";
  /** Time for which one node's upgrade is followed. */
  withinMs: number;
}>;

/** A missing or bad answer of a sidecar is a finding about it. */
const settle = createSettle((error): error is ControlError => error instanceof ControlError);

/** Creates a node that its own sidecar upgrades. */
export function createSidecarMember(name: string, target: ControlTarget, upgrade: SidecarUpgrade): Member {
  return createMember(
    {
      name,
      look: () => lookAtSidecar(target, upgrade),
      findTrouble: async () => findTrouble(await requestView(target)),
    },
    settle,
  );
}

async function lookAtSidecar(target: ControlTarget, upgrade: SidecarUpgrade): Promise<MemberLook> {
  // The view first: an upgrade that begins or ends between the two has the plan refused.
  const view = await requestView(target);
  if (view.problems === undefined) return { kind: "refused", words: unknownTrouble };
  const answer = await requestUpgrade(target, upgrade);
  const { plan, node } = answer;
  const document = { plan, node };
  const wanted = readRelease(plan.to);
  const running = view.upgrade?.end === undefined ? view.upgrade : undefined;
  // A restore has the steps of an upgrade to the same version.
  const isRestore = running?.from === running?.to;
  if (running !== undefined && !isRestore && wanted !== undefined && readRelease(running.to) === wanted) {
    return { kind: "under-way", words: running.words, goOn: follow(target, running.beganMs, upgrade) };
  }
  const trouble = findTrouble(view);
  if (wanted !== undefined && readRelease(plan.from) === wanted) {
    const words = `it has ${plan.to} already`;
    if (trouble === undefined) return { kind: "has-version", words, document };
    return { kind: "refused", words: `${words}, and is not well: ${trouble}`, mayPass: true, document };
  }
  if (answer.result === "shown" && trouble === undefined) {
    return { kind: "ready", shown: formatPlan(answer), document, begin: begin(target, plan.digest, upgrade) };
  }
  const mayPass = plan.problems.length === 0;
  const problems = mayPass && trouble !== undefined ? [trouble] : plan.problems;
  const shown = formatPlan({ ...answer, plan: { ...plan, problems, steps: [] } });
  return { kind: "refused", words: problems.join("; "), shown, mayPass, document };
}

function begin(target: ControlTarget, digest: string, upgrade: SidecarUpgrade): MemberWork {
  return async (say, signal) => {
    const away = await settle(
      async () => void (await requestView(target)),
      (words) => words,
    );
    if (away !== undefined) return { kind: "refused", words: away };
    const begun = await settle<UpgradeAnswer | string>(
      () => requestUpgrade(target, upgrade, digest),
      (words) => words,
    );
    if (typeof begun === "string") return { kind: "unknown", words: `no answer says whether it has begun: ${begun}` };
    const { beganMs, plan, node } = begun;
    const document = { plan, node };
    if (beganMs !== undefined) {
      const end = await follow(target, beganMs, upgrade)(say, signal);
      return { ...end, document: { ...document, ...end.document } };
    }
    const words = plan.problems.length > 0 ? plan.problems.join("; ") : "it is another upgrade now than was shown";
    return { kind: "refused", words, document };
  };
}

function follow(target: ControlTarget, beganMs: number, { withinMs }: SidecarUpgrade): MemberWork {
  return (say, signal) =>
    settle<MemberEnd>(
      async () => {
        const upgrade = await followUpgrade(target, beganMs, say, { withinMs, signal });
        const { end = "stranded", words } = upgrade;
        return { kind: memberEnds[end], words, document: { upgrade } };
      },
      (words) => ({ kind: "unknown", words }),
    );
}

type SidecarEnd = NonNullable<NonNullable<ControlView["upgrade"]>["end"]>;

/** A member's end by the end of its sidecar's upgrade; one that was given up never reached its node. */
const memberEnds = {
  committed: "proved",
  "rolled-back": "rolled-back",
  "given-up": "refused",
  settled: "settled",
  stranded: "stranded",
} as const satisfies Readonly<Record<SidecarEnd, MemberEnd["kind"]>>;

function requestView(target: ControlTarget): Promise<ControlView> {
  return requestControl(target, { path: "", answer: controlView });
}

function requestUpgrade(
  target: ControlTarget,
  { source, version, at }: SidecarUpgrade,
  digest?: string,
): Promise<UpgradeAnswer> {
  const body = { source, at, ...(version === undefined ? {} : { version }), digest };
  return requestControl(target, { path: "/upgrade", body, answer: upgradeAnswer, timeoutMs: checkWithinMs });
}

const unknownTrouble =
  "its sidecar is of an earlier release and does not say how its node is; update the sidecar first";

function findTrouble({ problems }: ControlView): string | undefined {
  if (problems === undefined) return unknownTrouble;
  return problems.length === 0 ? undefined : problems.join("; ");
}

function readRelease(version: string | undefined): string | undefined {
  return version === undefined ? undefined : parseNodeVersion(version)?.release;
}

import { hostname } from "node:os";
import { isUnusableByNode } from "#node/conf/problem.ts";
import { withNodeNames } from "#node/node-names.ts";
import { requestRestart } from "../restart/requested-restart.ts";
import { liftPause } from "../restart/pause.ts";
import { formatIdentity, identifyNode } from "../state/node-identity.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import type { UpgradeRequest } from "../upgrade/requested-upgrade.ts";
import { formatUpgrade } from "../upgrade/upgrade-observation.ts";
import type { UpkeepParts } from "../upkeep-parts.ts";
import type {
  AdoptResponse,
  ControlView,
  RestartResponse,
  ResumeResponse,
  UpgradeResponse,
} from "./control-responses.ts";

/** How an operator requests something: by a `gatehouse` command, or on the status page. */
export type Requester = "command" | "page";

const nameRequester = (requester: Requester, command: string) =>
  requester === "page" ? "status page" : `gatehouse ${command}`;

const describeResume = (requester: Requester) => ({
  why: requester === "page" ? "an operator resumed on the status page" : "gatehouse resume was run",
  by: nameRequester(requester, "resume"),
});

export type UpkeepControl = ReturnType<typeof createUpkeepControl>;

export function createUpkeepControl(parts: UpkeepParts) {
  const { settings, seen, state, place, rate, events, clock, authority, isRestarting, wake } = parts;
  const { mode } = settings.upkeep;
  const node = () => {
    const identity = state.identity.get() ?? identifyNode(settings, place.layout(), seen.config.now().document);
    return { name: settings.monitor.jobName ?? identity.host.name, words: formatIdentity(identity) };
  };
  const buildHoldView = () => {
    const hold = state.hold.get();
    return hold === undefined ? {} : { hold: { message: hold.message, sinceMs: hold.sinceMs } };
  };
  const buildView = (): ControlView => {
    const plan = seen.adoption.now().plan;
    return {
      node: node(),
      sidecar: { pid: process.pid, host: hostname(), stateDirectory: state.directory },
      mode,
      authority: authority(),
      ...buildHoldView(),
      ...(plan === undefined ? {} : { plan }),
      ...buildUpgradeView(seen.upgrade.now().record),
    };
  };
  const resume = (requester: Requester): ResumeResponse => {
    const before = buildHoldView();
    const wasContested = rate.contested() || rate.repeated() || rate.revertedByStart() !== undefined;
    rate.forget();
    if (wasContested) wake();
    if (before.hold === undefined) {
      return { result: "none", wasContested, waits: authority() === "waits", node: node() };
    }
    // A rollback pauses the sidecar first, and again at its end, so lifting the pause in between would have no lasting effect.
    if (isRestarting()) return { result: "busy", ...before, node: node() };
    const next = liftPause(describeResume(requester), parts);
    wake();
    return { result: "lifted", ...before, next, wasContested, node: node() };
  };
  const restart = (requester: Requester): RestartResponse => {
    const result = requestRestart(parts, nameRequester(requester, "restart"));
    if (result !== "requested") return { result, node: node() };
    wake();
    const waitsFor = explainWait(parts);
    return { result, ...(waitsFor === undefined ? {} : { waitsFor }), node: node() };
  };
  const adopt = (digest: string, requester: Requester): AdoptResponse => {
    const before = authority();
    if (before !== "waits") return { result: before === "acts" ? "already" : "observes", view: buildView() };
    if (seen.adoption.now().plan?.digest !== digest) return { result: "another", view: buildView() };
    const by = nameRequester(requester, "adopt");
    const said = { by, outcome: "success", after: { planDigest: digest } } as const;
    events.add("adopt", "The sidecar may now act on this node: an operator approved its plan.", undefined, said);
    state.adopted.set({ by: requester, atMs: clock.wallMs() });
    wake();
    return { result: "adopted", view: buildView() };
  };
  const upgrade = async (body: UpgradeRequest): Promise<UpgradeResponse> => {
    const { checkUpgrade, beginUpgrade } = await loadUpgrade();
    const checked = await checkUpgrade(body, parts);
    return { ...beginUpgrade(checked, body.digest, parts), node: node() };
  };
  const nameOwn = <Answer extends object>(answer: Answer) => withNodeNames(answer, place.layout());
  return {
    view: () => nameOwn(buildView()),
    /** Lifts a pause, retries what failed, assumes that any competing writer of node.conf has stopped, and checks a rejected edit again. */
    resume: (requester: Requester = "command") => nameOwn(resume(requester)),
    restart: (requester: Requester = "command") => nameOwn(restart(requester)),
    adopt: (digest: string, requester: Requester = "command") => nameOwn(adopt(digest, requester)),
    upgrade: async (body: UpgradeRequest) => nameOwn(await upgrade(body)),
  };
}

/** Loads all code of an upgrade before its check: nothing may change between the check and the record. */
async function loadUpgrade() {
  const [{ checkUpgrade }, { beginUpgrade }] = await Promise.all([
    import("../upgrade/check-upgrade.ts"),
    import("../upgrade/apply-upgrade.ts"),
  ]);
  return { checkUpgrade, beginUpgrade };
}

/** Explains what a restart requested now would have to wait for, according to the last iteration; undefined if the restart would start at once. */
function explainWait({ config, restarts, state }: UpkeepParts): string | undefined {
  const { validity } = config.now();
  if (state.store.failure() !== undefined) return "the sidecar can't store its state (see Reconciling)";
  if (validity?.ok === false && isUnusableByNode(validity.problem.reason))
    return "the node can't start with the current node.conf (see ConfigReconciled)";
  const { settled } = restarts.now();
  const isMissing = settled !== undefined && "reason" in settled && settled.reason === "ProgramMissing";
  return isMissing ? "a required binary is missing or can't be run (see NoRestartPending)" : undefined;
}

function buildUpgradeView(record: UpgradeRecord | undefined): Pick<ControlView, "upgrade"> {
  if (record === undefined) return {};
  const { from, to, beganMs, stage, end } = record;
  return { upgrade: { from, to, beganMs, stage, ...(end === undefined ? {} : { end }), words: formatUpgrade(record) } };
}

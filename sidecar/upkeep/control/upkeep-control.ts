import { hostname } from "node:os";
import { authorityOf } from "../adoption/authority.ts";
import { endHold } from "../restart/hold.ts";
import { identifyNode, identityWords } from "../state/node-identity.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";
import type { AdoptAnswer, ControlView, ResumeAnswer } from "./control-answers.ts";

/** What a person may ask of a running sidecar, and tell it. Each change is on disk when its call returns. */
export type UpkeepControl = Readonly<{
  look: () => ControlView;
  /** Lifts a hold, has what failed tried again, and takes another writer of node.conf for stopped. */
  resume: () => ResumeAnswer;
  /** Lets the sidecar act on this node, if its plan is still the one with that digest. */
  adopt: (digest: string) => AdoptAnswer;
}>;

/** Makes the control of an upkeep. */
export function upkeepControl(memory: UpkeepMemory, parts: UpkeepParts): UpkeepControl {
  const { settings, state, events, clock, wake } = parts;
  const { mode } = settings.upkeep;
  const node = () => {
    const identity = state.identity.get() ?? identifyNode(settings, parts.place.layout().configPath, memory.document);
    return { name: settings.monitor.jobName ?? identity.host.name, words: identityWords(identity) };
  };
  const held = () => {
    const hold = state.hold.get();
    return hold === undefined ? {} : { hold: { message: hold.message, sinceMs: hold.sinceMs } };
  };
  const look = (): ControlView => ({
    node: node(),
    sidecar: { pid: process.pid, host: hostname(), stateDirectory: state.directory },
    mode,
    authority: authorityOf(mode, state),
    ...held(),
    ...(memory.plan === undefined ? {} : { plan: memory.plan as ControlView["plan"] }),
  });
  const resume = (): ResumeAnswer => {
    const before = held();
    const wasContested = parts.rate.contested() || parts.rate.repeated();
    parts.rate.forget();
    if (wasContested) wake();
    if (before.hold === undefined) return { result: "none", wasContested, node: node() };
    // A roll-back sets its hold first and again at its end: one that is lifted in between would only seem to be.
    if (memory.restart !== undefined) return { result: "busy", ...before, node: node() };
    const next = endHold({ why: "gatehouse resume was run", isAsked: true }, parts);
    wake();
    return { result: "lifted", ...before, next, wasContested, node: node() };
  };
  const adopt = (digest: string): AdoptAnswer => {
    const authority = authorityOf(mode, state);
    if (authority !== "waits") return { result: authority === "acts" ? "already" : "observes", view: look() };
    if (memory.plan?.digest !== digest) return { result: "another", view: look() };
    state.adopted.set({ by: "command", atMs: clock.wallMs() });
    events.add("adopt", "The sidecar may act on this node from now on: gatehouse adopt was said.");
    wake();
    return { result: "adopted", view: look() };
  };
  return { look, resume, adopt };
}

import { ownerLabel, type Engine } from "../docker/engine.ts";
import { PlatformError } from "../stack-platform.ts";
import {
  names,
  prefix,
  startContainer,
  stopContainer,
  tickMs,
  torn,
  type WorldParts,
  type WorldState,
} from "./world-state.ts";
import type { VolumeReport } from "../workspace-report.ts";
import type { TaskStep } from "./world-time.ts";

export function createWorldEngine(parts: WorldParts): Engine {
  const {
    state,
    time,
    kills: { change },
  } = parts;
  const find = (name: string) => state.containers.get(name);
  return {
    inspect: async (name) => {
      const found = find(name);
      if (found === undefined) return undefined;
      return {
        Id: `${name} ${found.starts}`,
        Image: `sha256:${found.image}`,
        State: { Running: found.running, StartedAt: String(found.starts), ExitCode: 143, OOMKilled: false },
        Config: { Labels: { "io.gatehouse.stack": prefix }, StopTimeout: 300 },
        Mounts: [],
      };
    },
    stop: (name) => change(() => stopContainer(state, name)),
    start: (name) => change(() => startContainer(parts, name, find(name)?.image ?? "")),
    remove: (name) =>
      change(() => {
        // The container is killed: a node leaves half-written data.
        if (name === names.node && find(name)?.running === true) state.live = [...state.live, torn];
        state.containers.delete(name);
      }),
    findImage: async (reference) => `sha256:${reference}`,
    run: async ({ name, labels, command: [, action = ""], withinMs }) => {
      const owner = labels[ownerLabel] ?? "";
      const left = state.jobs.get(name);
      if (left !== undefined && !left.task.isDone() && left.owner !== owner) {
        throw new PlatformError(`${name} runs for another upgrade (${left.owner})`, true);
      }
      const untilMs = time.clock.monotonicMs() + withinMs;
      const task = await change(() => {
        left?.task.end();
        state.begun.push(action);
        const begun = time.begin(listSteps(parts, action));
        state.jobs.set(name, { owner, task: begun });
        return begun;
      });
      while (!task.isDone()) {
        if (time.clock.monotonicMs() >= untilMs) {
          await change(() => task.end());
          throw new PlatformError(`${name} did not finish within ${withinMs} ms`, false);
        }
        await change(() => time.advance(tickMs));
      }
      const failure = task.failure();
      if (failure !== undefined) throw new PlatformError(failure, false);
      return action === "look" ? JSON.stringify(checkVolume(state)) : "";
    },
  };
}

/** Lists the steps of a job's work on the volume, like workspace-copy.ts. */
function listSteps({ state, meet }: WorldParts, action: string): readonly TaskStep[] {
  const at = (part: number, effect: () => void) => ({ afterMs: part * state.copyMs, effect });
  const { marks } = state;
  if (action === "remove") {
    return [
      at(0, () => {
        if (state.isRemoveBroken) throw new Error("the disk is read-only");
        state.copy = undefined;
        marks.clear();
      }),
    ];
  }
  if (action === "look") return [];
  if (action === "copy") {
    if (marks.has("copied")) return [];
    const [livePrograms, starts] = [state.live, countStarts(state)];
    const wasRunning = state.containers.get(names.node)?.running === true;
    return [
      at(0, () => marks.add("half")),
      at(0.5, () => meet("copy")),
      at(1, () => {
        const isConsistent = !wasRunning && starts === countStarts(state);
        state.copy = isConsistent ? livePrograms : [...livePrograms, torn];
        marks.delete("half");
        marks.add("copied");
      }),
    ];
  }
  if (marks.has("restored")) return [];
  return [
    at(0, () => {
      if (!marks.has("copied")) throw new Error("there is no complete copy");
      state.live = [];
    }),
    at(0.5, () => meet("restore")),
    at(1, () => {
      const isAlone = state.live.length === 0 && state.containers.get(names.node)?.running !== true;
      state.live = [...(state.copy ?? []), ...(isAlone ? [] : [torn])];
      state.copy = undefined;
      marks.add("restored");
    }),
  ];
}

function checkVolume({ copy }: WorldState): VolumeReport {
  const copies = copy === undefined ? [] : ["2027-01-05"];
  const conf = Buffer.from("{}").toString("base64");
  return { bytes: 1_000, freeBytes: 1_000_000, clones: true, leftovers: copies, copies, conf };
}

function countStarts({ containers }: WorldState): number {
  return containers.get(names.node)?.starts ?? 0;
}

import { hostname } from "node:os";
import { formatBackend, type PulumiCli } from "../pulumi/pulumi-cli.ts";
import { PulumiError } from "../pulumi/pulumi-process.ts";
import { names, startContainer, tickMs, type WorldParts } from "./world-state.ts";
import { deployWorld } from "./world-cluster.ts";
import type { TaskStep } from "./world-time.ts";

export function createWorldPulumi(parts: WorldParts): PulumiCli {
  const {
    state,
    time,
    kills: { change },
  } = parts;
  return {
    readBackend: async () => {
      if (!state.isPulumiInstalled) throw new PulumiError("pulumi whoami --json can't be run (ENOENT)");
      return formatBackend(state.backend);
    },
    readConfig: async () => ({ ...state.config }),
    readOutputs: async () => ({
      urls: {
        public: { gateway: "http://127.0.0.1:8545" },
        operations: { status: "http://127.0.0.1:9600/status" },
      },
    }),
    preview: async () => [{ op: "replace", urn: `urn:pulumi:prod::gatehouse::docker:Container::${names.node}` }],
    setConfig: (set) =>
      change(() => {
        if (!state.isPulumiInstalled) throw new PulumiError("pulumi config set-all can't be run (ENOENT)");
        Object.assign(state.config, set);
      }),
    update: async ({ withinMs }) => {
      const pid = state.nextPid;
      state.nextPid += 1;
      const task = await change(() => {
        if (state.lockedBy !== undefined) throw new PulumiError("locked", describeLock(state.lockedBy));
        state.lockedBy = pid;
        const begun = time.begin(listSteps(parts));
        state.processes.set(pid, begun);
        return begun;
      });
      const untilMs = time.clock.monotonicMs() + withinMs;
      while (!task.isDone()) {
        if (time.clock.monotonicMs() >= untilMs) {
          await change(() => stopUpdate(parts, pid));
          throw new PulumiError(`pulumi up took longer than ${withinMs} ms`);
        }
        await change(() => time.advance(tickMs));
      }
      const failure = task.failure();
      if (failure !== undefined) throw new PulumiError(failure, failure);
    },
    readIds: async (type) => {
      if (type.endsWith("StatefulSet")) return new Map([[buildUrn("set"), "pay/node"]]);
      const known = state.pulumiKnows === undefined ? [] : [...state.containers];
      return new Map(known.map(([name, { starts }]) => [buildUrn(name), `${name} ${starts}`]));
    },
    findUpdates: async () => [...state.processes].flatMap(([pid, task]) => (task.isDone() ? [] : [pid])),
    interrupt: (pid) => stopUpdate(parts, pid),
    refresh: () => change(() => void (state.pulumiKnows = state.cluster.template)),
  };
}

const buildUrn = (name: string) => `urn:pulumi:prod::gatehouse::docker:index/container:Container::${name}`;

/** Describes a lock as Pulumi 3.259 does for a file backend. */
function describeLock(pid: number): string {
  return `error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with \`pulumi cancel\`.
  file:///srv/state/.pulumi/locks/organization/gatehouse/prod/3df5183a.json: created by me@${hostname()} (pid ${pid}) at 2027-01-05T07:59:14Z`;
}

/** Interrupts an update: it records its changes and releases its lock. */
function stopUpdate({ state, kind }: WorldParts, pid: number): void {
  state.processes.get(pid)?.end();
  state.pulumiKnows = kind === "docker" ? state.containers.get(names.node)?.image : state.cluster.template;
  if (state.lockedBy === pid) state.lockedBy = undefined;
}

/** Lists the steps of an update: Pulumi reads the configuration once, and records each resource once the resource runs. */
function listSteps(parts: WorldParts): readonly TaskStep[] {
  const { state, meet, kind } = parts;
  const image = state.config["gatehouse:nodeImage"] ?? "";
  const at = (part: number, effect: () => void) => ({ afterMs: part * state.updateMs, effect });
  const unlock = at(1, () => {
    state.lockedBy = undefined;
    if (state.keepsSidecar && state.containers.get(names.sidecar)?.running !== true) {
      throw new Error(`${names.sidecar} is exited and not healthy`);
    }
  });
  if (state.pulumiKnows === image && state.containers.has(names.node)) return [unlock];
  if (kind === "kubernetes") {
    return [
      at(0.5, () => {
        if (state.cluster.isOwned) {
          state.lockedBy = undefined;
          throw new Error('Apply failed with 1 conflict: conflict with "gatehouse-upgrade": .spec.replicas');
        }
        deployWorld(parts, image);
        meet("update");
      }),
      at(0.75, () => (state.pulumiKnows = image)),
      unlock,
    ];
  }
  return [
    at(0.25, () => {
      if (state.pulumiKnows !== undefined) state.containers.delete(names.node);
      state.pulumiKnows = undefined;
    }),
    at(0.5, () => {
      if (state.containers.has(names.node)) {
        state.lockedBy = undefined;
        throw new Error(`Conflict. The container name "/${names.node}" is already in use`);
      }
      startContainer(parts, names.node, image);
      if (!state.keepsSidecar) startContainer(parts, names.sidecar, "gatehouse:1");
      meet("update");
    }),
    at(0.75, () => (state.pulumiKnows = image)),
    unlock,
  ];
}

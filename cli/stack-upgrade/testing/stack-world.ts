import { systemClock } from "#daemon/clock.ts";
import { EngineError, type Engine } from "../engine.ts";
import type { SidecarLook, StackQuestions } from "../node-status.ts";
import type { PulumiCli } from "../pulumi-cli.ts";
import type { StackRecord } from "../stack-record.ts";
import type { StackStepsDependencies } from "../stack-steps.ts";
import { createKillSwitch, type KillSwitch } from "./kill-switch.ts";

/** What a new version does as soon as it runs. */
export type NewVersion = "good" | "silent" | "another version" | "loses a block" | "does not start";

export const oldImage = "node:0.16.2";
export const newImage = "node:0.17.0";
const oldBlock = "block 1 by 0.16.2";
const prefix = "gatehouse-prod";
const names = { node: `${prefix}-node`, sidecar: `${prefix}-sidecar` };

type Container = Readonly<{ image: string; running: boolean; starts: number }>;

/** What there is, apart from the command. */
type State = {
  containers: Map<string, Container>;
  /** The blocks of the node's data, and of the copy. */
  live: readonly string[];
  copy: readonly string[] | undefined;
  isRestored: boolean;
  config: Record<string, string | undefined>;
  /** The chain goes on from look to look. */
  looks: number;
};

/**
 * A stack in memory: an engine with two containers and a volume, Pulumi with a configuration, and a node whose data tell which versions ran over them. A run can be
 * ended at any change that it makes.
 */
export function createStackWorld(newVersion: NewVersion) {
  const state: State = {
    containers: new Map([
      [names.node, { image: oldImage, running: true, starts: 1 }],
      [names.sidecar, { image: "gatehouse:1", running: true, starts: 1 }],
    ]),
    live: [oldBlock],
    copy: undefined,
    isRestored: false,
    config: { "gatehouse:nodeImage": oldImage },
    looks: 0,
  };
  const kills = createKillSwitch();
  const parts = { newVersion, kills };
  return {
    record: begunRecord,
    state,
    kills,
    image: () => state.containers.get(names.node)?.image,
    areRunning: () => [...state.containers.values()].every(({ running }) => running),
    steps: (signal: AbortSignal): StackStepsDependencies => ({
      engine: createEngineOf(state, parts),
      pulumi: createPulumiOf(state, parts),
      questions: createQuestionsOf(state, newVersion),
      say: () => {},
      clock: systemClock,
      signal,
      proof: { everyMs: 1, steadyMs: 0 },
    }),
  };
}

type Parts = Readonly<{ newVersion: NewVersion; kills: KillSwitch }>;

function startContainer(state: State, name: string, image: string, newVersion: NewVersion): void {
  const isNew = name === names.node && image === newImage;
  const starts = (state.containers.get(name)?.starts ?? 0) + 1;
  state.containers.set(name, { image, running: !(isNew && newVersion === "does not start"), starts });
  if (name !== names.node) return;
  if (isNew && newVersion === "loses a block") state.live = [];
  state.live = [...state.live, `block by ${image}`];
}

function createEngineOf(state: State, { newVersion, kills: { change } }: Parts): Engine {
  const find = (name: string) => state.containers.get(name);
  return {
    inspect: async (name) => {
      const found = find(name);
      if (found === undefined) return undefined;
      return {
        Image: `sha256:${found.image}`,
        State: { Running: found.running, StartedAt: String(found.starts), ExitCode: 143, OOMKilled: false },
        Config: { Labels: { "io.gatehouse.stack": prefix }, StopTimeout: 300 },
        Mounts: [],
      };
    },
    stop: (name) =>
      change(() => {
        const found = find(name);
        if (found !== undefined) state.containers.set(name, { ...found, running: false });
      }),
    start: (name) => change(() => startContainer(state, name, find(name)?.image ?? "", newVersion)),
    remove: (name) => change(() => void state.containers.delete(name)),
    findImage: async (reference) => `sha256:${reference}`,
    run: ({ command: [, action] }) =>
      change(() => {
        if (find(names.node)?.running === true && action !== "remove") throw new Error("a node writes to these data");
        if (action === "copy") state.copy ??= state.live;
        if (action === "remove") state.copy = undefined;
        if (action === "restore") restore(state);
        return "";
      }),
  };
}

function restore(state: State): void {
  if (state.isRestored) return;
  if (state.copy === undefined) throw new EngineError("there is no whole copy", true);
  state.live = [...state.copy];
  state.isRestored = true;
}

function createPulumiOf(
  state: State,
  { newVersion, kills: { change } }: Parts,
): Pick<PulumiCli, "setConfig" | "update"> {
  return {
    setConfig: (set) => change(() => void Object.assign(state.config, set)),
    update: () =>
      change(() => {
        const image = state.config["gatehouse:nodeImage"] ?? "";
        if (state.containers.get(names.node)?.image === image) return;
        startContainer(state, names.node, image, newVersion);
        startContainer(state, names.sidecar, "gatehouse:1", newVersion);
      }),
  };
}

function createQuestionsOf(state: State, newVersion: NewVersion): Pick<StackQuestions, "look" | "blockHash"> {
  return {
    look: async () => {
      const node = state.containers.get(names.node);
      const isNew = node?.image === newImage;
      if (state.containers.get(names.sidecar)?.running !== true) return { ok: false, message: "no sidecar answers" };
      state.looks += 1;
      const answers = node?.running === true && !(isNew && newVersion === "silent");
      const binaryVersion = isNew && newVersion !== "another version" ? "0.17.0" : "0.16.2";
      const types = ["RpcAnswering", "ConfigCurrent", "RestartSettled", "VersionAgreed"];
      const said: SidecarLook = {
        node: { answers, height: 101 + state.looks, binaryVersion },
        conditions: types.map((type) => ({ type, status: answers ? "True" : "False", reason: "Said", message: type })),
      };
      return { ok: true, said };
    },
    blockHash: async (number) => (state.live[0] === oldBlock ? `hash of ${number}` : "another hash"),
  };
}

const begunRecord: StackRecord = {
  id: "2027-01-05",
  stack: "prod",
  project: "gatehouse",
  prefix,
  engine: "unix:///run/docker.sock",
  statusUrl: "http://127.0.0.1:9600",
  rpcUrl: "http://127.0.0.1:8545",
  toolImage: "sha256:gatehouse",
  from: { image: oldImage, version: "0.16.2" },
  to: { image: newImage, version: "0.17.0" },
  before: {
    height: 101,
    block: { number: 37, hash: "hash of 37" },
    tellsVersion: true,
    autoPrune: false,
    metrics: false,
  },
  limits: { copyMs: 1_000, updateMs: 1_000, proveMs: 5 },
  beganMs: 0,
  stage: "stopping",
  stageSinceMs: 0,
  attempts: 0,
  interruptions: 0,
  newRan: false,
};

import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createCommandWords } from "../command-words.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { parseNodeVersion } from "#node/versions.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { sidecarSettings } from "../../settings.ts";
import { driftedConfig } from "../../testing/fake-node.ts";
import { readConfigFile } from "../config/config-file.ts";
import { openUpkeepState, type UpkeepState } from "../state/upkeep-state.ts";
import { requestUpgrade, cancelUpgrade } from "./request-upgrade.ts";
import { beginScheduled, type BeginScheduledDependencies, type ScheduleWatch } from "./begin-scheduled.ts";
import { observeUpgrade } from "./upgrade-observation.ts";
import type { RequestedStart } from "./upgrade-start.ts";

const minute = 60_000;
const nothing = async () => ({});
// A Saturday; the window of the tests opens two hours later.
const midnight = Date.parse("2027-01-02T00:00:00Z");

let root: string;
let state: UpkeepState;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-scheduled-")));
  for (const name of ["bin", "data", "release"]) await mkdir(join(root, name));
  await writeFile(join(root, "bin", "node.conf"), driftedConfig);
  await writeFile(join(root, "release", "node"), "0.15.1");
  state = openUpkeepState(join(root, "state"));
});

afterEach(async () => {
  state[Symbol.dispose]();
  await rm(root, { recursive: true });
});

/** The passes of an upkeep whose node is as `now` says; `onPeers` happens in the middle of a look. */
function upkeep() {
  const now = { wallMs: midnight, monotonicMs: 0, height: 900, isRestarting: false, onPeers: () => {} };
  const settings = readSettings(sidecarSettings, {
    env: {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: root,
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: "http://127.0.0.1:1",
      GATEHOUSE_SIDECAR_UPGRADE_WINDOW: "Sat 02:00-03:00",
    },
  });
  const clock = { wallMs: () => now.wallMs, monotonicMs: () => now.monotonicMs };
  const version = parseNodeVersion("0.15.0");
  if (version === undefined) throw new Error("the version of this test is invalid");
  const layout = resolveNodeLayout({
    nodeDirectory: root,
    binDirectory: join(root, "bin"),
    configPath: join(root, "bin", "node.conf"),
  });
  const peers = async () => {
    now.onPeers();
    return 3;
  };
  const dependencies: BeginScheduledDependencies = {
    settings,
    state,
    clock,
    command: createCommandWords(settings.upkeep, "/state"),
    driver: { name: "ops", restart: nothing, stop: nothing, start: nothing },
    observer: { pruneInfo: () => undefined, version: () => ({ version, disagreements: [], heard: [] }) },
    health: {
      current: () => ({ answers: 1, height: now.height }),
      facts: () => ({ rpc: { sinceMs: 0, fault: undefined } }),
    },
    budget: { allows: () => true },
    rpc: { blockHash: async () => "0x1", peers },
    holders: { now: async () => [] },
    commits: () => ({}),
    versions: { recall: async () => undefined },
    authority: () => "acts",
    isRestarting: () => now.isRestarting,
    signal: new AbortController().signal,
    place: {
      layout: () => layout,
      read: () => readConfigFile(layout.configPath, 1_000_000),
    },
    events: createRecentEvents(clock),
    log: pino({ level: "silent" }),
    wake: () => undefined,
  };
  const seen = { upgrade: observeUpgrade(undefined, undefined) };
  const watch: ScheduleWatch = {};
  const accept = async (at?: RequestedStart) => {
    const asked = { source: join(root, "release"), version: "0.15.1", at };
    const shown = await requestUpgrade(asked, seen, dependencies);
    const accepted = await requestUpgrade({ ...asked, digest: shown.plan.digest }, seen, dependencies);
    expect(accepted, accepted.plan.problems.join("; ")).toMatchObject({ result: "scheduled" });
  };
  const pass = async (change: Partial<typeof now> = {}) => {
    Object.assign(now, { monotonicMs: now.monotonicMs + minute, ...change });
    beginScheduled(watch, seen, dependencies);
    await seen.upgrade.now().looking;
    return { notBegun: state.scheduledUpgrade.get()?.notBegun, hasBegun: state.upgrade.get() !== undefined };
  };
  return { now, accept, pass, cancel: () => cancelUpgrade(seen, dependencies) };
}

const waits = { notBegun: undefined, hasBegun: false };
const begun = { notBegun: undefined, hasBegun: true };
const closed = { notBegun: expect.stringMatching(/^the window closed before it could begin/), hasBegun: false };
const at = (hours: number, minutes = 0) => midnight + (hours * 60 + minutes) * minute;

test("a head that is one block lower again does not give up an upgrade that begins at a height", async () => {
  const { accept, pass } = upkeep();
  await accept({ kind: "height", height: 1_000 });
  expect(await pass({ height: 1_000, isRestarting: true })).toEqual(waits);
  expect(await pass({ height: 999, isRestarting: false })).toEqual(waits);
  expect(await pass({ height: 1_001 })).toEqual(begun);
});

test("a clock that is set back does not give up an upgrade that begins at a time", async () => {
  const { accept, pass } = upkeep();
  await accept({ kind: "time", atMs: at(2) });
  expect(await pass({ wallMs: at(2), isRestarting: true })).toEqual(waits);
  expect(await pass({ wallMs: at(1, 59), isRestarting: false })).toEqual(waits);
  expect(await pass({ wallMs: at(2, 1) })).toEqual(begun);
});

test("one that was accepted after another was withdrawn has its own window", async () => {
  const { accept, pass, cancel, now } = upkeep();
  await accept();
  expect(await pass({ wallMs: at(2, 30), isRestarting: true })).toEqual(waits);
  cancel();
  now.wallMs = at(3, 30);
  now.isRestarting = false;
  await accept();
  expect(await pass()).toEqual(waits);
  expect(await pass({ wallMs: at(7 * 24 + 2, 30) })).toEqual(begun);
});

test("a window that closes while something speaks against the upgrade gives it up", async () => {
  const { accept, pass } = upkeep();
  await accept();
  expect(await pass({ wallMs: at(2, 30), isRestarting: true })).toEqual(waits);
  expect(await pass({ wallMs: at(3, 1) })).toEqual(closed);
});

test("a window that closes during the last look is not begun in", async () => {
  const { accept, pass, now } = upkeep();
  await accept();
  const onPeers = () => {
    now.wallMs = at(3, 1);
  };
  expect(await pass({ wallMs: at(2, 59), onPeers })).toEqual(waits);
  expect(await pass()).toEqual(closed);
});

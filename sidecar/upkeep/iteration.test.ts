import { describe, expect, it } from "vitest";
import type { ConfigReading } from "./config/config-file.ts";
import { runIteration, type IterationProgress } from "./iteration.ts";
import type { IterationSteps } from "./iteration-steps.ts";

/** A reconcile with its steps, and the calls of the steps in order, with their arguments. */
type Story = Readonly<{
  steps: IterationSteps;
  progress: IterationProgress;
  calls: readonly string[];
  run: () => ReturnType<typeof runIteration>;
  made: () => number;
}>;

const usable = { ok: true, contentHash: "a" } as unknown as ConfigReading;
const hanging = { ok: false, problem: { reason: "Unresponsive", message: "it hangs" } } as unknown as ConfigReading;
const planned = { actions: [], problems: [] } as never;

type Found = Partial<{
  isVersionKnown: boolean;
  moved: boolean;
  authority: "acts" | "waits";
  reading: ConfigReading;
  judged: Readonly<{ again: boolean; wakeInMs?: number }>;
  written: Readonly<{ again: boolean; wakeInMs?: number }>;
  restart: Readonly<{ wakeInMs?: number }>;
  looks: number;
}>;

/** A reconcile whose steps only record their calls. */
function runOver(found: Found = {}): Story {
  const { authority = "acts", reading = usable, judged = { again: false }, moved = false } = found;
  const calls: string[] = [];
  let made = 0;
  const note = (call: string) => void calls.push(call);
  const resolution = { disagreements: [], heard: [] };
  const steps: IterationSteps = {
    state: { directory: "/state", check: async () => note("state") },
    version: async () => {
      note("version");
      return found.isVersionKnown === false ? undefined : { resolution, moved, doubtOfPlace: undefined };
    },
    authority: { decide: () => authority, explainInaction: (now) => (now === "acts" ? undefined : "it waits") },
    config: {
      path: () => "/n/node.conf",
      read: async () => {
        note("read");
        return { reading, auditedThen: undefined };
      },
      renewWatch: async (_, { isFirst }) => note(`renew watch, ${isFirst ? "first" : "later"}`),
      judge: async () => {
        note("judge");
        return judged;
      },
      tidy: async () => note("tidy"),
      keepBefore: async (_, { isFirst }) => note(`keep, ${isFirst ? "first" : "later"}`),
      write: async (_, __, { idle }) => {
        note(`write, ${idle ?? "may"}`);
        return found.written;
      },
    },
    plan: async () => {
      note("plan");
      return { planned, desired: { hash: "d" } };
    },
    upgrade: {
      apply: (now) => note(`upgrade, ${now}`),
    },
    prune: { apply: (_, idle) => note(`prune, ${idle ?? "may"}`), isRunning: () => false },
    restart: {
      driverName: "ops",
      forgetCheck: () => note("forget"),
      remember: async () => note("remember"),
      apply: async () => {
        note("restart");
        return found.restart ?? {};
      },
    },
    data: {
      watch: () => {
        note("data");
        return found.looks;
      },
    },
  };
  const progress: IterationProgress = { step: "beginning", passed: false };
  const watch = { made: () => (made += 1), failed: () => undefined, late: () => undefined };
  return { steps, progress, calls, run: () => runIteration(progress, steps, watch), made: () => made };
}

const untilJudged = ["forget", "state", "version", "read", "renew watch, first", "judge"];
const untilPlanned = [...untilJudged, "tidy", "keep, first", "plan"];
const untilWritten = [...untilPlanned, "upgrade, acts", "remember", "write, may"];

describe("a pass", () => {
  it("observes, plans and applies, and remembers what the node runs with before it writes", async () => {
    const { run, calls, progress, made } = runOver();
    expect(await run()).toEqual({});
    expect(calls).toEqual([...untilWritten, "prune, may", "restart", "data"]);
    expect(progress).toEqual({ step: "querying the driver ops about the node", passed: true });
    expect(made()).toBe(1);
  });

  it("tidies up once, and knows that it is a later one", async () => {
    const { run, calls } = runOver();
    await run();
    const before = calls.length;
    await run();
    expect(calls.slice(before)).not.toContain("tidy");
    expect(calls.slice(before)).toEqual(expect.arrayContaining(["renew watch, later", "keep, later"]));
  });

  it("says and does nothing before the version had its chance to be reported", async () => {
    const { run, calls, progress, made } = runOver({ isVersionKnown: false });
    expect(await run()).toEqual({ wakeInMs: 1_000 });
    expect(calls).toEqual(["forget", "state", "version"]);
    expect([progress.passed, made()]).toEqual([false, 0]);
  });

  it("does not watch again where the node has moved, which watches already", async () => {
    const { run, calls } = runOver({ moved: true });
    await run();
    expect(calls).not.toContain("renew watch, first");
  });

  it("judges a node.conf whose file system hangs, and ends with what could not be seen", async () => {
    const { run, calls, made } = runOver({ reading: hanging });
    await expect(run()).rejects.toThrow("/n/node.conf can't be read, because its file system hangs");
    expect(calls).toEqual(untilJudged.filter((call) => !call.startsWith("renew")));
    expect(made()).toBe(0);
  });

  it("begins again at once where the judgement put another node.conf in place", async () => {
    const { run, calls, made } = runOver({ judged: { again: true } });
    expect(await run()).toEqual({ wakeInMs: 1 });
    expect(calls).toEqual(untilPlanned.slice(0, -1));
    expect(made()).toBe(0);
  });

  it("begins again at once after a write, and counts as made", async () => {
    const { run, calls, progress, made } = runOver({ written: { again: true } });
    expect(await run()).toEqual({ wakeInMs: 1 });
    expect(calls).toEqual(untilWritten);
    expect([progress.passed, made()]).toEqual([false, 1]);
  });

  it("tidies nothing and says why it is idle where it may not act", async () => {
    const { run, calls } = runOver({ authority: "waits" });
    await run();
    expect(calls).not.toContain("tidy");
    expect(calls).toEqual(expect.arrayContaining(["upgrade, waits", "write, it waits", "prune, it waits"]));
  });

  it.each([
    { judged: { again: false, wakeInMs: 5 } },
    { written: { again: false, wakeInMs: 5 } },
    { restart: { wakeInMs: 5 } },
    { looks: 5 },
  ])("is followed by the next when the first of its steps wants that: %o", async (found) => {
    const { run } = runOver({ restart: { wakeInMs: 9 }, ...found });
    expect(await run()).toEqual({ wakeInMs: 5 });
  });
});

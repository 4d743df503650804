import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { DriverError } from "../drivers/driver.ts";
import { stopNode, type NodePowerDependencies, createPortHolders } from "./node-power.ts";

const mark = { pid: 4_711, startTicks: 1 };

/** A node whose port is closed, as it is after its stop. `runsForLooks`: for how many looks its process runs on. */
function closed({ seen = [mark], runsForLooks = 0, fails = false }) {
  let looks = 0;
  const dependencies: NodePowerDependencies = {
    driver: {
      name: "ops",
      restart: async () => ({}),
      start: async () => ({}),
      stop: async () => {
        if (fails) throw new DriverError("ops exited with status 1");
        return {};
      },
    },
    holders: {
      now: async () => seen,
      runs: async () => {
        looks += 1;
        return looks <= runsForLooks;
      },
    },
    look: async () => ({ answers: 1, failure: { reason: "Refused", message: "", isPortClosed: true } }),
    clock: systemClock,
    signal: new AbortController().signal,
  };
  return { dependencies, looks: () => looks };
}

test("a node that closes its port and still writes is not stopped yet", async () => {
  const { dependencies, looks } = closed({ runsForLooks: 1 });
  expect(await stopNode({ withinMs: 20_000, before: undefined }, dependencies)).toEqual({ ok: true });
  expect(looks()).toBe(2);
});

test("one whose process never ends is not stopped, also where an earlier sidecar told it to", async () => {
  const { dependencies } = closed({ seen: [], runsForLooks: Number.POSITIVE_INFINITY });
  expect(await stopNode({ withinMs: 1, before: mark }, dependencies)).toEqual({
    ok: false,
    why: "its process 4711 still runs 1 ms after its stop (restart.timeoutMs)",
  });
});

test("where no process is seen, a stop command that fails is believed; where one is, its end is", async () => {
  const unseen = closed({ seen: [], fails: true });
  expect(await stopNode({ withinMs: 1, before: undefined }, unseen.dependencies)).toMatchObject({
    ok: false,
    why: expect.stringContaining("its process can't be seen"),
  });
  const seen = closed({ fails: true });
  expect(await stopNode({ withinMs: 1, before: undefined }, seen.dependencies)).toEqual({ ok: true });
});

test.skipIf(process.platform !== "linux")("the process that holds a port is found, and seen to end", async () => {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-holder-"));
  // Its parent ends at once, as ops does: what the sidecar has begun itself is no node.
  const node = `require("net").createServer().listen(0, "127.0.0.1", function () { console.log(this.address().port, process.pid); })`;
  const script = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(node)}], { detached: true, stdio: ["ignore", "inherit", "ignore"] }).unref()`;
  const ops = spawn(process.execPath, ["-e", script], { cwd: directory, stdio: ["ignore", "pipe", "ignore"] });
  const [line] = (await once(ops.stdout, "data")) as [Buffer];
  const [port, pid = 0] = line.toString().trim().split(" ").map(Number);
  try {
    const { now, runs } = createPortHolders(`http://127.0.0.1:${port}`, () => directory);
    const [found] = await now();
    expect(found?.pid).toBe(pid);
    if (found === undefined) return;
    expect(await runs(found)).toBe(true);
    // Another process that got its id is another one.
    expect(await runs({ ...found, startTicks: found.startTicks - 1 })).toBe(false);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => runs(found), { timeout: 20_000 }).toBe(false);
    expect(await now()).toEqual([]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

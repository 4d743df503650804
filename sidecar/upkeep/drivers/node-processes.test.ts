import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createNodeProcesses } from "./host-processes.ts";

test.skipIf(process.platform !== "linux")(
  "finds the process that listens on a port, and notices its exit",
  async () => {
    const directory = await makeTestDirectory();
    // Its parent exits at once, as ops does, because a process started by the sidecar itself doesn't count as a node.
    const node = `require("net").createServer().listen(0, "127.0.0.1", function () { console.log(this.address().port, process.pid); })`;
    const script = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(node)}], { detached: true, stdio: ["ignore", "inherit", "ignore"] }).unref()`;
    const ops = spawn(process.execPath, ["-e", script], { cwd: directory, stdio: ["ignore", "pipe", "ignore"] });
    const [line] = (await once(ops.stdout, "data")) as [Buffer];
    const [port, pid = 0] = line.toString().trim().split(" ").map(Number);
    const { now, runs } = createNodeProcesses({
      httpUrl: `http://127.0.0.1:${port}`,
      binDirectory: () => directory,
      processName: () => undefined,
    });
    const [found] = await now();
    expect(found?.pid).toBe(pid);
    if (found === undefined) return;
    expect(await runs(found)).toBe(true);
    // A process that reuses its id is a different one.
    expect(await runs({ ...found, startTicks: found.startTicks - 1 })).toBe(false);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => runs(found), { timeout: 20_000 }).toBe(false);
    expect(await now()).toEqual([]);
  },
);

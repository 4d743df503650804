import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { mayMount, mountHangingDisk } from "../../testing/small-disk.ts";
import { findProcessesOf } from "../../testing/ops-driver.ts";

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
    const { now, runs } = findProcessesOf(`http://127.0.0.1:${port}`, directory);
    const [found] = await now();
    expect(found?.pid).toBe(pid);
    if (found === undefined) return;
    expect(await runs(found)).toBe(true);
    // A process that reuses its id is a different one.
    expect(await runs({ ...found, startTicks: found.startTicks - 1 })).toBe(false);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => runs(found)).toBe(false);
    expect(await now()).toEqual([]);
  },
);

const isPossible = await mayMount();
const why = isPossible ? "" : " (skipped: this user may not mount a file system)";

test.skipIf(!isPossible)(`finds the processes in a linked directory whose file system hangs${why}`, async () => {
  const directory = await makeTestDirectory();
  await using links = await mkdtempDisposable(join(tmpdir(), "processes-"));
  const link = join(links.path, "bin");
  await symlink(directory, link);
  const shell = spawn("sh", ["-c", "sleep 60 >/dev/null & echo $!"], { cwd: directory });
  const pid = Number(await text(shell.stdout));
  try {
    const { inside } = findProcessesOf("http://127.0.0.1:9", link, 100);
    expect(await inside()).toEqual([pid]);
    using _hanging = mountHangingDisk(directory);
    expect(await inside()).toEqual([pid]);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { gatehouseProgram } from "../support/programs/place.ts";

/** Starts a service, prints its process id once it is ready, and reads its output. */
const parent = `
import { spawn } from "node:child_process";
const child = spawn(process.execPath, [${JSON.stringify(gatehouseProgram)}, "upstream"], { stdio: ["ignore", "pipe", "pipe", "ipc"] });
for (const stream of [child.stdout, child.stderr]) stream.resume();
child.once("message", () => console.log(child.pid));
`;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("exits if its parent, which also reads its log, is killed", async () => {
  const directory = await makeTestDirectory();
  const starter = spawn(process.execPath, ["--input-type=module", "--eval", parent], {
    cwd: directory,
    env: { PATH: process.env["PATH"] ?? "", GATEHOUSE_UPSTREAM_LISTEN_PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void starter.kill("SIGKILL"));
  const [reported] = (await once(starter.stdout, "data")) as [Buffer];
  const pid = Number(String(reported));
  starter.kill("SIGKILL");
  await expect.poll(() => isRunning(pid)).toBe(false);
});

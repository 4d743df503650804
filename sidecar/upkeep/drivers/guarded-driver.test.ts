import { access } from "node:fs/promises";
import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { mayMount, mountHangingDisk } from "../../testing/small-disk.ts";
import { guardDriver } from "./guarded-driver.ts";

const isPossible = await mayMount();
const why = isPossible ? "" : " (skipped: this user may not mount a file system)";

test.skipIf(!isPossible)(`does not wait for a file system that hangs after it was checked${why}`, async () => {
  const directory = await makeTestDirectory();
  using mounts = new DisposableStack();
  const problem = async () => {
    mounts.use(mountHangingDisk(directory));
    await access(directory);
    return "never known";
  };
  const options = { withinMs: 100, signal: new AbortController().signal };
  const createDeadline = () => createFileDeadline(options, { clock: systemClock, onBack: () => undefined });
  const [fileDeadline, problemDeadline] = [createDeadline(), createDeadline()];
  const driver = guardDriver(
    { name: "ops", restart: () => Promise.reject(new Error("no restart was requested")), problem },
    () => [[directory, fileDeadline]],
    () => problemDeadline,
  );
  expect(await driver.problem?.()).toBeUndefined();
  await expect(driver.restart(options.signal)).rejects.toThrow("the file system does not respond");
});

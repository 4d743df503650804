import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createProcessLock } from "./process-lock.ts";

const nobodyUid = 65_534;
const isRoot = process.getuid?.() === 0;
let directory: string;
let path: string;

beforeEach(async () => {
  directory = await makeTestDirectory();
  path = join(directory, ".lock");
});

afterEach(() => {
  process.seteuid?.(process.getuid?.() ?? 0);
});

test("only one holder has the lock at a time; the other learns its identity", () => {
  using first = createProcessLock(path, "/data/bin/node.conf");
  using secondLock = createProcessLock(path, "/data/bin/node.conf");
  expect(first.acquire()).toEqual({ ok: true });
  expect(secondLock.acquire()).toMatchObject({
    ok: false,
    reason: "Locked",
    holder: { pid: process.pid, node: "/data/bin/node.conf" },
  });
  first.remove();
  expect(secondLock.acquire()).toEqual({ ok: true });
});

test.skipIf(!isRoot).each([0o644, 0o600])(
  "a file owned by a different user with mode %o is rejected as a lock (skipped: needs root)",
  (mode) => {
    chmodSync(directory, 0o777);
    writeFileSync(path, "", { mode });
    process.seteuid?.(nobodyUid);
    using lock = createProcessLock(path, "/data/bin/node.conf");
    expect(lock.acquire()).toEqual({
      ok: false,
      reason: "NotOurs",
      why: `${path} can't be written by user ${nobodyUid}; remove it once no sidecar runs there: rm ${path}`,
    });
  },
);

test.skipIf(!isRoot).each([
  [4_321, "run the sidecar as user 4321, or "],
  [0, ""],
])("names the owner of a directory that the user can't write to: %i (skipped: needs root)", (owner, asOwner) => {
  chmodSync(directory, 0o755);
  chownSync(directory, owner, owner);
  process.seteuid?.(nobodyUid);
  using lock = createProcessLock(path, "/data/bin/node.conf");
  expect(lock.acquire()).toEqual({
    ok: false,
    reason: "LockFailed",
    why: `(unable to open database file); the directory belongs to user ${owner}; ${asOwner}run \`chown -R ${nobodyUid} ${directory}\``,
  });
});

test("a named pipe in place of the holder file neither blocks nor is trusted", () => {
  execFileSync("mkfifo", [`${path}.json`]);
  using first = createProcessLock(path, "/data/bin/node.conf");
  expect(first.acquire()).toEqual({ ok: true });
  rmSync(`${path}.json`);
  execFileSync("mkfifo", [`${path}.json`]);
  using secondLock = createProcessLock(path, "/data/bin/node.conf");
  expect(secondLock.acquire()).toEqual({ ok: false, reason: "Locked" });
});

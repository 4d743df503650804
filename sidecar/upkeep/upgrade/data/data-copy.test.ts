import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { copyStores } from "./data-copy.ts";

let root: string;

beforeEach(async () => {
  root = await makeTestDirectory();
});

async function makeStore(name: string) {
  const path = join(root, name);
  await mkdir(path);
  await writeFile(join(path, "chain"), name);
  return { path, copy: join(root, "work", name), aside: join(root, "work", `${name}-aside`) };
}

test("limits the total time to copy all directories and flush them to disk", async () => {
  const stores = [await makeStore("data"), await makeStore("meta")];
  // Each clock reading is a minute later: copying and writing the first file take two readings.
  let nowMs = 0;
  const clock = { monotonicMs: () => (nowMs += 60_000.5) };
  const options = { timeoutMs: 150_000, signal: new AbortController().signal };
  await expect(copyStores(stores, options, { clock })).rejects.toThrow(
    `${join(root, "meta")} could not be copied: the 150000 ms for all data have elapsed (upgrade.copyTimeoutMs)`,
  );
  expect(await readFile(join(root, "work", "data", "chain"), "utf8")).toBe("data");
  await expect(stat(join(root, "work", "meta"))).rejects.toThrow("ENOENT");
});

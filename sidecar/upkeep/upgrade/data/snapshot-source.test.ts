import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { begunUpgrade } from "../../../testing/begun-upgrade.ts";
import { revertRestore } from "./restore-data.ts";
import { findSnapshot } from "./snapshot-source.ts";

let root: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-snapshot-")));
  await fill(join(root, "data"));
});

afterEach(() => rm(root, { recursive: true }));

/** Makes a directory with data. */
async function fill(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "chain"), "blocks");
}

/** Creates the work of an upgrade or a restore of a node with one store, with node.conf kept in its directory. */
async function work(id: string) {
  const directory = join(root, ".gatehouse-upgrade", id);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "node.conf"), "{}");
  const aside = join(directory, "data-of-before");
  return { ...begunUpgrade, directory, stores: [{ path: join(root, "data"), copy: join(directory, "data"), aside }] };
}

test("with no path the copy that the last upgrade kept is taken", async () => {
  const last = await work("1");
  await fill(join(last.directory, "data"));
  expect(await findSnapshot(undefined, last.stores, last)).toEqual({
    ok: true,
    sources: [join(last.directory, "data")],
  });
});

test("after a restore that was rolled back, one with no path is refused: what that left is no snapshot", async () => {
  const last = await work("1");
  const [store] = last.stores;
  if (store === undefined) throw new Error("the record of this test has no store");
  await fill(store.aside);
  await revertRestore(store);
  const found = await findSnapshot(undefined, last.stores, last);
  expect(found).toMatchObject({ ok: false, problem: expect.stringContaining("no upgrade has kept a copy") });
});

test.each(["programs", "data-of-before"])(
  "a kept directory with %s and no copy of the data is refused",
  async (name) => {
    const last = await work("1");
    await fill(join(last.directory, name));
    expect(await findSnapshot(undefined, last.stores, last)).toMatchObject({ ok: false });
    expect(await findSnapshot(last.directory, last.stores, last)).toMatchObject({
      ok: false,
      problem: expect.stringContaining(
        `holds no copy of the data (data): it has ${[name, "node.conf"].toSorted().join(", ")}`,
      ),
    });
    const named = join(last.directory, name);
    expect(await findSnapshot(named, last.stores, last)).toEqual({ ok: true, sources: [named] });
  },
);

test("the directory of an earlier upgrade gives its copy, and is refused without one", async () => {
  const earlier = await work("1");
  const last = await work("2");
  expect(await findSnapshot(earlier.directory, last.stores, last)).toMatchObject({ ok: false });
  await fill(join(earlier.directory, "data"));
  expect(await findSnapshot(earlier.directory, last.stores, last)).toMatchObject({ ok: true });
});

test("a path that is not there is distinguished from one that can't be read", async () => {
  const last = await work("1");
  expect(await findSnapshot(join(root, "none"), last.stores, last)).toMatchObject({
    problem: `${join(root, "none")} is not there`,
  });
  const loop = join(root, "loop");
  await symlink(loop, loop);
  expect(await findSnapshot(loop, last.stores, last)).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/can't be read \(ELOOP\)$/),
  });
});

test("after a restore from the copy that an upgrade kept, that copy is still the one with no path", async () => {
  const upgrade = await work("1");
  const kept = join(upgrade.directory, "data");
  await fill(kept);
  const last = { ...(await work("2")), restoredFrom: [kept] };
  expect(await findSnapshot(undefined, last.stores, last)).toEqual({ ok: true, sources: [kept] });
  const elsewhere = join(root, "snapshot");
  await fill(elsewhere);
  const found = await findSnapshot(undefined, last.stores, { ...last, restoredFrom: [elsewhere] });
  expect(found).toMatchObject({ ok: false, problem: expect.stringContaining("no upgrade has kept a copy") });
});

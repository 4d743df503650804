import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { parseConfig } from "#node/conf/document.ts";
import { makeContext } from "../../../testing/upkeep-context.ts";
import { readRelease } from "../check-release.ts";
import { findStores } from "./data-stores.ts";

let root: string;

beforeEach(async () => {
  root = await makeTestDirectory();
  for (const name of ["bin", "data/chain", "elsewhere"]) await mkdir(join(root, name), { recursive: true });
  await writeFile(join(root, "data", "chain", "1"), "block");
});

const signal = new AbortController().signal;

/** Finds the data of a node.conf that specifies `path`. */
function find({ path = join(root, "data"), others = [] as readonly string[], mounts = "" } = {}) {
  const text = JSON.stringify({ chain: { monitor_config: {} }, storage: { mygrid_env: { storage_data_path: path } } });
  const parsed = parseConfig(Buffer.from(text));
  if (!parsed.ok) throw new Error("this test's text is not a node.conf");
  const mountsPath = join(root, "mountinfo");
  const pathsDirectory = join(root, "bin");
  const options = { configPath: join(pathsDirectory, "node.conf"), pathsDirectory, id: "1", others };
  return writeFile(mountsPath, mounts).then(() =>
    findStores(parsed.document, options, { timeoutMs: 20_000, signal, mountsPath }),
  );
}

test("restores a data directory as a whole, with internal and dangling links", async () => {
  await symlink("1", join(root, "data", "chain", "latest"));
  await symlink("nowhere", join(root, "data", "chain", "gone"));
  expect(await find()).toMatchObject({ stores: [{ path: join(root, "data") }] });
});

test("rejects a link that leads out of the data, since its target would not be restored", async () => {
  await symlink(join(root, "elsewhere"), join(root, "data", "chain", "ancient"));
  const words = `${join(root, "data", "chain", "ancient")} leads out of the data directory`;
  await expect(find()).rejects.toThrow(words);
});

test.each([
  ["", "is its own mount"],
  ["/chain", "is mounted in the data directory"],
])("rejects a mount at or below the data, even on the same device: %s", async (below, words) => {
  const mounts = `22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 8:1 /x ${join(root, "data")}${below} rw - ext4 /dev/sda1 rw\n`;
  await expect(find({ mounts })).rejects.toThrow(words);
});

test("recognizes a mount with an escaped space in its name", async () => {
  const path = join(root, "my data");
  await mkdir(path);
  const mounts = `23 22 8:1 /x ${root}/my\\040data rw - ext4 /dev/sda1 rw\n`;
  await expect(find({ path, mounts })).rejects.toThrow(`${path} is its own mount`);
});

test("finds a directory that is in the data through a link", async () => {
  await mkdir(join(root, "data", "state"));
  await symlink(join(root, "data", "state"), join(root, "state"));
  const words = `${join(root, "data", "state")} is in the data directory`;
  await expect(find({ others: [join(root, "state")] })).rejects.toThrow(words);
});

test("rejects a relative path of a release, which the sidecar could not resolve", async () => {
  const layout = resolveNodeLayout({ workspace: root });
  const release = readRelease({ source: "release" }, makeContext({ place: { layout: () => layout } }));
  await expect(release).rejects.toThrow("release is not an absolute path; specify the directory's absolute path");
});

test("rejects the bin directory itself as a release", async () => {
  await symlink(join(root, "bin"), join(root, "release"));
  const layout = resolveNodeLayout({ workspace: root });
  const release = readRelease({ source: join(root, "release") }, makeContext({ place: { layout: () => layout } }));
  await expect(release).rejects.toThrow("is the node's bin directory");
});

import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { driftedConfig } from "#sidecar/testing/fake-node.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { root } from "../style/rooms.ts";

const found = await findEngine();
const engine = found.ok ? found : { url: "", nodeImage: "" };

/** Runs as the user of Gatehouse's images. */
const asService = "--user=10001:10001";
const plan =
  'node /app/cli/gatehouse.js config plan --config /data/bin/node.conf --node-version 0.16.2 --write 2>&1 >/dev/null; echo "status $?"';

/** A shell's output in a container with this checkout. */
function run(options: readonly string[], script: string): Promise<string> {
  const base = ["--network=none", `--volume=${root}:/app:ro`];
  return runDocker("run", "--rm", ...base, ...options, engine.nodeImage, "sh", "-c", script);
}

describe.skipIf(!found.ok)(`a node.conf that can't be corrected${skipReason(found)}`, () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "gatehouse-hard-"));
    await chmod(directory, 0o755);
    await mkdir(join(directory, "bin"));
    path = join(directory, "bin", "node.conf");
    await writeFile(path, driftedConfig, { mode: 0o644 });
  });

  afterEach(async () => {
    const text = await readFile(path, "utf8");
    await rm(directory, { recursive: true });
    expect(text).toBe(driftedConfig);
  });

  const mounted = (how = "") => `--volume=${directory}:/data${how}`;

  test("reports another user's unreadable file", async () => {
    await chmod(path, 0o600);
    expect(await run([asService, mounted()], plan)).toBe(
      "plan: /data/bin/node.conf can't be read (EACCES); grant the sidecar's user read access.\nstatus 1",
    );
  });

  test("reports another user's read-only directory", async () => {
    expect(await run([asService, mounted()], plan)).toBe(
      "plan: /data/bin/.node.conf.lock can't be created (unable to open database file); make the directory writable for the sidecar.\nstatus 1",
    );
  });

  test("reports a file whose owner would change", async () => {
    await chmod(join(directory, "bin"), 0o777);
    expect(await run([asService, mounted()], plan)).toBe(
      "plan: /data/bin/node.conf can't be written (EPERM: the sidecar's user can't preserve the file's owner; run the sidecar as that owner).\nstatus 1",
    );
  });

  test("reports a read-only mount", async () => {
    expect(await run([mounted(":ro")], plan)).toBe(
      "plan: /data/bin/.node.conf.lock can't be created (unable to open database file); make the directory writable for the sidecar.\nstatus 1",
    );
  });

  test("reports a full disk", async () => {
    const prepare = "mkdir /data/bin; cp /from/node.conf /data/bin; cat /dev/zero >/data/fill 2>/dev/null";
    const disk = "--mount=type=tmpfs,destination=/data,tmpfs-size=1m";
    const script = `${prepare}; ${plan}; cmp /from/node.conf /data/bin/node.conf && echo same`;
    expect(await run([disk, `--volume=${directory}/bin:/from:ro`], script)).toBe(
      "plan: /data/bin/.node.conf.lock can't be created (database or disk is full); free space on its disk.\nstatus 1\nsame",
    );
  });
});

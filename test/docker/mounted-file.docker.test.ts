import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { driftedConfig } from "#sidecar/testing/fake-node.ts";
import { startUpkeepContainer } from "../support/engine/upkeep-container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { root } from "../style/rooms.ts";

const found = await findEngine();
const engine = found.ok ? found : { url: "", nodeImage: "" };
const remedy = "can't be written (EBUSY: the file itself is mounted; mount its directory instead).";

describe.skipIf(!found.ok)(`a node.conf mounted as a single file${skipReason(found)}`, () => {
  let directory: string;
  let path: string;
  let mount: readonly string[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "gatehouse-mounted-"));
    path = join(directory, "node.conf");
    await writeFile(path, driftedConfig);
    mount = ["--volume", `${path}:/data/bin/node.conf`];
  });

  afterEach(() => rm(directory, { recursive: true }));

  test("makes gatehouse config plan --write fail without changing or leaving a file", async () => {
    const plan = "node /app/cli/gatehouse.js config plan --config /data/bin/node.conf --node-version 0.16.2 --write";
    const script = `${plan} 2>&1 >/plan; echo "status $?"; ls -A /data/bin`;
    const options = ["--network", "none", "--volume", `${root}:/app:ro`, ...mount];
    expect(await runDocker("run", "--rm", ...options, engine.nodeImage, "sh", "-c", script)).toBe(
      `plan: /data/bin/node.conf ${remedy}\nstatus 1\nnode.conf`,
    );
    expect(await readFile(path, "utf8")).toBe(driftedConfig);
  });

  test("is still watched, and the sidecar reports why it can't be written", async () => {
    const settings = {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/data",
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    };
    await using sidecar = await startUpkeepContainer(engine.nodeImage, settings, mount);
    expect(await sidecar.reason("ConfigReconciled", "WriteFailed")).toContain(remedy);
    await writeFile(path, driftedConfig.slice(0, 40));
    await sidecar.reason("ConfigReconciled", "Truncated");
    const right = driftedConfig
      .replaceAll("pamir_cetina", "storage_cetina")
      .replace("enable_storage", "storage_enable");
    await writeFile(path, right);
    await sidecar.reason("ConfigReconciled", "Reconciled");

    // An editor that saves by rename changes the directory, which is not mounted: the container keeps the old file.
    await writeFile(join(directory, "saved"), "{}");
    await rename(join(directory, "saved"), path);
    expect(await runDocker("exec", sidecar.container.name, "cat", "/data/bin/node.conf")).toBe(right.trim());
  });
});

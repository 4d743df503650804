import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { driftedConfig } from "#sidecar/testing/fake-node.ts";
import { startContainer } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { buildPharosImage } from "../support/engine/pharos-image.ts";

const found = await findEngine();
const password = "--env=CONSENSUS_KEY_PWD=a password";
const noNetwork = "--network=none";

/** Waits until the node in a container produces blocks. */
const waitForBlocks = (name: string) =>
  until("the node runs", generousMs, async () => (await runDocker("logs", name)).includes("block"));

test.skipIf(!found.ok)(
  `the pharos image requires a password, configuration and genesis, and replaces its binaries at every start${skipReason(found)}`,
  async () => {
    if (!found.ok) return;
    await using resources = new AsyncDisposableStack();
    const { image } = resources.use(await buildPharosImage(found.nodeImage, "0.16.2"));
    const workspace = await mkdtemp(join(tmpdir(), "gatehouse-pharos-"));
    // The container's files belong to root, the user of these tests.
    resources.defer(() => rm(workspace, { recursive: true, force: true }));
    const mount = `--volume=${workspace}:/data`;
    const rejection = async (...options: readonly string[]) =>
      runDocker("run", "--rm", noNetwork, mount, ...options, image).then(String, (error: { stderr: string }) =>
        error.stderr.trim(),
      );
    expect(await rejection(password)).toBe("no configuration at /data/pharos.conf");
    await writeFile(join(workspace, "pharos.conf"), driftedConfig);
    expect(await rejection()).toBe("CONSENSUS_KEY_PWD is missing");
    expect(await rejection(password)).toBe("no genesis at /data/genesis.conf");
    await writeFile(join(workspace, "genesis.conf"), "{}");
    // The rejected start has created keys, which this node keeps.
    const readKey = () => readFile(join(workspace, "keys", "domain.key"), "utf8");
    const key = await readKey();
    {
      await using node = await startContainer({ image, options: [noNetwork, mount, password], command: [] });
      await waitForBlocks(node.name);
      expect(await runDocker("exec", node.name, "./bin/pharos_light", "--version")).toMatch(/^[0-9a-f]{9}$/);
    }
    await writeFile(join(workspace, "bin", "VERSION"), "the operator's own");
    await writeFile(join(workspace, "bin", "pharos_cli"), "created by the operator");
    await rm(join(workspace, "genesis.conf"));
    await using node = await startContainer({ image, options: [noNetwork, mount, password], command: [] });
    await waitForBlocks(node.name);
    expect(await readFile(join(workspace, "bin", "VERSION"), "utf8")).toBe("the operator's own");
    expect(await readFile(join(workspace, "bin", "pharos_cli"), "utf8")).toContain("genesis");
    expect(await readKey()).toBe(key);
  },
);

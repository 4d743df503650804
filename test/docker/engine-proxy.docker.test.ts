import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDockerDriver, createDockerEngine, createDockerNodeCli } from "#sidecar/upkeep/drivers/docker-driver.ts";
import { startContainer, type TestContainer } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { startService } from "../support/service-process.ts";

const found = await findEngine();
const isLocal = found.ok && found.url.startsWith("unix://");
const notLocal = found.ok && !isLocal ? ` (skipped: ${found.url} is not a socket, which the proxy needs)` : "";
const engine = found.ok ? found : { url: "", nodeImage: "" };
const signal = new AbortController().signal;

/** Prints its arguments, but hangs while a certain file exists. */
const nodeCli = '#!/bin/sh\n[ -e /tmp/hang ] && exec sleep 900\necho "$*"\n';

describe.skipIf(!isLocal)(`the engine proxy with a real engine${skipReason(found)}${notLocal}`, () => {
  let directory: string;
  let container: TestContainer;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "gatehouse-proxied-"));
    await mkdir(join(directory, "bin"));
    await writeFile(join(directory, "bin", "node_cli"), nodeCli);
    await chmod(join(directory, "bin", "node_cli"), 0o755);
    const options = ["--network", "none", "--init", "--volume", `${directory}:/data:ro`];
    container = await startContainer({ image: engine.nodeImage, options, command: ["sleep", "1000"] });
  });

  afterEach(async () => {
    await container[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  const socketPath = () => join(directory, "proxy.sock");

  function startProxy() {
    return startService("engine-proxy", {
      GATEHOUSE_ENGINE_PROXY_ENGINE: engine.url,
      GATEHOUSE_ENGINE_PROXY_CONTAINER: container.name,
      GATEHOUSE_ENGINE_PROXY_LISTEN_SOCKET_PATH: socketPath(),
    });
  }

  test("forwards the sidecar's restart and node_cli, but no other command", async () => {
    await using proxy = await startProxy();
    const connection = createDockerEngine({ engine: proxy.urls["engine-proxy"] ?? "", timeoutMs: 60_000 });
    const driver = createDockerDriver({ container: container.name, stopTimeoutSeconds: 30 }, connection);
    const timeBefore = Date.parse(await container.inspect("{{.State.StartedAt}}"));
    expect(await driver.startedAt?.(signal)).toBe(timeBefore);
    await driver.restart(signal);
    expect(await driver.startedAt?.(signal)).toBeGreaterThan(timeBefore);
    const options = { container: container.name, timeoutMs: 60_000, outputLimitBytes: 1_000 };
    const run = createDockerNodeCli(options, () => ({ directory: "/data/bin", command: "node_cli" }), connection);
    const query = ["prune", "--c", "./node.conf", "--get"];
    expect(await run(query, signal)).toEqual({ ok: true, output: "prune --c ./node.conf --get\n" });
    expect(await run(["id"], signal)).toMatchObject({
      ok: false,
      message: expect.stringContaining("403: gatehouse engine-proxy: only ") as string,
    });
  });

  test("abandons a hung node_cli, and accepts a retry after a proxy restart", async () => {
    await runDocker("exec", container.name, "touch", "/tmp/hang");
    const connection = createDockerEngine({ engine: `unix://${socketPath()}`, timeoutMs: 2_000 });
    const options = { container: container.name, timeoutMs: 2_000, outputLimitBytes: 1_000 };
    const run = createDockerNodeCli(options, () => ({ directory: "/data/bin", command: "node_cli" }), connection);
    {
      await using _proxy = await startProxy();
      expect(await run(["--version"], signal)).toMatchObject({ reason: "TimedOut" });
      expect(await run(["--version"], signal)).toMatchObject({
        message: expect.stringContaining("is still running from an earlier call") as string,
      });
    }
    await runDocker("exec", container.name, "rm", "/tmp/hang");
    await using _proxy = await startProxy();
    expect(await run(["--version"], signal)).toEqual({ ok: true, output: "--version\n" });
  });
});

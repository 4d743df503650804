import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDockerEngine, createDockerNodeCli } from "#sidecar/upkeep/drivers/docker-driver.ts";
import { startContainer, createUniqueName, type TestContainer } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const found = await findEngine();
const engine = found.ok ? found : { url: "", nodeImage: "" };

/** A node's tool, under each of its possible names. */
const tools = {
  prints: 'echo "version 1 $*"; echo log >&2',
  fails: 'echo "no config: $2" >&2; exit 3',
  silent: "exit 4",
  hangs: "echo $$ >/tmp/hangs.pid; exec sleep 900",
  endless: "exec head -c 100000000 /dev/zero",
  binary: String.raw`printf '\000\377\001'`,
};

describe.skipIf(!found.ok)(`node_cli in a container of a real engine${skipReason(found)}`, () => {
  let workspace: string;
  let container: TestContainer;

  beforeAll(async () => {
    workspace = await mkdtemp(join(tmpdir(), "gatehouse-tools-"));
    await mkdir(join(workspace, "bin"));
    for (const [name, text] of Object.entries(tools)) await tool(name, text);
    await writeFile(join(workspace, "bin", "plain"), "#!/bin/sh\n", { mode: 0o644 });
    const options = ["--network", "none", "--volume", `${workspace}:/data:ro`];
    container = await startContainer({ image: engine.nodeImage, options, command: ["sleep", "1000"] });
  });

  afterAll(async () => {
    await container[Symbol.asyncDispose]();
    await rm(workspace, { recursive: true });
  });

  async function tool(name: string, text: string): Promise<void> {
    const path = join(workspace, "bin", name);
    await writeFile(path, `#!/bin/sh\n${text}\n`);
    await chmod(path, 0o755);
  }

  /** Runs a tool once, and returns its output without the container's name. */
  async function run(command: string, args: readonly string[], timeoutMs = 20_000) {
    const connection = createDockerEngine({ engine: engine.url, timeoutMs });
    const options = { container: container.name, timeoutMs, outputLimitBytes: 1_000 };
    const result = await createDockerNodeCli(
      options,
      () => ({ directory: "/data/bin", command }),
      connection,
    )(args, new AbortController().signal);
    return result.ok ? result : { ...result, message: result.message.replaceAll(container.name, "node") };
  }

  test("returns stdout and stderr separately, and bypasses the shell", async () => {
    const args = ["prune", "--c", "$(id) * ; exit 1", "--get"];
    expect(await run("prints", args)).toEqual({
      ok: true,
      output: "version 1 prune --c $(id) * ; exit 1 --get\n",
      failureOutput: "log",
    });
  });

  test("reports the exit status with the first line of stderr", async () => {
    expect(await run("fails", ["--c", "x.conf"])).toEqual({
      ok: false,
      reason: "Failed",
      message: "./fails in container node exited with status 3: no config: x.conf",
    });
    expect(await run("silent", [])).toMatchObject({ message: "./silent in container node exited with status 4." });
  });

  test("abandons a hung command after its timeout, and does not start another until it has exited", async () => {
    const connection = createDockerEngine({ engine: engine.url, timeoutMs: 1_000 });
    const options = { container: container.name, timeoutMs: 1_000, outputLimitBytes: 1_000 };
    const nodeCli = createDockerNodeCli(options, () => ({ directory: "/data/bin", command: "hangs" }), connection);
    const words = async () => {
      const result = await nodeCli(["prune"], new AbortController().signal);
      return result.ok ? "" : `${result.reason}: ${result.message.replaceAll(container.name, "node")}`;
    };
    const givenUp =
      "TimedOut: ./hangs in container node did not finish within 1000 ms and was abandoned; run it manually to see why.";
    expect(await words()).toBe(givenUp);
    expect(await words()).toMatch(
      /^TimedOut: \.\/hangs in container node is still running from an earlier call \(process \d+ on the engine's host\); kill it, or restart the container\.$/,
    );
    expect((await runDocker("top", container.name)).match(/sleep 900/g)).toHaveLength(1);
    await runDocker("exec", container.name, "sh", "-c", "kill -9 $(cat /tmp/hangs.pid)");
    await until("the tool is run again", generousMs, async () => (await words()) === givenUp);
  });

  test("stops reading at the limit when a command prints 100 MB", async () => {
    expect(await run("endless", [])).toEqual({
      ok: false,
      reason: "TooMuchOutput",
      message:
        "./endless in container node printed more than the limit of 1000 bytes; check that it is the right binary.",
    });
    await until("it ends", generousMs, async () => !(await runDocker("top", container.name)).includes("/dev/zero"));
  });

  test("replaces invalid UTF-8 in the output", async () => {
    expect(await run("binary", [])).toEqual({ ok: true, output: "\u0000\uFFFD\u0001" });
  });

  test("reports a missing or non-executable command", async () => {
    expect(await run("absent", [])).toEqual({
      ok: false,
      reason: "NotFound",
      message: expect.stringMatching(
        /^\.\/absent in container node is missing \(.*no such file or directory.*\); set nodeCli\.command, or nodeCli\.containerBinDirectory\.$/,
      ) as string,
    });
    expect(await run("plain", [])).toEqual({
      ok: false,
      reason: "NotExecutable",
      message: expect.stringMatching(
        /^\.\/plain in container node can't be executed \(.*permission denied.*\); run chmod \+x on it\.$/,
      ) as string,
    });
  });

  test("reports a missing or stopped container with the engine's message", async () => {
    const connection = createDockerEngine({ engine: engine.url, timeoutMs: 20_000 });
    const { signal } = new AbortController();
    const nodeCliIn = (name: string) =>
      createDockerNodeCli(
        { container: name, timeoutMs: 20_000, outputLimitBytes: 1_000 },
        () => ({ directory: "/data/bin", command: "prints" }),
        connection,
      )([], signal);
    const gone = createUniqueName("gone");
    expect(await nodeCliIn(gone)).toMatchObject({
      message: `the Docker engine rejected running node_cli: 404: No such container: ${gone}`,
    });
    await using stoppedContainer = await startContainer({ image: engine.nodeImage, command: ["true"] });
    await until(
      "it has exited",
      generousMs,
      async () => (await stoppedContainer.inspect("{{.State.Running}}")) === "false",
    );
    expect(await nodeCliIn(stoppedContainer.name)).toMatchObject({
      message: expect.stringContaining("is not running") as string,
    });
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { composeVariables, createComposeDriver, createComposeNodeCli } from "#sidecar/upkeep/drivers/compose-driver.ts";
import { keepProgramOutput } from "#sidecar/testing/program-output.ts";
import { composeCommands, startComposeProject } from "../support/engine/compose-project.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { until } from "#daemon/testing/until.ts";

const found = await findEngine();
const engine = found.ok ? found : { url: "", nodeImage: "" };
const commands = found.ok ? await composeCommands() : [];
const entryExists = commands.length > 0;
const noCompose = found.ok && !entryExists ? " (skipped: no compose; install docker-compose)" : "";
const signal = new AbortController().signal;

/** A service that prints a line when it is up, and exits on SIGTERM after printing another. */
const service = (name: string) => `
  ${name}:
    image: ${engine.nodeImage}
    network_mode: none
    command: ["node", "-e", "process.on('SIGTERM', () => { console.log('stopping'); process.exit(0); }); setInterval(() => {}, 1000); console.log('up');"]`;
/** A fake node_cli that prints its directory, its host name and its arguments. */
const nodeCli =
  '#!/bin/sh\n[ "$1" = fail ] && { echo "no such command: fail" >&2; exit 3; }\necho "$PWD $(hostname) $*"\n';
/** Options that do not depend on whether the node is running. */
const asks = { ps: [], psTimeoutMs: 10_000, passes: composeVariables };
const file = `services:${service("node")}${service("other")}\n`;

describe.skipIf(!entryExists)(`the compose driver with a real deployment${skipReason(found)}${noCompose}`, () => {
  test.each(commands.map((command) => [command] as const))("%j restarts only the named service", async (command) => {
    await using project = await startComposeProject(command, file);
    const started = (name: string) => project.inspect(name, "{{.State.StartedAt}}");
    await until(
      "both are up",
      20_000,
      async () => (await project.logs("node")).includes("up") && (await project.logs("other")).includes("up"),
    );
    const before = [await started("node"), await started("other")];
    const directory = () => project.directory;
    await using output = await keepProgramOutput();
    const options = { directory, timeoutMs: 60_000, ...asks };
    await createComposeDriver({ ...options, command: [...command, "restart", "node"] }, output).restart(signal);
    expect(Date.parse(await started("node"))).toBeGreaterThan(Date.parse(before[0] ?? ""));
    expect(await started("other")).toBe(before[1]);
    expect(await project.logs("node")).toMatch(/^up\nstopping/);

    await createComposeDriver({ ...options, command: [...command, "restart"] }, output).restart(signal);
    expect(Date.parse(await started("other"))).toBeGreaterThan(Date.parse(before[1] ?? ""));
  });

  test.each(commands.map((command) => [command] as const))(
    "%j reports its own error message on failure",
    async (command) => {
      await using project = await startComposeProject(command, file);
      await using output = await keepProgramOutput();
      const words = (directory: string, args: readonly string[], timeoutMs = 60_000) =>
        createComposeDriver({ command: [...command, ...args], directory: () => directory, timeoutMs, ...asks }, output)
          .restart(signal)
          .then(
            () => "no error",
            (error: Error) => error.message,
          );
      expect(await words(project.directory, ["restart", "nod"])).toMatch(
        /exited with status 1: .*no such service: nod/i,
      );
      expect(await words("/", ["restart"])).toMatch(/exited with status 1: .*(can't find|no configuration file)/i);
      const gone = `${project.directory}/gone`;
      expect(await words(gone, ["restart"])).toContain(`the directory ${gone} does not exist`);
      expect(await words(project.directory, ["restart"], 10)).toContain("did not finish within 10 ms and was killed");
      const setting = JSON.stringify([...command, "resart"]);
      expect(await words(project.directory, ["resart"])).toContain(
        `(compose.command ${setting} in compose.directory ${project.directory})`,
      );
    },
  );

  test.each(commands.map((command) => [command] as const))(
    "%j exec runs node_cli in the container's bin directory and reports errors",
    async (command) => {
      const bin = await mkdtemp(join(tmpdir(), "gatehouse-bin-"));
      onTestFinished(() => rm(bin, { recursive: true }));
      await writeFile(join(bin, "node_cli"), nodeCli, { mode: 0o755 });
      await using project = await startComposeProject(
        command,
        `services:${service("node")}\n    volumes: ["${bin}:/data/bin:ro"]${service("other")}\n`,
      );
      const runner = (name: string, tool = "node_cli") =>
        createComposeNodeCli(
          {
            exec: [...command, "exec"],
            service: name,
            timeoutMs: 60_000,
            outputLimitBytes: 10_000,
            passes: composeVariables,
          },
          { directory: () => project.directory, tool: () => ({ directory: "/data/bin", command: tool }) },
        );
      const query = ["prune", "--c", "./node.conf", "--get"];
      const host = await project.inspect("node", "{{.Config.Hostname}}");
      expect(await runner("node")(query, signal)).toEqual({
        ok: true,
        output: `/data/bin ${host} prune --c ./node.conf --get\n`,
      });
      expect(await runner("node")(["fail"], signal)).toMatchObject({
        ok: false,
        reason: "Failed",
        message: expect.stringContaining("no such command: fail") as string,
      });
      expect(await runner("node", "node_clx")(query, signal)).toMatchObject({ ok: false, reason: "NotFound" });
      expect(await runner("nod")(query, signal)).toMatchObject({
        ok: false,
        message: expect.stringContaining(`compose.service nod, in compose.directory ${project.directory}`) as string,
      });
    },
  );
});

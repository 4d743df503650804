import { describe, expect, test } from "vitest";
import { composeDriver } from "#sidecar/upkeep/drivers/compose-driver.ts";
import { composeCommands, startComposeProject } from "../support/engine/compose-project.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { until } from "../support/until.ts";

const found = await findEngine();
const engine = found.ok ? found : { url: "", nodeImage: "" };
const commands = found.ok ? await composeCommands() : [];
const isThere = commands.length > 0;
const noCompose = found.ok && !isThere ? " (skipped: no compose; install docker-compose)" : "";
const signal = new AbortController().signal;

/** A service that says when it is up, and ends on SIGTERM after saying so. */
const service = (name: string) => `
  ${name}:
    image: ${engine.nodeImage}
    network_mode: none
    command: ["node", "-e", "process.on('SIGTERM', () => { console.log('stopping'); process.exit(0); }); setInterval(() => {}, 1000); console.log('up');"]`;
const file = `services:${service("node")}${service("other")}\n`;

describe.skipIf(!isThere)(`the compose driver over a real deployment${skipReason(found)}${noCompose}`, () => {
  test.each(commands.map((command) => [command] as const))(
    "%j restart node: that service and no other",
    async (command) => {
      await using project = await startComposeProject(command, file);
      const started = (name: string) => project.inspect(name, "{{.State.StartedAt}}");
      await until(
        "both are up",
        20_000,
        async () => (await project.logs("node")).includes("up") && (await project.logs("other")).includes("up"),
      );
      const before = [await started("node"), await started("other")];
      const directory = () => project.directory;
      await composeDriver({ command: [...command, "restart", "node"], directory, timeoutMs: 60_000 }).restart(signal);
      expect(Date.parse(await started("node"))).toBeGreaterThan(Date.parse(before[0] ?? ""));
      expect(await started("other")).toBe(before[1]);
      expect(await project.logs("node")).toMatch(/^up\nstopping/);

      await composeDriver({ command: [...command, "restart"], directory, timeoutMs: 60_000 }).restart(signal);
      expect(Date.parse(await started("other"))).toBeGreaterThan(Date.parse(before[1] ?? ""));
    },
  );

  test.each(commands.map((command) => [command] as const))(
    "%j that fails is said in its own words",
    async (command) => {
      await using project = await startComposeProject(command, file);
      const words = (directory: string, args: readonly string[], timeoutMs = 60_000) =>
        composeDriver({ command: [...command, ...args], directory: () => directory, timeoutMs })
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
      expect(await words(gone, ["restart"])).toContain(`the directory ${gone} is not there`);
      expect(await words(project.directory, ["restart"], 10)).toContain("did not finish within 10 ms and was ended");
      const setting = JSON.stringify([...command, "resart"]);
      expect(await words(project.directory, ["resart"])).toContain(
        `(compose.command ${setting} in compose.directory ${project.directory})`,
      );
    },
  );
});

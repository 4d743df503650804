import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeRelease } from "#devnet/testing/new-version.ts";
import { gatehouseProgram } from "../../support/programs/place.ts";
import { runGatehouse } from "../../support/run-command.ts";
import { readVersion } from "../../support/node/settled-devnet.ts";
import { controlToken, startUpgradableNode, type UpgradableNode } from "../../support/node/upgradable-node.ts";
import { until } from "#daemon/testing/until.ts";

const withinMs = 120_000;

let directory: string;
let release: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-in-turn-"));
  release = await makeRelease(join(directory, "0.16.2"), "0.16.2", "broken-where-marked");
  await writeFile(join(directory, "token"), controlToken);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

async function startNodes<const Names extends readonly string[]>(names: Names) {
  const resources = new AsyncDisposableStack();
  const started = await Promise.allSettled(names.map(() => startUpgradableNode()));
  const nodes = started.flatMap((one) => (one.status === "fulfilled" ? [resources.use(one.value)] : []));
  const failed = started.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") {
    await resources.disposeAsync();
    throw failed.reason;
  }
  const list = join(directory, `${names.join("-")}.txt`);
  await writeFile(list, nodes.map(({ url }, index) => `${names[index]}=${url} # a node\n`).join(""));
  const args = ["upgrade", release, "--token-file", join(directory, "token"), "--targets", list] as const;
  const versions = () => Promise.all(nodes.map(async ({ node }) => /\d+\.\d+\.\d+/.exec(await readVersion(node))?.[0]));
  return { nodes, args, versions, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Types a command that is there to be ended by a signal. */
function startCommand(args: readonly string[]) {
  const child = spawn(process.execPath, [gatehouseProgram, ...args], {
    env: { PATH: process.env["PATH"] ?? "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (printed += String(chunk)));
  const ended = once(child, "close").then(([status]) => status as number | null);
  return {
    printed: () => printed,
    end: async (signal: NodeJS.Signals) => {
      child.kill(signal);
      return ended;
    },
    says: (words: string) => until(`it says ${words}`, withinMs, () => printed.includes(words)),
  };
}

const hasEnded = ({ view }: UpgradableNode) =>
  until("the upgrade has ended", withinMs, async () => (await view()).upgrade?.end);

/** Tests that take three nodes and a minute each. */
const runs: Readonly<Record<string, () => Promise<void>>> = {
  "all are upgraded one after the other; a command that is killed, or ended, leaves the node that is under way to its sidecar, and the same command goes on":
    async () => {
      await using fleet = await startNodes(["a", "b", "c"]);
      const { nodes, args, versions } = fleet;
      const [a, b, c] = nodes as [UpgradableNode, UpgradableNode, UpgradableNode];
      const shown = await runGatehouse([...args, "--dry-run"]);
      expect(shown).toMatchObject({ status: 0, stderr: "" });
      expect(shown.stdout.match(/^(?:a|b|c): .+ from 0\.15\.0 to 0\.16\.2\.$/gm)).toHaveLength(3);
      const unasked = await runGatehouse([...args]);
      expect(unasked).toMatchObject({
        status: 1,
        stderr: "upgrade: nothing was changed. Without a terminal, say --yes.\n",
      });
      expect(await versions()).toEqual(["0.15.0", "0.15.0", "0.15.0"]);

      const killed = startCommand([...args, "--yes"]);
      await killed.says("a: It has begun.");
      await killed.end("SIGKILL");
      expect(await hasEnded(a)).toBe("committed");
      expect([(await b.view()).upgrade, (await c.view()).upgrade]).toEqual([undefined, undefined]);

      const stopped = startCommand([...args, "--yes"]);
      await stopped.says("b: It has begun.");
      expect(await stopped.end("SIGTERM")).toBe(1);
      expect(stopped.printed()).toContain("a: left out: it has 0.16.2 already.\n");
      expect(stopped.printed()).toMatch(
        / {2}b: its end is not known: this command was ended by a signal; the sidecar goes on/,
      );
      expect(stopped.printed()).toContain("  c: not begun\n");
      // It is under way, or over: what it has begun comes to its end before the next one begins.
      const last = await runGatehouse([...args, "--yes"]);
      expect(last.stderr, last.stdout).toBe("");
      expect(last.stdout).toMatch(/ {2}c: proved: The upgrade from 0\.15\.0 to 0\.16\.2 is proved/);
      expect(last.status).toBe(0);
      expect(await versions()).toEqual(["0.16.2", "0.16.2", "0.16.2"]);
      const upgrades = await Promise.all(nodes.map(async ({ view }) => (await view()).upgrade));
      expect(upgrades.map((upgrade) => upgrade?.end)).toEqual(["committed", "committed", "committed"]);
      const begins = upgrades.map((upgrade) => upgrade?.beganMs ?? 0);
      expect(begins).toEqual(begins.toSorted((one, other) => one - other));
      const again = await runGatehouse([...args, "--yes", "--json"]);
      expect([again.status, JSON.parse(again.stdout)]).toEqual([
        0,
        {
          result: "proved",
          nodes: ["a", "b", "c"].map((name) => expect.objectContaining({ name, state: "left-out" })),
        },
      ]);
    },

  "one that does not answer, and one that is refused, keep all from it; one that is rolled back stops the command, and what it prints goes on without that":
    async () => {
      await using fleet = await startNodes(["a", "b", "c"]);
      const { nodes, args, versions } = fleet;
      const [, b] = nodes as [UpgradableNode, UpgradableNode, UpgradableNode];
      const away = await runGatehouse([...args, "d=http://127.0.0.1:1", "--yes"]);
      expect(away.stdout).toContain("d:\n  problem: no sidecar answers at http://127.0.0.1:1 (ECONNREFUSED)");
      expect(away.stderr).toContain("d can't be upgraded now, for the reasons above; no upgrade was begun.");
      expect(away.status).toBe(1);
      expect(await versions()).toEqual(["0.15.0", "0.15.0", "0.15.0"]);

      await writeFile(join(b.node.workspace, "broken"), "");
      const failed = await runGatehouse([...args, "--yes"]);
      expect(failed.status).toBe(1);
      expect(failed.stderr).toContain("upgrade: stopped: b is not proved. No other upgrade is begun.\n");
      expect(failed.stderr).toMatch(/ {2}a: proved: .+\n {2}b: rolled back: .+libcetina.+\n {2}c: not begun\n/);
      expect(failed.stderr).toContain(`Once b is fixed, go on with the same command`);
      expect(await versions()).toEqual(["0.16.2", "0.15.0", "0.15.0"]);

      const held = await runGatehouse([...args, "--yes"]);
      expect(held.stdout).toContain("problem: a hold is in force");
      expect(held.stderr).toContain("b can't be upgraded now");
      expect(await versions()).toEqual(["0.16.2", "0.15.0", "0.15.0"]);

      const [, only = ""] = /^Or go on without b: gatehouse (.+)$/m.exec(failed.stderr) ?? [];
      expect(only).toContain("--targets c=http://127.0.0.1:");
      const late = await runGatehouse([...only.split(" "), "--each-within", "1", "--yes"]);
      expect(late.stderr).toContain(
        "  c: its end is not known: the upgrade has not ended within 1000 ms; the sidecar goes on",
      );
      expect(late.status).toBe(1);
      const rest = await runGatehouse([...only.split(" "), "--yes"]);
      expect(rest).toMatchObject({ status: 0, stderr: "" });
      expect(await versions()).toEqual(["0.16.2", "0.15.0", "0.16.2"]);
    },
};

test.each(Object.entries(runs))("%s", (_, run) => run(), 400_000);

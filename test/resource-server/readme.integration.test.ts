import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { locateStateDirectory } from "../../cli/stack/state-directory.ts";
import { createStackCommand } from "../../cli/commands/stack-command.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { readShellBlocks } from "../support/readme-blocks.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { openMarket, payee, payer, createTemporaryFolder, type Market } from "../support/payments/shop.ts";
import { gatehouseProgram } from "../support/programs/place.ts";

const env = { PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}` };

let market: Market;
beforeAll(async () => {
  market = await openMarket();
});
afterAll(() => market?.[Symbol.asyncDispose]());

/** A directory with only what a reader has: the command, and the keys of the embedded stack. */
async function cleanFolder() {
  const folder = await createTemporaryFolder();
  const binaries = join(folder.path, "node_modules/.bin");
  const { keys } = locateStateDirectory(join(folder.path, createStackCommand().opts().stateDir));
  await mkdir(binaries, { recursive: true });
  await mkdir(keys, { recursive: true });
  await symlink(gatehouseProgram, join(binaries, "gatehouse-evm"));
  await writeFile(join(keys, "client"), `${payer.privateKey}\n`);
  return folder;
}

const port = (url: string) => new URL(url).port;

/** A block with other ports than the defaults, which may be in use. */
async function atFreePorts(): Promise<(block: string) => string> {
  const [listen = 0, operations = 0] = await findFreePorts(2);
  const ports: Readonly<Record<string, string>> = {
    "127.0.0.1:3000": `127.0.0.1:${port(market.facilitator.url)}`,
    "127.0.0.1:4022": `127.0.0.1:${port(market.upstream.url)}`,
    "127.0.0.1:18100": `127.0.0.1:${port(market.chain.url)}`,
    "127.0.0.1:8545": `127.0.0.1:${port(market.chain.url)}`,
    "127.0.0.1:4031": `127.0.0.1:${listen}`,
    "PORT=4031": `PORT=${listen}`,
    "PORT=9631": `PORT=${operations}`,
  };
  return (block) => block.replace(/127\.0\.0\.1:\d+|PORT=\d+/g, (found) => ports[found] ?? found);
}

function run(block: string, cwd: string): ChildProcess {
  return spawn("bash", ["-ec", block], { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
}

/** Kills a shell and the processes that it started. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  process.kill(-child.pid, "SIGTERM");
  await once(child, "exit");
}

it.each([
  ["docs/getting-started.md", "## Sell a route"],
  ["resource-server/README.md", "# resource-server"],
])("the commands of %s sell and buy a route in an empty folder", async (readme, after) => {
  await using folder = await cleanFolder();
  const at = await atFreePorts();
  const [sell = ""] = await readShellBlocks(readme, after);
  const [, buy = ""] = await readShellBlocks("docs/getting-started.md", "## Sell a route");
  market.upstream.behave("data");
  const balanceBefore = await market.chain.balanceOf(payee.address);
  const seller = run(at(sell), folder.path);
  try {
    let printed = "";
    for (const stream of [seller.stdout, seller.stderr])
      stream?.on("data", (chunk: Buffer) => (printed += String(chunk)));
    await until("the seller is ready", generousMs, () => {
      if (seller.exitCode !== null) throw new Error(printed);
      return printed.includes('"message":"ready"');
    });
    const buyer = run(at(buy), folder.path);
    const [stdout, stderr] = [text(buyer.stdout!), text(buyer.stderr!)];
    const [status] = await once(buyer, "exit");
    expect([status, await stdout], await stderr).toEqual([0, '{"sold":1}']);
    expect((await market.chain.balanceOf(payee.address)) - balanceBefore).toBe(10_000n);
  } finally {
    await end(seller);
  }
});

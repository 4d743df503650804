import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { until } from "#daemon/testing/until.ts";
import { findChromium, startChromium } from "./support/page/chromium.ts";

/**
 * `npm run pictures`: captures the README's picture of a real run. Starts the stack on its usual ports, sends it calls for a minute, and
 * breaks `node.conf` once. Needs Chromium on PATH, and unused ports.
 */
const root = join(import.meta.dirname, "..");
const folder = join(root, "docs/pictures");
const upWithinMs = 120_000;
const trafficMs = 60_000;

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("no Chromium on PATH; on Debian: apt-get install chromium");

const directory = await mkdtemp(join(tmpdir(), "gatehouse-pictures-"));
const stack = spawn(process.execPath, [join(root, "cli/gatehouse.js"), "stack"], {
  cwd: directory,
  stdio: ["ignore", "pipe", "inherit"],
});
let output = "";
stack.stdout.on("data", (part: Buffer) => (output += part.toString()));
try {
  await until("the stack is up", upWithinMs, () => {
    if (stack.exitCode !== null) throw new Error(`the stack ended:\n${output}`);
    return output.includes("Ctrl-C stops everything.");
  });
  await sendCalls();
  await using chromium = await startChromium(executablePath);
  await mkdir(folder, { recursive: true });
  await takePagePicture(chromium.browser);
} finally {
  stack.kill("SIGINT");
  if (stack.exitCode === null) await once(stack, "exit");
  await rm(directory, { recursive: true, force: true });
}

/** Sends calls like an indexer's; halfway through, breaks the node's configuration. */
async function sendCalls(): Promise<void> {
  const config = join(directory, ".gatehouse/node/bin/node.conf");
  const endMs = performance.now() + trafficMs;
  let isSpoilt = false;
  for (let sent = 0; performance.now() < endMs; sent += 1) {
    const address = `0x${sent.toString(16).padStart(40, "0")}`;
    const body = JSON.stringify({ jsonrpc: "2.0", id: sent, method: "eth_getBalance", params: [address, "latest"] });
    const headers = { "content-type": "application/json" };
    await fetch("http://127.0.0.1:8545", { method: "POST", headers, body }).then((response) => response.arrayBuffer());
    if (!isSpoilt && performance.now() > endMs - trafficMs / 2) {
      isSpoilt = true;
      const text = await readFile(config, "utf8");
      await writeFile(config, text.replace("storage_enable_cetina", "enable_pamir_cetina"));
    }
    await delay(20);
  }
}

async function takePagePicture(browser: Browser): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 960 } });
  await page.goto("http://127.0.0.1:9600/");
  await page.locator("#verdict[data-level=healthy]").waitFor({ timeout: 60_000 });
  await page.screenshot({ path: join(folder, "status-page.png") });
}

import { fileURLToPath } from "node:url";
import { chromium, type Browser } from "playwright-core";
import { build } from "rolldown";
import { afterAll, beforeAll, test } from "vitest";
import { findProgram } from "../find-program.ts";

/**
 * The headless build is preferred: in a full Chromium, each context opens a window, which costs ten times as much as the status page
 * itself.
 */
const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

export function findChromium(): string | undefined {
  return names.map(findProgram).find((path) => path !== undefined);
}

/**
 * Starts a browser without a window and with a fresh profile; the sandbox needs permissions that containers lack, and
 * emulating a GPU takes time.
 */
export async function startChromium(executablePath: string): Promise<AsyncDisposable & Readonly<{ browser: Browser }>> {
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
  return { browser, [Symbol.asyncDispose]: () => browser.close() };
}

/** A browser for the tests of a file. Define a test that needs it with `browserTest`, and append `skipped` to its name. */
export function useBrowser() {
  const executablePath = findChromium();
  const resources = new AsyncDisposableStack();
  let browser: Browser;
  beforeAll(async () => {
    if (executablePath !== undefined) ({ browser } = resources.use(await startChromium(executablePath)));
  });
  afterAll(() => resources.disposeAsync());
  return {
    browser: () => browser,
    browserTest: test.skipIf(executablePath === undefined),
    skipped: executablePath === undefined ? " (skipped: no chromium on PATH)" : "",
  };
}

/** Bundles a module, and its imports, as a script for a page. */
export async function bundleForBrowser(module: URL): Promise<string> {
  const input = fileURLToPath(module);
  const { output } = await build({
    input,
    write: false,
    platform: "browser",
    output: { format: "iife" },
    logLevel: "silent",
  });
  return output[0].code;
}

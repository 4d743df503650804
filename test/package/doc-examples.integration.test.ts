import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { openMarket, createTemporaryFolder, findUrl } from "../support/payments/shop.ts";
import {
  checkExamples,
  compileExample,
  listExpectedLines,
  listExportedCalls,
  readPageExamples,
} from "./doc-examples.ts";

/** Names that `example-scope.ts` defines for the examples. */
const given = ["account", "args", "isSecret", "key", "ours", "payee", "platform", "signerKey", "token", "url"];
const calls = listExportedCalls();
const examples = calls.flatMap(({ name, example }) => (example === undefined ? [] : [{ name, example }]));
/** In this directory, Node resolves a module's imports as it does for a user of the package. */
const folder = join(import.meta.dirname, `../../node_modules/.cache/doc-examples-${process.pid}`);
const resources = new AsyncDisposableStack();
let places: Readonly<Record<string, string>>;

beforeAll(async () => {
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(folder, { recursive: true });
  const market = resources.use(await openMarket());
  const state = resources.use(await createTemporaryFolder());
  const shop = resources.use(await market.openShop(state.path));
  places = { "http://127.0.0.1:4021": findUrl(shop), "http://127.0.0.1:8545": market.chain.url };
});

afterAll(() => resources.disposeAsync());

it("every exported function and class has an example", () => {
  expect(calls.length).toBeGreaterThan(10);
  expect(calls.filter(({ example }) => example === undefined)).toEqual([]);
});

it("the examples and the TypeScript on the pages compile", () => {
  const onPages = readPageExamples();
  expect(onPages.map(({ page }) => page)).toEqual(expect.arrayContaining(["client/README.md", "docs/package.md"]));
  const texts = [...examples.map(({ example }) => example), ...onPages.map(({ text }) => text)];
  expect(checkExamples(texts, given)).toEqual([]);
});

it.each(examples)("the example of $name prints its documented output", async ({ name, example }) => {
  const path = join(folder, `${name}.mjs`);
  await writeFile(path, compileExample(example, given, places));
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((...words: unknown[]) => void printed.push(format(...words)));
  try {
    await import(/* @vite-ignore */ pathToFileURL(path).href);
  } finally {
    log.mockRestore();
  }
  expect(printed).toEqual(listExpectedLines(example));
});

it("the deployments of the examples register with Pulumi", async () => {
  const path = join(folder, "finish.mjs");
  await writeFile(path, compileExample("export { finishDeployment };", [...given, "finishDeployment"], {}));
  const { finishDeployment } = (await import(/* @vite-ignore */ pathToFileURL(path).href)) as {
    finishDeployment: () => Promise<readonly string[]>;
  };
  expect(await finishDeployment()).toEqual(
    expect.arrayContaining(["gatehouse:index:Stack pay", "gatehouse:index:Facilitator seller"]),
  );
});

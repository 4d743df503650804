import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runLintCommand } from "./lint-command.ts";

let directory: string;
let configPath: string;
let printed = "";
let errors = "";
const output = {
  out: (text: string) => void (printed += text),
  error: (text: string) => void (errors += text),
  isColored: false,
};

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-lint-"));
  configPath = join(directory, "node.conf");
  await writeFile(
    configPath,
    `{
  "chain": {
    "monitor_config": { "enable_pamir_cetina": true, "pamir_cetina_push_address": "10.0.0.1" } // ours
  }
}
`,
  );
  [printed, errors] = ["", ""];
});

afterEach(() => rm(directory, { recursive: true }));

test("gatehouse config lint prints places and fixes, and exits with 2, 0 or 1", async () => {
  const asked = {
    nodeVersion: "0.16.2",
    format: "text",
    docsUrl: "https://git.example/docs",
    repository: "/",
  } as const;
  const dependencies = { output, stdin: Readable.from([]) };
  expect(await runLintCommand({ ...asked, configPaths: [configPath] }, dependencies)).toBe(2);
  expect(printed).toContain(`${configPath}:3:25: chain.monitor_config.enable_pamir_cetina is silently ignored`);
  expect(await runLintCommand({ ...asked, configPaths: [join(directory, "none")] }, dependencies)).toBe(1);
  expect(errors).toContain("none can't be read (ENOENT); expected a node's configuration file.");
});

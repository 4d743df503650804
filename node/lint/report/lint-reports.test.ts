import { writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import sarifSchema from "@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json" with { type: "json" };
import { Ajv } from "ajv";
import type { Log } from "sarif";
import { beforeEach, describe, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { runLintCommand, type LintCommandOptions } from "../lint-command.ts";
import { lintRules } from "../lint-rules.ts";
import { lintDocument } from "./lint-document.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/lint.md"), "utf8");
// Written in draft 4, but uses nothing that later drafts interpret differently.
const { $schema: _draft, id: _id, ...rules } = sarifSchema;
const isSarif = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(rules);

/** One key of another version, and an unknown key that tries to span two lines, one of them a workflow command. */
const odd = JSON.stringify({
  chain: { monitor_config: { enable_pamir_cetina: true, "a,b:\n::stop-commands::x%0A": 1 } },
});

let directory: string;
let configPath: string;

beforeEach(async () => {
  directory = await makeTestDirectory();
  configPath = join(directory, "an odd%name.conf");
  await writeFile(configPath, odd);
});

async function lint(
  format: LintCommandOptions["format"],
  configPaths: readonly string[],
  stdin: string[] = [],
  more: Partial<LintCommandOptions> = {},
) {
  let [printed, errors] = ["", ""];
  const output = {
    out: (text: string) => void (printed += text),
    error: (text: string) => void (errors += text),
    isColored: false,
  };
  const asked = {
    configPaths,
    nodeVersion: "0.16.2",
    format,
    repository: directory,
    docsUrl: "https://git.example/docs/",
    ...more,
  };
  const status = await runLintCommand(asked, {
    output,
    stdin: Readable.from(stdin.map((piece) => Buffer.from(piece))),
  });
  return { status, printed, errors };
}

describe("gatehouse config lint --format sarif", () => {
  test("prints SARIF 2.1.0 with rule, level, relative location and documentation link", async () => {
    const { status, printed } = await lint("sarif", [configPath]);
    const log = JSON.parse(printed) as Log;
    expect([status, isSarif(log), isSarif.errors]).toEqual([2, true, null]);
    const [run] = log.runs;
    const found = run?.results?.find(({ ruleId }) => ruleId === "other-version");
    expect(found).toMatchObject({
      level: "error",
      message: { text: expect.stringContaining("is silently ignored: node 0.16.2 reads") as string },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: "an%20odd%25name.conf", uriBaseId: "%SRCROOT%" },
            region: { startLine: 1, startColumn: 29 },
          },
          logicalLocations: [{ fullyQualifiedName: "chain.monitor_config.enable_pamir_cetina" }],
        },
      ],
    });
    const rule = run?.tool.driver.rules?.[found?.ruleIndex ?? -1];
    expect(rule).toMatchObject({ id: "other-version", helpUri: "https://git.example/docs/lint.md#other-version" });
    expect(run?.invocations).toMatchObject([{ executionSuccessful: true, exitCode: 2 }]);
    // Anyone may read an uploaded log.
    expect(printed).not.toContain(directory);
  });

  test("reports an unreadable file as a failed execution", async () => {
    const { status, printed } = await lint("sarif", [join(directory, "none"), configPath]);
    const log = JSON.parse(printed) as Log;
    expect([status, isSarif(log)]).toEqual([1, true]);
    expect(log.runs[0]?.results?.length).toBeGreaterThan(0);
    expect(log.runs[0]?.invocations?.[0]).toMatchObject({
      executionSuccessful: false,
      toolExecutionNotifications: [
        { level: "error", message: { text: expect.stringContaining("(ENOENT)") as string } },
      ],
    });
  });
});

describe("gatehouse config lint --format github", () => {
  test("prints one escaped workflow command per finding", async () => {
    const { status, printed } = await lint("github", [configPath]);
    expect(status).toBe(2);
    const lines = printed.trimEnd().split("\n");
    expect(lines.every((line) => /^::(error|warning) file=an odd%25name\.conf,line=1,col=\d+,title=/.test(line))).toBe(
      true,
    );
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^::warning .*,title=gatehouse config lint%3A unknown-key::chain\.monitor_config\.a,b:%0A::stop-commands::x%250A is not a key/,
      ),
    );
  });

  test("reports an unreadable file", async () => {
    const { status, printed } = await lint("github", [join(directory, "none")]);
    expect([status, printed]).toEqual([1, "::error file=none,title=gatehouse config lint::can't be read (ENOENT).\n"]);
  });
});

describe("gatehouse config lint --format json", () => {
  test("lists each file once in the given order, with read errors", async () => {
    const none = join(directory, "none");
    const { status, printed } = await lint("json", [none, configPath, none]);
    const document = lintDocument.parse(JSON.parse(printed));
    expect(status).toBe(1);
    expect(document.files.map(({ configPath: path, error }) => [path, error])).toEqual([
      [none, "ENOENT"],
      [configPath, undefined],
    ]);
  });

  test("repeats a single file's findings at the top level", async () => {
    const document = lintDocument.parse(JSON.parse((await lint("json", [configPath])).printed));
    expect(document.findings).toEqual(document.files[0]?.findings);
    expect(document.configPath).toBe(configPath);
  });
});

describe("gatehouse config lint", () => {
  test("escapes control characters from the file", async () => {
    await writeFile(configPath, odd.replace("a,b", "\\u001b[2J"));
    const { printed } = await lint("text", [configPath]);
    expect(printed).toContain("chain.monitor_config.\\u001b[2J:\\u000a::stop-commands::x%0A is not a key");
    expect(printed).not.toMatch(/^::/m);
  });

  test("reports the path of an unreadable file", async () => {
    const { status, errors } = await lint("text", [join(directory, "none")]);
    expect([status, errors]).toEqual([1, expect.stringContaining("none can't be read (ENOENT); expected a node's")]);
  });

  test("reads - from standard input and rejects input over 16 MiB", async () => {
    const { status, printed } = await lint("text", ["-"], [odd.slice(0, 30), odd.slice(30)]);
    expect([status, printed]).toEqual([2, expect.stringContaining("-:1:29: chain.monitor_config.enable_pamir_cetina")]);
    const { status: rejected, errors } = await lint(
      "text",
      ["-"],
      Array.from({ length: 17 }, () => " ".repeat(1_048_576)),
    );
    expect([rejected, errors]).toEqual([
      1,
      "lint: - can't be read (it is larger than 16777216 bytes); expected a node's configuration file.\n",
    ]);
  });

  test.each(Object.keys(lintRules))("explains the rule %s in docs/lint.md", (rule) => {
    expect(page).toContain(`\n### ${rule}\n`);
  });
});

test("prints the command that corrects renamed metrics keys, and that a version was not given", async () => {
  const { printed } = await lint("text", [configPath]);
  expect(printed).toContain(`config plan --config '${configPath}' --node-version 0.16.2 --write\n`);
  expect((await lint("text", ["-"], [odd])).printed).not.toContain("config plan");
  expect((await lint("text", [configPath], [], { nodeVersion: undefined })).printed).toContain("add --node-version");
});

import { describe, expect, it } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { createUpgradeCommand } from "./upgrade-command.ts";

async function readRefusal(...args: readonly string[]): Promise<string> {
  const said: string[] = [];
  const command = createUpgradeCommand({ mask: createMask() })
    .exitOverride()
    .configureOutput({ writeErr: (text) => said.push(text) });
  await expect(command.parseAsync([...args], { from: "user" })).rejects.toThrow();
  return said.join("");
}

const stack = ["--stack", "prod", "--node-image", "node:0.17.0"];

describe("gatehouse upgrade --stack", () => {
  it.each([
    ["a document, which it does not print", ["--json"], "and --json do not go with --stack"],
    ["a directory", ["/srv/release"], "a directory and --json"],
    [
      "the settings of a sidecar",
      ["--settings", "a.json5"],
      "--settings, --state-directory and --token-file do not go",
    ],
    ["its state directory", ["--state-directory", "/a"], "do not go with --stack"],
    ["the token of its control", ["--token-file", "/a"], "do not go with --stack"],
    ["what is not an address", ["--url", "nonsense"], "--url: expected an address such as"],
    ["an address of something else", ["--url", "file:///a"], "--url: expected an address such as"],
    ["less time than a proof takes", ["--prove-within", "30"], "Expected whole seconds from 120"],
    ["less time than an update takes", ["--update-within", "1"], "Expected whole seconds from 120"],
  ])("refuses %s", async (_, args, words) => {
    expect(await readRefusal(...stack, ...args)).toContain(words);
  });

  it.each([
    ["--node-image", "node:0.17.0"],
    ["--continue"],
    ["--cwd", "/a"],
    ["--config-file", "/a"],
    ["--prove-within", "300"],
    ["--copy-within", "300"],
  ])("is what %s is for", async (...args) => {
    expect(await readRefusal("/srv/release", ...args)).toContain("go with --stack");
  });
});

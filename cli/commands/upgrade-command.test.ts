import { describe, expect, it } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { createUpgradeCommand } from "./upgrade-command.ts";

async function readRejection(...args: readonly string[]): Promise<string> {
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
    ["JSON output, which it does not print", ["--json"], "and --json can't be combined with --stack"],
    ["a directory", ["/srv/release"], "a directory and --json"],
    [
      "a sidecar's settings",
      ["--settings", "a.json5"],
      "--settings, --state-directory and --token-file can't be combined",
    ],
    ["a sidecar's state directory", ["--state-directory", "/a"], "can't be combined with --stack"],
    ["a sidecar's control token", ["--token-file", "/a"], "can't be combined with --stack"],
    ["an invalid URL", ["--url", "nonsense"], "--url: expected an address such as"],
    ["a URL with an unsupported scheme", ["--url", "file:///a"], "--url: expected an address such as"],
    ["a time limit too short for the verification", ["--verify-timeout", "30"], "Expected whole seconds from 120"],
    ["a time limit too short for the update", ["--update-timeout", "1"], "Expected whole seconds from 120"],
  ])("rejects %s", async (_, args, words) => {
    expect(await readRejection(...stack, ...args)).toContain(words);
  });

  it.each([
    ["--node-image", "node:0.17.0"],
    ["--continue"],
    ["--cwd", "/a"],
    ["--config-file", "/a"],
    ["--verify-timeout", "300"],
    ["--copy-timeout", "300"],
  ])("is required for %s", async (...args) => {
    expect(await readRejection("/srv/release", ...args)).toContain("require --stack");
  });
});

import { describe, expect, it } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { createUpgradeCommand } from "./upgrade-command.ts";

/** Reads the command's error about arguments that it refuses. */
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
    ["a document, which it does not print", ["--json"], "--json do not go with --stack"],
    ["a directory", ["/srv/release"], "a directory, --cancel"],
    [
      "the settings of a sidecar",
      ["--settings", "a.json5"],
      "--settings, --state-directory, --token-file, --targets and --each-within do not go",
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
    ["--continue for several", ["--stack", "b", "--continue"], "--continue is for one stack"],
    [
      "one configuration for two",
      ["--stack", "b", "--config-file", "a.yaml"],
      "--config-file can't be one for several",
    ],
    ["one address for two", ["--stack", "b", "--url", "http://10.0.0.7:9600"], "as in --url prod=…"],
    ["a name that none has", ["--stack", "b", "--cwd", "c=/srv/c"], "they are prod, b"],
    ["one twice", ["--stack", "acme/gatehouse/prod"], "--stack acme/gatehouse/prod is named twice"],
    ["a list of sidecars", ["--targets", "nodes.txt"], "--targets and --each-within do not go with --stack"],
  ])("refuses %s", async (_, args, words) => {
    expect(await readRefusal(...stack, ...args)).toContain(words);
  });

  it("says where the directory belongs that --targets has taken for its own", async () => {
    expect(await readRefusal("--targets", "nodes.txt", "/srv/release")).toContain(
      "Name the directory before --targets.",
    );
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

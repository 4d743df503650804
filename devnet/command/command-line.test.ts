import { describe, expect, test } from "vitest";
import { prepareSampleWorkspace } from "../testing/sample-workspace.ts";
import { CommandError } from "./run-command.ts";
import { runNodeCliCommand } from "./node-cli.ts";
import { runOpsCommand } from "./ops.ts";

async function failure(work: Promise<string>): Promise<{ status: number; message: string }> {
  const error = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(error instanceof CommandError)) throw new Error(`expected a CommandError, got ${String(error)}`);
  return { status: error.exitStatus, message: error.message };
}

describe.each(["0.16.2", "0.11.0"])("node_cli of v%s", (version) => {
  test.each([
    ["", "no command given."],
    ["pruning", 'unknown command "pruning".'],
    ["prune", "expected one of --get and --enable_auto_prune."],
    ["prune --c ./node.conf", "expected one of --get and --enable_auto_prune."],
    ["prune --c ./node.conf --get --enable_auto_prune", "expected one of --get and --enable_auto_prune."],
    ["prune --get", "--c <config_path> is missing."],
    ["prune --c --get", "Option '--c' argument is ambiguous."],
  ])('exits with 2 and the usage for "%s"', async (words, reason) => {
    const { directory } = await prepareSampleWorkspace(version);
    const { status, message } = await failure(runNodeCliCommand(directory, words.split(" ").filter(Boolean)));
    expect(status).toBe(2);
    expect(message.startsWith(`${reason}`)).toBe(true);
    expect(message).toContain("node_cli prune --c <config_path> --get");
  });
});

describe("node_cli before v0.11", () => {
  test.each([
    ["prune --c ./node.conf --get", "Unknown option '--c'."],
    ["prune", "expected one of --get and --enable_auto_prune."],
  ])('exits with 2 and the usage for "%s"', async (words, reason) => {
    const { directory } = await prepareSampleWorkspace("0.10.3");
    const { status, message } = await failure(runNodeCliCommand(directory, words.split(" ")));
    expect(status).toBe(2);
    expect(message.startsWith(reason)).toBe(true);
    expect(message).toContain("node_cli prune --get");
  });

  test("finds the workspace's node without --c", async () => {
    const { directory } = await prepareSampleWorkspace("0.10.3");
    expect(await failure(runNodeCliCommand(directory, ["prune", "--get"]))).toEqual({
      status: 1,
      message: "no node runs in this workspace; start it first: ./ops start --config ./node.conf",
    });
    expect(await runNodeCliCommand(directory, ["--version"])).toBe("node_cli 0.10.3\n");
  });
});

test.each([
  ["", "no command given."],
  ["restart", 'unknown command "restart".'],
  ["start", "--config <node.conf> is missing."],
  ["start --force", "Unknown option '--force'."],
  ["start --config", "Option '--config <value>' argument missing."],
  ["stop now", "Unexpected argument 'now'."],
])('exits with 2 and the usage for "ops %s"', async (words, reason) => {
  const { directory } = await prepareSampleWorkspace("0.16.2");
  const { status, message } = await failure(runOpsCommand(directory, words.split(" ").filter(Boolean)));
  expect(status).toBe(2);
  expect(message.startsWith(reason)).toBe(true);
  expect(message).toContain("ops start --config <node.conf>");
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";

const program = join(import.meta.dirname, "../../infra/init-stack/init-stack.main.ts");

let folder: string;

beforeEach(async () => {
  folder = await makeTestDirectory();
  // A fake of Pulumi's command line; only its calls and their input matter.
  await writeFile(
    join(folder, "pulumi"),
    `#!/bin/sh\nprintf '%s < %s\\n' "$*" "$(cat)" >> '${join(folder, "calls")}'\n`,
  );
  await chmod(join(folder, "pulumi"), 0o755);
  await writeFile(join(folder, "Pulumi.yaml"), "name: gatehouse\n");
});

async function initStack(lines: readonly string[], PATH = `${folder}:${process.env["PATH"]}`) {
  const env = { ...process.env, PATH };
  const child = spawn(process.execPath, [program, "dev", folder], { env });
  const printed = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (printed.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed.stderr += chunk.toString()));
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  const [status] = (await once(child, "close")) as [number | null];
  return { status, ...printed, calls: await readFile(join(folder, "calls"), "utf8").catch(() => "") };
}

test("init-stack writes a devnet stack when every answer is empty", async () => {
  const { status, stdout, calls } = await initStack(["", "", ""]);
  expect([status, stdout]).toEqual([0, expect.stringContaining("Wrote Pulumi.dev.yaml.")]);
  expect(calls.split("\n")).toEqual([
    "version --non-interactive < ",
    "stack init dev --non-interactive < ",
    "config set --stack dev --plaintext target --non-interactive < docker",
    "config set --stack dev --plaintext devAccounts --non-interactive < true",
    "config set --stack dev --plaintext tokenAddress --non-interactive < 0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
    "",
  ]);
});

test("init-stack reports all invalid answers at once, asks for them again, and encrypts secrets", async () => {
  await writeFile(join(folder, "key"), `0x${"7".repeat(64)}\n`);
  const key = join(folder, "key");
  const address = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
  const image = `registry.example/node:0.16.2@sha256:${"0".repeat(64)}`;
  const node = ["", image, "", "1000", "1672", "203.0.113.10", key, key, ""];
  const first = [...node, key, "nobody", "no token", "", "", "not json"];
  const { status, stderr, stdout, calls } = await initStack([...first, address, address, ""]);
  expect(stderr).toMatch(/^payTo: .*\n(?:.*\n)*tokenAddress: .*\n(?:.*\n)*routes: /m);
  expect([status, stdout]).toEqual([0, expect.stringContaining("Wrote Pulumi.dev.yaml.")]);
  expect(calls).toContain(`config set --stack dev --plaintext payTo --non-interactive < ${address}\n`);
  for (const secret of ["domainKey", "stabilizingKey", "signerPrivateKey"]) {
    expect(calls).toContain(`config set --stack dev --secret ${secret} --non-interactive < 0x777`);
  }
  expect(stdout + stderr).not.toContain("777");
});

test("init-stack writes nothing when the input ends early", async () => {
  const { status, stderr, calls } = await initStack([""]);
  expect([status, calls]).toEqual([1, "version --non-interactive < \n"]);
  expect(stderr).toContain("nothing was written");
});

test("init-stack asks nothing without Pulumi", async () => {
  const { status, stdout, stderr } = await initStack([], folder.concat("/empty"));
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("init-stack: pulumi is not on the PATH; install it");
});

import { createServer } from "node:http";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { gatehouseProgram } from "../support/programs/place.ts";
import { runGatehouse, runProgram } from "../support/run-command.ts";

const key = `0x${"4c".repeat(32)}`;
const password = "a-password-of-the-test";

/** Makes a process fail on its first request, with an uncaught error that contains its secrets. */
async function failing(statement: string): Promise<string> {
  const folder = await makeTestDirectory();
  const file = join(folder, "fails.mjs");
  const error = `Object.assign(new Error("no answer from http://user:${password}@rpc.example"), { cause: new Error("sign with ${key.slice(2)}") })`;
  const subscribe = 'import { subscribe } from "node:diagnostics_channel"; subscribe("undici:client:sendHeaders"';
  await writeFile(file, `${subscribe}, () => { const error = ${error}; ${statement} });`);
  return `--import ${file}`;
}

async function silentServer(): Promise<string> {
  const server = await listenLocally(createServer(() => undefined));
  onTestFinished(server[Symbol.asyncDispose]);
  return server.url;
}

it.each([
  ["an uncaught error", "throw error;"],
  ["an unhandled rejection", "Promise.reject(error);"],
])("exits on %s with its stack trace, without keys and passwords", async (_name, statement) => {
  const url = await silentServer();
  const options = ["--max-amount", "1", "--asset", `0x${"1".repeat(40)}`];
  const env = { NODE_OPTIONS: await failing(statement), GATEHOUSE_PAY_SIGNER_PRIVATE_KEY: key };
  const { status, stdout, stderr } = await runGatehouse(["pay", url, ...options], env);
  expect(status).toBe(1);
  expect(stderr).toContain("no answer from http://[masked]@rpc.example");
  expect(stderr).toContain("sign with [masked]");
  expect(stdout + stderr).not.toContain(password);
  expect(stdout + stderr).not.toContain(key.slice(2));
});

it("gatehouse pay sends the credentials in its URL but never shows them", async () => {
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    response.writeHead(500).end();
  });
  await using local = await listenLocally(server);
  const place = `127.0.0.1:${local.port}`;
  const { stdout, stderr } = await runGatehouse(["pay", `http://user:${password}@${place}/data`, "--json"]);
  expect(authorizations).toEqual([`Basic ${btoa(`user:${password}`)}`]);
  expect(stdout).toContain(`http://${place}/data`);
  expect(stdout + stderr).not.toContain(password);
});

it.each(["http://127.0.0.1:1", "htp://127.0.0.1"])("gatehouse pay %s shows no credentials if it fails", async (url) => {
  const { status, stdout, stderr } = await runGatehouse(["pay", url.replace("//", `//user:${password}@`)]);
  expect(status).not.toBe(0);
  expect(stdout + stderr).not.toContain(password);
});

function runInShell(words: string) {
  return runProgram("/bin/sh", ["-c", `"${process.execPath}" "${gatehouseProgram}" ${words}`], {}, undefined);
}

describe("a command whose standard output fails", () => {
  it.each(["config dump sidecar", "config lint /nowhere", "--help", "facilitator --help", "completion bash"])(
    "reports a full disk in one line: %s",
    async (words) => {
      const { status, stderr } = await runInShell(`${words} > /dev/full`);
      expect(stderr).toMatch(/^(lint: .+\n)?standard output can't be written \(ENOSPC\); [^\n]+\n$/);
      expect(status).toBe(1);
    },
  );

  it.each(["--help", "config dump sidecar"])("reports a disk that took only a part: %s", async (words) => {
    const file = join(await makeTestDirectory(), "cut");
    const { status, stderr } = await runProgram(
      "/bin/sh",
      ["-c", `ulimit -f 1; exec "${process.execPath}" "${gatehouseProgram}" ${words} > ${file}`],
      {},
      undefined,
    );
    expect((await stat(file)).size, "a shell's unit").toBeLessThanOrEqual(1_024);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^standard output can't be written \(EFBIG\); .+\n$/)]);
  });

  it("pay reports the lost resource and does not exit with 0", async () => {
    await using local = await listenLocally(createServer((_, response) => response.end("the goods")));
    const { status, stderr } = await runInShell(`pay ${local.url} > /dev/full`);
    expect(stderr).toMatch(
      /\npay: .+ can't be written to stdout \(ENOSPC.*\nstandard output can't be written \(ENOSPC\); .+\n$/,
    );
    expect(status).toBe(1);
  });

  it.each(["config dump sidecar --json", "status --url http://127.0.0.1:1 --watch 1"])(
    "is silent about a closed reader: %s",
    async (words) => {
      const { stderr } = await runInShell(`${words} | true`);
      expect(stderr.replaceAll(/^status: .+\n/gm, "")).toBe("");
    },
  );
});

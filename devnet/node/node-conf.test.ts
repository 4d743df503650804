import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { formatNodeConf } from "../workspace/node-conf-template.ts";
import { prepareWorkspace } from "../workspace/prepare-workspace.ts";
import { readNodeConf } from "./node-conf.ts";

async function workspace() {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-conf-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const version = "0.16.2";
  const chain = { listenHost: "127.0.0.1", chainId: 1672, blockTimeSeconds: 1, accounts: 0, fund: [] };
  const conf = { hostIp: "10.0.0.1", ports: { http: 18_100, webSocket: 18_200, rpc: 20_000, tcp: 19_000 } };
  const made = await prepareWorkspace({
    directory,
    parameters: { version, profile: "standard", opensAfterSeconds: 0, nodeDirectory: "node", ...chain },
    conf,
  });
  return { made, text: formatNodeConf({ ...conf, version, workspace: made }) };
}

test("a new node.conf is read, also with comments and relative paths", async () => {
  const { made, text } = await workspace();
  const expected = { httpPort: 18_100, webSocketPort: 18_200, dataDirectory: made.dataDirectory };
  expect(readNodeConf(made.configPath)).toMatchObject(expected);
  await writeFile(made.configPath, `// mine\n${text.replaceAll(`"${made.directory}/`, '"../')}`);
  expect(readNodeConf(made.configPath)).toMatchObject(expected);
});

test.each([
  ["nothing", () => "", "line 1, column 1: invalid end of input; expected JSON5."],
  ["half of it", (text: string) => text.slice(0, 300), "invalid end of input; expected JSON5."],
  ["a list", () => "[]", "(root): expected an object { … }, not a list"],
  [
    "chain as text",
    (text: string) => text.replace(/"chain": \{[\s\S]*?\n {2}\}/, '"chain": "x"'),
    "chain: expected an object { … }, not text",
  ],
  [
    "a port as a number",
    (text: string) => text.replace('"18100"', "18100"),
    "chain.startup_config.init_config.http_port: expected text, not a number",
  ],
  [
    "a port out of range",
    (text: string) => text.replace('"18100"', '"99999"'),
    "http_port: expected a port number from 1 to 65535, as a string",
  ],
  [
    "a key file that is not there",
    (text: string) => text.replace("domain.key", "none.key"),
    "chain.secret_config.domain_key_path: there is no file",
  ],
])("%s: the message names file and key", async (_, change, message) => {
  const { made, text } = await workspace();
  await writeFile(made.configPath, change(text));
  expect(() => readNodeConf(made.configPath)).toThrow(`${made.configPath}: `);
  expect(() => readNodeConf(made.configPath)).toThrow(message);
});

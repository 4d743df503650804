import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { downStatus, rightStatus } from "#status/testing/sample-status.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { gatehouseProgram } from "../support/programs/place.ts";

const path = `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;
const hasTerminals = spawnSync("script", ["--version"]).status === 0;
const why = hasTerminals ? "" : " (skipped: script of util-linux is not there)";

const openScreen = "\u001b[?1049h\u001b[?25l";
const closeScreen = "\u001b[?25h\u001b[?1049l";

/** `gatehouse top` on a terminal; the settings of that terminal are printed once it has ended. */
function startTop(url: string) {
  const command = `${quoteShellWord(gatehouseProgram)} top --every 1 --url ${url}; status=$?; stty -a; exit $status`;
  const child = spawn("script", ["--quiet", "--flush", "--return", "--command", command, "/dev/null"], {
    env: { ...process.env, PATH: path, TERM: "xterm" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
  const ended = once(child, "close") as Promise<[number | null]>;
  return { type: (text: string) => void child.stdin.write(text), shown: () => shown, ended };
}

test.skipIf(!hasTerminals).each([
  ["q", "q"],
  ["Ctrl-C", "\u0003"],
])(`top shows what changes, and %s gives the terminal back${why}`, async (_, key) => {
  let body: object | undefined = rightStatus;
  await using server = createServer((__, response) =>
    body === undefined ? response.destroy() : response.end(JSON.stringify(body)),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const top = startTop(url);
  const shows = (text: string) =>
    until(`it shows ${text}`, generousMs, () => Promise.resolve(top.shown().includes(text)));
  await shows("Healthy");
  expect(top.shown()).toContain(openScreen);
  body = downStatus;
  await shows("Node down for 1 min 15 s");
  await shows("tail -n 50 /srv/node/log/node.log");
  body = undefined;
  await shows("what is below is old.");
  top.type(key);
  expect((await top.ended)[0]).toBe(0);
  const [, after = ""] = top.shown().split(closeScreen);
  expect(after).toMatch(/(^|\s)icanon\b/);
  expect(after).toMatch(/(^|\s)echo\b/);
});

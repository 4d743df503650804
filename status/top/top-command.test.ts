import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { downStatus, rightStatus } from "../testing/sample-status.ts";
import { printTop } from "./top-command.ts";

/** Runs the command against a listener that answers so; returns its output and its exit status. */
async function printed(body: string, { json = false }: Readonly<{ json?: boolean }> = {}) {
  await using server = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let [out, error] = ["", ""];
  const code = await printTop(
    { url, json },
    { out: (text) => void (out += text), error: (text) => void (error += text), isColored: false },
  );
  return { out, error: error.replaceAll(url, "URL"), code };
}

test("one sheet: 0 where all is right, 2 where something is not", async () => {
  const right = await printed(JSON.stringify(rightStatus));
  expect([right.code, right.out.includes("\nHealthy\n"), right.error]).toEqual([0, true, ""]);
  const down = await printed(JSON.stringify(downStatus));
  expect([down.code, down.out.includes("\nNode down for 1 min 15 s\n"), down.error]).toEqual([2, true, ""]);
});

test("--json is the listener's answer as it came, as of gatehouse status, with the same exit status", async () => {
  const answer = { ...downStatus, addedLater: ["a field that this version does not read"] };
  const { out, code } = await printed(JSON.stringify(answer), { json: true });
  expect([code, JSON.parse(out)]).toEqual([2, answer]);
});

test.each([
  ["<html>", "top: URL/status can't be queried (its answer is not JSON); name the status listener"],
  ["{}", "top: URL/status answered something else than a status; name the status listener"],
])("an answer that is no status is 1 and says what to do: %s", async (body, words) => {
  expect(await printed(body)).toEqual({ out: "", error: expect.stringContaining(words), code: 1 });
});

import { createServer } from "node:http";
import { pino } from "pino";
import { expect, test } from "vitest";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { fetchReleaseList, readStoredList } from "./release-lists.ts";

const log = pino({ level: "silent" });

test("keeps the last valid list if its URL later returns a malformed one or none", async () => {
  const answer = { status: 200, body: '{"Net-1":{"version":3,"epoch":9}}' };
  const server = createServer((_, response) => void response.writeHead(answer.status).end(answer.body));
  await using local = await listenLocally(server);
  const directory = await makeTestDirectory();
  const location = { url: `${local.url}/mainnet.version`, directory };
  const list = { releases: [], forks: [{ name: "Net-1", version: 3, epoch: 9 }] };
  expect(await readStoredList(location)).toBeUndefined();
  expect(await fetchReleaseList(location, { log })).toEqual(list);
  for (const bad of [
    { status: 404, body: "gone" },
    { status: 200, body: '{"Net-1":{"version":"new"}}' },
    { status: 200, body: "<html>" },
  ]) {
    Object.assign(answer, bad);
    expect(await fetchReleaseList(location, { log })).toBeUndefined();
  }
  expect(await readStoredList(location)).toEqual(list);
  expect(await readStoredList({ ...location, url: `${location.url}?other` })).toBeUndefined();
});

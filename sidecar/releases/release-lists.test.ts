import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { fetchReleaseList, readStoredList } from "./release-lists.ts";

const log = pino({ level: "silent" });

test("keeps the last valid list if its URL later returns a malformed one or none", async () => {
  const answer = { status: 200, body: '{"Net-1":{"version":3,"epoch":9}}' };
  const server = createServer((_, response) => void response.writeHead(answer.status).end(answer.body));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-release-url-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const place = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mainnet.version`, directory };
  const list = { releases: [], forks: [{ name: "Net-1", version: 3, epoch: 9 }] };
  expect(await readStoredList(place)).toBeUndefined();
  expect(await fetchReleaseList(place, { log })).toEqual(list);
  for (const bad of [
    { status: 404, body: "gone" },
    { status: 200, body: '{"Net-1":{"version":"new"}}' },
    { status: 200, body: "<html>" },
  ]) {
    Object.assign(answer, bad);
    expect(await fetchReleaseList(place, { log })).toBeUndefined();
  }
  expect(await readStoredList(place)).toEqual(list);
  expect(await readStoredList({ ...place, url: `${place.url}?other` })).toBeUndefined();
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseConfig } from "#node/conf/document.ts";
import { compareCopies } from "./old-state.ts";

const now = "/srv/a/bin";
const legacy = "/srv/a/node/domain/client/bin";
const configOf = (data: string) =>
  `{ "chain": {}, "storage": { "mygrid_env": { "storage_data_path": ${JSON.stringify(data)} } } }`;

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-old-"));
});

afterEach(() => rm(directory, { recursive: true }));

/** Compares a copy with the current node.conf. */
async function compare(copy: string, standing: string, movedFrom: readonly string[] = []) {
  await writeFile(join(directory, "last-good.conf"), copy);
  const parsed = parseConfig(Buffer.from(standing));
  const document = parsed.ok ? parsed.document : undefined;
  return compareCopies(directory, { places: [now, legacy, now], document, movedFrom });
}

test("a copy whose paths are relative to the old layout is this node's", async () => {
  expect(await compare(configOf("../../../../data"), configOf("../data"))).toEqual({ kind: "same" });
});

test("a copy with other data is another node's, until the move is said", async () => {
  const match = await compare(configOf("/srv/b/data"), configOf("../data"));
  expect(match).toMatchObject({ kind: "another", remembered: "/srv/b/data" });
  expect(await compare(configOf("/srv/b/data"), configOf("../data"), ["1672", "/srv/b/data"])).toEqual({
    kind: "same",
  });
});

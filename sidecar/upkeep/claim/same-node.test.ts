import { expect, test } from "vitest";
import type { NodeIdentity } from "../state/node-identity.ts";
import { findNodeDifferences } from "./same-node.ts";

const node: NodeIdentity = {
  configPath: "/srv/a/bin/node.conf",
  namedPath: "/srv/a/bin/node.conf",
  dataPath: "/srv/a/data",
  chainId: 1_672,
  host: { kind: "machine", name: "one" },
};

const facts = { movedFrom: [] as readonly string[], layouts: [], entryExists: () => true };

test.each<[string, Partial<NodeIdentity>, Partial<NodeIdentity>, string]>([
  ["another chain", {}, { chainId: 1 }, "chain"],
  ["another data path behind the same node.conf", {}, { dataPath: "/srv/b/data" }, "data path"],
  ["another node.conf", {}, { configPath: "/srv/b/node.conf", namedPath: "/srv/b/node.conf" }, "node.conf"],
  [
    "another node.conf, whose data are not known",
    {},
    { configPath: "/srv/b/node.conf", namedPath: "/srv/b/node.conf", dataPath: undefined },
    "node.conf",
  ],
  [
    "the neighbour in a StatefulSet",
    { host: { kind: "pod", name: "node-0" } },
    { host: { kind: "pod", name: "node-1" } },
    "host",
  ],
  [
    "another container on the same paths",
    { host: { kind: "container", name: "a-node" } },
    { host: { kind: "container", name: "b-node" } },
    "host",
  ],
])("%s is another node, until the move is said", (_, before, change, what) => {
  const remembered = { ...node, ...before };
  const found = { ...remembered, ...change };
  const differences = findNodeDifferences(remembered, found, facts);
  expect(differences.map((difference) => difference.what)).toEqual([what]);
  const movedFrom = differences.map((difference) => difference.remembered);
  expect(findNodeDifferences(remembered, found, { ...facts, movedFrom })).toEqual([]);
  // A setting for one move does not apply to the next one.
  const next = { ...found, chainId: 99 };
  expect(findNodeDifferences(found, next, { ...facts, movedFrom })[0]?.what).toBe("chain");
});

test.each<[string, Partial<NodeIdentity>, Partial<NodeIdentity>, Partial<typeof facts>]>([
  ["itself", {}, {}, {}],
  ["with a container's new host name", {}, { host: { kind: "machine", name: "f3a9" } }, {}],
  [
    "in a Deployment's new pod",
    { host: { kind: "pod", name: "node-7d9c-24567" } },
    { host: { kind: "pod", name: "node-7d9c-99245" } },
    {},
  ],
  ["behind a link that points elsewhere now", {}, { configPath: "/srv/a-2/bin/node.conf" }, {}],
  [
    "with a node.conf that was moved while its data stayed",
    {},
    { configPath: "/etc/node.conf", namedPath: "/etc/node.conf" },
    { entryExists: () => false },
  ],
  [
    "whose node.conf was never found before, at another path",
    { dataPath: undefined },
    { configPath: "/srv/b/node.conf", namedPath: "/srv/b/node.conf", dataPath: "/srv/b/data" },
    {},
  ],
  ["with a node.conf that can't be read now", {}, { dataPath: undefined }, {}],
  ["whose expected chain was set wrong at first", { answeredChainId: 7 }, { chainId: 7 }, {}],
])("the same node: %s", (_, before, change, more) => {
  const remembered = { ...node, ...before };
  expect(findNodeDifferences(remembered, { ...remembered, ...change }, { ...facts, ...more })).toEqual([]);
});

test("the layout of another version of the same workspace is the same node", () => {
  const legacy = "/srv/a/node/domain/client/bin/node.conf";
  const remembered = { ...node, configPath: legacy, namedPath: legacy };
  expect(findNodeDifferences(remembered, node, { ...facts, layouts: [legacy, node.configPath] })).toEqual([]);
  expect(findNodeDifferences(remembered, node, facts).map(({ what }) => what)).toEqual(["node.conf"]);
});

test("two changes at once are found at once, and reported at once", () => {
  const found = { ...node, chainId: 7, dataPath: "/srv/b/data" };
  const differences = findNodeDifferences(node, found, facts);
  expect(differences).toEqual([
    { what: "chain", remembered: "1672" },
    { what: "data path", remembered: "/srv/a/data" },
  ]);
  expect(findNodeDifferences(node, found, { ...facts, movedFrom: ["1672", "/srv/a/data"] })).toEqual([]);
});
